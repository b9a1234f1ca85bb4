package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fused makes loops that do in one pass over memory what would take several.
func fused() {
	scalars("affineVS", "dst[i] = a[i]*s[0] + s[1]", false, 2, func(x, _ vec, s []vec) vec {
		VFMADD132PS(s[0], s[1], x)
		return x
	})
	scalars("affineVV", "dst[i] = a[i]*s[0] + b[i]*s[1] + s[2]", true, 3, func(x, y vec, s []vec) vec {
		VFMADD132PS(s[0], s[2], x)
		VFMADD231PS(s[1], y, x)
		return x
	})
	scalars("clipgradVV", "dst[i] = a[i], 0 where b[i] is below s[0] or above s[1]", true, 2, func(x, y vec, s []vec) vec {
		below, above := YMM(), YMM()
		VCMPPS(Imm(0x11), s[0], y, below) // y < s[0]
		VCMPPS(Imm(0x1e), s[1], y, above) // y > s[1]
		VORPS(above, below, below)
		VANDNPS(x, below, x)
		return x
	})
}

// scalars makes a loop of one or two array operands and a few broadcast scalars.
func scalars(name, doc string, two bool, count int, f func(x, y vec, s []vec) vec) {
	sig := "func(n int, dst, a, s *float32)"
	if two {
		sig = "func(n int, dst, a, b, s *float32)"
	}
	TEXT(name, NOSPLIT, sig)
	Doc(name + ": " + doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	d := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	advanced := []reg.Register{d, a}
	var b reg.Register
	if two {
		b = Load(Param("b"), GP64())
		advanced = append(advanced, b)
	}
	p := Load(Param("s"), GP64())
	s := make([]vec, count)
	for i := range s {
		s[i] = YMM()
		VBROADCASTSS(Mem{Base: p, Disp: 4 * i}, s[i])
	}
	blocks(n, 4, func(vectors int, mask vec) {
		for v := range vectors {
			x, y := YMM(), YMM()
			load(Mem{Base: a, Disp: 32 * v}, mask, x)
			if two {
				load(Mem{Base: b, Disp: 32 * v}, mask, y)
			}
			store(f(x, y, s), mask, Mem{Base: d, Disp: 32 * v})
		}
	}, func(bytes int) {
		for _, r := range advanced {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	VZEROUPPER()
	RET()
}
