package optest

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// together changes all axes of one length, in all inputs: the call may remain valid then, whereas changing one axis
// violates a condition on two inputs.
func (c *Case) together(types []op.Type) []variant {
	var lengths []int
	count := map[int]int{}
	for _, t := range types {
		for _, d := range t.Shape {
			if count[d.Size]++; count[d.Size] == 2 {
				lengths = append(lengths, d.Size)
			}
		}
	}
	var list []variant
	for _, n := range lengths {
		for _, to := range []int{0, n + 1} {
			if to == n {
				continue
			}
			changed := make([]op.Type, len(types))
			for i, t := range types {
				changed[i] = t
				if len(t.Shape) > 0 {
					shape := append([]op.Dim{}, t.Shape...)
					for a, d := range shape {
						if d.Size == n {
							shape[a] = op.D(to)
						}
					}
					changed[i] = t.With(shape...)
				}
			}
			list = append(list, variant{name: fmt.Sprintf("%d=%d", n, to), types: changed, values: c.In})
		}
	}
	return list
}

// partly returns variants of what may be known of integer inputs: the numbers, symbols, symbols with sizes, a symbol
// beside numbers; of one input, and then of all, including booleans. Numbers below 2 stay, since they
// may be axes or have a special meaning.
func (c *Case) partly(types []op.Type) []variant {
	kinds := []struct {
		name string
		of   func(at int, symbol, size op.Dim) op.Dim
	}{
		{"=", func(_ int, _, size op.Dim) op.Dim { return size }},
		{"=symbols", func(_ int, symbol, _ op.Dim) op.Dim { return symbol }},
		{"=sizes", func(_ int, symbol, size op.Dim) op.Dim { return op.Dim{Size: size.Size, Sym: symbol.Sym} }},
		{"=symbol,", func(at int, symbol, size op.Dim) op.Dim {
			if at > 0 {
				return size
			}
			return symbol
		}},
		{"=,symbol", func(at int, symbol, size op.Dim) op.Dim {
			if at > 0 {
				return symbol
			}
			return size
		}},
	}
	var list []variant
	for _, k := range kinds {
		whole := make([]op.Known, len(c.In))
		inputs := 0
		for i, v := range c.In {
			d := dense(v)
			if d != nil && d.Dims() <= 1 && dtype.DTypeOf(v) == dtype.Bool {
				whole[i] = op.Known{Value: v}
			}
			if d == nil || d.Dims() > 1 || !dtype.DTypeOf(v).IsInteger() {
				continue
			}
			n, err := dtype.Ints(d)
			if err != nil || len(n) > 8 {
				continue
			}
			dims := make([]op.Dim, len(n))
			for at, x := range n {
				if dims[at] = op.D(x); x > 1 {
					dims[at] = k.of(at, op.Sym(fmt.Sprintf("v%d_%d", i, at)), op.D(x))
				}
			}
			whole[i] = op.Known{Dims: dims}
			inputs++
			alone := make([]op.Known, len(c.In))
			alone[i] = whole[i]
			list = append(list, variant{name: fmt.Sprintf("%d%s", i, k.name), types: types, values: c.In, known: alone})
		}
		if inputs > 1 {
			list = append(list, variant{name: "all" + k.name, types: types, values: c.In, known: whole})
		}
	}
	return list
}

// checkPartly infers outputs from partly known integer inputs. Inference may leave types open, but must not
// contradict the types inferred from all values.
func (c *Case) checkPartly() error {
	b, err := c.build(c.In)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(b.call.Out, func(t op.Type) bool { return t.Kind == op.Tensor && t.Static() && t.Elements() == 0 }) {
		return nil // expressions assume that a symbolic range is inside its axis
	}
	for _, v := range c.partly(typesOf(c.In)) {
		call, err := c.call(v.types)
		if err != nil {
			return err
		}
		copy(call.Known, b.call.Known)
		env := map[string]int{}
		for i, k := range v.known {
			if k.Dims == nil && k.Value == nil {
				continue
			}
			if call.Known[i] = k; k.Dims == nil {
				continue
			}
			n, err := dtype.Ints(dense(c.In[i]))
			if err != nil {
				return err
			}
			for at, d := range k.Dims {
				if d.Sym != "" {
					env[d.Sym] = n[at]
				}
			}
		}
		if err := call.Resolve(); err != nil {
			if _, needs := op.Needs(err); needs {
				continue
			}
			return fmt.Errorf("%s: %w", v.name, err)
		}
		for i, t := range call.Out[:min(call.Outputs, len(call.Out))] {
			if call.Wants(i) {
				if err := fits(t, b.call.Out[i], env, false); err != nil {
					return fmt.Errorf("%s: output %d: %w", v.name, i, err)
				}
			}
		}
	}
	return nil
}
