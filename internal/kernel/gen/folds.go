package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// folds makes the reductions of whole arrays to one number, with four vector
// accumulators.
func folds() {
	fold("sumV", "the sum of x", "x", false, func(s, x, _, _ vec) { VADDPS(x, s, s) })
	fold("sumSqV", "the sum of x²", "x", false, func(s, x, _, _ vec) { VFMADD231PS(x, x, s) })
	fold("sumAbsV", "the sum of |x|", "x", false, func(s, x, _, _ vec) { andC(i8(otherBits), x, x); VADDPS(x, s, s) })
	fold("dotV", "the sum of x·y", "xy", false, func(s, x, y, _ vec) { VFMADD231PS(x, y, s) })
	fold("sumSqDiffV", "the sum of (x-m[0])²", "x", true, func(s, x, _, m vec) { VSUBPS(m, x, x); VFMADD231PS(x, x, s) })
	fold("dotDiffV", "the sum of (x-m[0])·y", "xy", true, func(s, x, y, m vec) { VSUBPS(m, x, x); VFMADD231PS(x, y, s) })
	maxFold()
}

// fold makes one sum over one or two arrays, named by a letter each; f adds to s, with the number
// at m in all lanes of m. In lanes beyond the end x, y and m are 0.
func fold(name, doc, arrays string, scalar bool, f func(s, x, y, m vec)) {
	params := "x"
	if len(arrays) == 2 {
		params += ", y"
	}
	if scalar {
		params += ", m"
	}
	TEXT(name, NOSPLIT, "func(n int, "+params+" *float32) float32")
	Doc(name + " returns " + doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	var bases []reg.Register
	for _, a := range arrays {
		bases = append(bases, Load(Param(string(a)), GP64()))
	}
	var at reg.Register
	if scalar {
		at = Load(Param("m"), GP64())
	}
	result := XMM()
	bothWidths(func() {
		var m vec
		if scalar {
			m = broadcast(at, 1)[0]
		}
		s := cleared(4)
		blocks(n, len(s), func(vectors int, k mask) {
			this := m
			if scalar && k != nil {
				this = vector()
				VMOVAPS(m, this)
				keep(k, this)
			}
			for v := range vectors {
				x := make([]vec, 2)
				for i, base := range bases {
					x[i] = vector()
					load(Mem{Base: base, Disp: current.bytes() * v}, k, x[i])
				}
				f(s[v], x[0], x[1], this)
			}
		}, func(bytes int) {
			for _, r := range bases {
				ADDQ(U32(uint32(bytes)), r)
			}
		})
		VMOVAPS(across(s, VADDPS), result)
	}, func() { Store(result, ReturnIndex(0)) })
}

func maxFold() {
	foldFrom("maxV", "the largest x, NaN if any is, -Inf if n is 0", minusInf, VMAXPS, true)
}

// otherFolds makes smallest elements and products.
func otherFolds() {
	foldFrom("minV", "the smallest x, NaN if any is, +Inf if n is 0", math.Inf(1), VMINPS, true)
	foldFrom("prodV", "the product of x, 1 if n is 0", 1, VMULPS, false)
}

// foldFrom makes a reduction of one array by an instruction, from a number on that changes nothing. With ordered,
// the result is NaN if any element is.
func foldFrom(name, doc string, start float64, combine func(...Op), ordered bool) {
	TEXT(name, NOSPLIT, "func(n int, x *float32) float32")
	Doc(name + " returns " + doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	xp := Load(Param("x"), GP64())
	result := XMM()
	bothWidths(func() {
		s := make([]vec, 4)
		for i := range s {
			s[i] = constant(start)
		}
		var nan mask
		if ordered {
			nan = noLanes()
		}
		blocks(n, len(s), func(vectors int, k mask) {
			for v := range vectors {
				x := vector()
				load(Mem{Base: xp, Disp: current.bytes() * v}, k, x)
				if k != nil {
					y := x
					x = constant(start)
					blend(k, y, x)
				}
				if ordered {
					join(compare(x, unordered, x), nan)
				}
				combine(x, s[v], s[v])
			}
		}, func(bytes int) { ADDQ(U32(uint32(bytes)), xp) })
		VMOVAPS(across(s, combine), result)
		if ordered {
			unlessAny(nan, label("ordered"))
			VPCMPEQD(result, result, result)
			Label(label("ordered"))
		}
	}, func() { Store(result, ReturnIndex(0)) })
}
