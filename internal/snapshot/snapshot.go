// Package snapshot copies the weights and statistics of a graph, to return to them.
package snapshot

import (
	"context"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Weights are copies of a graph's parameters, without its constants.
type Weights map[*nn.Param]*tensor.Dense

// Of copies the parameters of g, unless ctx ends.
func Of(ctx context.Context, g *nn.Graph) (Weights, error) {
	w := Weights{}
	for p := range g.Params() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if direct.Data(p) != nil && p.Role() != nn.Constant {
			var err error
			if w[p], err = Copy(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// Copy returns a copy of the parameter's data, unless ctx ends.
func Copy(ctx context.Context, p *nn.Param) (*tensor.Dense, error) {
	d, err := Clone(ctx, direct.Data(p))
	if err != nil {
		err = fmt.Errorf("parameter %s: %w", p.Name(), err)
	}
	return d, err
}

// Clone returns a copy of d, charged to the memory budget, unless ctx ends.
func Clone(ctx context.Context, d *tensor.Dense) (*tensor.Dense, error) {
	c, err := budget.Made(int64(len(dtype.Bytes(d))), func() *tensor.Dense { return clone(ctx, d) })
	if err == nil && c == nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("a copy of a tensor of shape %v: %w", d.Shape(), err)
	}
	return c, err
}

// clone returns a copy of d, or nil if ctx ends first.
func clone(ctx context.Context, d *tensor.Dense) *tensor.Dense {
	const block = 1 << 24 // bytes copied between two looks
	if len(d.Raw) <= block || len(d.Raw) != d.Shape().TotalSize()*int(d.Dtype().Size()) {
		return dtype.Clone(d)
	}
	c := dtype.New(dtype.Of(d.Dtype()), d.Shape()...)
	for at := 0; at < len(d.Raw); at += block {
		if ctx.Err() != nil {
			return nil
		}
		copy(c.Raw[at:], d.Raw[at:min(at+block, len(d.Raw))])
	}
	return c
}

// Zeros returns a tensor of d's shape and type, charged to the memory budget.
func Zeros(d *tensor.Dense) (*tensor.Dense, error) {
	c, err := budget.Made(int64(len(dtype.Bytes(d))), func() *tensor.Dense { return dtype.New(dtype.Of(d.Dtype()), d.Shape()...) })
	if err != nil {
		err = fmt.Errorf("a tensor of shape %v: %w", d.Shape(), err)
	}
	return c, err
}

// Pick returns a copy of indices of an axis of d, as dtype.Pick, charged to the memory budget.
func Pick(d *tensor.Dense, axis int, keep []int) (*tensor.Dense, error) {
	n := int64(len(dtype.Bytes(d))) / int64(max(1, d.Shape()[axis])) * int64(len(keep))
	c, err := budget.Made(n, func() *tensor.Dense { return dtype.Pick(d, axis, keep) })
	if err != nil {
		err = fmt.Errorf("%d indices of a tensor of shape %v: %w", len(keep), d.Shape(), err)
	}
	return c, err
}

// Restore writes the copies back to their parameters, except to those that have another shape now.
func (w Weights) Restore() {
	for p, d := range w {
		if direct.Data(p) != nil && slices.Equal(direct.Data(p).Shape(), d.Shape()) {
			copy(dtype.Bytes(direct.Data(p)), dtype.Bytes(d))
			p.Changed()
		}
	}
}
