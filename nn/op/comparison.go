package op

import (
	"github.com/graft-ml/graft/nn/dtype"
)

// comparisons is the table of comparing and logical operators.
func comparisons() []binary {
	v9, v12, v18 := []int{1, 7, 9, 13}, []int{12, 16}, []int{18}
	rows := []binary{
		{name: "Equal", doc: "A = B.", since: []int{1, 7, 11, 13, 19}, types: append([]DType{dtype.Bool, dtype.String}, Numeric...), attrs: EqualConfig{},
			cf: func(a, b float64) bool { return a == b }, ci: func(a, b int64) bool { return a == b }, cu: func(a, b uint64) bool { return a == b }, strs: equalStrings},
		{name: "Greater", doc: "A > B.", since: v9, types: Numeric, attrs: GreaterConfig{},
			cf: func(a, b float64) bool { return a > b }, ci: func(a, b int64) bool { return a > b }, cu: func(a, b uint64) bool { return a > b }},
		{name: "Less", doc: "A < B.", since: v9, types: Numeric, attrs: LessConfig{},
			cf: func(a, b float64) bool { return a < b }, ci: func(a, b int64) bool { return a < b }, cu: func(a, b uint64) bool { return a < b }},
		{name: "GreaterOrEqual", doc: "A ≥ B.", since: v12, types: Numeric,
			cf: func(a, b float64) bool { return a >= b }, ci: func(a, b int64) bool { return a >= b }, cu: func(a, b uint64) bool { return a >= b }},
		{name: "LessOrEqual", doc: "A ≤ B.", since: v12, types: Numeric,
			cf: func(a, b float64) bool { return a <= b }, ci: func(a, b int64) bool { return a <= b }, cu: func(a, b uint64) bool { return a <= b }},
		{name: "And", doc: "Both.", since: []int{1, 7}, types: []DType{dtype.Bool}, attrs: AndConfig{}, b: func(a, b bool) bool { return a && b }},
		{name: "Or", doc: "At least one.", since: []int{1, 7}, types: []DType{dtype.Bool}, attrs: OrConfig{}, b: func(a, b bool) bool { return a || b }},
		{name: "Xor", doc: "Exactly one.", since: []int{1, 7}, types: []DType{dtype.Bool}, attrs: XorConfig{}, b: func(a, b bool) bool { return a != b }},
		{name: "BitwiseAnd", doc: "Bits set in both.", since: v18, types: Integers, i: func(a, b int64) int64 { return a & b }},
		{name: "BitwiseOr", doc: "Bits set in one at least.", since: v18, types: Integers, i: func(a, b int64) int64 { return a | b }},
		{name: "BitwiseXor", doc: "Bits set in exactly one.", since: v18, types: Integers, i: func(a, b int64) int64 { return a ^ b }},
	}
	for i := range rows {
		rows[i].noGrad = "its results are no floats"
	}
	return rows
}

func comparisonOps() []*Op {
	var list []*Op
	for _, r := range comparisons() {
		list = append(list, r.op())
	}
	return list
}

// equalStrings is Equal on strings.
func equalStrings(c *Call, in []dtype.Value) ([]dtype.Value, error) {
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
