package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func movePlane() {
	TEXT("movePlane", NOSPLIT, "func(rows, n int, src *float32, srcRow int, dst *float32, dstRow int)")
	Doc("movePlane copies rows ≥ 1 of n ≥ 1 floats, which are srcRow and dstRow bytes apart.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	ss := Load(Param("srcRow"), GP64())
	dst := Load(Param("dst"), GP64())
	ds := Load(Param("dstRow"), GP64())
	n, s, d := GP64(), GP64(), GP64()
	var x [4]reg.VecVirtual
	for i := range x {
		x[i] = YMM()
	}
	Label("row")
	Load(Param("n"), n)
	MOVQ(src, s)
	MOVQ(dst, d)
	blocks(n, 4, func(vectors int, k mask) {
		for v := range vectors {
			load(Mem{Base: s, Disp: 32 * v}, k, x[v])
		}
		for v := range vectors {
			store(x[v], k, Mem{Base: d, Disp: 32 * v})
		}
	}, func(bytes int) {
		ADDQ(U32(uint32(bytes)), s)
		ADDQ(U32(uint32(bytes)), d)
	})
	ADDQ(ss, src)
	ADDQ(ds, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func everyOther() {
	TEXT("everyOther", NOSPLIT, "func(rows, n int, src *float32, srcRow int, dst *float32, dstRow int)")
	Doc("everyOther copies the floats 0, 2, … 2*(n-1) of rows ≥ 1, which are srcRow and dstRow bytes apart; n ≥ 1.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	ss := Load(Param("srcRow"), GP64())
	dst := Load(Param("dst"), GP64())
	ds := Load(Param("dstRow"), GP64())
	n, s, d := GP64(), GP64(), GP64()
	x, y := YMM(), YMM()
	Label("row")
	Load(Param("n"), n)
	MOVQ(src, s)
	MOVQ(dst, d)
	SUBQ(Imm(8), n)
	JLE(LabelRef("rest")) // the last eight would need one float too many
	Label("eight")
	VMOVUPS(Mem{Base: s}, x)
	VMOVUPS(Mem{Base: s, Disp: 32}, y)
	VSHUFPS(Imm(0x88), y, x, x)
	VPERMPD(Imm(0xd8), x, x)
	VMOVUPS(x, Mem{Base: d})
	ADDQ(Imm(64), s)
	ADDQ(Imm(32), d)
	SUBQ(Imm(8), n)
	JG(LabelRef("eight"))
	Label("rest")
	ADDQ(Imm(8), n)
	Label("one")
	VMOVSS(Mem{Base: s}, x.AsX())
	VMOVSS(x.AsX(), Mem{Base: d})
	ADDQ(Imm(8), s)
	ADDQ(Imm(4), d)
	DECQ(n)
	JNZ(LabelRef("one"))
	ADDQ(ss, src)
	ADDQ(ds, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
