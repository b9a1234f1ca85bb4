package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// blockRows is the number of rows of outputs that depthRows computes at once.
const blockRows = 8

// depthRows: the weights of a column of the window stay in registers while the rows of the input are visited, so that a
// vector of the input, which is rarely aligned to a cache line, is loaded once for all outputs above and below.
func depthRows(w width, side, stride int) {
	name := fmt.Sprintf("depthRows%d%s%d", side, w.name, stride)
	TEXT(name, NOSPLIT, "func(high, wide int, x *float32, xRow, odd int, y *float32, yRow int, f, shift, clip *float32)")
	rows := (blockRows-1)*stride + side
	doc := fmt.Sprintf("%s convolves a plane with %d×%d numbers of f, with stride %d, and adds shift[0]: high ≥ 1 rows of wide ≥ 1 results, clipped to clip[0] … clip[1]. Rows of x and y are xRow and yRow bytes apart. Of x it reads at least %d rows, and vectors of %d.",
		name, side, side, stride, rows, w.lanes)
	if stride == 2 {
		doc += " A row of x is its even columns, and odd bytes after them its odd ones."
	}
	Doc(doc)
	Pragma("noescape")
	high := Load(Param("high"), GP64())
	x, xRow := Load(Param("x"), GP64()), Load(Param("xRow"), GP64())
	y, yRow := Load(Param("y"), GP64()), Load(Param("yRow"), GP64())
	column, from, at, f, n := GP64(), GP64(), GP64(), GP64(), GP64()
	acc, weights, v := make([]reg.VecVirtual, blockRows), make([]reg.VecVirtual, side), w.vec()
	for i := range acc {
		acc[i] = w.vec()
	}
	for i := range weights {
		weights[i] = w.vec()
	}
	Label("rows")
	XORQ(column, column)
	Label("columns")
	Load(Param("shift"), f)
	VBROADCASTSS(Mem{Base: f}, acc[0])
	for _, a := range acc[1:] {
		VMOVAPS(acc[0], a)
	}
	Load(Param("f"), f)
	LEAQ(Mem{Base: x, Index: column, Scale: 1}, from)
	// taps adds the contribution of column tap of the window, from the address at plus disp bytes.
	taps := func(tap, disp int) {
		for i, u := range weights {
			VBROADCASTSS(Mem{Base: f, Disp: 4 * (side*i + tap)}, u)
		}
		for row := range rows {
			VMOVUPS(Mem{Base: at, Disp: disp}, v)
			ADDQ(xRow, at)
			for i := range weights {
				if to := (row - i) / stride; row >= i && (row-i)%stride == 0 && to < blockRows {
					VFMADD231PS(v, weights[i], acc[to])
				}
			}
		}
	}
	if stride == 1 {
		MOVQ(U32(uint32(side)), n)
		Label("tap")
		MOVQ(from, at)
		taps(0, 0)
		ADDQ(Imm(4), f)
		ADDQ(Imm(4), from)
		DECQ(n)
		JNZ(LabelRef("tap"))
	} else {
		Load(Param("odd"), n)
		for tap := range side {
			if tap%2 == 0 {
				MOVQ(from, at)
			} else {
				LEAQ(Mem{Base: from, Index: n, Scale: 1}, at)
			}
			taps(tap, tap/2*4)
		}
	}

	// Store only existing rows and columns.
	lo, hi := weights[0], weights[1]
	Load(Param("clip"), f)
	VBROADCASTSS(Mem{Base: f}, lo)
	VBROADCASTSS(Mem{Base: f, Disp: 4}, hi)
	for _, a := range acc {
		VMAXPS(a, lo, a) // this order keeps NaN
		VMINPS(a, hi, a)
	}
	LEAQ(Mem{Base: y, Index: column, Scale: 1}, at)
	Load(Param("wide"), n)
	var some mask
	if w.lanes == 16 {
		CMPQ(n, Imm(uint64(w.lanes)))
		JLE(LabelRef("few"))
		MOVQ(U32(uint32(w.lanes)), n)
		Label("few")
		bits, k := GP32(), K()
		MOVL(U32(0xffff), bits)
		BZHIL(n.As32(), bits, bits)
		KMOVW(bits, k)
		some = k
	} else {
		CMPQ(n, Imm(uint64(w.lanes)))
		JLE(LabelRef("few"))
		MOVQ(U32(uint32(w.lanes)), n)
		Label("few")
		NEGQ(n)
		LEAQ(maskTable, f)
		VMOVDQU(Mem{Base: f, Index: n, Scale: 4, Disp: 32}, v)
		some = v
	}
	for i, a := range acc {
		if i > 0 {
			CMPQ(high, Imm(uint64(i)))
			JLE(LabelRef("stored"))
		}
		if w.lanes == 16 {
			VMOVUPS(a, some, Mem{Base: at})
		} else {
			VMASKMOVPS(a, some, Mem{Base: at})
		}
		ADDQ(yRow, at)
	}
	Label("stored")

	// The last vector of a row ends where the row does, and the last block where the plane does.
	ADDQ(U32(uint32(w.bytes())), column)
	Load(Param("wide"), n)
	SHLQ(Imm(2), n)
	CMPQ(column, n)
	JGE(LabelRef("next"))
	SUBQ(U32(uint32(w.bytes())), n)
	CMPQ(column, n)
	CMOVQGT(n, column)
	JMP(LabelRef("columns"))
	Label("next")
	SUBQ(Imm(blockRows), high)
	JLE(LabelRef("end"))
	for range stride {
		LEAQ(Mem{Base: x, Index: xRow, Scale: blockRows}, x)
	}
	LEAQ(Mem{Base: y, Index: yRow, Scale: blockRows}, y)
	Label("back")
	CMPQ(high, Imm(blockRows))
	JGE(LabelRef("rows"))
	for range stride {
		SUBQ(xRow, x)
	}
	SUBQ(yRow, y)
	INCQ(high)
	JMP(LabelRef("back"))
	Label("end")
	VZEROUPPER()
	RET()
}
