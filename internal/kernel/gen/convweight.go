package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// convWeight: a block of six rows of the left operand, each with its own address, and vecs
// vectors of the packed right operand; the inner loop runs over rows of points.
func convWeight(w width, vecs int) {
	name := fmt.Sprintf("convWeight%s%d", w.name, vecs)
	TEXT(name, NOSPLIT, "func(images, rows, n int, x *float32, off *int32, jump, imageJump int, b, c *float32, ldc, add int, next *float32, pace int)")
	Doc(fmt.Sprintf("%s computes six rows of %d floats, ldc bytes apart: the sums of x[off[row]+p] * b[%d*q+column] over the points q of images of rows of n points; p counts them, and jump bytes more after each row and imageJump bytes more after each image. They are added to c unless add is 0. With %s it fetches what lies pace bytes after what it fetched before, next at first, into the second cache level.",
		name, vecs*w.lanes, vecs*w.lanes, map[bool]string{true: "each point", false: "every other point of a row"}[w.lanes == 16]))
	Pragma("noescape")
	images := Load(Param("images"), GP64())
	x := Load(Param("x"), GP64())
	off := Load(Param("off"), GP64())
	var from [6]reg.GPVirtual
	for i := range from {
		from[i] = GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * i}, from[i])
		LEAQ(Mem{Base: x, Index: from[i], Scale: 4}, from[i])
	}
	b := Load(Param("b"), GP64())
	sets := 1
	if vecs == 1 {
		sets = 2 // to hide the latency of the multiply-add
	}
	var acc [2][6][]reg.VecVirtual
	for s := range sets {
		for i := range from {
			for range vecs {
				r := w.vec()
				w.zero(r)
				acc[s][i] = append(acc[s][i], r)
			}
		}
	}
	y := make([]reg.VecVirtual, vecs)
	for v := range y {
		y[v] = w.vec()
	}
	u := []reg.VecVirtual{w.vec(), w.vec()}
	p, n, rows := GP64(), GP64(), GP64()
	XORQ(p, p)
	next, pace := Load(Param("next"), GP64()), Load(Param("pace"), GP64())
	step := func(s, at int) {
		if w.lanes == 16 || at == 1 {
			PREFETCHT1(Mem{Base: next})
			ADDQ(pace, next)
		}
		for v := range y {
			VMOVUPS(Mem{Base: b, Disp: at*vecs*w.bytes() + v*w.bytes()}, y[v])
		}
		for i := range from {
			VBROADCASTSS(Mem{Base: from[i], Index: p, Scale: 1, Disp: 4 * at}, u[i%2])
			for v := range y {
				VFMADD231PS(y[v], u[i%2], acc[s][i][v])
			}
		}
	}
	advance := func(n int) {
		ADDQ(U32(uint32(n*vecs*w.bytes())), b)
		ADDQ(Imm(uint64(4*n)), p)
	}
	Label("image")
	Load(Param("rows"), rows)
	Label("row")
	Load(Param("n"), n)
	SUBQ(Imm(2), n)
	JLT(LabelRef("odd"))
	Label("pair")
	step(0, 0)
	step(sets-1, 1)
	advance(2)
	SUBQ(Imm(2), n)
	JGE(LabelRef("pair"))
	Label("odd")
	ADDQ(Imm(2), n)
	JZ(LabelRef("next"))
	step(0, 0)
	advance(1)
	Label("next")
	ADDQ(NewParamAddr("jump", 40), p)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(NewParamAddr("imageJump", 48), p)
	DECQ(images)
	JNZ(LabelRef("image"))
	if sets == 2 {
		for i := range from {
			VADDPS(acc[1][i][0], acc[0][i][0], acc[0][i][0])
		}
	}
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64())
	add := Load(Param("add"), GP64())
	TESTQ(add, add)
	JZ(LabelRef("store"))
	d := GP64()
	MOVQ(c, d)
	for i := range from {
		for v := range y {
			VADDPS(Mem{Base: d, Disp: v * w.bytes()}, acc[0][i][v], acc[0][i][v])
		}
		if i < 5 {
			ADDQ(ldc, d)
		}
	}
	Label("store")
	for i := range from {
		for v := range y {
			VMOVUPS(acc[0][i][v], Mem{Base: c, Disp: v * w.bytes()})
		}
		if i < 5 {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}
