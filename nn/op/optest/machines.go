package optest

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// checkMachines runs outputs and gradients on the engine, twice because the second run finds
// memory in use, and on Gorgonia's TapeMachine. Both must agree with plain evaluation.
func (c *Case) checkMachines() error {
	roots, g, err := c.roots()
	if err != nil {
		return err
	}
	want, err := evaluate(roots, nil)
	if err != nil {
		return err
	}
	if err := onProgram(roots, want); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if len(roots) > 1 {
		for i, n := range roots {
			if err := onPool(nil, gorgonia.Nodes{n}, want[i:i+1]); err != nil {
				return fmt.Errorf("engine, for one result alone: %w", err)
			}
		}
	}
	if err := onPool(kernel.Cut(3), roots, want); err != nil {
		return fmt.Errorf("ranges in parts of three elements: %w", err)
	}
	if err := onTape(g, roots, want); err != nil {
		return fmt.Errorf("TapeMachine: %w", err)
	}
	return nil
}

// roots returns the outputs that are wanted and, where gradients are compared, the gradients.
func (c *Case) roots() (gorgonia.Nodes, *gorgonia.ExprGraph, error) {
	var d *backward
	var err error
	if c.NoGrad == "" {
		d, err = c.differentiate(c.In, nil, 3)
	} else {
		var b *built
		if b, err = c.build(c.In); err == nil {
			d = &backward{built: b}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	var roots gorgonia.Nodes
	for _, n := range append(append(gorgonia.Nodes{}, d.out...), d.grads...) {
		if n != nil {
			roots = append(roots, n)
		}
	}
	return roots, d.graph, nil
}

func onProgram(roots gorgonia.Nodes, want []dtype.Value) error {
	pool := kernel.NewPool(3)
	defer pool.Close()
	return onPool(pool, roots, want)
}

func onPool(pool *kernel.Pool, roots gorgonia.Nodes, want []dtype.Value) error {
	p, err := engine.Compile(engine.Options{Pool: pool}, roots...)
	if err != nil {
		return err
	}
	for range 2 {
		if err := p.Run(context.Background()); err != nil {
			return err
		}
		for i, n := range roots {
			v, err := plain(p.Value(n))
			if err == nil {
				err = Compare(v, want[i], 1e-5)
			}
			if err != nil {
				return fmt.Errorf("%v: %w", n, err)
			}
		}
	}
	return nil
}

func onTape(g *gorgonia.ExprGraph, roots gorgonia.Nodes, want []dtype.Value) error {
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		return err
	}
	for i, n := range roots {
		v, err := plain(n.Value())
		if err == nil {
			err = Compare(v, want[i], 1e-5)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", n, err)
		}
	}
	return nil
}
