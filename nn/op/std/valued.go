package std

import (
	"context"
	"time"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// valueFunction prepares an operator that computes on whole values: results that do not depend on the run
// are computed once. Such operators also support tensors of strings. Long loops check whether the
// pool is stopped.
type valueFunction func(c *op.Call) (func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error), error)

// kernel makes it a Kernel.
func (prepare valueFunction) kernel(c *op.Call) (op.Kernel, error) {
	f, err := prepare(c)
	if err != nil {
		return nil, err
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(workspace(out) + workspace(in))
		if err != nil {
			return err
		}
		defer release()
		args := make([]dtype.Value, len(c.In))
		for i := range args {
			if d := in[i]; d != nil {
				args[i] = d
			}
		}
		res, err := f(pool(x), args)
		if err != nil {
			return err
		}
		for i, d := range out {
			if d == nil {
				continue
			}
			r, ok := res[i].(*tensor.Dense)
			if !ok || len(r.Raw) != len(d.Raw) {
				return c.Errorf("output %d is %v, should be %v", i, op.TypeOf(res[i]), op.TypeOf(d))
			}
			kernel.Copy(pool(x), d.Raw, r.Raw)
		}
		return nil
	}, nil
}

// workspaceOfNumber is about how many bytes computing on whole values takes for each number: as float64, and converted.
const workspaceOfNumber = 16

// workspace estimates the memory for computing on whole values, in bytes.
func workspace(list []*tensor.Dense) (n int64) {
	for _, d := range list {
		if d != nil {
			n += workspaceOfNumber * int64(d.Shape().TotalSize())
		}
	}
	return n
}

// strings returns the replacement of a Kernel for strings.
func (prepare valueFunction) strings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	f, err := prepare(c)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, v := range in {
		if d, ok := v.(*tensor.Dense); ok {
			n += workspaceOfNumber * d.Shape().TotalSize()
		}
	}
	for _, t := range c.Out {
		if t.Static() && t.DType != dtype.String {
			n += workspaceOfNumber * t.Elements()
		}
	}
	release, err := reserve(c, n)
	if err != nil {
		return nil, err
	}
	defer release()
	return f(poolOf(c), in)
}

// checkEvery is the number of elements that a loop processes between checks whether the run is stopped.
const checkEvery = kernel.CheckEvery

// checkAt checks whether the run is stopped, once in checkEvery steps.
func checkAt(p *kernel.Pool, step int) {
	if step%checkEvery == 0 {
		p.Check()
	}
}

// lateTime limits a computation that begins when the time for folding is over, as it may be when a graph is differentiated.
const lateTime = 300 * time.Millisecond

// poolOf returns the pool for computations on values outside of kernels, also during type inference and lowering: the calling
// goroutine, stopped by the call's context.
func poolOf(c *op.Call) *kernel.Pool {
	p, ctx := (*kernel.Pool)(nil).Stoppable(), c.Context()
	if all := engine.WithoutLimit(ctx); ctx.Err() != nil && all.Err() == nil {
		late, stop := context.WithCancel(all)
		time.AfterFunc(lateTime, stop)
		ctx = late
	}
	p.StopBy(ctx.Done())
	return p
}

// numbersOf returns a copy of the elements of a tensor of numbers.
func numbersOf(p *kernel.Pool, c *op.Call, i int, v dtype.Value) ([]float64, error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return nil, c.Mismatch(i, "a tensor of numbers", op.TypeOf(v))
	}
	return float64s(p, d)
}

// tensorOf returns a tensor of type t with the given numbers, whose memory it may use.
func tensorOf(p *kernel.Pool, t op.DType, v []float64, shape ...int) (*tensor.Dense, error) {
	d, err := dtype.FromSlice(v, shape...)
	if err != nil {
		return nil, err
	}
	return convertTo(p, t, d)
}
