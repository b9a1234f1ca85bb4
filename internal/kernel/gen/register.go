package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// width is a size of vector registers.
type width struct {
	name  string // in names of kernels
	lanes int
	vec   func() reg.VecVirtual
}

var (
	narrow = width{"Y", 8, func() reg.VecVirtual { return YMM() }}
	broad  = width{"Z", 16, func() reg.VecVirtual { return ZMM() }}
)

func (w width) bytes() int { return 4 * w.lanes }

// zero clears a register.
func (w width) zero(x reg.VecVirtual) {
	if w.lanes == 16 {
		VPXORQ(x, x, x)
	} else {
		VXORPS(x, x, x)
	}
}
