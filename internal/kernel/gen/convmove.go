package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowsAhead is how many rows before they are needed rows of planes are fetched: they are short, and the
// next one does not lie where a processor expects it.
const rowsAhead = 8

// eachPlaneRow is the frame of a function that goes through the rows of planes. body gets places in a
// row of src and dst, which it may move, and the distance of the rows of src.
func eachPlaneRow(name, what string, body func(s, d, srcRow reg.GPVirtual)) {
	TEXT(name, NOSPLIT, "func(planes, rows, n int, src *float32, srcPlane, srcRow int, dst *float32, dstPlane, dstRow int)")
	Doc(name + " copies " + what + " of rows ≥ 1, which are srcRow and dstRow bytes apart, of planes ≥ 1; n ≥ 1.")
	Pragma("noescape")
	planes := Load(Param("planes"), GP64())
	src, ss := Load(Param("src"), GP64()), Load(Param("srcRow"), GP64())
	dst, ds := Load(Param("dst"), GP64()), Load(Param("dstRow"), GP64())
	rows, from, to, s, d := GP64(), GP64(), GP64(), GP64(), GP64()
	Label("plane")
	Load(Param("rows"), rows)
	MOVQ(src, from)
	MOVQ(dst, to)
	Label("row")
	MOVQ(from, s)
	MOVQ(to, d)
	body(s, d, ss.(reg.GPVirtual))
	ADDQ(ss, from)
	ADDQ(ds, to)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Load(Param("srcPlane"), s)
	ADDQ(s, src)
	Load(Param("dstPlane"), d)
	ADDQ(d, dst)
	DECQ(planes)
	JNZ(LabelRef("plane"))
	VZEROUPPER()
	RET()
}

func movePlanes() {
	eachPlaneRow("movePlanes", "n floats", func(s, d, srcRow reg.GPVirtual) {
		var x [4]reg.VecVirtual
		for i := range x {
			x[i] = YMM()
		}
		n := Load(Param("n"), GP64())
		blocks(n, 4, func(vectors int, k mask) {
			if vectors == 1 {
				PREFETCHT0(Mem{Base: s, Index: srcRow, Scale: rowsAhead})
			}
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
	})
}

func everyOther() {
	eachPlaneRow("everyOther", "the floats 0, 2, … 2*(n-1)", func(s, d, srcRow reg.GPVirtual) {
		x, y := YMM(), YMM()
		n := Load(Param("n"), GP64())
		join := func() {
			VSHUFPS(Imm(0x88), y, x, x)
			VPERMPD(Imm(0xd8), x, x)
		}
		Label("eight")
		PREFETCHT0(Mem{Base: s, Index: srcRow, Scale: rowsAhead})
		CMPQ(n, Imm(8))
		JLE(LabelRef("rest")) // the last ones would need a float too many
		VMOVUPS(Mem{Base: s}, x)
		VMOVUPS(Mem{Base: s, Disp: 32}, y)
		join()
		VMOVUPS(x, Mem{Base: d})
		ADDQ(Imm(64), s)
		ADDQ(Imm(32), d)
		SUBQ(Imm(8), n)
		JMP(LabelRef("eight"))
		Label("rest")
		first, second, limit := GP64(), GP64(), GP64() // of x and y: 2*n-1 floats in all
		LEAQ(Mem{Base: n, Index: n, Scale: 1, Disp: -1}, first)
		LEAQ(Mem{Base: first, Disp: -8}, second)
		MOVQ(U32(8), limit)
		CMPQ(first, limit)
		CMOVQGT(limit, first)
		XORQ(limit, limit)
		CMPQ(second, limit)
		CMOVQLT(limit, second)
		load(Mem{Base: s}, loadMask(first), x)
		load(Mem{Base: s, Disp: 32}, loadMask(second), y)
		join()
		store(x, loadMask(n), Mem{Base: d})
	})
}

// stretchRows is the way back from every other float of every other row.
func stretchRows() {
	TEXT("stretchRows", NOSPLIT, "func(rows, n int, src, dst *float32, gap int)")
	Doc("stretchRows sets rows ≥ 1 of 2*n+gap floats that lie together: n floats of src, a 0 behind each, and gap zeros.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	src := Load(Param("src"), GP64())
	dst := Load(Param("dst"), GP64())
	left, pair := GP64(), GP64()
	x, zero := YMM(), YMM()
	VXORPS(zero, zero, zero)
	Label("row")
	Load(Param("n"), left)
	Label("four")
	CMPQ(left, Imm(4))
	JLT(LabelRef("rest"))
	VPMOVZXDQ(Mem{Base: src}, x)
	VMOVUPS(x, Mem{Base: dst})
	ADDQ(Imm(16), src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(4), left)
	JMP(LabelRef("four"))
	Label("rest")
	TESTQ(left, left)
	JZ(LabelRef("gap"))
	MOVL(Mem{Base: src}, pair.As32())
	MOVQ(pair, Mem{Base: dst})
	ADDQ(Imm(4), src)
	ADDQ(Imm(8), dst)
	DECQ(left)
	JMP(LabelRef("rest"))
	Label("gap")
	Load(Param("gap"), left)
	Label("eight")
	CMPQ(left, Imm(8))
	JLT(LabelRef("some"))
	VMOVUPS(zero, Mem{Base: dst})
	ADDQ(Imm(32), dst)
	SUBQ(Imm(8), left)
	JMP(LabelRef("eight"))
	Label("some")
	TESTQ(left, left)
	JZ(LabelRef("next"))
	VMOVSS(zero.AsX(), Mem{Base: dst})
	ADDQ(Imm(4), dst)
	DECQ(left)
	JMP(LabelRef("some"))
	Label("next")
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
