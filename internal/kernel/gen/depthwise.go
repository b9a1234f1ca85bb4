package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// depthwise makes the kernels of convolutions channel by channel.
func depthwise() {
	for _, w := range []width{narrow, broad} {
		tapsFlat(w)
		tapSums(w)
		depthRows(w, 5, 1)
		depthRows(w, 5, 2)
		depthRows(w, 7, 1)
		for stride := 1; stride <= 2; stride++ {
			depthPlanes(w, 3, stride)
			depthPlanes(w, 5, stride)
			maxPlanes(w, stride)
			maxTaps(w, stride)
			planeSums(w, stride)
		}
	}
}

// tapsFlat: one weight for each tap, many vectors of neighbouring points, each read from memory by
// the multiply-add itself.
func tapsFlat(w width) {
	name := "tapsFlat" + w.name
	TEXT(name, NOSPLIT, "func(n int, x *float32, taps int, off *int32, f *float32, y *float32, shift, clip *float32)")
	Doc(fmt.Sprintf("%s sets y[i] = shift[0] + Σ f[t]*x[off[t]+i] for i < n, t < taps (≥ 1), clipped to clip[0] … clip[1] unless clip is nil. It reads and writes up to a multiple of %d elements.", name, w.lanes))
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	x := Load(Param("x"), GP64())
	count := Load(Param("taps"), GP64())
	off := Load(Param("off"), GP64())
	f := Load(Param("f"), GP64())
	y := Load(Param("y"), GP64())
	clip := Load(Param("clip"), GP64())
	t, at := GP64(), GP64()
	first, u, lo, hi := w.vec(), w.vec(), w.vec(), w.vec()
	VBROADCASTSS(Mem{Base: Load(Param("shift"), GP64())}, first)
	TESTQ(clip, clip)
	JZ(LabelRef("begin"))
	VBROADCASTSS(Mem{Base: clip}, lo)
	VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	Label("begin")
	for vecs := 8; vecs > 0; vecs /= 2 {
		this := fmt.Sprintf("%dvectors", vecs)
		Label("of" + this)
		if vecs > 1 {
			CMPQ(n, U32(uint32((vecs-1)*w.lanes+1)))
			JLT(LabelRef(fmt.Sprintf("of%dvectors", vecs/2)))
		} else {
			TESTQ(n, n)
			JLE(LabelRef("end"))
		}
		acc := make([]reg.VecVirtual, vecs)
		for v := range acc {
			acc[v] = w.vec()
			VMOVAPS(first, acc[v])
		}
		XORQ(t, t)
		Label("tap" + this)
		MOVLQSX(Mem{Base: off, Index: t, Scale: 4}, at)
		VBROADCASTSS(Mem{Base: f, Index: t, Scale: 4}, u)
		for v := range acc {
			VFMADD231PS(Mem{Base: x, Index: at, Scale: 4, Disp: v * w.bytes()}, u, acc[v])
		}
		INCQ(t)
		CMPQ(t, count)
		JLT(LabelRef("tap" + this))
		TESTQ(clip, clip)
		JZ(LabelRef("store" + this))
		for v := range acc { // this order keeps NaN
			VMAXPS(acc[v], lo, acc[v])
			VMINPS(acc[v], hi, acc[v])
		}
		Label("store" + this)
		for v := range acc {
			VMOVUPS(acc[v], Mem{Base: y, Disp: v * w.bytes()})
		}
		ADDQ(U32(uint32(vecs*w.bytes())), x)
		ADDQ(U32(uint32(vecs*w.bytes())), y)
		SUBQ(U32(uint32(vecs*w.lanes)), n)
		if vecs == 8 || vecs == 1 {
			JMP(LabelRef("of" + this))
		}
	}
	Label("end")
	VZEROUPPER()
	RET()
}

