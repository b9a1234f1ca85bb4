package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// relation is the relation that a comparison tests.
type relation uint8

const (
	noRelation relation = iota
	equal
	greater
	less
	greaterOrEqual
	lessOrEqual
)

// compared makes row functions of a relation.
func compared[T integer | float32 | float64](r relation) pair[T, bool] {
	switch r {
	case greater:
		return repeating(rowsAbove[T])
	case less:
		return repeating(func(dst []bool, a, b []T) { rowsAbove(dst, b, a) })
	case greaterOrEqual:
		return repeating(rowsFrom[T])
	case lessOrEqual:
		return repeating(func(dst []bool, a, b []T) { rowsFrom(dst, b, a) })
	}
	return repeating(func(dst []bool, a, b []T) {
		for i := range dst {
			dst[i] = a[i] == b[i]
		}
	})
}

func rowsAbove[T integer | float32 | float64](dst []bool, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] > b[i]
	}
}

func rowsFrom[T integer | float32 | float64](dst []bool, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] >= b[i]
	}
}

// repeating makes row functions of one for two rows; a single element is repeated in a buffer.
func repeating[T, R any](rows func(dst []R, a, b []T)) pair[T, R] {
	blocks := func(n int, v T, f func(lo, hi int, many []T)) {
		var many [256]T
		for i := range many[:min(n, len(many))] {
			many[i] = v
		}
		for lo := 0; lo < n; lo += len(many) {
			hi := min(n, lo+len(many))
			f(lo, hi, many[:hi-lo])
		}
	}
	return pair[T, R]{
		vv: rows,
		vs: func(dst []R, a []T, b T) {
			blocks(len(dst), b, func(lo, hi int, many []T) { rows(dst[lo:hi], a[lo:hi], many) })
		},
		sv: func(dst []R, a T, b []T) {
			blocks(len(dst), a, func(lo, hi int, many []T) { rows(dst[lo:hi], many, b[lo:hi]) })
		},
	}
}

// comparisons returns the table of comparing and logical operators.
func comparisons() []binary {
	v9, v12, v18 := []int{1, 7, 9, 13}, []int{12, 16}, []int{18}
	ordered := []op.Version{{At: 9, New: op.Where{"T": op.Integers()}}}
	equals := []op.Version{{At: 11, New: op.Where{"T": append([]op.DType{dtype.Int8, dtype.Int16}, append(slices.Clone(op.Unsigned()), op.Floats()...)...)}}, {At: 19, New: op.Where{"T": {dtype.String}}}}
	rows := []binary{
		{name: "Equal", doc: "A = B.", since: []int{1, 7, 11, 13, 19}, versions: equals, types: append([]op.DType{dtype.Bool, dtype.String}, op.Numeric()...), attrs: EqualConfig{}, relation: equal, strs: equalStrings},
		{name: "Greater", doc: "A > B.", since: v9, versions: ordered, types: op.Numeric(), attrs: GreaterConfig{}, relation: greater},
		{name: "Less", doc: "A < B.", since: v9, versions: ordered, types: op.Numeric(), attrs: LessConfig{}, relation: less},
		{name: "GreaterOrEqual", doc: "A ≥ B.", since: v12, decompose: orEqual(op.Plain("Greater")), types: op.Numeric(), relation: greaterOrEqual},
		{name: "LessOrEqual", doc: "A ≤ B.", since: v12, decompose: orEqual(op.Plain("Less")), types: op.Numeric(), relation: lessOrEqual},
		{name: "And", doc: "Both.", since: []int{1, 7}, types: []op.DType{dtype.Bool}, attrs: AndConfig{}, b: func(a, b bool) bool { return a && b },
			traits: op.Traits{Zero: op.ZeroAny}},
		{name: "Or", doc: "At least one.", since: []int{1, 7}, types: []op.DType{dtype.Bool}, attrs: OrConfig{}, b: func(a, b bool) bool { return a || b }},
		{name: "Xor", doc: "Exactly one.", since: []int{1, 7}, types: []op.DType{dtype.Bool}, attrs: XorConfig{}, b: func(a, b bool) bool { return a != b }},
		{name: "BitwiseAnd", doc: "Bits set in both.", since: v18, types: op.Integers(), i: func(a, b int64) int64 { return a & b }},
		{name: "BitwiseOr", doc: "Bits set in one at least.", since: v18, types: op.Integers(), i: func(a, b int64) int64 { return a | b }},
		{name: "BitwiseXor", doc: "Bits set in exactly one.", since: v18, types: op.Integers(), i: func(a, b int64) int64 { return a ^ b }},
	}
	for i := range rows {
		rows[i].noGrad = "its results are no floats"
	}
	return rows
}

