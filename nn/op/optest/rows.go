package optest

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// checkRows selects indices of every axis of output 0: computing only these, as the operator
// declares for its rows, must equal selecting them from the whole output.
func (c *Case) checkRows() error {
	o := c.op()
	if o.Scheduling.Rows == nil && !o.Scheduling.View {
		return nil
	}
	b, err := c.build(c.In)
	if err != nil || b.out[0] == nil {
		return err
	}
	for axis, d := range b.call.Out[0].Shape {
		var index []int64
		switch {
		case d.Size >= 4:
			index = []int64{-1, 0}
		case d.Size >= 2:
			index = []int64{int64(d.Size) - 1}
		default:
			continue
		}
		if err := pickedRows(b, axis, index); err != nil {
			return fmt.Errorf("indices %d of axis %d: %w", index, axis, err)
		}
	}
	return nil
}

func pickedRows(b *built, axis int, index []int64) error {
	v, err := dtype.FromSlice(index, len(index))
	if err != nil {
		return err
	}
	k, err := op.Const(b.graph, v)
	if err != nil {
		return err
	}
	n, err := b.call.Apply1(std.GatherConfig{Axis: axis}, b.out[0], k)
	if err != nil {
		return err
	}
	roots, err := std.NeededRows(context.Background(), gorgonia.Nodes{n})
	if err != nil {
		return err
	}
	want, err := evaluate(gorgonia.Nodes{n}, nil)
	if err != nil {
		return err
	}
	got, err := evaluate(roots, nil)
	if err != nil {
		return err
	}
	return Compare(got[0], want[0], 1e-5)
}