// tapSums: nine sums at once, one for each tap, so that a vector of y is read once.
func tapSums(w width) {
	const sums = 9
	name := "tapSums" + w.name
	TEXT(name, NOSPLIT, "func(images, rows, n int, x *float32, off *int32, xRow, xImage int, y *float32, yRow, yImage int, sum *float32)")
	Doc(name + " adds Σ x[off[t]+i]*y[i] over images of rows of n points to sum[t] for t < 9. Rows and images are so many bytes apart.")
	Pragma("noescape")
	x := Load(Param("x"), GP64())
	off := Load(Param("off"), GP64())
	y := Load(Param("y"), GP64())
	var acc [sums]reg.VecVirtual
	for t := range acc {
		acc[t] = w.vec()
		w.zero(acc[t])
	}
	v, u := w.vec(), w.vec()
	px, py, n, o, rows, ix, iy := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	images := Load(Param("images"), GP64())
	tap := func(t int) Mem {
		MOVLQSX(Mem{Base: off, Disp: 4 * t}, o)
		return Mem{Base: px, Index: o, Scale: 4}
	}
	step := GP64()
	Label("image")
	MOVQ(x, ix)
	MOVQ(y, iy)
	Load(Param("rows"), rows)
	Label("row")
	Load(Param("n"), n)
	MOVQ(ix, px)
	MOVQ(iy, py)
	SUBQ(Imm(uint64(w.lanes)), n)
	JLT(LabelRef("rest"))
	Label("whole")
	VMOVUPS(Mem{Base: py}, v)
	for t := range acc {
		VFMADD231PS(tap(t), v, acc[t])
	}
	ADDQ(Imm(uint64(w.bytes())), px)
	ADDQ(Imm(uint64(w.bytes())), py)
	SUBQ(Imm(uint64(w.lanes)), n)
	JGE(LabelRef("whole"))
	Label("rest")
	ADDQ(Imm(uint64(w.lanes)), n)
	JZ(LabelRef("next"))
	if w.lanes == 16 {
		mask, bits := K(), GP32()
		MOVL(U32(0xffff), bits)
		BZHIL(n.As32(), bits, bits)
		KMOVW(bits, mask)
		VMOVUPS_Z(Mem{Base: py}, mask, v)
		for t := range acc { // elements outside may be NaN, so that multiplying by 0 is not enough
			VMOVUPS_Z(tap(t), mask, u)
			VFMADD231PS(u, v, acc[t])
		}
	} else {
		mask := loadMask(n)
		VMASKMOVPS(Mem{Base: py}, mask, v)
		for t := range acc {
			VMASKMOVPS(tap(t), mask, u)
			VFMADD231PS(u, v, acc[t])
		}
	}
	Label("next")
	Load(Param("xRow"), step)
	ADDQ(step, ix)
	Load(Param("yRow"), step)
	ADDQ(step, iy)
	DECQ(rows)
	JNZ(LabelRef("row"))
	Load(Param("xImage"), step)
	ADDQ(step, x)
	Load(Param("yImage"), step)
	ADDQ(step, y)
	DECQ(images)
	JNZ(LabelRef("image"))
	sum := Load(Param("sum"), GP64())
	for t := range acc {
		w.addSum(acc[t], v, Mem{Base: sum, Disp: 4 * t})
	}
	VZEROUPPER()
	RET()
}

// addSum adds the elements of a, which it spoils like v, to a number in memory.
func (w width) addSum(a, v reg.VecVirtual, to Mem) {
	if w.lanes == 16 {
		VEXTRACTF64X4(Imm(1), a, v.AsY())
		VADDPS(v.AsY(), a.AsY(), a.AsY())
	}
	VEXTRACTF128(Imm(1), a.AsY(), v.AsX())
	VADDPS(v.AsX(), a.AsX(), a.AsX())
	VHADDPS(a.AsX(), a.AsX(), a.AsX())
	VHADDPS(a.AsX(), a.AsX(), a.AsX())
	VADDSS(to, a.AsX(), a.AsX())
	VMOVSS(a.AsX(), to)
}
