package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// storeRuns stores a tile run by run, optionally adding other elements.
func storeRuns(w width, added bool) {
	name, extra := "storeRuns"+w.name, ""
	doc := " copies rows of a tile, which are tileRow bytes apart, to y."
	if added {
		name, extra = "addRuns"+w.name, ", add, clip *float32"
		doc = " copies rows of a tile, which are tileRow bytes apart, to y, plus what lies in the same place of add, clipped to clip[0] … clip[1]."
	}
	TEXT(name, NOSPLIT, "func(rows int, tile *float32, tileRow int, run *int, runs int, y *float32, ldy int"+extra+")")
	Doc(name + doc + " A run is three numbers: from which float of the tile, how many (≥ 1), and to where in y. Rows of y are ldy bytes apart.")
	Pragma("noescape")
	tile := Load(Param("tile"), GP64())
	y := Load(Param("y"), GP64())
	s, d, run, left, n := GP64(), GP64(), GP64(), GP64(), GP64()
	x, lo, hi := w.vec(), w.vec(), w.vec()
	var e reg.Register
	if added {
		e = GP64() // from y to add
		Load(Param("add"), e)
		SUBQ(y, e)
		clip := Load(Param("clip"), GP64())
		VBROADCASTSS(Mem{Base: clip}, lo)
		VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	}
	rows, m := GP64(), GP64()
	tr, ldy := GP64(), GP64()
	Load(Param("tileRow"), tr)
	Load(Param("ldy"), ldy)
	Load(Param("run"), run)
	Load(Param("runs"), left)
	ps, pd := GP64(), GP64()
	// Rows are the inner loop, so that its branches can be foreseen.
	column := func(label string, load, store, sum func()) {
		Load(Param("rows"), rows)
		MOVQ(s, ps)
		MOVQ(d, pd)
		Label(label)
		load()
		if added {
			sum()
			VMAXPS(x, lo, x)
			VMINPS(x, hi, x)
		}
		store()
		ADDQ(tr, ps)
		ADDQ(ldy, pd)
		DECQ(rows)
		JNZ(LabelRef(label))
	}
	Label("run")
	MOVQ(Mem{Base: run}, s)
	LEAQ(Mem{Base: tile, Index: s, Scale: 4}, s)
	MOVQ(Mem{Base: run, Disp: 8}, n)
	MOVQ(Mem{Base: run, Disp: 16}, d)
	LEAQ(Mem{Base: y, Index: d, Scale: 4}, d)
	Label("piece")
	CMPQ(n, Imm(uint64(w.lanes)))
	JLT(LabelRef("rest"))
	column("whole", func() { VMOVUPS(Mem{Base: ps}, x) }, func() { VMOVUPS(x, Mem{Base: pd}) },
		func() { VADDPS(Mem{Base: pd, Index: e, Scale: 1}, x, x) })
	ADDQ(Imm(uint64(w.bytes())), s)
	ADDQ(Imm(uint64(w.bytes())), d)
	SUBQ(Imm(uint64(w.lanes)), n)
	JNZ(LabelRef("piece"))
	JMP(LabelRef("next"))
	Label("rest")
	z := w.vec()
	if w.lanes == 16 {
		mask := K()
		MOVL(U32(0xffff), m.As32())
		BZHIL(n.As32(), m.As32(), m.As32())
		KMOVW(m.As32(), mask)
		column("masked", func() { VMOVUPS_Z(Mem{Base: ps}, mask, x) }, func() { VMOVUPS(x, mask, Mem{Base: pd}) },
			func() {
				VMOVUPS_Z(Mem{Base: pd, Index: e, Scale: 1}, mask, z)
				VADDPS(z, x, x)
			})
	} else {
		mask := loadMask(n)
		column("masked", func() { VMOVUPS(Mem{Base: ps}, x) }, func() { VMASKMOVPS(x, mask, Mem{Base: pd}) },
			func() {
				VMASKMOVPS(Mem{Base: pd, Index: e, Scale: 1}, mask, z)
				VADDPS(z, x, x)
			})
	}
	Label("next")
	ADDQ(Imm(24), run)
	DECQ(left)
	JNZ(LabelRef("run"))
	VZEROUPPER()
	RET()
}
