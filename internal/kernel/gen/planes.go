package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windowTaps is the number of points of a 3×3 window.
const windowTaps = 3 * 3

// planeLoop is the frame of kernels that go through planes step by step: a step reads square windows,
// of 3×3 or 5×5, that are side by side. Whatever a tap would read outside of the plane a mask leaves out,
// so that planes need no border.
type planeLoop struct {
	width
	side   int // of a window
	stride int
	y      reg.GPVirtual
	from   reg.GPVirtual // address that the first tap of a step reads
	to     reg.GPVirtual // byte offset in y of the outputs of a step
	row    reg.GPVirtual // bytes from row to row of taps
	rows3  reg.GPVirtual // three times as many, for windows of 5×5
	masks  reg.GPVirtual // of a step
	evens  reg.VecVirtual
}

// planeArgs and planeDoc are the arguments of all such kernels and their documentation.
const planeArgs = "planes int, steps *int32, n int, masks *uint8, x *float32, xRow, xPlane int, y *float32, yPlane int"

func (w width) planeDoc(side, stride int) string {
	return fmt.Sprintf(" Planes ≥ 1 are xPlane and yPlane bytes apart. Each of n ≥ 1 steps computes %d neighbouring outputs and stores %d, with stride %d; rows that the taps read are xRow bytes apart. Of its masks, %d of %d bytes, each belongs to a tap; a step with masks < 0 needs none.",
		w.lanes, w.lanes/stride, stride, side*side, w.maskBytes())
}

// planeCode is the code of a kernel for each step.
type planeCode struct {
	plane  func()                            // prepares a plane
	step   func(p *planeLoop, masked bool)   // reads windows, masked or not
	result func(p *planeLoop) reg.VecVirtual // to be stored; nil: nothing is
	next   func(p *planeLoop)                // moves on to the next plane
	end    func()                            // emitted last
}

// walk writes the loops.
func (w width) walk(side, stride int, code planeCode) {
	p := &planeLoop{width: w, side: side, stride: stride, from: GP64(), masks: GP64(), to: GP64()}
	planes := Load(Param("planes"), GP64())
	masks := Load(Param("masks"), GP64())
	x := Load(Param("x"), GP64())
	p.row = Load(Param("xRow"), GP64()).(reg.GPVirtual)
	p.y = Load(Param("y"), GP64()).(reg.GPVirtual)
	if side == 5 {
		p.rows3 = GP64()
		LEAQ(Mem{Base: p.row, Index: p.row, Scale: 2}, p.rows3)
	}
	at, n := GP64(), GP64()
	if stride == 2 {
		p.evens = w.vec()
		VMOVUPS(w.evenLanes(), p.evens)
	}
	Label("plane")
	if code.plane != nil {
		code.plane()
	}
	Load(Param("steps"), at)
	Load(Param("n"), n)
	Label("step")
	MOVLQSX(Mem{Base: at}, p.from)
	MOVLQSX(Mem{Base: at, Disp: 4}, p.to)
	MOVLQSX(Mem{Base: at, Disp: 8}, p.masks)
	ADDQ(x, p.from)
	TESTQ(p.masks, p.masks)
	JS(LabelRef("whole"))
	ADDQ(masks, p.masks)
	code.step(p, true)
	JMP(LabelRef("store"))
	Label("whole")
	code.step(p, false)
	Label("store")
	if code.result != nil {
		w.storeEvery(stride, code.result(p), p.evens, Mem{Base: p.y, Index: p.to, Scale: 1})
	}
	ADDQ(Imm(16), at)
	DECQ(n)
	JNZ(LabelRef("step"))
	ADDQ(NewParamAddr("xPlane", 48), x)
	ADDQ(NewParamAddr("yPlane", 64), p.y)
	if code.next != nil {
		code.next(p)
	}
	DECQ(planes)
	JNZ(LabelRef("plane"))
	if code.end != nil {
		code.end()
	}
	VZEROUPPER()
	RET()
}

// evenTables holds the tables made so far.
var evenTables = map[string]Mem{}

// evenLanes returns a table of the even numbers below the number of lanes, twice.
func (w width) evenLanes() Mem {
	table, ok := evenTables[w.name]
	if !ok {
		table = GLOBL("evens"+w.name, RODATA|NOPTR)
		for i := range w.lanes {
			DATA(4*i, U32(uint32(2*i%w.lanes)))
		}
		evenTables[w.name] = table
	}
	return table
}