func comparisonOps() []*op.Op {
	var list []*op.Op
	for _, r := range comparisons() {
		o := r.op()
		if r.name == "Equal" {
			o.Dims = equalDims
		}
		list = append(list, o)
	}
	return list
}

// equalDims compares shape vectors if each pair is known to be equal or not; a symbolic length is not a
// negative number. Exporters use it to find the dimensions that an Expand leaves unchanged.
func equalDims(c *op.Call) []op.Known {
	if !c.In[0].DType.IsInteger() || len(c.Out) > 0 && (c.Out[0].Unranked || c.Out[0].Rank() > 1) {
		return nil
	}
	var x [2][]op.Dim
	for i := range x {
		d, err := c.Dims(i)
		if err != nil || len(d) == 0 || !c.Exact(i, d) {
			return nil
		}
		x[i] = d
	}
	n := max(len(x[0]), len(x[1]))
	if len(x[0]) != n && len(x[0]) != 1 || len(x[1]) != n && len(x[1]) != 1 {
		return nil
	}
	same := make([]bool, n)
	for i := range same {
		a, b := x[0][min(i, len(x[0])-1)], x[1][min(i, len(x[1])-1)]
		switch {
		case a.Sym == "" && b.Sym == "" || a == b:
			same[i] = a.Size == b.Size
		case a.Plain() && b.Sym == "" && b.Size < 0 || b.Plain() && a.Sym == "" && a.Size < 0:
		default:
			return nil
		}
	}
	shape := []int{n}
	if c.In[0].Rank() == 0 && c.In[1].Rank() == 0 {
		shape = nil
	}
	v, err := dtype.FromSlice(same, shape...)
	if err != nil {
		return nil
	}
	return []op.Known{{Value: v}}
}

// equalStrings is Equal on strings.
func equalStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	a, okA := in[0].(*dtype.Strings)
	b, okB := in[1].(*dtype.Strings)
	if !okA || !okB {
		return nil, c.Errorf("compares strings with strings only")
	}
	w, err := newWalk(c, c.Out[0].Sizes(), a.Dims, b.Dims)
	if err != nil {
		return nil, err
	}
	out := dtype.New(dtype.Bool, c.Out[0].Sizes()...)
	dst := dtype.Slice[bool](out)
	if len(dst) == 0 {
		return []dtype.Value{out}, nil
	}
	w.each(nil, 1, func(at, n int, off [3]int) {
		for i := range n {
			dst[at+i] = a.Elems[off[0]] == b.Elems[off[1]]
			for k := range 2 {
				if w.moves[k] {
					off[k]++
				}
			}
		}
	})
	return []dtype.Value{out}, nil
}

// orEqual decomposes a comparison that holds where another one or equality does.
func orEqual(strict op.Plain) func(*op.Spelling) error {
	return func(n *op.Spelling) error {
		less := n.Before("strict", strict, n.In[0], n.In[1])
		same := n.Before("equal", op.Plain("Equal"), n.In[0], n.In[1])
		n.Give(0, n.Before("", op.Plain("Or"), less, same))
		return nil
	}
}
