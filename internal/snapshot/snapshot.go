// Package snapshot copies the weights and statistics of a graph, to return to them.
package snapshot

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Weights are copies of a graph's parameters, without its constants.
type Weights map[*nn.Param]*tensor.Dense

// Of copies the parameters of g.
func Of(g *nn.Graph) (Weights, error) {
	w := Weights{}
	for p := range g.Params() {
		if p.Data() != nil && p.Role() != nn.Constant {
			var err error
			if w[p], err = Copy(p); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// Copy returns a copy of the parameter's data.
func Copy(p *nn.Param) (*tensor.Dense, error) {
	d, err := Clone(p.Data())
	if err != nil {
		err = fmt.Errorf("parameter %s: %w", p.Name(), err)
	}
	return d, err
}

// Clone returns a copy of d, charged to the memory budget.
func Clone(d *tensor.Dense) (*tensor.Dense, error) {
	c, err := budget.Made(int64(len(dtype.Bytes(d))), func() *tensor.Dense { return dtype.Clone(d) })
	if err != nil {
		err = fmt.Errorf("a copy of a tensor of shape %v: %w", d.Shape(), err)
	}
	return c, err
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
		if p.Data() != nil && slices.Equal(p.Data().Shape(), d.Shape()) {
			copy(dtype.Bytes(p.Data()), dtype.Bytes(d))
			p.Changed()
		}
	}
}
