package nn

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// rowMajor returns x with contiguous tensors: transposed ones and slices of others are copied, also in containers.
func rowMajor(x dtype.Value) (dtype.Value, error) {
	switch x := x.(type) {
	case *tensor.Dense:
		if x != nil {
			return engine.RowMajor(x)
		}
	case *dtype.Sequence:
		if x == nil {
			break
		}
		items := x.Items
		for i, item := range x.Items {
			c, err := rowMajor(item)
			if err != nil {
				return nil, err
			}
			if c != item {
				if &items[0] == &x.Items[0] {
					items = slices.Clone(x.Items)
				}
				items[i] = c
			}
		}
		if len(items) > 0 && &items[0] != &x.Items[0] {
			return &dtype.Sequence{Elem: x.Elem, Items: items}, nil
		}
	case *dtype.Optional:
		if x == nil || x.Item == nil {
			break
		}
		c, err := rowMajor(x.Item)
		if err != nil {
			return nil, err
		}
		if c != x.Item {
			return &dtype.Optional{Elem: x.Elem, Seq: x.Seq, Item: c}, nil
		}
	}
	return x, nil
}

// rowMajor makes the values contiguous, see the function rowMajor.
func (f Feed) rowMajor(stage string) (Feed, error) {
	made := make(Feed, len(f))
	for name, x := range f {
		c, err := rowMajor(x)
		if err != nil {
			return nil, &Error{Stage: stage, Input: name, Err: err}
		}
		made[name] = c
	}
	return made, nil
}
