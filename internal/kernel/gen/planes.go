package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windowTaps is how many points a window of 3×3 has.
const windowTaps = 9

// planeWalk is the frame of kernels that go through planes step by step: a step reads windows of 3×3
// that lie side by side. Whatever a tap would read outside of the plane a mask leaves out, so that
// planes need no border.
type planeWalk struct {
	width
	stride int
	y      reg.GPVirtual
	from   reg.GPVirtual // what the first tap of a step reads
	to     reg.GPVirtual // how many bytes behind y the outputs of a step are
	row    reg.GPVirtual // bytes from row to row of taps
	masks  reg.GPVirtual // of a step
	evens  reg.VecVirtual
}

// planeArgs and planeDoc say what all such kernels take.
const planeArgs = "planes int, steps *int32, n int, masks *uint8, x *float32, xRow, xPlane int, y *float32, yPlane int"

func (w width) planeDoc(stride int) string {
	return fmt.Sprintf(" Planes ≥ 1 are xPlane and yPlane bytes apart. Each of n ≥ 1 steps computes %d neighbouring outputs and stores %d, with stride %d; rows that the taps read are xRow bytes apart. Of its masks, nine of %d bytes, each belongs to a tap; a step with masks < 0 needs none.",
		w.lanes, w.lanes/stride, stride, w.maskBytes())
}

// planeCode is what a kernel does on the way.
type planeCode struct {
	plane  func()                            // prepares a plane
	step   func(p *planeWalk, masked bool)   // reads windows, masked or not
	result func(p *planeWalk) reg.VecVirtual // to be stored; nil: nothing is
	next   func(p *planeWalk)                // moves on to the next plane
	end    func()                            // comes last
}

// walk writes the loops.
func (w width) walk(stride int, code planeCode) {
	p := &planeWalk{width: w, stride: stride, from: GP64(), masks: GP64(), to: GP64()}
	planes := Load(Param("planes"), GP64())
	masks := Load(Param("masks"), GP64())
	x := Load(Param("x"), GP64())
	p.row = Load(Param("xRow"), GP64()).(reg.GPVirtual)
	p.y = Load(Param("y"), GP64()).(reg.GPVirtual)
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

// evenLanes is a table of the even numbers below the number of lanes, twice.
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
func (p *planeWalk) tap(t int) Mem {
	if t < 3 {
		return Mem{Base: p.from, Disp: 4 * t}
	}
	return Mem{Base: p.from, Index: p.row, Scale: uint8(t / 3), Disp: 4 * (t % 3)}
}

// maskBytes is how long a mask of a vector is.
func (w width) maskBytes() int {
	if w.lanes == 16 {
		return 2 // a bit for each element
	}
	return w.bytes()
}

// mask is the mask of tap t: a mask register or a vector.
func (p *planeWalk) mask(t int) reg.Register {
	if p.lanes == 16 {
		m := K()
		KMOVW(Mem{Base: p.masks, Disp: 2 * t}, m)
		return m
	}
	m := p.vec()
	VMOVUPS(Mem{Base: p.masks, Disp: t * p.bytes()}, m)
	return m
}

// depthPlanes: a 3×3 convolution of planes one by one, whose nine weights stay in registers.
func depthPlanes(w width, stride int) {
	name := fmt.Sprintf("depthPlanes%s%d", w.name, stride)
	TEXT(name, NOSPLIT, "func("+planeArgs+", f, shift *float32, clip *float32)")
	Doc(name + " convolves planes, each with nine numbers of f and one of shift, and clips the results to clip[0] … clip[1]." + w.planeDoc(stride))
	Pragma("noescape")
	f := Load(Param("f"), GP64())
	shift := Load(Param("shift"), GP64())
	var weight [windowTaps]reg.VecVirtual
	for t := range weight {
		weight[t] = w.vec()
	}
	start, acc, lo, hi := w.vec(), w.vec(), w.vec(), w.vec()
	clip := Load(Param("clip"), GP64())
	VBROADCASTSS(Mem{Base: clip}, lo)
	VBROADCASTSS(Mem{Base: clip, Disp: 4}, hi)
	w.walk(stride, planeCode{plane: func() {
		for t := range weight {
			VBROADCASTSS(Mem{Base: f, Disp: 4 * t}, weight[t])
		}
		VBROADCASTSS(Mem{Base: shift}, start)
	}, step: func(p *planeWalk, masked bool) {
		VMOVAPS(start, acc)
		for t := range weight {
			switch {
			case !masked:
				VFMADD231PS(p.tap(t), weight[t], acc)
			case w.lanes == 16:
				VFMADD231PS(p.tap(t), weight[t], p.mask(t), acc)
			default:
				z := w.vec()
				VMASKMOVPS(p.tap(t), p.mask(t), z)
				VFMADD231PS(z, weight[t], acc)
			}
		}
	}, result: func(*planeWalk) reg.VecVirtual {
		VMAXPS(acc, lo, acc) // this order keeps NaN
		VMINPS(acc, hi, acc)
		return acc
	}, next: func(*planeWalk) {
		ADDQ(Imm(4*windowTaps), f)
		ADDQ(Imm(4), shift)
	}})
}
