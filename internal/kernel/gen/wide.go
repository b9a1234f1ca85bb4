package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide makes the micro-kernels of processors with AVX-512: blocks of 1 to 12 rows and 32 columns,
// and of 7 to 12 rows and 16 columns.
func wide() {
	for rows := 1; rows <= 12; rows++ {
		microPair(rows, false)
		microPair(rows, true)
		if rows > 6 {
			microTall(rows)
		}
	}
}

// panels loads the arguments that describe the left operand: the bases of rows 0, 3, 6 and 9. row
// is the memory operand of a row, advance goes to the next column.
func panels(rows int) (kc reg.Register, row func(i int) Mem, advance func()) {
	kc = Load(Param("kc"), GP64())
	a := Load(Param("a"), GP64())
	rs := Load(Param("rsA"), GP64())
	cs := Load(Param("csA"), GP64())
	bases := []reg.Register{a}
	third := func(from reg.Register) {
		r := GP64()
		LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, r)
		ADDQ(from, r)
		bases = append(bases, r)
	}
	if rows > 3 {
		third(a)
	}
	if rows > 6 {
		bases = append(bases, Load(Param("a2"), GP64()))
	}
	if rows > 9 {
		third(bases[2])
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

// microTall: one accumulator for each row, every element of A a broadcast memory operand.
func microTall(rows int) {
	name := fmt.Sprintf("micro%dx16", rows)
	TEXT(name, NOSPLIT, "func(kc int, a, a2 *float32, rsA, csA int, b *float32, rsB int, c *float32, ldc int, flags int, bias *float32)")
	Doc(fmt.Sprintf("%s computes a block of %d rows, those from the seventh on from a2, and 16 columns of C; strides are in bytes.", name, rows))
	Pragma("noescape")
	fetch("", rows)
	kc, row, advance := panels(rows)
	b := Load(Param("b"), GP64())
	rsB := Load(Param("rsB"), GP64())
	acc := zeros(rows)
	v := []reg.VecVirtual{ZMM(), ZMM()}
	unrolled(kc, func(n int) {
		for k := range n {
			x := v[k%2]
			VMOVUPS(Mem{Base: b}, x)
			for i := range rows {
				VFMADD231PS_BCST(row(i), x, acc[i])
			}
			advance()
			ADDQ(rsB, b)
		}
	})
	finishWide("", acc, v[0])
	VZEROUPPER()
	RET()
}

// microPair: with two vectors of B each broadcast element of A is used in two multiply-adds, so that
// loads are not the bottleneck. With few rows two sets of accumulators hide the latency.
//
// The packing form reads B in place and stores it as two column panels: the first block of
// rows packs B for the others, at hardly any cost.
func microPair(rows int, packing bool) {
	name, to, doc := fmt.Sprintf("micro%dx32", rows), "", "."
	if packing {
		name += "p"
		to = ", to *float32"
		doc = "; the rows of B are copied to two column panels at to."
	}
	TEXT(name, NOSPLIT, "func(kc int, a, a2 *float32, rsA, csA int, b, b2 *float32, rsB int, c *float32, ldc int, c2 *float32, ldc2 int, flags int, bias *float32"+to+")")
	Doc(fmt.Sprintf("%s computes a block of %d rows, those from the seventh on from a2, and twice 16 columns of C; strides are in bytes%s", name, rows, doc))
	Pragma("noescape")
	fetch("", rows)
	fetch("2", rows)
	kc, row, advance := panels(rows)
	b := Load(Param("b"), GP64())
	apart := Load(Param("b2"), GP64())
	SUBQ(b, apart)
	rsB := Load(Param("rsB"), GP64())
	var dst, colPanel reg.Register
	if packing {
		dst, colPanel = Load(Param("to"), GP64()), GP64()
		MOVQ(kc, colPanel)
		SHLQ(Imm(6), colPanel)
	}
	sets := 1
	if rows < 4 {
		sets = 2
	}
	var acc, acc2 [2][]reg.VecVirtual
	for s := range sets {
		acc[s], acc2[s] = zeros(rows), zeros(rows)
	}
	x, y := ZMM(), ZMM()
	u := []reg.VecVirtual{ZMM(), ZMM()}
	unrolled(kc, func(n int) {
		for k := range n {
			VMOVUPS(Mem{Base: b}, x)
			VMOVUPS(Mem{Base: b, Index: apart, Scale: 1}, y)
			if packing {
				VMOVUPS(x, Mem{Base: dst})
				VMOVUPS(y, Mem{Base: dst, Index: colPanel, Scale: 1})
				ADDQ(Imm(64), dst)
				if n > 1 {
					PREFETCHT0(Mem{Base: b, Index: rsB, Scale: 8})
					PREFETCHT0(Mem{Base: b, Index: rsB, Scale: 8, Disp: 64})
				}
			}
			for i := range rows {
				VBROADCASTSS(row(i), u[i%2])
				VFMADD231PS(u[i%2], x, acc[k%sets][i])
				VFMADD231PS(u[i%2], y, acc2[k%sets][i])
			}
			advance()
			ADDQ(rsB, b)
		}
	})
	if sets > 1 {
		for i := range rows {
			VADDPS(acc[1][i], acc[0][i], acc[0][i])
			VADDPS(acc2[1][i], acc2[0][i], acc2[0][i])
		}
	}
	finishWide("", acc[0], x)
	finishWide("2", acc2[0], x)
	VZEROUPPER()
	RET()
}

// fetch asks for the rows of a column panel of C, "" or "2", so that they are at hand when they are written.
func fetch(colPanel string, rows int) {
	c, ldc := Load(Param("c"+colPanel), GP64()), Load(Param("ldc"+colPanel), GP64())
	for range rows {
		PREFETCHT0(Mem{Base: c})
		ADDQ(ldc, c)
	}
}

func zeros(rows int) []reg.VecVirtual {
	acc := make([]reg.VecVirtual, rows)
	for i := range acc {
		acc[i] = ZMM()
		VPXORQ(acc[i], acc[i], acc[i])
	}
	return acc
}

// finishWide applies the flags and stores a column panel, "" or "2"; spare is a register to spoil.
func finishWide(colPanel string, acc []reg.VecVirtual, spare reg.VecVirtual) {
	flags := Load(Param("flags"), GP64())
	c := GP64()
	ldc := Load(Param("ldc"+colPanel), GP64())
	each := func(f func(i int)) {
		Load(Param("c"+colPanel), c)
		for i := range acc {
			f(i)
			if i < len(acc)-1 {
				ADDQ(ldc, c)
			}
		}
	}
	TESTQ(U32(1), flags)
	JZ(LabelRef("fresh" + colPanel))
	each(func(i int) { VADDPS(Mem{Base: c}, acc[i], acc[i]) })
	Label("fresh" + colPanel)
	TESTQ(U32(2), flags)
	JZ(LabelRef("nobias" + colPanel))
	bias := Load(Param("bias"), GP64())
	for i := range acc {
		VADDPS_BCST(Mem{Base: bias, Disp: 4 * i}, acc[i], acc[i])
	}
	Label("nobias" + colPanel)
	TESTQ(U32(8), flags)
	JZ(LabelRef("noshift" + colPanel))
	Load(Param("bias"), bias)
	VMOVUPS(Mem{Base: bias, Disp: 64 * len(colPanel)}, spare)
	for i := range acc {
		VADDPS(spare, acc[i], acc[i])
	}
	Label("noshift" + colPanel)
	TESTQ(U32(4), flags)
	JZ(LabelRef("store" + colPanel))
	VPXORQ(spare, spare, spare)
	for i := range acc {
		VMAXPS(acc[i], spare, acc[i]) // this order keeps NaN
	}
	Label("store" + colPanel)
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
