package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// folds makes the reductions of whole arrays to one number, with four vector
// accumulators.
func folds() {
	fold("sumV", "the sum of x", 1, func(s, x, _ vec) { VADDPS(x, s, s) })
	fold("sumSqV", "the sum of x²", 1, func(s, x, _ vec) { VFMADD231PS(x, x, s) })
	fold("sumAbsV", "the sum of |x|", 1, func(s, x, _ vec) { VANDPS(i8(1<<31-1), x, x); VADDPS(x, s, s) })
	fold("dotV", "the sum of x·y", 2, func(s, x, y vec) { VFMADD231PS(x, y, s) })
	fold("sumSqDiffV", "the sum of (x-y[0])²", 3, func(s, x, y vec) { VSUBPS(y, x, x); VFMADD231PS(x, x, s) })
	fold("dotDiffV", "the sum of (x-z[0])·y", 4, nil)
	maxFold()
}

// fold makes one sum; operands 1: x, 2: x and y, 3: x and a scalar y, 4: x, y and a
// scalar z to subtract from x before f of 2 operands multiplies.
func fold(name, doc string, operands int, f func(s, x, y vec)) {
	sig := "func(n int, x *float32) float32"
	if operands > 1 {
		sig = "func(n int, x, y *float32) float32"
	}
	if operands == 4 {
		sig = "func(n int, x, y, z *float32) float32"
	}
	TEXT(name, NOSPLIT, sig)
	Doc(name + " returns " + doc + ".")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	xp := Load(Param("x"), GP64())
	advanced := []reg.Register{xp}
	var yp reg.Register
	ys := YMM()
	if operands > 1 {
		yp = Load(Param("y"), GP64())
		if operands == 4 {
			VBROADCASTSS(Mem{Base: Load(Param("z"), GP64())}, ys)
		}
		if operands != 3 {
			advanced = append(advanced, yp)
		} else {
			VBROADCASTSS(Mem{Base: yp}, ys)
		}
	}
	var s [4]vec
	for i := range s {
		s[i] = YMM()
		VXORPS(s[i], s[i], s[i])
	}
	blocks(n, 4, func(vectors int, mask vec) {
		for v := range vectors {
			x, y := YMM(), ys
			load(Mem{Base: xp, Disp: 32 * v}, mask, x)
			if operands == 2 || operands == 4 {
				y = YMM()
				load(Mem{Base: yp, Disp: 32 * v}, mask, y)
			}
			if operands == 3 && mask != nil {
				y = YMM()
				VANDPS(mask, ys, y)
			}
			if operands == 4 { // lanes beyond the end have y = 0
				VSUBPS(ys, x, x)
				VFMADD231PS(x, y, s[v])
				continue
			}
			f(s[v], x, y)
		}
	}, func(bytes int) {
		for _, r := range advanced {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	VADDPS(s[1], s[0], s[0])
	VADDPS(s[3], s[2], s[2])
	VADDPS(s[2], s[0], s[0])
	top := XMM()
	VEXTRACTF128(Imm(1), s[0], top)
	VADDPS(s[0].AsX(), top, top)
	VHADDPS(top, top, top)
	VHADDPS(top, top, top)
	VZEROUPPER()
	Store(top, ReturnIndex(0))
	RET()
}

func maxFold() {
	TEXT("maxV", NOSPLIT, "func(n int, x *float32) float32")
	Doc("maxV returns the largest x, NaN if any is, -Inf if n is 0.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	xp := Load(Param("x"), GP64())
	var s [4]vec
	for i := range s {
		s[i] = YMM()
		VMOVUPS(f8(minusInf), s[i])
	}
	nan, u := YMM(), YMM()
	VXORPS(nan, nan, nan)
	blocks(n, 4, func(vectors int, mask vec) {
		for v := range vectors {
			x := YMM()
			load(Mem{Base: xp, Disp: 32 * v}, mask, x)
			if mask != nil {
				VBLENDVPS(mask, x, s[v], x)
			}
			VCMPPS(Imm(3), x, x, u)
			VORPS(u, nan, nan)
			VMAXPS(x, s[v], s[v])
		}
	}, func(bytes int) { ADDQ(U32(uint32(bytes)), xp) })
	VMAXPS(s[1], s[0], s[0])
	VMAXPS(s[3], s[2], s[2])
	VMAXPS(s[2], s[0], s[0])
	top := XMM()
	VEXTRACTF128(Imm(1), s[0], top)
	VMAXPS(s[0].AsX(), top, top)
	for _, order := range []uint8{0x4e, 0xb1} {
		t := XMM()
		VPERMILPS(Imm(uint64(order)), top, t)
		VMAXPS(t, top, top)
	}
	bits := GP32()
	VMOVMSKPS(nan, bits)
	TESTL(bits, bits)
	JZ(LabelRef("ordered"))
	VPCMPEQD(top, top, top)
	Label("ordered")
	VZEROUPPER()
	Store(top, ReturnIndex(0))
	RET()
}
