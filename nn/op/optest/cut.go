package optest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

// indices is the set of indices that leave each axis.
type indices map[coupling.Axis]map[int]bool

// errNotCut reports that a coupling cannot be checked with a single call.
var errNotCut = errors.New("cannot be cut alone")

// checkCut removes the first and the last index of every coupled axis together with the indices coupled
// to it, and compares the outputs of the smaller call with those of the whole call in which the removed
// elements of the inputs are zero.
func (c *Case) checkCut() error {
	o := c.op()
	if o.Couple == nil || c.NoCut != "" || o.Random {
		return nil
	}
	b, err := c.build(c.In)
	if err != nil {
		return err
	}
	list := o.Couple(b.call)
	var seeds []coupling.Axis
	for _, k := range list {
		for _, ref := range []coupling.Axis{k.From, k.To} {
			n, err := length(b.call, ref)
			if err != nil {
				return err
			}
			if n > 1 && !slices.Contains(seeds, ref) {
				seeds = append(seeds, ref)
			}
		}
	}
	for _, ref := range seeds {
		n, _ := length(b.call, ref)
		for _, j := range []int{0, n - 1} {
			cut, err := follow(b.call, list, ref, j)
			if err == errNotCut {
				continue
			}
			if err == nil {
				err = c.tryCut(cut)
			}
			if err != nil {
				return fmt.Errorf("index %d of %s: %w", j, refName(ref), err)
			}
		}
	}
	return nil
}

func refName(r coupling.Axis) string {
	if r.Output {
		return fmt.Sprintf("axis %d of output %d", r.Axis, r.Slot)
	}
	return fmt.Sprintf("axis %d of input %d", r.Axis, r.Slot)
}

// length returns the number of indices of an axis, an error if the call has no such axis.
func length(call *op.Call, r coupling.Axis) (int, error) {
	types := call.In
	if r.Output {
		types = call.Out
	}
	if r.Slot >= len(types) || r.Axis < 0 || r.Axis >= len(types[r.Slot].Shape) {
		return 0, fmt.Errorf("a coupling names %s, which does not exist", refName(r))
	}
	return types[r.Slot].Shape[r.Axis].Size, nil
}

// follow spreads index j of an axis over the couplings until nothing new leaves.
func follow(call *op.Call, list []coupling.Coupling, ref coupling.Axis, j int) (indices, error) {
	cut := indices{ref: {j: true}}
	for grown := true; grown; {
		grown = false
		for _, k := range list {
			n, err := length(call, k.From)
			if err != nil {
				return nil, err
			}
			m, err := length(call, k.To)
			if err != nil {
				return nil, err
			}
			if len(cut[k.From]) == 0 && len(cut[k.To]) == 0 {
				continue
			}
			for i := range n {
				to, err := image(k.Map, i, n, m)
				if err != nil {
					return nil, err
				}
				for _, t := range to {
					if cut[k.From][i] != cut[k.To][t] {
						cut.add(k.From, i)
						cut.add(k.To, t)
						grown = true
					}
				}
			}
		}
	}
	for ref, set := range cut {
		if n, _ := length(call, ref); len(set) >= n {
			return nil, errNotCut
		}
	}
	return cut, nil
}

func (x indices) add(ref coupling.Axis, i int) {
	if x[ref] == nil {
		x[ref] = map[int]bool{}
	}
	x[ref][i] = true
}

// image lists the indices of an axis of length m that index i of one of length n goes with.
func image(f coupling.Map, i, n, m int) ([]int, error) {
	switch f.Relation {
	case coupling.Identity:
		if n != m {
			return nil, fmt.Errorf("the identity couples lengths %d and %d", n, m)
		}
		return []int{i}, nil
	case coupling.Offset:
		if j := i + f.Shift; j >= 0 && j < m && (f.Count == 0 || min(i, j) < f.Count) {
			return []int{j}, nil
		}
		return nil, nil
	case coupling.Permutation:
		if len(f.Perm) != n || f.Perm[i] < 0 || f.Perm[i] >= m {
			return nil, fmt.Errorf("permutation %v does not map lengths %d and %d", f.Perm, n, m)
		}
		return []int{f.Perm[i]}, nil
	case coupling.Factor:
		return blocks(i, n, m, f.Outer, f.Inner)
	case coupling.Gates:
		return blocks(i, n, m, f.Groups, 1)
	case coupling.Group, coupling.NormGroup:
		if f.Groups < 1 || n%f.Groups != 0 || m%f.Groups != 0 && m != n/f.Groups {
			return nil, fmt.Errorf("%d groups do not divide lengths %d and %d", f.Groups, n, m)
		}
		switch within := n / f.Groups; m {
		case within:
			return []int{i % within}, nil
		case n:
			return blocks(i%within, within, m, f.Groups, 1)
		}
	}
	return nil, errNotCut
}

