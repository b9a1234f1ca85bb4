package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scatterRuns stores the results of a gradient whose convolution had stride 2.
func scatterRuns(w width) {
	name := "scatterRuns" + w.name
	TEXT(name, NOSPLIT, "func(rows int, tile *float32, tileRow int, run *int, runs int, y *float32, ldy int)")
	Doc(name + " is storeRuns" + w.name + " for runs that go to every other float of y; what is between is left alone.")
	Pragma("noescape")
	tile := Load(Param("tile"), GP64())
	y := Load(Param("y"), GP64())
	run := Load(Param("run"), GP64())
	left := Load(Param("runs"), GP64())
	tr := Load(Param("tileRow"), GP64())
	ldy := Load(Param("ldy"), GP64())
	s, d, n, m, ps, pd, rows := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	x, lo, hi := w.vec(), w.vec(), w.vec()
	ilo, ihi := w.vec(), w.vec()
	for half, index := range []reg.VecVirtual{ilo, ihi} {
		table := GLOBL(fmt.Sprintf("spread%s%d", w.name, half), RODATA|NOPTR)
		for i := range w.lanes {
			DATA(4*i, U32(uint32(half*w.lanes/2+i/2)))
		}
		VMOVUPS(table, index)
	}
	Label("run")
	MOVQ(Mem{Base: run}, s)
	LEAQ(Mem{Base: tile, Index: s, Scale: 4}, s)
	MOVQ(Mem{Base: run, Disp: 8}, n)
	MOVQ(Mem{Base: run, Disp: 16}, d)
	LEAQ(Mem{Base: y, Index: d, Scale: 4}, d)
	Label("piece")
	MOVQ(n, m)
	CMPQ(m, Imm(uint64(w.lanes)))
	JLE(LabelRef("some"))
	MOVQ(U32(uint32(w.lanes)), m)
	Label("some")
	SUBQ(m, n)
	var put func(half int, x reg.VecVirtual)
	if w.lanes == 16 {
		bits, even := GP32(), GP32()
		MOVL(U32(0xffff), bits)
		BZHIL(m.As32(), bits, bits)
		MOVL(U32(0x55555555), even)
		PDEPL(even, bits, bits)
		masks := []reg.Virtual{K(), K()}
		KMOVW(bits, masks[0])
		SHRL(Imm(16), bits)
		KMOVW(bits, masks[1])
		put = func(half int, x reg.VecVirtual) { VMOVUPS(x, masks[half], Mem{Base: pd, Disp: 64 * half}) }
	} else {
		mask, even := loadMask(m), w.vec()
		table := GLOBL("evenlanes", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(^uint32(0)*uint32(1-i%2)))
		}
		VMOVUPS(table, even)
		masks := []reg.VecVirtual{w.vec(), w.vec()}
		for half, index := range []reg.VecVirtual{ilo, ihi} {
			VPERMPS(mask, index, masks[half])
			VANDPS(even, masks[half], masks[half])
		}
		put = func(half int, x reg.VecVirtual) { VMASKMOVPS(x, masks[half], Mem{Base: pd, Disp: 32 * half}) }
	}
	Load(Param("rows"), rows)
	MOVQ(s, ps)
	MOVQ(d, pd)
	Label("row")
	VMOVUPS(Mem{Base: ps}, x)
	VPERMPS(x, ilo, lo)
	VPERMPS(x, ihi, hi)
	put(0, lo)
	put(1, hi)
	ADDQ(tr, ps)
	ADDQ(ldy, pd)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(Imm(uint64(w.bytes())), s)
	ADDQ(Imm(uint64(2*w.bytes())), d)
	TESTQ(n, n)
	JNZ(LabelRef("piece"))
	ADDQ(Imm(24), run)
	DECQ(left)
	JNZ(LabelRef("run"))
	VZEROUPPER()
	RET()
}
