package cli

import (
	"encoding/json"
	"fmt"
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
		flat := filler{of: t.DType}
		for i, row := range rows {
			x, ok := row[v.Name()]
			if !ok {
				x, ok = maskFor(g, v, row)
			}
			if !ok {
				return nil, fmt.Errorf("no value for input %s; the model has the inputs %v", v.Name(), ports(g.Inputs()))
			}
			if err := flat.reserve(x); err != nil {
				return nil, fmt.Errorf("input %s: %w", v.Name(), err)
			}
			shape, err := eachElement(x, flat.add)
			if err != nil {
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
		x, err := flat.tensor(append([]int{len(rows)}, dims...)...)
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
		if s := w.Type(); s.Rank() < 2 || s.Shape[1].String() != t.Shape[1].String() {
			continue
		}
		if shape, err := eachElement(row[w.Name()], func(any) error { return nil }); err == nil && len(shape) > 0 {
			return slices.Repeat([]any{json.Number("1")}, shape[0]), true
		}
	}
	return nil, false
}

// flatten returns the elements of lists in lists and their shape.
func flatten(x any) (flat []any, shape []int, err error) {
	shape, err = eachElement(x, func(x any) error {
		flat = append(flat, x)
		return nil
	})
	return flat, shape, err
}

// tensorOf makes a tensor from JSON elements.
func tensorOf(t dtype.DType, flat []any, dims []int) (value, error) {
	f := filler{of: t}
	for _, x := range flat {
		if err := f.add(x); err != nil {
			return nil, err
		}
	}
	return f.tensor(dims...)
}