// blocks returns the places of index i where an axis is (outer, n, inner).
func blocks(i, n, m, outer, inner int) ([]int, error) {
	if outer*n*inner != m {
		return nil, fmt.Errorf("length %d is not %d·%d·%d", m, outer, n, inner)
	}
	var list []int
	for o := range outer {
		for k := range inner {
			list = append(list, (o*n+i)*inner+k)
		}
	}
	return list, nil
}

// tryCut compares the outputs of the whole and of the cut call.
func (c *Case) tryCut(cut indices) error {
	small, whole := *c, *c
	small.In, whole.In = slices.Clone(c.In), slices.Clone(c.In)
	removed := map[coupling.Axis][]int{}
	for ref, set := range cut {
		for i := range set {
			removed[ref] = append(removed[ref], i)
		}
		slices.Sort(removed[ref])
		if ref.Output {
			continue
		}
		small.In[ref.Slot] = withoutValue(small.In[ref.Slot], ref.Axis, set)
		if d := dense(whole.In[ref.Slot]); d != nil {
			whole.In[ref.Slot] = zeroed(d, ref.Axis, set)
		}
	}
	if c.Resize != nil {
		c.Resize(&small, removed)
	}
	want, err := Forward(whole)
	if err != nil { // zeros do not suit it: a divisor
		if want, err = Forward(*c); err != nil {
			return err
		}
	}
	got, err := Forward(small)
	if err != nil {
		return fmt.Errorf("after the cut (does the case need Resize or NoCut?): %w", err)
	}
	for i, w := range want {
		if w == nil {
			continue
		}
		for ref, set := range cut {
			if ref.Output && ref.Slot == i {
				w = withoutValue(w, ref.Axis, set)
			}
		}
		if err := Compare(got[i], w, max(1e-5, c.tolerance())); err != nil {
			return fmt.Errorf("output %d after the cut: %w", i, err)
		}
	}
	return nil
}

// withoutValue is without for tensors of strings too; other values stay as they are.
func withoutValue(v dtype.Value, axis int, set map[int]bool) dtype.Value {
	switch v := v.(type) {
	case *tensor.Dense:
		return without(v, axis, set)
	case *dtype.Strings:
		at := dtype.New(dtype.Int64, v.Dims...)
		for i := range dtype.Slice[int64](at) {
			dtype.Slice[int64](at)[i] = int64(i)
		}
		at = without(at, axis, set)
		s := &dtype.Strings{Dims: at.Shape()}
		for _, i := range dtype.Slice[int64](at) {
			s.Elems = append(s.Elems, v.Elems[i])
		}
		return s
	}
	return v
}

// without is d without the given indices of an axis.
func without(d *tensor.Dense, axis int, set map[int]bool) *tensor.Dense {
	shape := slices.Clone([]int(d.Shape()))
	n := shape[axis]
	inner := d.Dtype().Size()
	for _, s := range shape[axis+1:] {
		inner *= uintptr(s)
	}
	shape[axis] = n - len(set)
	out := dtype.New(dtype.DTypeOf(d), shape...)
	dst := out.Raw
	for at := 0; at*int(inner) < len(d.Raw); at++ {
		if !set[at%n] {
			dst = dst[copy(dst, d.Raw[at*int(inner):(at+1)*int(inner)]):]
		}
	}
	return out
}

// zeroed is d with zeros at the given indices of an axis.
func zeroed(d *tensor.Dense, axis int, set map[int]bool) *tensor.Dense {
	out := dtype.Clone(d)
	n, inner := d.Shape()[axis], int(d.Dtype().Size())
	for _, s := range d.Shape()[axis+1:] {
		inner *= s
	}
	for at := 0; at*inner < len(out.Raw); at++ {
		if set[at%n] {
			clear(out.Raw[at*inner : (at+1)*inner])
		}
	}
	return out
}
