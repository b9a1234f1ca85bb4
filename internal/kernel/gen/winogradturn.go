package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func winogradTranspose() {
	TEXT("winogradTranspose", NOSPLIT, "func(rows, w int, src *float32, srcRow, lane int, dst *float32, dstRow int)")
	Doc("winogradTranspose makes rows of pixels, 64 bytes apart, of eight planes that are lane bytes apart; where w is no multiple of 8 it adds pixels of zeros.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	first := Load(Param("src"), GP64())
	lane := Load(Param("lane"), GP64())
	dst := Load(Param("dst"), GP64())
	n, at, out, step := GP64(), GP64(), GP64(), GP64()
	planes := newStridedPlaces(at, lane, 8)
	piece := func(k mask) {
		x := make([]reg.VecVirtual, 8)
		for i := range x {
			x[i] = YMM()
			load(planes.at(i), k, x[i])
		}
		for i, y := range transpose8(x) {
			VMOVUPS(y, Mem{Base: out, Disp: 64 * i})
		}
	}
	Label("row")
	Load(Param("w"), n)
	MOVQ(first, at)
	planes.aim()
	MOVQ(dst, out)
	Label("eight")
	CMPQ(n, Imm(8))
	JLT(LabelRef("rest"))
	piece(nil)
	planes.add(Imm(32))
	ADDQ(U32(512), out)
	SUBQ(Imm(8), n)
	JMP(LabelRef("eight"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("next"))
	piece(loadMask(n))
	Label("next")
	Load(Param("srcRow"), step)
	ADDQ(step, first)
	Load(Param("dstRow"), step)
	ADDQ(step, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func winogradTransposeBack() {
	TEXT("winogradTransposeBack", NOSPLIT, "func(rows, w int, src *float32, srcRow int, dst *float32, dstRow, lane int)")
	Doc("winogradTransposeBack is the inverse of winogradTranspose: it sets rows of eight planes; src has whole eights of pixels.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	lane := Load(Param("lane"), GP64())
	first := Load(Param("dst"), GP64())
	n, at, in, step := GP64(), GP64(), GP64(), GP64()
	planes := newStridedPlaces(at, lane, 8)
	piece := func(k mask) {
		x := make([]reg.VecVirtual, 8)
		for i := range x {
			x[i] = YMM()
			VMOVUPS(Mem{Base: in, Disp: 64 * i}, x[i])
		}
		for i, y := range transpose8(x) {
			store(y, k, planes.at(i))
		}
	}
	Label("row")
	Load(Param("w"), n)
	MOVQ(first, at)
	planes.aim()
	MOVQ(src, in)
	Label("eight")
	CMPQ(n, Imm(8))
	JLT(LabelRef("rest"))
	piece(nil)
	planes.add(Imm(32))
	ADDQ(U32(512), in)
	SUBQ(Imm(8), n)
	JMP(LabelRef("eight"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("next"))
	piece(loadMask(n))
	Label("next")
	Load(Param("dstRow"), step)
	ADDQ(step, first)
	Load(Param("srcRow"), step)
	ADDQ(step, src)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
