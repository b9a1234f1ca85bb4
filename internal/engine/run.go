package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

// Run computes the roots. If ctx is done, it stops between two steps or within a kernel's loops, and returns the
// error of ctx. A panic in a kernel is returned as an error that names the core; the program may run again after an
// error.
func (p *Program) Run(ctx context.Context) error {
	if p.hasCallbacks {
		return errors.New("engine: the program passes values on: use RunWithCallbacks")
	}
	return p.RunWithCallbacks(ctx, nil)
}

// RunWithCallbacks is Run for a program that passes values on to r. From the first Take on, neither ctx nor the memory
// limit ends it; scratch memory of kernels may then exceed the limit.
func (p *Program) RunWithCallbacks(ctx context.Context, r Receiver) (err error) {
	if !p.running.CompareAndSwap(false, true) {
		return errors.New("engine: the program is already running or closed")
	}
	if ctx == nil {
		ctx = context.Background()
	}
	var at *step
	defer func() {
		if r := recover(); r == (kernel.Stopped{}) {
			err = ctx.Err()
		} else if r != nil {
			err = panicked(at, r)
		}
		if err != nil {
			p.forget()
		}
		p.exec.pool.StopBy(nil)
		if p.memory.must {
			kernel.Committing.Add(-1)
		}
		p.exec.ctx, p.exec.at, p.memory.must = nil, nil, false
		p.running.Store(false)
	}()
	p.exec.ctx = ctx
	p.exec.pool.StopBy(ctx.Done())
	for _, v := range p.inputs {
		if err := v.load(); err != nil {
			return err
		}
	}
	for _, at = range p.steps {
		if err := p.exec.ctx.Err(); err != nil {
			return err
		}
		p.exec.scratch.reset(at.holes)
		switch at.kind {
		case lossReadyStep:
			if err := r.Begin(); err != nil {
				return err
			}
		case checkStep:
			if at.in[0].dense == nil {
				return fmt.Errorf("engine: %s is not a tensor of numbers", at.in[0].name())
			}
			if err := r.Check(at.callback, at.in[0].dense, 0); err != nil {
				return err
			}
		case commitStep:
			if err := at.commit(r, p.exec.pool); err != nil {
				return err
			}
			kernel.Committing.Add(1)
			p.exec.ctx, p.memory.must = context.WithoutCancel(ctx), true
			p.exec.pool.StopBy(nil)
		case callbackStep:
			if at.in[0].dense == nil {
				return fmt.Errorf("engine: %s is not a tensor of numbers", at.in[0].name())
			}
			if err := r.Take(at.callback, at.in[0].dense); err != nil {
				return err
			}
		default:
			if err := at.run(&p.exec); err != nil {
				return fmt.Errorf("engine: %s: %w", at.name, err)
			}
		}
		for _, v := range at.done {
			v.val, v.dense = nil, nil
		}
	}
	return nil
}

// forget releases the heap values of a run that ended early.
func (p *Program) forget() {
	for _, s := range p.steps {
		for _, v := range s.done {
			v.val, v.dense = nil, nil
		}
	}
}

func panicked(s *step, r any) error {
	name := "run"
	if s != nil {
		name = s.name
	}
	if full, ok := r.(*MemoryError); ok {
		return fmt.Errorf("engine: %s: %w", name, full)
	}
	if err, ok := r.(error); ok {
		return fmt.Errorf("engine: %s: panic: %w", name, err)
	}
	return fmt.Errorf("engine: %s: panic: %v", name, r)
}

// run executes one step.
func (s *step) run(x *Exec) error {
	switch s.kind {
	case funcStep:
		return s.runFunc(x)
	case foreignStep:
		return s.runForeign()
	}
	for i, v := range s.in {
		if v == nil {
			continue
		}
		if v.dense == nil {
			return fmt.Errorf("input %d is a %T, not a tensor", i, v.val)
		}
		s.din[i] = v.dense
	}
	switch s.kind {
	case kernelStep:
		x.at = s
		return s.core.Kernel(x, s.dout, s.din)
	case sumStep:
		x.pool.Range(s.sum.n, sumGrain, s.sum.run)
	case copyStep:
		kernel.Copy(x.pool, s.dout[0].Raw, s.din[0].Raw)
	case viewStep:
		return s.out[0].borrow(s.din[0])
	}
	return nil
}

// borrow makes v a view of d, which may have another address than in the previous run.
func (v *value) borrow(d *tensor.Dense) (err error) {
	if v.dense == nil || unsafe.SliceData(v.dense.Raw) != unsafe.SliceData(d.Raw) {
		v.dense, err = dtype.View(d, v.shape...)
	}
	return err
}

// runFunc runs a core that allocates its own values. It may keep its arguments, so values in the arena are copied.
func (s *step) runFunc(x *Exec) error {
	in, pace := make([]gorgonia.Value, len(s.in)), x.pool.Pace()
	for i, v := range s.in {
		pace.Did(64)
		switch {
		case v == nil:
		case v.kind == placed:
			c, err := copyHeld(x.pool, v.dense)
			if err != nil {
				return err
			}
			in[i] = c
		case v.dense != nil:
			in[i] = v.dense
		default:
			in[i] = v.val
		}
	}
	out, err := s.core.Func(x, in)
	if err != nil {
		return err
	}
	if len(out) != len(s.out) {
		return fmt.Errorf("wanted %d outputs, got %d", len(s.out), len(out))
	}
	for i, v := range s.out {
		if v == nil {
			continue
		}
		if out[i] == nil {
			return fmt.Errorf("output %d is missing", i)
		}
		if err := v.hold(out[i]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		if !slices.Contains(in, out[i]) {
			if err := Hold(x.Context(), out[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
