package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors are registers of a width, and constants for them.
type vectors struct {
	lanes int
	regs  map[float64]reg.VecVirtual
}

func (v *vectors) new() reg.VecVirtual {
	if v.lanes == 16 {
		return ZMM()
	}
	return YMM()
}

// several are n registers.
func (v *vectors) several(n int) []reg.VecVirtual {
	x := make([]reg.VecVirtual, n)
	for i := range x {
		x[i] = v.new()
	}
	return x
}

// newVectors returns registers of the given number of lanes; if there are 32 registers, they keep constants.
func newVectors(lanes int, constants ...float64) *vectors {
	v := &vectors{lanes, map[float64]reg.VecVirtual{}}
	if lanes == 16 {
		v.keep(constants...)
	}
	return v
}

func (v *vectors) bytes() int { return 4 * v.lanes }

// keep holds constants in registers.
func (v *vectors) keep(cs ...float64) {
	for _, c := range cs {
		if _, ok := v.regs[c]; !ok {
			r := v.new()
			VBROADCASTSS(f8(c), r)
			v.regs[c] = r
		}
	}
}

// c returns a constant: a register or, of eight lanes, a place in memory.
func (v *vectors) c(c float64) Op {
	if r, ok := v.regs[c]; ok {
		return r
	}
	if v.lanes == 16 {
		panic(fmt.Sprint("constant not kept: ", c))
	}
	return f8(c)
}

func (v *vectors) clear(x reg.VecVirtual) {
	if v.lanes == 16 {
		VPXORQ(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
}

func (v *vectors) copy(x reg.VecVirtual) reg.VecVirtual {
	y := v.new()
	VMOVAPS(x, y)
	return y
}

// note makes bad NaN where y is infinite or NaN.
func (v *vectors) note(y, bad reg.VecVirtual) {
	z := v.new()
	VSUBPS(y, y, z)
	if v.lanes == 16 {
		VPORD(z, bad, bad)
	} else {
		VPOR(z, bad, bad)
	}
}

// plus returns x + c*y in a new register.
func (v *vectors) plus(x reg.VecVirtual, c float64, y reg.VecVirtual) reg.VecVirtual {
	s := v.copy(x)
	VFMADD231PS(v.c(c), y, s)
	return s
}

// both puts p + c*q and p - c*q; it spoils p.
func (v *vectors) both(i int, p reg.VecVirtual, c float64, q reg.VecVirtual, put func(int, reg.VecVirtual)) {
	s := v.plus(p, c, q)
	put(i, s)
	VFNMADD231PS(v.c(c), q, p)
	put(i+1, p)
}

// sumAndDifference is x + y; x becomes x - y.
func sumAndDifference(v *vectors, x, y reg.VecVirtual) reg.VecVirtual {
	s := v.new()
	VADDPS(y, x, s)
	VSUBPS(y, x, x)
	return s
}

// room allocates n vectors on the stack, aligned to their size.
func (v *vectors) room(n int) reg.Register {
	r := GP64()
	LEAQ(AllocLocal((n+1)*v.bytes()), r)
	ADDQ(U32(uint32(v.bytes()-1)), r)
	ANDQ(I32(int32(-v.bytes())), r)
	return r
}

// stridedPlaces addresses elements with a stride.
type stridedPlaces struct {
	stride, triple reg.Register // triple is three times the stride, or nil
	starts         []int        // the places of bases
	bases          []reg.Register
}

// newStridedPlaces addresses up to 16 places from first on.
func newStridedPlaces(first, stride reg.Register, places int) stridedPlaces {
	c := stridedPlaces{stride: stride, starts: []int{0}, bases: []reg.Register{first}}
	if places > 9 {
		c.triple = GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, c.triple)
		c.starts = append(c.starts, 2, 7)
	} else {
		for s := 3; s < places; s += 3 {
			c.starts = append(c.starts, s)
		}
	}
	for range c.starts[1:] {
		c.bases = append(c.bases, GP64())
	}
	c.aim()
	return c
}

// aim follows a change of the first base.
func (c stridedPlaces) aim() {
	for i, b := range c.bases[1:] {
		from := c.bases[i]
		for gap := c.starts[i+1] - c.starts[i]; gap > 0; from = b {
			step := min(gap, 4)
			if step == 3 {
				step = 2
			}
			LEAQ(Mem{Base: from, Index: c.stride, Scale: uint8(step)}, b)
			gap -= step
		}
	}
}

// at returns the address of place i.
func (c stridedPlaces) at(i int) Mem {
	for n, b := range c.bases {
		switch gap := i - c.starts[n]; gap {
		case 0:
			return Mem{Base: b}
		case 1, 2, 4, 8:
			return Mem{Base: b, Index: c.stride, Scale: uint8(gap)}
		case 3, 6, 12:
			if c.triple != nil {
				return Mem{Base: b, Index: c.triple, Scale: uint8(gap / 3)}
			}
		}
	}
	panic(fmt.Sprint("no address for place ", i))
}

// add moves all places.
func (c stridedPlaces) add(by Op) {
	for _, b := range c.bases {
		ADDQ(by, b)
	}
}

// times adds n times x to r.
func times(n int, x, r reg.Register) {
	for range n {
		ADDQ(x, r)
	}
}