// storeEvery stores every stride-th element of v, which it spoils.
func (w width) storeEvery(stride int, v, evens reg.VecVirtual, to Mem) {
	if stride == 1 {
		VMOVUPS(v, to)
		return
	}
	VPERMPS(v, evens, v)
	if w.lanes == 16 {
		VMOVUPS(v.AsY(), to)
	} else {
		VMOVUPS(v.AsX(), to)
	}
}

// tap is where tap t of the step's first output reads.
func (p *planeLoop) tap(t int) Mem {
	m := Mem{Base: p.from, Disp: 4 * (t % p.side)}
	switch row := t / p.side; row {
	case 0:
	case 3:
		m.Index, m.Scale = p.rows3, 1
	default:
		m.Index, m.Scale = p.row, uint8(row)
	}
	return m
}

// maskBytes returns how long a mask of a vector is.
func (w width) maskBytes() int {
	if w.lanes == 16 {
		return 2 // a bit for each element
	}
	return w.bytes()
}

// mask returns the mask of tap t: a mask register or a vector.
func (p *planeLoop) mask(t int) reg.Register {
	if p.lanes == 16 {
		m := K()
		KMOVW(Mem{Base: p.masks, Disp: 2 * t}, m)
		return m
	}
	m := p.vec()
	VMOVUPS(Mem{Base: p.masks, Disp: t * p.bytes()}, m)
	return m
}

// depthPlanes: a convolution of single planes with a kernel of side×side, whose weights stay in registers if
// these suffice. With 25 taps two alternating sums are used, since each waits for the previous multiply-add.
func depthPlanes(w width, side, stride int) {
	name := fmt.Sprintf("depthPlanes%d%s%d", side, w.name, stride)
	taps := side * side
	TEXT(name, NOSPLIT, "func("+planeArgs+", f, shift *float32, clip *float32)")
	Doc(fmt.Sprintf("%s convolves planes, each with %d numbers of f and one of shift, and clips the results to clip[0] … clip[1].", name, taps) + w.planeDoc(side, stride))
	Pragma("noescape")
	f := Load(Param("f"), GP64())
	shift := Load(Param("shift"), GP64())
	held := make([]reg.VecVirtual, taps)
	if taps+8 > 2*w.lanes {
		held = nil
	}
	for t := range held {
		held[t] = w.vec()
	}
	start, acc, lo, hi := w.vec(), []reg.VecVirtual{w.vec()}, w.vec(), w.vec()
	if side == 5 {
		acc = append(acc, w.vec())
	}
	clip := Load(Param("clip"), GP64())
	VBROADCASTSS(Mem{Base: clip}, lo)
	VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	weight := func(t int) reg.VecVirtual {
		if held != nil {
			return held[t]
		}
		u := w.vec()
		VBROADCASTSS(Mem{Base: f, Disp: 4 * t}, u)
		return u
	}
	w.walk(side, stride, planeCode{plane: func() {
		for t := range held {
			VBROADCASTSS(Mem{Base: f, Disp: 4 * t}, held[t])
		}
		VBROADCASTSS(Mem{Base: shift}, start)
	}, step: func(p *planeLoop, masked bool) {
		VMOVAPS(start, acc[0])
		for _, a := range acc[1:] {
			w.zero(a)
		}
		for t := range taps {
			u, a := weight(t), acc[t%len(acc)]
			switch {
			case !masked:
				VFMADD231PS(p.tap(t), u, a)
			case w.lanes == 16:
				VFMADD231PS(p.tap(t), u, p.mask(t), a)
			default:
				z := w.vec()
				VMASKMOVPS(p.tap(t), p.mask(t), z)
				VFMADD231PS(z, u, a)
			}
		}
		for _, a := range acc[1:] {
			VADDPS(a, acc[0], acc[0])
		}
	}, result: func(*planeLoop) reg.VecVirtual {
		VMAXPS(acc[0], lo, acc[0]) // this order keeps NaN
		VMINPS(acc[0], hi, acc[0])
		return acc[0]
	}, next: func(*planeLoop) {
		ADDQ(Imm(uint64(4*taps)), f)
		ADDQ(Imm(4), shift)
	}})
}
