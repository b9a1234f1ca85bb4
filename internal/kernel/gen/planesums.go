package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// planeSums: the gradient of the nine weights of a depthwise convolution, in nine sums at once.
func planeSums(w width, stride int) {
	name := fmt.Sprintf("planeSums%s%d", w.name, stride)
	TEXT(name, NOSPLIT, "func("+planeArgs+", sum *float32)")
	Doc(name + " adds to each of nine sums the products of y with what a tap reads, of all planes together. Behind the masks of a step there is one for y." + w.planeDoc(3, stride))
	Pragma("noescape")
	var acc [windowTaps]reg.VecVirtual
	for t := range acc {
		acc[t] = w.vec()
		w.zero(acc[t])
	}
	y, z, doubled := w.vec(), w.vec(), w.vec()
	if stride == 2 && w.lanes == 8 {
		table := GLOBL("doubled", RODATA|NOPTR)
		for i := range w.lanes {
			DATA(4*i, U32(uint32(i/2)))
		}
		VMOVUPS(table, doubled)
	}
	w.walk(3, stride, planeCode{step: func(p *planeLoop, masked bool) {
		from := Mem{Base: p.y, Index: p.to, Scale: 1}
		if !masked {
			if stride == 2 {
				return // every other lane has no output, so that there always is a mask
			}
			VMOVUPS(from, y)
			for t := range acc {
				VFMADD231PS(p.tap(t), y, acc[t])
			}
			return
		}
		switch valid := p.mask(windowTaps); {
		case w.lanes == 16 && stride == 1:
			VMOVUPS_Z(from, valid, y)
		case w.lanes == 16:
			VEXPANDPS_Z(from, valid, y)
		case stride == 1:
			VMASKMOVPS(from, valid.(reg.VecVirtual), y)
		default:
			v := valid.(reg.VecVirtual)
			VPERMPS(v, p.evens, z)
			VMASKMOVPS(from, z.AsX(), y.AsX())
			VPERMPS(y, doubled, y)
			VANDPS(v, y, y)
		}
		for t := range acc {
			if w.lanes == 16 {
				VFMADD231PS(p.tap(t), y, p.mask(t), acc[t])
				continue
			}
			VMASKMOVPS(p.tap(t), p.mask(t).(reg.VecVirtual), z)
			VFMADD231PS(z, y, acc[t])
		}
	}, end: func() {
		sum := Load(Param("sum"), GP64())
		for t := range acc {
			w.addSum(acc[t], y, Mem{Base: sum, Disp: 4 * t})
		}
	}})
}
