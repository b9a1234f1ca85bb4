package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowsPrefetch is how many rows before their use rows of planes are prefetched: they are short, and hardware
// prefetchers do not expect the next one.
const rowsPrefetch = 8

// eachPlaneRow is the frame of a function that goes through the rows of planes. body gets places in a row of src and
// dst, which it may move, and the distance of the rows of src. The function has more parameters if told so.
func eachPlaneRow(name, more, what string, body func(s, d, srcRow reg.GPVirtual)) {
	TEXT(name, NOSPLIT, "func(planes, rows, n int, src *float32, srcPlane, srcRow int, dst *float32, dstPlane, dstRow int"+more+")")
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
	eachPlaneRow("movePlanes", "", "n floats", func(s, d, srcRow reg.GPVirtual) {
		var x [4]reg.VecVirtual
		for i := range x {
			x[i] = YMM()
		}
		n := Load(Param("n"), GP64())
		// Pieces of panels and of small planes have exactly one vector.
		for _, short := range []reg.Register{x[0], x[0].AsX()} {
			floats := int(short.Size()) / 4
			other := fmt.Sprint("not", floats)
			CMPQ(n, Imm(uint64(floats)))
			JNE(LabelRef(other))
			PREFETCHT0(Mem{Base: s, Index: srcRow, Scale: rowsPrefetch})
			VMOVUPS(Mem{Base: s}, short)
			VMOVUPS(short, Mem{Base: d})
			JMP(LabelRef("end"))
			Label(other)
		}
		blocks(n, 4, func(vectors int, k mask) {
			if vectors == 1 {
				PREFETCHT0(Mem{Base: s, Index: srcRow, Scale: rowsPrefetch})
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

// everyOther: the last eight of a row, or four of a short one, end where the row does: they may be copied twice,
// and their second half is loaded from one float earlier, so that nothing after the row is read.
func everyOther() {
	const evens, evensThenOdds = 0x88, 0xd8
	eachPlaneRow("everyOther", "", "the floats 0, 2, … 2*(n-1)", func(s, d, srcRow reg.GPVirtual) {
		x, y, n := YMM(), YMM(), GP64()
		eight := func(second int, choice uint8) {
			VMOVUPS(Mem{Base: s}, x)
			VMOVUPS(Mem{Base: s, Disp: second}, y)
			VSHUFPS(Imm(uint64(choice)), y, x, x)
			VPERMPD(Imm(0xd8), x, x)
			VMOVUPS(x, Mem{Base: d})
		}
		four := func() {
			VMOVUPS(Mem{Base: s}, x.AsX())
			VMOVUPS(Mem{Base: s, Disp: 12}, y.AsX())
			VSHUFPS(Imm(evensThenOdds), y.AsX(), x.AsX(), x.AsX())
			VMOVUPS(x.AsX(), Mem{Base: d})
		}
		toLast := func(lanes int) { // n may be less than lanes
			LEAQ(Mem{Base: s, Index: n, Scale: 8, Disp: -8 * lanes}, s)
			LEAQ(Mem{Base: d, Index: n, Scale: 4, Disp: -4 * lanes}, d)
		}
		Load(Param("n"), n)
		PREFETCHT0(Mem{Base: s, Index: srcRow, Scale: rowsPrefetch})
		CMPQ(n, Imm(8))
		JLT(LabelRef("short"))
		Label("eight")
		CMPQ(n, Imm(8))
		JLE(LabelRef("last"))
		eight(32, evens)
		ADDQ(Imm(64), s)
		ADDQ(Imm(32), d)
		SUBQ(Imm(8), n)
		PREFETCHT0(Mem{Base: s, Index: srcRow, Scale: rowsPrefetch})
		JMP(LabelRef("eight"))
		Label("last")
		toLast(8)
		eight(28, evensThenOdds)
		JMP(LabelRef("copied"))
		Label("short")
		CMPQ(n, Imm(4))
		JLT(LabelRef("one"))
		four()
		toLast(4)
		four()
		JMP(LabelRef("copied"))
		Label("one")
		VMOVSS(Mem{Base: s}, x.AsX())
		VMOVSS(x.AsX(), Mem{Base: d})
		ADDQ(Imm(8), s)
		ADDQ(Imm(4), d)
		DECQ(n)
		JNZ(LabelRef("one"))
		Label("copied")
	})
}

// stretchRows is the inverse of picking every other float of every other row. Vectors that do not fit
// end at the end of the row, and overlap the previous one.
func stretchRows() {
	TEXT("stretchRows", NOSPLIT, "func(rows, n int, src, dst *float32)")
	Doc("stretchRows makes rows ≥ 1 of n ≥ 1 floats twice as many of twice as many: each float has a 0 behind it, each row one of zeros. All of them lie together.")
	Pragma("noescape")
	rows, n := Load(Param("rows"), GP64()), Load(Param("n"), GP64())
	s, d := Load(Param("src"), GP64()), Load(Param("dst"), GP64())
	x, zero := YMM(), YMM()
	VXORPS(zero, zero, zero)
	// stretched writes 2*n floats, in order: lines that are being written take more stores at a time.
	stretched := func(name string, four, one func()) {
		left := GP64()
		MOVQ(n, left)
		CMPQ(n, Imm(4))
		JLT(LabelRef(name + "one"))
		Label(name + "four")
		four()
		ADDQ(Imm(16), s)
		ADDQ(Imm(32), d)
		SUBQ(Imm(4), left)
		CMPQ(left, Imm(4))
		JGE(LabelRef(name + "four"))
		TESTQ(left, left)
		JZ(LabelRef(name + "done"))
		LEAQ(Mem{Base: s, Index: left, Scale: 4, Disp: -16}, s)
		LEAQ(Mem{Base: d, Index: left, Scale: 8, Disp: -32}, d)
		four()
		ADDQ(Imm(16), s)
		ADDQ(Imm(32), d)
		JMP(LabelRef(name + "done"))
		Label(name + "one")
		one()
		ADDQ(Imm(4), s)
		ADDQ(Imm(8), d)
		DECQ(left)
		JNZ(LabelRef(name + "one"))
		Label(name + "done")
	}
	Label("row")
	stretched("value", func() {
		VPMOVZXDQ(Mem{Base: s}, x)
		VMOVUPS(x, Mem{Base: d})
	}, func() {
		VMOVSS(Mem{Base: s}, x.AsX())
		VMOVSD(x.AsX(), Mem{Base: d})
	})
	behind := GP64()
	MOVQ(s, behind)
	stretched("zero", func() { VMOVUPS(zero, Mem{Base: d}) }, func() { VMOVSD(zero.AsX(), Mem{Base: d}) })
	MOVQ(behind, s)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// addStretched adds where stretchRows sets.
func addStretched() {
	TEXT("addStretched", NOSPLIT, "func(rows, n int, src, dst *float32)")
	Doc("addStretched adds rows ≥ 1 of n ≥ 1 floats to every other float of every other row of dst, whose rows have 2*n floats. All of them lie together.")
	Pragma("noescape")
	rows, n := Load(Param("rows"), GP64()), Load(Param("n"), GP64())
	s, d := Load(Param("src"), GP64()), Load(Param("dst"), GP64())
	x, left := YMM(), GP64()
	Label("row")
	MOVQ(n, left)
	SUBQ(Imm(4), left)
	JLT(LabelRef("few"))
	Label("four")
	VPMOVZXDQ(Mem{Base: s}, x)
	VADDPS(Mem{Base: d}, x, x)
	VMOVUPS(x, Mem{Base: d})
	ADDQ(Imm(16), s)
	ADDQ(Imm(32), d)
	SUBQ(Imm(4), left)
	JGE(LabelRef("four"))
	Label("few")
	ADDQ(Imm(4), left)
	JZ(LabelRef("added"))
	Label("one")
	VMOVSS(Mem{Base: s}, x.AsX())
	VADDSS(Mem{Base: d}, x.AsX(), x.AsX())
	VMOVSS(x.AsX(), Mem{Base: d})
	ADDQ(Imm(4), s)
	ADDQ(Imm(8), d)
	DECQ(left)
	JNZ(LabelRef("one"))
	Label("added")
	LEAQ(Mem{Base: d, Index: n, Scale: 8}, d)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
