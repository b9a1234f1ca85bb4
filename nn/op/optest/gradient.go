package optest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// backward is a case together with its gradients.
type backward struct {
	*built
	outs  []int          // the outputs that have a gradient coming in
	seeds []dtype.Value  // those gradients
	wrt   []int          // the inputs that have a gradient
	grads gorgonia.Nodes // their gradients
}

// differentiate builds the case with gradients of the given outputs (nil: all that have one).
// wrt is empty when nothing can be differentiated.
func (c *Case) differentiate(in []dtype.Value, outs []int, seed uint64) (*backward, error) {
	b, err := c.build(in)
	if err != nil {
		return nil, err
	}
	d := &backward{built: b}
	if outs == nil {
		for i := range b.out {
			outs = append(outs, i)
		}
	}
	wrt := map[int]bool{}
	for _, o := range outs {
		reached := b.reach(o)
		if len(reached) == 0 {
			continue
		}
		d.outs = append(d.outs, o)
		for _, i := range reached {
			wrt[i] = true
		}
	}
	r := rand.New(rand.NewPCG(seed, 7))
	var from, seeds, to gorgonia.Nodes
	for _, o := range d.outs {
		w := normal(r, b.call.Out[o].DType, b.call.Out[o].Sizes()...)
		n, err := op.Input(b.graph, fmt.Sprintf("dout%d", o), op.TypeOf(w), w)
		if err != nil {
			return nil, err
		}
		d.seeds = append(d.seeds, w)
		from, seeds = append(from, b.out[o]), append(seeds, n)
	}
	for i := range b.in {
		if wrt[i] {
			d.wrt = append(d.wrt, i)
			to = append(to, b.in[i])
		}
	}
	if len(d.wrt) == 0 {
		return d, nil
	}
	d.grads, err = op.Backpropagate(context.Background(), from, seeds, to)
	return d, err
}

// reach lists the inputs through which a gradient of output o flows.
func (b *built) reach(o int) []int {
	if b.out[o] == nil || !b.call.Out[o].DType.IsFloat() || b.call.Out[o].Kind != op.Tensor {
		return nil
	}
	seen := map[*gorgonia.Node]bool{}
	var walk func(n *gorgonia.Node)
	walk = func(n *gorgonia.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		kids := op.Children(n)
		sd, ok := n.Op().(gorgonia.SDOp)
		if !ok {
			return
		}
		for k, diff := range sd.DiffWRT(len(kids)) {
			if diff {
				walk(kids[k])
			}
		}
	}
	walk(b.out[o])
	var list []int
	for i, n := range b.in {
		if n != nil && seen[n] {
			list = append(list, i)
		}
	}
	return list
}

// checkGradient compares gradients with differences in float64: of each output alone, of all
// together, and then those in float32 with those in float64.
func (c *Case) checkGradient() error {
	if c.NoGrad != "" {
		return nil
	}
	in, some := c.inputsAs(dtype.Float64)
	all, err := c.differentiate(in, nil, 1)
	if err != nil || len(all.wrt) == 0 {
		return err
	}
	if !some {
		return fmt.Errorf("%v has a gradient but takes no float64 to check it with", c.op())
	}
	if err := c.compareDifferences(all, in); err != nil {
		return err
	}
	if len(all.outs) > 1 {
		for _, o := range all.outs {
			one, err := c.differentiate(in, []int{o}, uint64(o)+2)
			if err == nil {
				err = c.compareDifferences(one, in)
			}
			if err != nil {
				return fmt.Errorf("of output %d alone: %w", o, err)
			}
		}
	}
	return c.compareGradientTypes(all)
}

// compareDifferences checks every gradient of d along random directions.
func (c *Case) compareDifferences(d *backward, in []dtype.Value) error {
	grads, err := evaluate(d.grads, nil)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(11, 13))
	for k, i := range d.wrt {
		if slices.Contains(c.Constant, i) {
			continue
		}
		if !finite(grads[k]) {
			return fmt.Errorf("gradient of input %d is not finite: %v", i, grads[k])
		}
		for range 3 {
			u := normal(r, dtype.Float64, in[i].Shape()...)
			if err := c.along(d, in, i, dtype.Slice[float64](u), dtype.Slice[float64](dense(grads[k]))); err != nil {
				return fmt.Errorf("gradient of input %d: %w", i, err)
			}
		}
	}
	return nil
}

func finite(v dtype.Value) bool {
	x, err := dtype.Float64s(dense(v))
	if err != nil {
		return false
	}
	for _, f := range x {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// along compares the gradient of input i with a central difference in direction u.
func (c *Case) along(d *backward, in []dtype.Value, i int, u, grad []float64) error {
	const h = 1e-5
	var loss [3]float64
	for k, s := range []float64{-h, 0, h} {
		moved := dtype.Clone(dense(in[i]))
		for e, x := range dtype.Slice[float64](moved) {
			dtype.Slice[float64](moved)[e] = x + s*u[e]
		}
		out, err := d.forward(map[*gorgonia.Node]gorgonia.Value{d.in[i]: moved})
		if err != nil {
			return err
		}
		for o, w := range d.seeds {
			loss[k] += dot(out[d.outs[o]], w)
		}
	}
	want, got, scale := (loss[2]-loss[0])/(2*h), 0.0, 1.0
	for e := range grad {
		got += grad[e] * u[e]
		scale = max(scale, math.Abs(grad[e]*u[e]))
	}
	scale = max(scale, math.Abs(loss[1])*1e-3)
	tol := c.GradTol
	if tol == 0 {
		tol = 1e-6
	}
	if math.Abs(got-want) <= tol*scale {
		return nil
	}
	left, right := (loss[1]-loss[0])/h, (loss[2]-loss[1])/h
	if math.Abs(left-right) > 1e-2*scale {
		return fmt.Errorf("an input sits on a kink: slopes are %v and %v", left, right)
	}
	return fmt.Errorf("along a direction it is %v, differences give %v", got, want)
}

func dot(a, b dtype.Value) (s float64) {
	x, _ := dtype.Float64s(dense(a))
	y, _ := dtype.Float64s(dense(b))
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

// compareGradientTypes computes the gradients in float32 too.
func (c *Case) compareGradientTypes(wide *backward) error {
	in, some := c.inputsAs(dtype.Float32)
	if !some {
		return nil
	}
	d, err := c.differentiate(in, nil, 1)
	if err != nil {
		return fmt.Errorf("float32: %w", err)
	}
	a, err := evaluate(d.grads, nil)
	if err != nil {
		return fmt.Errorf("float32: %w", err)
	}
	b, err := evaluate(wide.grads, nil)
	if err != nil {
		return err
	}
	for k, i := range d.wrt {
		if err := Compare(As(dtype.Float64, dense(a[k])), b[k], max(1e-4, c.tolerance())); err != nil {
			return fmt.Errorf("float32 gradient of input %d: %w", i, err)
		}
	}
	return nil
}
