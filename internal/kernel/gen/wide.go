package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide makes the micro-kernels of processors with AVX-512: blocks of 12 rows and 16 or 32 columns.
func wide() {
	micro12()
	micro12x32()
}

// panels loads the arguments that describe the left operand: the bases of rows 0, 3, 6 and 9. row
// is the memory operand of a row.
func panels() (kc reg.Register, row func(i int) Mem, advance func()) {
	kc = Load(Param("kc"), GP64())
	a := Load(Param("a"), GP64())
	a2 := Load(Param("a2"), GP64())
	rs := Load(Param("rsA"), GP64())
	cs := Load(Param("csA"), GP64())
	bases := [4]reg.Register{a, nil, a2, nil}
	for i, from := range []reg.Register{a, a2} {
		r := GP64()
		LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, r)
		ADDQ(from, r)
		bases[2*i+1] = r
	}
	row = func(i int) Mem {
		m := Mem{Base: bases[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = rs, uint8(i%3)
		}
		return m
	}
	advance = func() {
		for _, r := range bases {
			ADDQ(cs, r)
		}
	}
	return kc, row, advance
}

// micro12: twelve accumulators of one vector each, rows 0 to 5 from a and 6 to 11 from a2, every
// element of A a broadcast memory operand.
func micro12() {
	TEXT("micro12x16", NOSPLIT, "func(kc int, a, a2 *float32, rsA, csA int, b *float32, rsB int, c *float32, ldc int, flags int, bias *float32)")
	Doc("micro12x16 computes a block of 12 rows, the last six from a2, and 16 columns of C; strides are in bytes.")
	Pragma("noescape")
	kc, row, advance := panels()
	b := Load(Param("b"), GP64())
	rsB := Load(Param("rsB"), GP64())
	acc := zeros()
	v := []reg.VecVirtual{ZMM(), ZMM()}
	unrolled(kc, func(n int) {
		for k := range n {
			x := v[k%2]
			VMOVUPS(Mem{Base: b}, x)
			for i := range 12 {
				VFMADD231PS_BCST(row(i), x, acc[i])
			}
			advance()
			ADDQ(rsB, b)
		}
	})
	finish12("", acc, v[0])
	VZEROUPPER()
	RET()
}

// micro12x32: with two vectors of B each broadcast element of A serves two multiply-adds, so that
// loads are no bottleneck.
func micro12x32() {
	TEXT("micro12x32", NOSPLIT, "func(kc int, a, a2 *float32, rsA, csA int, b, b2 *float32, rsB int, c *float32, ldc int, c2 *float32, ldc2 int, flags int, bias *float32)")
	Doc("micro12x32 is micro12x16 for two strips of B and C.")
	Pragma("noescape")
	kc, row, advance := panels()
	b := Load(Param("b"), GP64())
	apart := Load(Param("b2"), GP64())
	SUBQ(b, apart)
	rsB := Load(Param("rsB"), GP64())
	acc, acc2 := zeros(), zeros()
	x, y := ZMM(), ZMM()
	u := []reg.VecVirtual{ZMM(), ZMM()}
	unrolled(kc, func(n int) {
		for range n {
			VMOVUPS(Mem{Base: b}, x)
			VMOVUPS(Mem{Base: b, Index: apart, Scale: 1}, y)
			for i := range 12 {
				VBROADCASTSS(row(i), u[i%2])
				VFMADD231PS(u[i%2], x, acc[i])
				VFMADD231PS(u[i%2], y, acc2[i])
			}
			advance()
			ADDQ(rsB, b)
		}
	})
	finish12("", acc, x)
	finish12("2", acc2, x)
	VZEROUPPER()
	RET()
}

func zeros() (acc [12]reg.VecVirtual) {
	for i := range acc {
		acc[i] = ZMM()
		VPXORQ(acc[i], acc[i], acc[i])
	}
	return acc
}

// finish12 applies the flags and stores a strip; spare is a register to spoil.
func finish12(strip string, acc [12]reg.VecVirtual, spare reg.VecVirtual) {
	flags := Load(Param("flags"), GP64())
	c := GP64()
	ldc := Load(Param("ldc"+strip), GP64())
	each := func(f func(i int)) {
		Load(Param("c"+strip), c)
		for i := range 12 {
			f(i)
			if i < 11 {
				ADDQ(ldc, c)
			}
		}
	}
	TESTQ(U32(1), flags)
	JZ(LabelRef("fresh" + strip))
	each(func(i int) { VADDPS(Mem{Base: c}, acc[i], acc[i]) })
	Label("fresh" + strip)
	TESTQ(U32(2), flags)
	JZ(LabelRef("nobias" + strip))
	bias := Load(Param("bias"), GP64())
	for i := range acc {
		VADDPS_BCST(Mem{Base: bias, Disp: 4 * i}, acc[i], acc[i])
	}
	Label("nobias" + strip)
	TESTQ(U32(4), flags)
	JZ(LabelRef("store" + strip))
	VPXORQ(spare, spare, spare)
	for i := range acc {
		VMAXPS(acc[i], spare, acc[i]) // this order keeps NaN
	}
	Label("store" + strip)
	each(func(i int) { VMOVUPS(acc[i], Mem{Base: c}) })
}

// unrolled runs body(4) while at least four steps are left, then body(1).
func unrolled(n reg.Register, body func(n int)) {
	SUBQ(Imm(4), n)
	JLT(LabelRef("tail"))
	Label("loop4")
	body(4)
	SUBQ(Imm(4), n)
	JGE(LabelRef("loop4"))
	Label("tail")
	ADDQ(Imm(4), n)
	JZ(LabelRef("done"))
	Label("loop1")
	body(1)
	DECQ(n)
	JNZ(LabelRef("loop1"))
	Label("done")
}
