package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// strides makes the kernels that pick, and bring back, elements that are some steps apart.
func strides() {
	interleave2()
	interleave4()
	everyNth()
}

// interleave2: eight columns of both phases at a time, and a masked remainder.
func interleave2() {
	TEXT("interleave2", NOSPLIT, "func(rows, n int, src *float32, srcPhase, srcRow int, dst *float32, dstRow int)")
	Doc("interleave2 stores the first n ≥ 1 floats of rows ≥ 1, dstRow bytes apart, for which those of a row of src and those srcPhase bytes after it take turns. Rows of src are srcRow bytes apart. It reads up to 7 floats after what it needs of src.")
	Pragma("noescape")
	rows, n := Load(Param("rows"), GP64()), Load(Param("n"), GP64())
	src, phase, srcRow := Load(Param("src"), GP64()), Load(Param("srcPhase"), GP64()), Load(Param("srcRow"), GP64())
	dst, dstRow := Load(Param("dst"), GP64()), Load(Param("dstRow"), GP64())
	s, d, left := GP64(), GP64(), GP64()
	first, second := YMM(), YMM()
	sixteen := func() {
		x, y, lo, hi := YMM(), YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: s}, x)
		VMOVUPS(Mem{Base: s, Index: phase, Scale: 1}, y)
		VUNPCKLPS(y, x, lo)
		VUNPCKHPS(y, x, hi)
		VPERM2F128(Imm(0x20), hi, lo, first)
		VPERM2F128(Imm(0x31), hi, lo, second)
	}
	Label("row")
	MOVQ(src, s)
	MOVQ(dst, d)
	MOVQ(n, left)
	JMP(LabelRef("more"))
	Label("sixteen")
	sixteen()
	VMOVUPS(first, Mem{Base: d})
	VMOVUPS(second, Mem{Base: d, Disp: 32})
	ADDQ(Imm(32), s)
	ADDQ(Imm(64), d)
	SUBQ(Imm(16), left)
	Label("more")
	CMPQ(left, Imm(16))
	JGE(LabelRef("sixteen"))
	TESTQ(left, left)
	JZ(LabelRef("done"))
	sixteen()
	CMPQ(left, Imm(8))
	JLT(LabelRef("masked"))
	VMOVUPS(first, Mem{Base: d})
	VMOVAPS(second, first)
	ADDQ(Imm(32), d)
	SUBQ(Imm(8), left)
	JZ(LabelRef("done"))
	Label("masked")
	VMASKMOVPS(first, loadMask(left), Mem{Base: d})
	Label("done")
	ADDQ(srcRow, src)
	ADDQ(dstRow, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// interleave4 transposes blocks of 4×4.
func interleave4() {
	TEXT("interleave4", NOSPLIT, "func(n4 int, src *float32, phase1, phase2, phase3 int, dst *float32, step int)")
	Doc("interleave4 stores 4*n4 columns (n4 ≥ 1) of four floats, step bytes apart: one of src and those of the phases so many bytes after it.")
	Pragma("noescape")
	n := Load(Param("n4"), GP64())
	s, d, step := Load(Param("src"), GP64()), Load(Param("dst"), GP64()), Load(Param("step"), GP64())
	rows := []Mem{{Base: s}}
	for _, name := range []string{"phase1", "phase2", "phase3"} {
		rows = append(rows, Mem{Base: s, Index: Load(Param(name), GP64()), Scale: 1})
	}
	step3 := GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, step3)
	Label("block")
	var v, u [4]reg.VecVirtual
	for i := range v {
		v[i], u[i] = XMM(), XMM()
		VMOVUPS(rows[i], v[i])
	}
	VUNPCKLPS(v[1], v[0], u[0])
	VUNPCKLPS(v[3], v[2], u[1])
	VUNPCKHPS(v[1], v[0], u[2])
	VUNPCKHPS(v[3], v[2], u[3])
	for i, m := range []Mem{{Base: d}, {Base: d, Index: step, Scale: 1}, {Base: d, Index: step, Scale: 2}, {Base: d, Index: step3, Scale: 1}} {
		x := XMM()
		if lo, hi := u[i/2*2], u[i/2*2+1]; i%2 == 0 {
			VUNPCKLPD(hi, lo, x)
		} else {
			VUNPCKHPD(hi, lo, x)
		}
		VMOVUPS(x, m)
	}
	ADDQ(Imm(16), s)
	LEAQ(Mem{Base: d, Index: step, Scale: 4}, d)
	DECQ(n)
	JNZ(LabelRef("block"))
	RET()
}

// everyNth: each lane of a vector is loaded by a separate broadcast, so that no shuffle has to wait for it.
func everyNth() {
	eachPlaneRow("everyNth", ", step int", "the floats 0, step, … step*(n-1), step being in bytes,", func(s, d, _ reg.GPVirtual) {
		n, step, step3, s4 := GP64(), GP64(), GP64(), GP64()
		Load(Param("n"), n)
		Load(Param("step"), step)
		LEAQ(Mem{Base: step, Index: step, Scale: 2}, step3)
		// vector loads the next lanes of a vector.
		vector := func(x reg.VecVirtual) {
			for lane := range int(x.Size()) / 4 {
				from := s
				if lane >= 4 {
					from = s4
				}
				m := []Mem{{Base: from}, {Base: from, Index: step, Scale: 1}, {Base: from, Index: step, Scale: 2}, {Base: from, Index: step3, Scale: 1}}[lane%4]
				if lane == 0 {
					VBROADCASTSS(m, x)
					continue
				}
				y := YMM()
				if x.Size() == 16 {
					y = XMM()
				}
				VBROADCASTSS(m, y)
				VBLENDPS(Imm(1<<lane), y, x, x)
			}
			VMOVUPS(x, Mem{Base: d})
			ADDQ(Imm(uint64(x.Size())), d)
			SUBQ(Imm(uint64(x.Size()/4)), n)
		}
		JMP(LabelRef("more"))
		Label("eight")
		LEAQ(Mem{Base: s, Index: step, Scale: 4}, s4)
		vector(YMM())
		LEAQ(Mem{Base: s, Index: step, Scale: 8}, s)
		Label("more")
		CMPQ(n, Imm(8))
		JGE(LabelRef("eight"))
		CMPQ(n, Imm(4))
		JLT(LabelRef("few"))
		vector(XMM())
		LEAQ(Mem{Base: s, Index: step, Scale: 4}, s)
		Label("few")
		TESTQ(n, n)
		JZ(LabelRef("copied"))
		z := XMM()
		Label("one")
		VMOVSS(Mem{Base: s}, z)
		VMOVSS(z, Mem{Base: d})
		ADDQ(step, s)
		ADDQ(Imm(4), d)
		DECQ(n)
		JNZ(LabelRef("one"))
		Label("copied")
	})
}
