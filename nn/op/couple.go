package op

import "github.com/graft-ml/graft/nn/op/coupling"

// Couple returns the identity coupling of two axes.
func Couple(from, to coupling.Axis) coupling.Coupling { return coupling.Coupling{From: from, To: to} }

// CoupleAll couples every axis of input i with the axis of output 0 that broadcasting aligns it with. Dimensions of
// length 1 that are expanded are left out.
func CoupleAll(c *Call, i int) []coupling.Coupling {
	var list []coupling.Coupling
	if c == nil || i < 0 || i >= len(c.In) || len(c.Out) == 0 {
		return nil
	}
	in, out := c.In[i].Shape, c.Out[0].Shape
	for a := range in {
		b := a + len(out) - len(in)
		if b < 0 || in[a].Differ(out[b]) {
			continue
		}
		list = append(list, Couple(coupling.In(i, a), coupling.Out(0, b)))
	}
	return list
}

// Elementwise couples every input with the output, as broadcasting arithmetic does. It is a Couple function.
func Elementwise(c *Call) []coupling.Coupling {
	var list []coupling.Coupling
	if c == nil {
		return nil
	}
	for i := range c.In {
		if c.Has(i) {
			list = append(list, CoupleAll(c, i)...)
		}
	}
	return list
}
