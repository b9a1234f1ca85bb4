package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// noTap is the tap of a window that is empty or whose maximum is -Inf.
const noTap = 255

// value loads the elements that tap t reads, -Inf outside of the plane.
func (p *planeLoop) value(t int, masked bool, least reg.VecVirtual) reg.VecVirtual {
	x := p.vec()
	switch {
	case !masked:
		VMOVUPS(p.tap(t), x)
	case p.lanes == 16:
		VMOVAPS(least, x)
		VMOVUPS(p.tap(t), p.mask(t), x)
	default:
		m := p.mask(t).(reg.VecVirtual)
		VMASKMOVPS(p.tap(t), m, x)
		VBLENDVPS(m, x, least, x)
	}
	return x
}

// maxPlanes: the largest of each window of 3×3.
func maxPlanes(w width, stride int) {
	name := fmt.Sprintf("maxPlanes%s%d", w.name, stride)
	TEXT(name, NOSPLIT, "func("+planeArgs+")")
	Doc(name + " finds the maxima of windows, NaN where a window holds one, -Inf where it is empty." + w.planeDoc(3, stride))
	Pragma("noescape")
	best, least := w.vec(), w.vec()
	VBROADCASTSS(f8(minusInf), least)
	var nan reg.Register // lanes that have seen one
	if w.lanes == 16 {
		nan = K()
	} else {
		nan = w.vec()
	}
	w.walk(3, stride, planeCode{step: func(p *planeLoop, masked bool) {
		last := w.vec()
		for t := range windowTaps {
			x := p.value(t, masked, least)
			if t == 0 {
				VMOVAPS(x, best)
			} else {
				VMAXPS(x, best, best)
			}
			switch {
			case t == windowTaps-1:
				w.unordered(x, x, nan, false)
			case t%2 == 0:
				last = x
			default:
				w.unordered(x, last, nan, t == 1)
			}
		}
	}, result: func(*planeLoop) reg.VecVirtual {
		if w.lanes == 16 {
			VPTERNLOGD(Imm(255), best, best, nan, best)
		} else {
			VORPS(nan.(reg.VecVirtual), best, best)
		}
		return best
	}})
}

// unordered notes in nan where x or y is NaN, of which it knows nothing yet if first.
func (w width) unordered(x, y reg.VecVirtual, nan reg.Register, first bool) {
	if w.lanes == 16 {
		if first {
			VCMPPS(Imm(3), y, x, nan)
			return
		}
		k := K()
		VCMPPS(Imm(3), y, x, k)
		KORW(k, nan, nan)
		return
	}
	if first {
		VCMPPS(Imm(3), y, x, nan)
		return
	}
	c := w.vec()
	VCMPPS(Imm(3), y, x, c)
	VORPS(c, nan.(reg.VecVirtual), nan.(reg.VecVirtual))
}

// maxTaps: the largest of each window of 3×3, and which it is.
func maxTaps(w width, stride int) {
	name := fmt.Sprintf("maxTaps%s%d", w.name, stride)
	TEXT(name, NOSPLIT, "func("+planeArgs+", taps *uint8)")
	Doc(name + " finds the maxima of windows, NaN where a window holds one, and the first tap that reads it, 255 where all are -Inf; taps follow one another as y does." + w.planeDoc(3, stride))
	Pragma("noescape")
	taps := Load(Param("taps"), GP64())
	best, which, least := w.vec(), w.vec(), w.vec()
	VBROADCASTSS(f8(minusInf), least)
	number := func(n int, to reg.VecVirtual) { VBROADCASTSS(i8(int32(n)), to) }
	var numbers [windowTaps]reg.VecVirtual
	if w.lanes == 16 {
		for t := range numbers {
			numbers[t] = w.vec()
			number(t, numbers[t])
		}
	}
	w.walk(3, stride, planeCode{step: func(p *planeLoop, masked bool) {
		VMOVAPS(least, best)
		number(noTap, which)
		for t := range windowTaps {
			x := p.value(t, masked, least)
			const ordered, larger = 7, 0x16 // larger, or NaN
			if w.lanes == 16 {
				fresh, k := K(), K()
				VCMPPS(Imm(ordered), best, best, fresh) // the first NaN stays
				VCMPPS(Imm(larger), best, x, fresh, k)
				VMOVAPS(x, k, best)
				VMOVAPS(numbers[t], k, which)
				continue
			}
			fresh, c := w.vec(), w.vec()
			VCMPPS(Imm(ordered), best, best, fresh)
			VCMPPS(Imm(larger), best, x, c)
			VANDPS(fresh, c, c)
			VBLENDVPS(c, x, best, best)
			VBLENDVPS(c, i8(int32(t)), which, which)
		}
	}, result: func(p *planeLoop) reg.VecVirtual {
		to := GP64()
		MOVQ(p.to, to)
		SHRQ(Imm(2), to)
		p.storeTaps(which, Mem{Base: taps, Index: to, Scale: 1})
		return best
	}, next: func(*planeLoop) {
		step := GP64()
		Load(Param("yPlane"), step)
		SHRQ(Imm(2), step)
		ADDQ(step, taps)
	}})
}

// storeTaps stores every stride-th number of v as a byte; it spoils v.
func (p *planeLoop) storeTaps(v reg.VecVirtual, to Mem) {
	if p.stride == 2 {
		VPERMPS(v, p.evens, v)
	}
	if p.lanes == 16 {
		bytes := XMM()
		VPMOVDB(v, bytes)
		if p.stride == 1 {
			VMOVUPS(bytes, to)
		} else {
			VMOVQ(bytes, to)
		}
		return
	}
	half := XMM()
	VEXTRACTI128(Imm(1), v, half)
	VPACKSSDW(half, v.AsX(), half)
	VPACKUSWB(half, half, half)
	if p.stride == 1 {
		VMOVQ(half, to)
	} else {
		VMOVD(half, to)
	}
}
