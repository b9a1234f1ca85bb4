package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// gru makes a time step of a GRU with its usual activations whose reset gate multiplies the product, when the products
// are done: each number is read and written once.
func gru() {
	gruStep("gruStep", false)
	gruStep("gruStepKept", true)
}

func gruStep(name string, kept bool) {
	doc := name + ": h[i] = g + z*(h[i]-g) for n units with z = sigmoid(gates+sums), r = sigmoid(gates+sums) of the next n, and g = tanh(gates + r*(sums+bias)) of the last n"
	params := "gates, sums, bias, h"
	names := []string{"gates", "sums", "bias", "h"}
	if kept {
		doc += "; z, r and g replace gates, and linear and states receive sums+bias and h"
		params += ", linear, states"
		names = append(names, "linear", "states")
	}
	TEXT(name, NOSPLIT, "func(n int, "+params+" *float32)")
	Doc(doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	p := arguments(names...)
	near := GP64()
	MOVQ(n, near)
	gates := apartBy(near)
	bothWidths(func() {
		blocks(n, 1, func(_ int, k mask) {
			read := func(m Mem) vec {
				x := vector()
				load(m, k, x)
				return x
			}
			keepAt := func(x vec, m Mem) {
				if kept {
					store(x, k, m)
				}
			}
			activated := func(gate int) vec {
				x := read(gates.gate(p[0], gate))
				VADDPS(read(gates.gate(p[1], gate)), x, x)
				y := sigmoid(x)
				keepAt(y, gates.gate(p[0], gate))
				return y
			}
			u := read(gates.gate(p[1], 2))
			VADDPS(read(Mem{Base: p[2]}), u, u)
			if kept {
				store(u, k, Mem{Base: p[4]})
			}
			VMULPS(activated(1), u, u)
			VADDPS(read(gates.gate(p[0], 2)), u, u)
			g := tanh(u)
			keepAt(g, gates.gate(p[0], 2))
			z, h := activated(0), read(Mem{Base: p[3]})
			VSUBPS(g, h, h)
			VFMADD213PS(g, z, h)
			store(h, k, Mem{Base: p[3]})
			if kept {
				store(h, k, Mem{Base: p[5]})
			}
		}, advanced(p))
	}, nil)
}
