package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

type vec = reg.VecVirtual

var minusInf = math.Inf(-1)

// combine applies a two-operand operation to vectors; it may spoil x and y.
var combine = []struct {
	name, doc      string
	scalar, vector bool // which forms exist
	f              func(x, y vec) vec
}{
	{"add", "x + y", true, true, func(x, y vec) vec { VADDPS(y, x, x); return x }},
	{"sub", "x - y", false, true, func(x, y vec) vec { VSUBPS(y, x, x); return x }},
	{"mul", "x * y", true, true, func(x, y vec) vec { VMULPS(y, x, x); return x }},
	{"div", "x / y", true, true, func(x, y vec) vec { VDIVPS(y, x, x); return x }},
	{"max", "the larger of x and y, NaN if either is NaN", true, true, func(x, y vec) vec { return pick(x, y, VMAXPS) }},
	{"min", "the smaller of x and y, NaN if either is NaN", true, true, func(x, y vec) vec { return pick(x, y, VMINPS) }},
	{"rsub", "y - x", true, false, func(x, y vec) vec { VSUBPS(x, y, x); return x }},
	{"rdiv", "y / x", true, false, func(x, y vec) vec { VDIVPS(x, y, x); return x }},
	{"relugrad", "x where y > 0, else 0", false, true, func(x, y vec) vec {
		z := YMM()
		VXORPS(z, z, z)
		VCMPPS(Imm(0x1e), z, y, z) // y > 0
		VANDPS(z, x, x)
		return x
	}},
	{"sigmoidgrad", "x * y * (1-y)", false, true, func(x, y vec) vec {
		VMULPS(y, x, x)
		VFNMADD231PS(y, x, x)
		return x
	}},
	{"tanhgrad", "x * (1-y*y)", false, true, func(x, y vec) vec {
		z := YMM()
		VMULPS(y, y, z)
		VFNMADD231PS(z, x, x)
		return x
	}},
}

func pick(x, y vec, op func(...Op)) vec {
	u, z := YMM(), YMM()
	VCMPPS(Imm(3), y, x, u) // unordered
	op(y, x, z)
	VADDPS(y, x, x)
	VBLENDVPS(u, x, z, z)
	return z
}

// elementwise makes the loops of two operands.
func elementwise() {
	for _, c := range combine {
		if c.vector {
			two(c.name+"VV", "dst[i] = "+c.doc+" with x = a[i], y = b[i]", c.f)
		}
		if c.scalar {
			one(c.name+"VS", "dst[i] = "+c.doc+" with x = a[i], y = *s", 4, true, c.f)
		}
	}
	axpy()
	mulAdd()
	one("reluV", "dst[i] = a[i] where that is not below 0, else 0", 4, false, func(x, _ vec) vec {
		z := YMM()
		VXORPS(z, z, z)
		VMAXPS(x, z, x)
		return x
	})
	one("sqrtV", "dst[i] = √a[i]", 4, false, func(x, _ vec) vec { VSQRTPS(x, x); return x })
}

func two(name, doc string, f func(x, y vec) vec) {
	TEXT(name, NOSPLIT, "func(n int, dst, a, b *float32)")
	Doc(name + ": " + doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	d := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	blocks(n, 4, func(vectors int, mask vec) {
		for v := range vectors {
			x, y := YMM(), YMM()
			load(Mem{Base: a, Disp: 32 * v}, mask, x)
			load(Mem{Base: b, Disp: 32 * v}, mask, y)
			store(f(x, y), mask, Mem{Base: d, Disp: 32 * v})
		}
	}, func(bytes int) {
		for _, r := range []reg.Register{d, a, b} {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	VZEROUPPER()
	RET()
}

// one makes a loop of one array operand and, where scalar is set, one broadcast scalar.
func one(name, doc string, wide int, scalar bool, f func(x, s vec) vec) {
	sig := "func(n int, dst, a *float32)"
	if scalar {
		sig = "func(n int, dst, a, s *float32)"
	}
	TEXT(name, NOSPLIT, sig)
	Doc(name + ": " + doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	d := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	var s vec
	if scalar {
		p := Load(Param("s"), GP64())
		s = YMM()
		VBROADCASTSS(Mem{Base: p}, s)
	}
	blocks(n, wide, func(vectors int, mask vec) {
		for v := range vectors {
			x := YMM()
			load(Mem{Base: a, Disp: 32 * v}, mask, x)
			store(f(x, s), mask, Mem{Base: d, Disp: 32 * v})
		}
	}, func(bytes int) {
		ADDQ(U32(uint32(bytes)), d)
		ADDQ(U32(uint32(bytes)), a)
	})
	VZEROUPPER()
	RET()
}

func axpy() {
	TEXT("axpyV", NOSPLIT, "func(n int, y, x, alpha *float32)")
	Doc("axpyV: y[i] += alpha[0] * x[i].")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	y := Load(Param("y"), GP64())
	x := Load(Param("x"), GP64())
	p := Load(Param("alpha"), GP64())
	s := YMM()
	VBROADCASTSS(Mem{Base: p}, s)
	blocks(n, 4, func(vectors int, mask vec) {
		for v := range vectors {
			u, w := YMM(), YMM()
			load(Mem{Base: x, Disp: 32 * v}, mask, u)
			load(Mem{Base: y, Disp: 32 * v}, mask, w)
			VFMADD231PS(u, s, w)
			store(w, mask, Mem{Base: y, Disp: 32 * v})
		}
	}, func(bytes int) {
		ADDQ(U32(uint32(bytes)), y)
		ADDQ(U32(uint32(bytes)), x)
	})
	VZEROUPPER()
	RET()
}

func mulAdd() {
	TEXT("mulAddVV", NOSPLIT, "func(n int, y, a, b *float32)")
	Doc("mulAddVV: y[i] += a[i] * b[i].")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	y := Load(Param("y"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	blocks(n, 4, func(vectors int, mask vec) {
		for v := range vectors {
			u, w, s := YMM(), YMM(), YMM()
			load(Mem{Base: a, Disp: 32 * v}, mask, u)
			load(Mem{Base: b, Disp: 32 * v}, mask, w)
			load(Mem{Base: y, Disp: 32 * v}, mask, s)
			VFMADD231PS(u, w, s)
			store(s, mask, Mem{Base: y, Disp: 32 * v})
		}
	}, func(bytes int) {
		for _, r := range []reg.Register{y, a, b} {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	VZEROUPPER()
	RET()
}
