package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// eachRow writes the loop of a kernel over consecutive, possibly short rows: a call for each would take longer
// than its work. It is the loop over rows ≥ 1. begin starts each row, body processes vectors of it at p, the last with a
// mask, and end finishes it.
func eachRow(p []reg.Register, begin func(), body func(vectors int, k mask), end func()) {
	n, rows := GP64(), GP64()
	Load(Param("rows"), rows)
	Label(label("row"))
	begin()
	Load(Param("n"), n)
	blocks(n, 2, body, func(bytes int) {
		for _, r := range p {
			ADDQ(U32(uint32(bytes)), r)
		}
	})
	Load(Param("n"), n) // the masked vector did not move on
	ANDQ(Imm(uint64(current.lanes-1)), n)
	for _, r := range p {
		LEAQ(Mem{Base: r, Index: n, Scale: 4}, r)
	}
	end()
	DECQ(rows)
	JNZ(LabelRef(label("row")))
}

func meanRows() {
	TEXT("meanRows", NOSPLIT, "func(rows, n int, x, y, count *float32)")
	Doc("meanRows sets y[r] to the sum of row r of x, divided by count[0], for rows ≥ 1 of n ≥ 0 elements.")
	Pragma("noescape")
	x, y := Load(Param("x"), GP64()), Load(Param("y"), GP64())
	count := XMM()
	VMOVSS(Mem{Base: Load(Param("count"), GP64())}, count)
	bothWidths(func() {
		s := []vec{vector(), vector()}
		eachRow([]reg.Register{x}, func() {
			for _, v := range s {
				current.zero(v)
			}
		}, func(vectors int, k mask) {
			for v := range vectors {
				t := vector()
				load(Mem{Base: x, Disp: current.bytes() * v}, k, t)
				VADDPS(t, s[v], s[v])
			}
		}, func() {
			sum := across(s, VADDPS)
			VDIVSS(count, sum, sum)
			VMOVSS(sum, Mem{Base: y})
			ADDQ(Imm(4), y)
		})
	}, nil)
}

func scaleRowsBy() {
	TEXT("scaleRowsBy", NOSPLIT, "func(rows, n int, x, f, y *float32)")
	Doc("scaleRowsBy sets row r of y to that of x times f[r], for rows ≥ 1 of n ≥ 0 elements.")
	Pragma("noescape")
	x, f, y := Load(Param("x"), GP64()), Load(Param("f"), GP64()), Load(Param("y"), GP64())
	bothWidths(func() {
		by := vector()
		eachRow([]reg.Register{x, y}, func() {
			VBROADCASTSS(Mem{Base: f}, by)
			ADDQ(Imm(4), f)
		}, func(vectors int, k mask) {
			for v := range vectors {
				t := vector()
				load(Mem{Base: x, Disp: current.bytes() * v}, k, t)
				VMULPS(by, t, t)
				store(t, k, Mem{Base: y, Disp: current.bytes() * v})
			}
		}, func() {})
	}, nil)
}
