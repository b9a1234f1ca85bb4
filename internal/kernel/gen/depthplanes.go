package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// depthPlanes: a 3×3 convolution of planes one by one, whose nine weights stay in registers. What a
// tap would read outside of the plane a mask leaves out, so that the plane needs no border.
func depthPlanes(w width, stride int) {
	const taps = 9
	name := fmt.Sprintf("depthPlanes%s%d", w.name, stride)
	TEXT(name, NOSPLIT, "func(planes int, steps *int32, n int, masks *uint8, x *float32, xRow, xPlane int, y *float32, yPlane int, f, shift *float32, clip *float32)")
	Doc(fmt.Sprintf("%s convolves planes ≥ 1, xPlane and yPlane bytes apart, each with nine numbers of f and one of shift, and clips the results to clip[0] … clip[1]. Each of n ≥ 1 steps computes %d neighbouring outputs and stores %d, with stride %d; rows that the taps read are xRow bytes apart. Of its masks, nine of %d bytes, each belongs to a tap; a step with masks < 0 needs none.",
		name, w.lanes, w.lanes/stride, stride, w.maskBytes()))
	Pragma("noescape")
	planes := Load(Param("planes"), GP64())
	masks := Load(Param("masks"), GP64())
	x := Load(Param("x"), GP64())
	row := Load(Param("xRow"), GP64())
	y := Load(Param("y"), GP64())
	f := Load(Param("f"), GP64())
	shift := Load(Param("shift"), GP64())
	step, n, from, at := GP64(), GP64(), GP64(), GP64()
	var weight [taps]reg.VecVirtual
	for t := range weight {
		weight[t] = w.vec()
	}
	start, acc, lo, hi := w.vec(), w.vec(), w.vec(), w.vec()
	clip := Load(Param("clip"), GP64())
	VBROADCASTSS(Mem{Base: clip}, lo)
	VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	evens := w.vec()
	if stride == 2 {
		table := GLOBL("evens"+w.name, RODATA|NOPTR)
		for i := range w.lanes {
			DATA(4*i, U32(uint32(2*i%w.lanes)))
		}
		VMOVUPS(table, evens)
	}
	tap := func(t int) Mem {
		if t < 3 {
			return Mem{Base: from, Disp: 4 * t}
		}
		return Mem{Base: from, Index: row, Scale: uint8(t / 3), Disp: 4 * (t % 3)}
	}
	Label("plane")
	for t := range weight {
		VBROADCASTSS(Mem{Base: f, Disp: 4 * t}, weight[t])
	}
	VBROADCASTSS(Mem{Base: shift}, start)
	Load(Param("steps"), step)
	Load(Param("n"), n)
	Label("step")
	MOVLQSX(Mem{Base: step}, from)
	MOVLQSX(Mem{Base: step, Disp: 8}, at)
	ADDQ(x, from)
	VMOVAPS(start, acc)
	TESTQ(at, at)
	JS(LabelRef("whole"))
	ADDQ(masks, at)
	w.maskedTaps(at, tap, weight[:], acc)
	JMP(LabelRef("store"))
	Label("whole")
	for t := range weight {
		VFMADD231PS(tap(t), weight[t], acc)
	}
	Label("store")
	VMAXPS(acc, lo, acc) // this order keeps NaN
	VMINPS(acc, hi, acc)
	MOVLQSX(Mem{Base: step, Disp: 4}, at)
	switch to := (Mem{Base: y, Index: at, Scale: 1}); {
	case stride == 1:
		VMOVUPS(acc, to)
	case w.lanes == 16:
		VPERMPS(acc, evens, acc)
		VMOVUPS(acc.AsY(), to)
	default:
		VPERMPS(acc, evens, acc)
		VMOVUPS(acc.AsX(), to)
	}
	ADDQ(Imm(16), step)
	DECQ(n)
	JNZ(LabelRef("step"))
	ADDQ(NewParamAddr("xPlane", 48), x)
	ADDQ(NewParamAddr("yPlane", 64), y)
	ADDQ(Imm(4*taps), f)
	ADDQ(Imm(4), shift)
	DECQ(planes)
	JNZ(LabelRef("plane"))
	VZEROUPPER()
	RET()
}

// maskBytes is how long a mask of a vector is.
func (w width) maskBytes() int {
	if w.lanes == 16 {
		return 2 // a bit for each element
	}
	return w.bytes()
}

// maskedTaps adds weight times what tap says to acc, for the lanes that the masks from at on select.
func (w width) maskedTaps(at reg.Register, tap func(t int) Mem, weight []reg.VecVirtual, acc reg.VecVirtual) {
	for t := range weight {
		if w.lanes == 16 {
			mask := K()
			KMOVW(Mem{Base: at, Disp: 2 * t}, mask)
			VFMADD231PS(tap(t), weight[t], mask, acc)
			continue
		}
		mask, z := w.vec(), w.vec()
		VMOVUPS(Mem{Base: at, Disp: t * w.bytes()}, mask)
		VMASKMOVPS(tap(t), mask, z)
		VFMADD231PS(z, weight[t], acc)
	}
}
