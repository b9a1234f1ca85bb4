package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// fromObjects makes inputs from JSON objects that hold, under the name of each input, a number, a string, or nested lists of
// them in the input's shape without the batch axis. A mask that is absent is filled with ones, in the length of its sequence.
func fromObjects(g *nn.Graph, rows []map[string]any) (nn.Feed, error) {
	feed := nn.Feed{}
	for _, v := range g.Inputs() {
		t := v.Type()
		var dims []int
		var flat []any
		for i, row := range rows {
			x, ok := row[v.Name()]
			if !ok {
				x, ok = maskFor(g, v, row)
			}
			if !ok {
				return nil, fmt.Errorf("no value for input %s; the model has the inputs %v", v.Name(), ports(g.Inputs()))
			}
			var shape []int
			var err error
			if flat, shape, err = flatten(flat, x); err != nil {
				return nil, fmt.Errorf("input %s: %w", v.Name(), err)
			}
			if i > 0 && !slices.Equal(shape, dims) {
				return nil, fmt.Errorf("input %s: the shape is %v, that of others %v", v.Name(), shape, dims)
			}
			dims = shape
		}
		if t.Rank() == len(dims)+2 && len(dims) == 0 { // one number for [N, 1]
			dims = []int{1}
		}
		x, err := tensorOf(t.DType, flat, append([]int{len(rows)}, dims...))
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", v.Name(), err)
		}
		feed[v.Name()] = x
	}
	return feed, nil
}

// maskFor returns a mask of ones for a sequence of the object, if v has the name and the shape [N, T] of a mask and the
// sequence is an input with the same T.
func maskFor(g *nn.Graph, v *nn.Value, row map[string]any) (any, bool) {
	t := v.Type()
	if textRoles[v.Name()] != "attention_mask" || t.Rank() != 2 {
		return nil, false
	}
	for _, w := range g.Inputs() {
		list, ok := row[w.Name()].([]any)
		if s := w.Type(); ok && s.Rank() >= 2 && s.Shape[1].String() == t.Shape[1].String() {
			return slices.Repeat([]any{json.Number("1")}, len(list)), true
		}
	}
	return nil, false
}

// maxRank bounds how deep lists are nested, as NumPy does: the time that flatten takes grows with its square.
const maxRank = 64

// flatten appends the elements of lists in lists and finds their shape.
func flatten(to []any, x any) ([]any, []int, error) {
	list, ok := x.([]any)
	if !ok {
		return append(to, x), nil, nil
	}
	var shape []int
	for i, e := range list {
		var s []int
		var err error
		if to, s, err = flatten(to, e); err != nil {
			return nil, nil, err
		}
		if len(s) >= maxRank {
			return nil, nil, fmt.Errorf("lists are nested more than %d deep", maxRank)
		}
		if i > 0 && !slices.Equal(s, shape) {
			return nil, nil, fmt.Errorf("a list of lists of unequal length, %v and %v", shape, s)
		}
		shape = s
	}
	return to, append([]int{len(list)}, shape...), nil
}

// tensorOf makes a tensor from JSON elements.
func tensorOf(t dtype.DType, flat []any, dims []int) (value, error) {
	if n, err := dtype.Count(dims); err != nil || n != len(flat) {
		return nil, fmt.Errorf("%d elements for the shape %v", len(flat), dims)
	}
	if t == dtype.String {
		list := make([]string, len(flat))
		for i, x := range flat {
			list[i] = fmt.Sprint(x)
		}
		return dtype.NewStrings(list, dims...)
	}
	floats, ints := make([]float64, len(flat)), make([]int, len(flat))
	for i, x := range flat {
		switch x := x.(type) {
		case bool:
			if x {
				floats[i], ints[i] = 1, 1
			}
		case json.Number:
			f, err := x.Float64()
			if err != nil {
				return nil, fmt.Errorf("%s is not a number", x)
			}
			if t == dtype.Float32 && math.Abs(f) > math.MaxFloat32 {
				return nil, fmt.Errorf("%s is out of the range of %v", x, t)
			}
			n, err := x.Int64()
			if floats[i], ints[i] = f, int(n); err != nil && t.IsInteger() {
				return nil, fmt.Errorf("%s is not a whole number, want %v", x, t)
			}
		case nil:
			return nil, fmt.Errorf("null, want a number")
		case string:
			return nil, fmt.Errorf("%q is a text, want a number", x)
		default:
			return nil, fmt.Errorf("%v is not a number", x)
		}
	}
	if t.IsInteger() {
		return dtype.FromInts(t, ints, dims...)
	}
	return dtype.FromFloats(t, floats, dims...)
}
