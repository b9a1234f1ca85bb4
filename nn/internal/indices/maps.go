package indices

import "github.com/graft-ml/graft/nn/op/coupling"

// Fits reports whether a map makes sense between axes of lengths n and m.
func Fits(f coupling.Map, n, m int) bool {
	switch f.Relation {
	case coupling.Identity, coupling.Norm:
		return n == m
	case coupling.Factor:
		return f.Outer*n*f.Inner == m
	case coupling.Gates:
		return f.Groups*n == m
	case coupling.Permutation:
		return len(f.Perm) == n
	case coupling.NormGroup:
		return f.Groups > 0 && n == m && n%f.Groups == 0
	case coupling.Group:
		return f.Groups > 0 && n%f.Groups == 0 && (m%f.Groups == 0 || m == n/f.Groups)
	}
	return true
}

// Offset returns the index of an axis of length m to which an Offset maps index i, −1 if none.
func Offset(f coupling.Map, i, m int) int {
	j := i + f.Shift
	if j < 0 || j >= m || f.Count > 0 && min(i, j) >= f.Count {
		return -1
	}
	return j
}

// tie ties the indices of two axes by the map of a relation.
func (v *View) tie(r Relation) {
	a, b := v.system.Spans[r.A], v.system.Spans[r.B]
	n, m := int(a.Size), int(b.Size)
	switch r.Map.Relation {
	case coupling.Identity, coupling.Norm:
		for i := range a.Size {
			v.union(a.First+i, b.First+i)
		}
	case coupling.Offset:
		for i := range n {
			if j := Offset(r.Map, i, m); j >= 0 {
				v.union(a.First+int32(i), b.First+int32(j))
			}
		}
	case coupling.Permutation:
		for i, j := range r.Map.Perm {
			if j >= 0 && j < m {
				v.union(a.First+int32(i), b.First+int32(j))
			}
		}
	case coupling.Factor, coupling.Gates:
		outer, inner := r.Map.Outer, r.Map.Inner
		if r.Map.Relation == coupling.Gates {
			outer, inner = r.Map.Groups, 1
		}
		for i := range n {
			v.tieFactor(a.First+int32(i), b.First, i, n, outer, inner)
		}
	}
}

// tieFactor ties an element with index i of a factor of n indices on an axis that begins at first.
func (v *View) tieFactor(e, first int32, i, n, outer, inner int) {
	for o := range outer {
		for k := range inner {
			v.union(e, first+int32((o*n+i)*inner+k))
		}
	}
}
