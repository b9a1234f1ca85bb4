package optest

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// checkFused runs an operator that declares patterns together with one that follows it: fused or not,
// the results must be those of the separate operators.
func (c *Case) checkFused() error {
	if c.op().Scheduling.Patterns == nil {
		return nil
	}
	b, err := c.build(c.In)
	if err != nil || b.out[0] == nil || b.call.Out[0].DType != dtype.Float32 {
		return err
	}
	n, err := b.call.Apply1(op.Plain("Neg"), b.out[0])
	if err != nil {
		return err
	}
	roots := gorgonia.Nodes{n}
	want, err := evaluate(roots, nil)
	if err != nil {
		return err
	}
	if err := onProgram(roots, want); err != nil {
		return fmt.Errorf("followed by Neg: %w", err)
	}
	return nil
}
