package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pack makes the routines that copy operands into the order the micro-kernels read.
func pack() {
	packB()
	packT8()
	packA6()
	packA6T()
}

// packB copies row by row across all column panels, so that memory is read in its order.
func packB() {
	TEXT("packB16", NOSPLIT, "func(kc int, b *float32, ldb int, dst *float32, colPanels, dstPanel int)")
	Doc("packB16 copies kc ≥ 1 rows of 16*colPanels floats, ldb bytes apart, to column panels of 16 columns that are dstPanel bytes apart.")
	Pragma("noescape")
	kc := Load(Param("kc"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	d := Load(Param("dst"), GP64())
	colPanels := Load(Param("colPanels"), GP64())
	ds := Load(Param("dstPanel"), GP64())
	x, y, i, from, to := YMM(), YMM(), GP64(), GP64(), GP64()
	Label("row")
	MOVQ(colPanels, i)
	MOVQ(b, from)
	MOVQ(d, to)
	Label("panel")
	VMOVUPS(Mem{Base: from}, x)
	VMOVUPS(Mem{Base: from, Disp: 32}, y)
	PREFETCHT0(Mem{Base: from, Index: ldb, Scale: 4})
	VMOVUPS(x, Mem{Base: to})
	VMOVUPS(y, Mem{Base: to, Disp: 32})
	ADDQ(Imm(64), from)
	ADDQ(ds, to)
	DECQ(i)
	JNZ(LabelRef("panel"))
	ADDQ(ldb, b)
	ADDQ(Imm(64), d)
	DECQ(kc)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// transpose8 transposes an 8×8 block.
func transpose8(v []reg.VecVirtual) []reg.VecVirtual {
	t := make([]reg.VecVirtual, 8)
	for i := 0; i < 8; i += 2 {
		lo, hi := YMM(), YMM()
		VUNPCKLPS(v[i+1], v[i], lo)
		VUNPCKHPS(v[i+1], v[i], hi)
		t[i], t[i+1] = lo, hi
	}
	q := make([]reg.VecVirtual, 8)
	for h := 0; h < 8; h += 4 { // rows h..h+3: columns c and c+4 in the two halves
		for c := range 4 {
			x := YMM()
			lo, hi := t[h+c/2], t[h+2+c/2]
			if c%2 == 0 {
				VUNPCKLPD(hi, lo, x)
			} else {
				VUNPCKHPD(hi, lo, x)
			}
			q[h+c] = x
		}
	}
	out := make([]reg.VecVirtual, 8)
	for c := range 4 {
		out[c], out[c+4] = YMM(), YMM()
		VPERM2F128(Imm(0x20), q[4+c], q[c], out[c])
		VPERM2F128(Imm(0x31), q[4+c], q[c], out[c+4])
	}
	return out
}

func packT8() {
	TEXT("packT8", NOSPLIT, "func(k8 int, b *float32, ldb int, dst *float32)")
	Doc("packT8 transposes 8 rows, ldb bytes apart, of 8*k8 floats (k8 ≥ 1) to rows of 8 that are 64 bytes apart.")
	Pragma("noescape")
	n := Load(Param("k8"), GP64())
	b := Load(Param("b"), GP64())
	ldb := Load(Param("ldb"), GP64())
	d := Load(Param("dst"), GP64())
	b3, b6 := GP64(), GP64()
	LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, b3)
	LEAQ(Mem{Base: b, Index: b3, Scale: 2}, b6)
	ADDQ(b, b3)
	Label("loop")
	v := make([]reg.VecVirtual, 8)
	for i := range 8 {
		m := Mem{Base: []reg.Register{b, b3, b6}[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = ldb, uint8(i%3)
		}
		v[i] = YMM()
		VMOVUPS(m, v[i])
	}
	for c, x := range transpose8(v) {
		VMOVUPS(x, Mem{Base: d, Disp: 64 * c})
	}
	for _, r := range []reg.Register{b, b3, b6} {
		ADDQ(Imm(32), r)
	}
	ADDQ(U32(512), d)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func packA6() {
	TEXT("packA6", NOSPLIT, "func(k8 int, a *float32, lda int, dst *float32)")
	Doc("packA6 interleaves 8*k8 columns (k8 ≥ 1) of 6 rows that are lda bytes apart.")
	Pragma("noescape")
	n := Load(Param("k8"), GP64())
	a := Load(Param("a"), GP64())
	lda := Load(Param("lda"), GP64())
	d := Load(Param("dst"), GP64())
	a3 := GP64()
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, a3)
	ADDQ(a, a3)
	Label("loop")
	v := make([]reg.VecVirtual, 6)
	for i := range v {
		m := Mem{Base: []reg.Register{a, a3}[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = lda, uint8(i%3)
		}
		v[i] = YMM()
		VMOVUPS(m, v[i])
	}
	var lo, hi [3]reg.VecVirtual
	for i := range 3 {
		lo[i], hi[i] = YMM(), YMM()
		VUNPCKLPS(v[2*i+1], v[2*i], lo[i])
		VUNPCKHPS(v[2*i+1], v[2*i], hi[i])
	}
	var q [4]reg.VecVirtual // rows 0 to 3 of columns c (low half) and c+4 (high half)
	for c := range q {
		q[c] = YMM()
		p := &lo
		if c >= 2 {
			p = &hi
		}
		if c%2 == 0 {
			VUNPCKLPD(p[1], p[0], q[c])
		} else {
			VUNPCKHPD(p[1], p[0], q[c])
		}
	}
	pair := func(x reg.Register, c, disp int) {
		if c%2 == 0 {
			VMOVLPS(x, Mem{Base: d, Disp: disp})
		} else {
			VMOVHPS(x, Mem{Base: d, Disp: disp})
		}
	}
	for c := range 4 {
		p := lo[2]
		if c >= 2 {
			p = hi[2]
		}
		VMOVUPS(q[c].AsX(), Mem{Base: d, Disp: c * 24})
		pair(p.AsX(), c, c*24+16)
	}
	top := [2]reg.VecVirtual{XMM(), XMM()}
	VEXTRACTF128(Imm(1), lo[2], top[0])
	VEXTRACTF128(Imm(1), hi[2], top[1])
	for c := range 4 {
		VEXTRACTF128(Imm(1), q[c], Mem{Base: d, Disp: (c + 4) * 24})
		pair(top[c/2], c, (c+4)*24+16)
	}
	ADDQ(Imm(32), a)
	ADDQ(Imm(32), a3)
	ADDQ(U32(192), d)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func packA6T() {
	TEXT("packA6T", NOSPLIT, "func(kc int, a *float32, lda int, dst *float32)")
	Doc("packA6T copies kc ≥ 1 rows of 6 floats, lda bytes apart, to a contiguous panel.")
	Pragma("noescape")
	n := Load(Param("kc"), GP64())
	a := Load(Param("a"), GP64())
	lda := Load(Param("lda"), GP64())
	d := Load(Param("dst"), GP64())
	x, y := XMM(), GP64()
	Label("loop")
	VMOVUPS(Mem{Base: a}, x)
	MOVQ(Mem{Base: a, Disp: 16}, y)
	PREFETCHT0(Mem{Base: a, Index: lda, Scale: 8})
	VMOVUPS(x, Mem{Base: d})
	MOVQ(y, Mem{Base: d, Disp: 16})
	ADDQ(lda, a)
	ADDQ(Imm(24), d)
	DECQ(n)
	JNZ(LabelRef("loop"))
	RET()
}

// packBlocks goes through a transposed A in the order of its memory, where the rows are contiguous.
func packBlocks(rows int) {
	TEXT(fmt.Sprintf("packA%dBlocks", rows), NOSPLIT, "func(kc int, a *float32, lda int, first *int, blocks int, dst *float32, dstBlock int)")
	Doc(fmt.Sprintf("packA%dBlocks copies %d floats for each of blocks ≥ 1 panels from kc ≥ 1 rows that are lda bytes apart; first says from where in a row on, in floats, and panels are dstBlock bytes apart.", rows, rows))
	Pragma("noescape")
	kc := Load(Param("kc"), GP64())
	a := Load(Param("a"), GP64())
	lda := Load(Param("lda"), GP64())
	first := Load(Param("first"), GP64())
	blocks := Load(Param("blocks"), GP64())
	dst := Load(Param("dst"), GP64())
	apart := Load(Param("dstBlock"), GP64())
	q, from, to, pair, x, y := GP64(), GP64(), GP64(), GP64(), XMM(), YMM()
	Label("row")
	XORQ(q, q)
	MOVQ(dst, to)
	Label("block")
	MOVQ(Mem{Base: first, Index: q, Scale: 8}, from)
	LEAQ(Mem{Base: a, Index: from, Scale: 4}, from)
	PREFETCHT0(Mem{Base: from, Index: lda, Scale: 4})
	if rows == 12 {
		VMOVUPS(Mem{Base: from}, y)
		VMOVUPS(Mem{Base: from, Disp: 32}, x)
		VMOVUPS(y, Mem{Base: to})
		VMOVUPS(x, Mem{Base: to, Disp: 32})
	} else {
		VMOVUPS(Mem{Base: from}, x)
		MOVQ(Mem{Base: from, Disp: 16}, pair)
		VMOVUPS(x, Mem{Base: to})
		MOVQ(pair, Mem{Base: to, Disp: 16})
	}
	ADDQ(apart, to)
	INCQ(q)
	CMPQ(q, blocks)
	JLT(LabelRef("block"))
	ADDQ(lda, a)
	ADDQ(Imm(uint64(4*rows)), dst)
	DECQ(kc)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// transposeRows8 moves 32-bit values without looking at them.
func transposeRows8() {
	TEXT("transposeRows8", NOSPLIT, "func(n8 int, src *float32, srcStride int, dst *float32, dstStride int)")
	Doc("transposeRows8 transposes 8 rows of 8*n8 floats (n8 ≥ 1), srcStride bytes apart, to rows of 8 that are dstStride bytes apart.")
	Pragma("noescape")
	n := Load(Param("n8"), GP64())
	s := Load(Param("src"), GP64())
	ss := Load(Param("srcStride"), GP64())
	d := Load(Param("dst"), GP64())
	ds := Load(Param("dstStride"), GP64())
	s3, s6 := GP64(), GP64()
	LEAQ(Mem{Base: ss, Index: ss, Scale: 2}, s3)
	LEAQ(Mem{Base: s, Index: s3, Scale: 2}, s6)
	ADDQ(s, s3)
	Label("loop")
	v := make([]reg.VecVirtual, 8)
	for i := range 8 {
		m := Mem{Base: []reg.Register{s, s3, s6}[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = ss, uint8(i%3)
		}
		v[i] = YMM()
		VMOVUPS(m, v[i])
	}
	for _, x := range transpose8(v) {
		VMOVUPS(x, Mem{Base: d})
		ADDQ(ds, d)
	}
	for _, r := range []reg.Register{s, s3, s6} {
		ADDQ(Imm(32), r)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func split2() {
	TEXT("split2", NOSPLIT, "func(n16 int, src, even, odd *float32)")
	Doc("split2 sorts 16*n16 floats (n16 ≥ 1) into those at even and those at odd positions.")
	Pragma("noescape")
	n := Load(Param("n16"), GP64())
	s := Load(Param("src"), GP64())
	e := Load(Param("even"), GP64())
	o := Load(Param("odd"), GP64())
	a, b, x, y := YMM(), YMM(), YMM(), YMM()
	Label("loop")
	VMOVUPS(Mem{Base: s}, a)
	VMOVUPS(Mem{Base: s, Disp: 32}, b)
	VSHUFPS(Imm(0x88), b, a, x)
	VSHUFPS(Imm(0xdd), b, a, y)
	VPERMPD(Imm(0xd8), x, x)
	VPERMPD(Imm(0xd8), y, y)
	VMOVUPS(x, Mem{Base: e})
	VMOVUPS(y, Mem{Base: o})
	ADDQ(Imm(64), s)
	ADDQ(Imm(32), e)
	ADDQ(Imm(32), o)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
