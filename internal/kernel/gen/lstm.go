package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lstm makes a time step of an LSTM with its usual activations, when the products are done: each
// number is read and written once.
func lstm() {
	lstmStep("lstmStep", false)
	lstmStep("lstmStepKept", true)
	lstmStepBack()
}

// apart is how far from each other gates are.
type apart struct{ once, thrice reg.Register }

// apartBy makes a register of elements one of bytes.
func apartBy(elements reg.Register) apart {
	a := apart{elements, GP64()}
	SHLQ(Imm(2), a.once)
	LEAQ(Mem{Base: a.once, Index: a.once, Scale: 2}, a.thrice)
	return a
}

// gate returns the place of a gate, of i, o, f and g, after base.
func (a apart) gate(base reg.Register, number int) Mem {
	m := Mem{Base: base}
	switch number {
	case 1, 2:
		m.Index, m.Scale = a.once, uint8(number)
	case 3:
		m.Index, m.Scale = a.thrice, 1
	}
	return m
}

// arguments loads pointers.
func arguments(names ...string) []reg.Register {
	list := make([]reg.Register, len(names))
	for i, name := range names {
		list[i] = Load(Param(name), GP64())
	}
	return list
}

// advanced moves pointers on.
func advanced(pointers []reg.Register) func(bytes int) {
	return func(bytes int) {
		for _, p := range pointers {
			ADDQ(U32(uint32(bytes)), p)
		}
	}
}

func lstmStep(name string, kept bool) {
	doc := name + ": c[i] = sigmoid(f)*c[i] + sigmoid(i)*tanh(g), h[i] = sigmoid(o)*tanh(c[i]) for n units, whose gates i, o, f and g are the sums of gates, stride elements apart, and bias, n apart"
	params := "gates, bias, c, h"
	names := []string{"gates", "bias", "c", "h"}
	if kept {
		doc += "; the activated gates replace gates, and cells and outputs receive c and tanh(c)"
		params += ", cells, outputs"
		names = append(names, "cells", "outputs")
	}
	TEXT(name, NOSPLIT, "func(n, stride int, "+params+" *float32)")
	Doc(doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	stride := Load(Param("stride"), GP64())
	p := arguments(names...)
	near := GP64()
	MOVQ(n, near)
	gates, biases := apartBy(stride), apartBy(near)
	bothWidths(func() {
		blocks(n, 1, func(_ int, k mask) {
			activated := func(g int, f func(vec) vec) vec {
				x, b := vector(), vector()
				load(gates.gate(p[0], g), k, x)
				load(biases.gate(p[1], g), k, b)
				VADDPS(b, x, x)
				y := f(x)
				if kept {
					store(y, k, gates.gate(p[0], g))
				}
				return y
			}
			c := vector()
			load(Mem{Base: p[2]}, k, c)
			VMULPS(activated(2, sigmoid), c, c)
			i := activated(0, sigmoid)
			VFMADD231PS(activated(3, tanh), i, c)
			store(c, k, Mem{Base: p[2]})
			if kept {
				store(c, k, Mem{Base: p[4]})
			}
			out := tanh(c)
			if kept {
				store(out, k, Mem{Base: p[5]})
			}
			VMULPS(activated(1, sigmoid), out, out)
			store(out, k, Mem{Base: p[3]})
		}, advanced(p))
	}, nil)
}

func lstmStepBack() {
	TEXT("lstmStepBack", NOSPLIT, "func(n, stride int, gates, outputs, before, dh, dc, dgates *float32)")
	Doc("lstmStepBack is the gradient of lstmStepKept: before are the cells before the step. It sets dgates to the gradients of the gates before their activation, and turns dc, which lacks what comes through dh, from the gradient of the cells after the step into that of the cells before it.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	stride := Load(Param("stride"), GP64())
	p := arguments("gates", "outputs", "before", "dh", "dc", "dgates")
	gates := apartBy(stride)
	bothWidths(func() {
		blocks(n, 1, func(_ int, k mask) {
			read := func(m Mem) vec {
				x := vector()
				load(m, k, x)
				return x
			}
			// sigmoidBack is d*y*(1-y), tanhBack d*(1-y²).
			sigmoidBack := func(d, y vec) vec { VMULPS(y, d, d); VFNMADD231PS(y, d, d); return d }
			tanhBack := func(d, y vec) vec { VFNMADD231PS(squared(y), d, d); return d }
			dh, dc := read(Mem{Base: p[3]}), read(Mem{Base: p[4]})
			o, out := read(gates.gate(p[0], 1)), read(Mem{Base: p[1]})
			through := product(dh, o)
			VADDPS(tanhBack(through, out), dc, dc)
			VMULPS(out, dh, dh)
			store(sigmoidBack(dh, o), k, gates.gate(p[5], 1))
			i, g := read(gates.gate(p[0], 0)), read(gates.gate(p[0], 3))
			store(sigmoidBack(product(dc, g), i), k, gates.gate(p[5], 0))
			store(tanhBack(product(dc, i), g), k, gates.gate(p[5], 3))
			f, before := read(gates.gate(p[0], 2)), read(Mem{Base: p[2]})
			store(sigmoidBack(product(dc, before), f), k, gates.gate(p[5], 2))
			VMULPS(f, dc, dc)
			store(dc, k, Mem{Base: p[4]})
		}, advanced(p))
	}, nil)
}
