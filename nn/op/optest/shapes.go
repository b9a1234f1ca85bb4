package optest

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// checkShapes infers the outputs with symbols in place of dimensions and substitutes the sizes. Inference may leave
// dimensions unknown, but they must not be wrong.
func (c *Case) checkShapes() error {
	b, err := c.build(c.In)
	if err != nil {
		return err
	}
	for _, v := range []struct {
		name       string
		sizes, all bool
	}{{"symbols with sizes", true, true}, {"symbols", false, true}, {"a symbolic first dimension", false, false}} {
		if err := c.inferSymbolic(b, v.sizes, v.all); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

func (c *Case) inferSymbolic(b *built, sizes, all bool) error {
	types, env := symbolic(c.op(), typesOf(c.In), sizes, all)
	call, err := c.call(types)
	if err != nil {
		return err
	}
	copy(call.Known, b.call.Known)
	if err := call.Resolve(); err != nil {
		if _, needs := op.Needs(err); needs {
			return nil
		}
		return err
	}
	for i, t := range call.Out[:min(call.Outputs, len(call.Out))] {
		if call.Wants(i) {
			if err := fits(t, b.call.Out[i], env, sizes); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// symbolic replaces dimensions of data inputs by symbols. A length of 1 stays: a symbol would
// not report whether it is stretched.
func symbolic(o *op.Op, types []op.Type, sizes, all bool) ([]op.Type, map[string]int) {
	env := map[string]int{}
	formal := o.In.List()
	for i, t := range types {
		s, _ := op.At(formal, i)
		if t.Kind != op.Tensor || !t.Present() || s.Role != op.Data {
			continue
		}
		shape := append([]op.Dim{}, t.Shape...)
		for a, d := range shape {
			if d.Size == 1 || !all && (a > 0 || len(shape) < 2) {
				continue
			}
			name := fmt.Sprintf("d%d", d.Size)
			env[name] = d.Size
			shape[a] = op.Sym(name)
			if sizes {
				shape[a].Size = d.Size
			}
		}
		types[i].Shape = shape
	}
	return types, env
}

// fits reports whether the symbolic type t can be the concrete one.
func fits(t, concrete op.Type, env map[string]int, sizes bool) error {
	if t.Kind != concrete.Kind || t.Kind == op.Tensor && t.DType != concrete.DType {
		return fmt.Errorf("inferred %v, should be %v", t, concrete)
	}
	if t.Kind != op.Tensor || t.Unranked {
		return nil
	}
	if len(t.Shape) != len(concrete.Shape) {
		return fmt.Errorf("inferred %v, should be %v", t, concrete)
	}
	for a, d := range t.Shape {
		want := concrete.Shape[a].Size
		if d.Known() && d.Size != want || sizes && !d.Known() && concrete.Shape[a].Known() {
			return fmt.Errorf("inferred %v with size %d in dimension %d, should be %v", t, d.Size, a, concrete)
		}
		if d.Sym == "" {
			continue
		}
		if n, err := d.Eval(env); err != nil || n != want {
			return fmt.Errorf("inferred %v; dimension %d gives %d, should be %v (%v)", t, a, n, concrete, err)
		}
	}
	return nil
}

// checkDims compares shape arithmetic, numbers and symbols, with the outputs.
func (c *Case) checkDims() error {
	if c.op().Dims == nil {
		return nil
	}
	b, err := c.build(c.In)
	if err != nil {
		return err
	}
	out, err := b.forward(nil)
	if err != nil {
		return err
	}
	for _, symbols := range []bool{false, true} {
		call, err := c.call(typesOf(c.In))
		if err != nil {
			return err
		}
		env := map[string]int{}
		for i, v := range c.In {
			if d := dense(v); d != nil && d.Dims() <= 1 {
				knowDims(call, i, v, symbols, env)
			}
		}
		if err := call.Resolve(); err != nil {
			if _, needs := op.Needs(err); needs {
				continue
			}
			return err
		}
		for i, k := range call.Op.Dims(call) {
			if i < len(out) && out[i] != nil {
				if err := dimsFit(k, out[i], env); err != nil {
					return fmt.Errorf("output %d: %w", i, err)
				}
			}
		}
	}
	return nil
}

// knowDims makes the value of input i known to the call, optionally as symbols.
func knowDims(call *op.Call, i int, v dtype.Value, symbols bool, env map[string]int) {
	call.Known[i].Value = v
	n, err := dtype.Ints(dense(v))
	if !symbols || err != nil || dtype.DTypeOf(v) != dtype.Int64 {
		return
	}
	list := make([]op.Dim, len(n))
	for a, x := range n {
		if list[a] = op.D(x); x > 1 {
			name := fmt.Sprintf("v%d", x)
			env[name] = x
			list[a].Sym = name
		}
	}
	call.Known[i] = op.Known{Dims: list}
}

func dimsFit(k op.Known, v dtype.Value, env map[string]int) error {
	if k.Value != nil {
		return Compare(k.Value, v, 1e-6)
	}
	if k.Dims == nil {
		return nil
	}
	n, err := dtype.Ints(dense(v))
	if err != nil {
		return err
	}
	if len(n) != len(k.Dims) {
		return fmt.Errorf("%d dimensions are known, the output has %v", len(k.Dims), n)
	}
	for a, d := range k.Dims {
		if d == op.Unknown() {
			continue
		}
		if d.Known() && d.Size != n[a] {
			return fmt.Errorf("element %d is known as %d, the output has %v", a, d.Size, n)
		}
		if d.Sym != "" {
			if x, err := d.Eval(env); err != nil || x != n[a] {
				return fmt.Errorf("element %d is known as %v = %d, the output has %v (%v)", a, d, x, n, err)
			}
		}
	}
	return nil
}
