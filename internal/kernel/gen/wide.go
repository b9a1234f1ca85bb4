package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide makes the micro-kernels of processors with AVX-512: blocks of 12 rows and 16 columns.
func wide() {
	micro12("micro12x16", false)
	micro12("micro12x16packed", true)
}

// micro12: twelve accumulators of one vector each, rows 0 to 5 from a and 6 to 11 from a2, every
// element of A a broadcast memory operand. With both panels and the strip packed, all addresses
// are constant offsets, which leaves the decoders to the multiply-adds.
func micro12(name string, packed bool) {
	doc := name + " computes a block of 12 rows, the last six from a2, and 16 columns of C; strides are in bytes."
	if packed {
		TEXT(name, NOSPLIT, "func(kc int, a, a2, b, c *float32, ldc int, flags int, bias *float32)")
		doc = name + " is micro12x16 for panels of 6 and strips of 16."
	} else {
		TEXT(name, NOSPLIT, "func(kc int, a, a2 *float32, rsA, csA int, b *float32, rsB int, c *float32, ldc int, flags int, bias *float32)")
	}
	Doc(doc)
	Pragma("noescape")
	kc := Load(Param("kc"), GP64())
	a := Load(Param("a"), GP64())
	a2 := Load(Param("a2"), GP64())
	b := Load(Param("b"), GP64())
	var acc [12]reg.VecVirtual
	for i := range acc {
		acc[i] = ZMM()
		VPXORQ(acc[i], acc[i], acc[i])
	}
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	for i := range 12 {
		PREFETCHT0(Mem{Base: c})
		if i < 11 {
			ADDQ(ldc, c)
		}
	}
	v := []reg.VecVirtual{ZMM(), ZMM()}
	if packed {
		step := func(k int) {
			x := v[k%2]
			VMOVUPS(Mem{Base: b, Disp: 64 * k}, x)
			for i := range 6 {
				VFMADD231PS_BCST(Mem{Base: a, Disp: 24*k + 4*i}, x, acc[i])
			}
			for i := range 6 {
				VFMADD231PS_BCST(Mem{Base: a2, Disp: 24*k + 4*i}, x, acc[6+i])
			}
		}
		unrolled(kc, func(n int) {
			for k := range n {
				step(k)
			}
			ADDQ(U32(uint32(64*n)), b)
			ADDQ(U32(uint32(24*n)), a)
			ADDQ(U32(uint32(24*n)), a2)
		})
	} else {
		rs := Load(Param("rsA"), GP64())
		cs := Load(Param("csA"), GP64())
		rsB := Load(Param("rsB"), GP64())
		bases := [4]reg.Register{a, nil, a2, nil}
		for i, from := range []reg.Register{a, a2} {
			r := GP64()
			LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, r)
			ADDQ(from, r)
			bases[2*i+1] = r
		}
		unrolled(kc, func(n int) {
			for k := range n {
				x := v[k%2]
				VMOVUPS(Mem{Base: b}, x)
				for i := range 12 {
					m := Mem{Base: bases[i/3]}
					if i%3 > 0 {
						m.Index, m.Scale = rs, uint8(i%3)
					}
					VFMADD231PS_BCST(m, x, acc[i])
				}
				for _, r := range bases {
					ADDQ(cs, r)
				}
				ADDQ(rsB, b)
			}
		})
	}
	flags := Load(Param("flags"), GP64())
	each := func(f func(i int)) {
		Load(Param("c"), c)
		for i := range 12 {
			f(i)
			if i < 11 {
				ADDQ(ldc, c)
			}
		}
	}
	TESTQ(U32(1), flags)
	JZ(LabelRef("fresh"))
	each(func(i int) { VADDPS(Mem{Base: c}, acc[i], acc[i]) })
	Label("fresh")
	TESTQ(U32(2), flags)
	JZ(LabelRef("nobias"))
	bias := Load(Param("bias"), GP64())
	for i := range acc {
		VADDPS_BCST(Mem{Base: bias, Disp: 4 * i}, acc[i], acc[i])
	}
	Label("nobias")
	TESTQ(U32(4), flags)
	JZ(LabelRef("store"))
	VPXORQ(v[0], v[0], v[0])
	for i := range acc {
		VMAXPS(acc[i], v[0], acc[i]) // this order keeps NaN
	}
	Label("store")
	each(func(i int) { VMOVUPS(acc[i], Mem{Base: c}) })
	VZEROUPPER()
	RET()
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
