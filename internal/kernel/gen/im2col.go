package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// im2colRows makes the loops that copy rows (channel, tap) of an im2col matrix, tap by tap and channel
// by channel, for the columns of an block of eight columns. They differ in how a row is read.
func im2colRows() {
	rowsOf("im2colRun16", "16 neighbours; the masks are of the lower and the upper 8", "", func(s Mem, _, mask, mask2 Mem, d Mem) {
		m, m2, x, y := YMM(), YMM(), YMM(), YMM()
		VMOVDQU(mask, m)
		VMOVDQU(mask2, m2)
		VMASKMOVPS(s, m, x)
		s.Disp = 32
		VMASKMOVPS(s, m2, y)
		VMOVUPS(x, d)
		d.Disp = 32
		VMOVUPS(y, d)
	})
	rowsOf("im2colRuns8", "two runs of 8 lanes together; the masks are of the first and of the second, which is extra elements further on", ", extra int", func(s, far, mask, mask2 Mem, d Mem) {
		m, m2, x, y := YMM(), YMM(), YMM(), YMM()
		VMOVDQU(mask, m)
		VMOVDQU(mask2, m2)
		VMASKMOVPS(s, m, x)
		VMASKMOVPS(far, m2, y)
		VORPS(x, y, x)
		VMOVUPS(x, d)
	})
	rowsOf("im2colGather8", "8 lanes at the places that extra gives; the second mask is not used", ", extra *int32", func(s, _, mask, _ Mem, d Mem) {
		m, x := YMM(), YMM()
		VMOVDQU(mask, m)
		VXORPS(x, x, x)
		VGATHERDPS(m, Mem{Base: s.Base, Index: gatherIndex, Scale: 4}, x)
		VMOVUPS(x, d)
	})
}

// gatherIndex is the register of the places while im2colGather8 is made.
var gatherIndex reg.VecVirtual

// rowsOf makes one such loop; copy moves a row from s, or from far, to d.
func rowsOf(name, doc, extra string, copy func(s, far, mask, mask2, d Mem)) {
	TEXT(name, NOSPLIT, "func(rows int, src *float32, start, channel int, tap, taps int, offset *int, mask *int32, dst *float32, dstStride int"+extra+")")
	Doc(name + " copies rows ≥ 1 of an im2col matrix, from the given tap of the channel src[start] on: " + doc + ". The tap t reads from offset[t] on and has 16 lanes of mask. Strides are in bytes, offsets in elements.")
	Pragma("noescape")
	n := Load(Param("rows"), GP64())
	s := Load(Param("src"), GP64())
	start := Load(Param("start"), GP64())
	LEAQ(Mem{Base: s, Index: start, Scale: 4}, s)
	channel := Load(Param("channel"), GP64())
	t := Load(Param("tap"), GP64())
	taps := Load(Param("taps"), GP64())
	offset := Load(Param("offset"), GP64())
	mask := Load(Param("mask"), GP64())
	d := Load(Param("dst"), GP64())
	ds := Load(Param("dstStride"), GP64())
	jump := GP64()
	switch extra {
	case ", extra int":
		Load(Param("extra"), jump)
		SHLQ(Imm(2), jump)
	case ", extra *int32":
		gatherIndex = YMM()
		VMOVDQU(Mem{Base: Load(Param("extra"), GP64())}, gatherIndex)
	}
	at, m := GP64(), GP64()
	MOVQ(t, m)
	SHLQ(Imm(6), m)
	ADDQ(mask, m)
	Label("row")
	MOVQ(Mem{Base: offset, Index: t, Scale: 8}, at)
	LEAQ(Mem{Base: s, Index: at, Scale: 4}, at)
	far := Mem{Base: at}
	if extra == ", extra int" {
		far.Index, far.Scale = jump, 1
	}
	copy(Mem{Base: at}, far, Mem{Base: m}, Mem{Base: m, Disp: 32}, Mem{Base: d})
	ADDQ(ds, d)
	ADDQ(Imm(64), m)
	INCQ(t)
	CMPQ(t, taps)
	JNE(LabelRef("same"))
	XORQ(t, t)
	MOVQ(mask, m)
	ADDQ(channel, s)
	Label("same")
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
