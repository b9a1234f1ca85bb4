package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peak generates loops of multiply-adds on registers only: the peak that benchmarks are compared
// with. Each iteration has 24 of them, in 12 chains, which hides their latency.
func peak() {
	for _, lanes := range []int{8, 16} {
		name := fmt.Sprintf("fma%d", lanes)
		TEXT(name, NOSPLIT, "func(n int)")
		Doc(fmt.Sprintf("%s does n ≥ 1 times 24 multiply-adds of %d lanes.", name, lanes))
		n := Load(Param("n"), GP64())
		vector := func() reg.VecVirtual { return YMM() }
		if lanes == 16 {
			vector = func() reg.VecVirtual { return ZMM() }
		}
		acc, x := make([]reg.VecVirtual, 12), vector()
		for i := range acc {
			acc[i] = vector()
		}
		for _, v := range append(acc, x) {
			if lanes == 16 {
				VPXORQ(v, v, v)
			} else {
				VXORPS(v, v, v)
			}
		}
		Label("loop")
		for i := range 24 {
			VFMADD231PS(x, x, acc[i%12])
		}
		DECQ(n)
		JNZ(LabelRef("loop"))
		VZEROUPPER()
		RET()
	}
}
