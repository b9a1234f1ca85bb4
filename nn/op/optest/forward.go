package optest

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func (c *Case) tolerance() float64 {
	if c.Tol == 0 {
		return 1e-5
	}
	return c.Tol
}

// checkForward computes the outputs and compares them with the wanted ones and with the inferred
// types. The inputs must come out of it unchanged and share no memory with the outputs.
func (c *Case) checkForward() error {
	before := make([]dtype.Value, len(c.In))
	for i, v := range c.In {
		before[i] = clone(v)
	}
	b, err := c.build(c.In)
	if err != nil {
		return err
	}
	out, err := b.forward(nil)
	if err != nil {
		return err
	}
	for i, v := range c.In {
		if d := dense(v); d != nil && !bytes.Equal(d.Raw, dense(before[i]).Raw) {
			return fmt.Errorf("input %d was changed", i)
		}
	}
	for i, v := range out {
		if v == nil {
			continue
		}
		if err := conforms(b.call.Out[i], v); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		for k, w := range c.In {
			if overlap(dense(v), dense(w)) {
				return fmt.Errorf("output %d aliases input %d", i, k)
			}
		}
		if i < len(c.Want) && c.Want[i] != nil {
			if err := Compare(v, c.Want[i], c.tolerance()); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	for i := len(out); i < len(c.Want); i++ {
		if c.Want[i] != nil {
			return fmt.Errorf("output %d is missing", i)
		}
	}
	return nil
}

// conforms reports whether v is a value of type t.
func conforms(t op.Type, v dtype.Value) error {
	got := op.TypeOf(v)
	if got.Kind != t.Kind && t.Present() {
		return fmt.Errorf("inferred %v, produced %v", t, got)
	}
	if t.Kind != op.Tensor {
		return nil
	}
	same := func(have, want int) bool { return have == want || want < 0 }
	if got.DType != t.DType || !t.Unranked && !slices.EqualFunc(got.Sizes(), t.Sizes(), same) {
		return fmt.Errorf("inferred %v, produced %v", t.Concrete(), got)
	}
	return nil
}

func overlap(a, b *tensor.Dense) bool {
	if a == nil || b == nil || len(a.Raw) == 0 || len(b.Raw) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&a.Raw[0])), uintptr(unsafe.Pointer(&b.Raw[0]))
	return p < q+uintptr(len(b.Raw)) && q < p+uintptr(len(a.Raw))
}

// checkKernel calls the kernel itself: into memory full of rubbish, with one output only, and
// over the memory of an input where the operator allows it.
func (c *Case) checkKernel() error {
	b, err := c.build(c.In)
	if err != nil || b.call.Op.Lower != nil {
		return err
	}
	var core *engine.Core
	for _, n := range b.out {
		if n != nil {
			core = n.Op().(engine.Op).Core()
		}
	}
	if core == nil || core.Kernel == nil {
		return nil
	}
	want, err := b.forward(nil)
	if err != nil {
		return err
	}
	if err := c.runKernel(b, core, want, -1, -1); err != nil {
		return fmt.Errorf("memory not cleared before: %w", err)
	}
	for i := range want {
		if want[i] == nil || len(core.Out) == 1 {
			continue
		}
		if err := c.runKernel(b, core, want, i, -1); err != nil {
			return fmt.Errorf("only output %d asked for: %w", i, err)
		}
	}
	for _, k := range core.InPlace {
		if want[0] == nil || k >= len(c.In) || dense(c.In[k]) == nil || op.TypeOf(c.In[k]).DType != b.call.Out[0].DType || c.In[k].Size() != want[0].Size() {
			continue
		}
		if err := c.runKernel(b, core, want, -1, k); err != nil {
			return fmt.Errorf("in place of input %d: %w", k, err)
		}
	}
	return nil
}

// runKernel runs core with only one output (all: −1) and output 0 over an input (none: −1).
func (c *Case) runKernel(b *built, core *engine.Core, want []dtype.Value, only, over int) error {
	in := make([]*tensor.Dense, max(core.Inputs, len(c.In)))
	for i, v := range c.In {
		if d := dense(v); d != nil {
			in[i] = dtype.Clone(d)
		}
	}
	if b.key != nil {
		in[len(c.In)] = b.key.Value().(*tensor.Dense)
	}
	out := make([]*tensor.Dense, len(core.Out))
	for i, s := range core.Out {
		if s.DType.Type == nil || only >= 0 && i != only || i < len(want) && want[i] == nil {
			continue
		}
		out[i] = dtype.New(dtype.Of(s.DType), s.Shape...)
		for k := range out[i].Raw {
			out[i].Raw[k] = 0x3F
		}
	}
	if over >= 0 {
		out[0] = in[over]
		if !slices.Equal(out[0].Shape(), core.Out[0].Shape) {
			v, err := dtype.View(in[over], core.Out[0].Shape...)
			if err != nil {
				return err
			}
			out[0] = v
		}
	}
	if err := core.Kernel(nil, out, in); err != nil {
		return err
	}
	for i, w := range want {
		if w == nil || out[i] == nil {
			continue
		}
		tol := 1e-12
		if only >= 0 && op.TypeOf(w).DType == dtype.Float32 {
			tol = 1e-6 // a shorter way to one output may sum in another order
		}
		if err := Compare(out[i], w, tol); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}
