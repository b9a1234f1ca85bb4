package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Elementwise kernels, sums and normalizations are written once and made for registers of both
// sizes. This file has the instructions that differ.

type vec = reg.VecVirtual

// mask selects lanes: a vector of ones and zeros, or with AVX-512 an opmask register.
type mask = reg.Register

// current is the size of the registers of the code that is being made.
var current = narrow

// bothWidths generates code for processors with AVX-512, and for those without: the variable avx512 of package
// kernel selects at run time. finish ends both; it may be nil.
func bothWidths(code, finish func()) {
	CMPB(NewDataAddr(Symbol{Name: "·avx512"}, 0), Imm(0))
	JEQ(LabelRef("avx2"))
	for _, current = range []width{broad, narrow} {
		if !broadly() {
			Label("avx2")
		}
		code()
		VZEROUPPER()
		if finish != nil {
			finish()
		}
		RET()
	}
}

// broadly reports whether code for registers of 16 floats is being made.
func broadly() bool { return current.lanes == broad.lanes }

// pass distinguishes the loops of a function, if it has several.
var pass string

// label makes a name differ between the sizes and the passes.
func label(name string) string {
	if broadly() {
		name += "Wide"
	}
	return name + pass
}

// vector returns a register of the current size.
func vector() vec { return current.vec() }

// cleared are n such registers of zeros.
func cleared(n int) []vec {
	s := make([]vec, n)
	for i := range s {
		s[i] = vector()
		current.zero(s[i])
	}
	return s
}

// either returns an instruction that has two forms, of which the second is for the larger registers.
func either(eight, sixteen func(...Op)) func(...Op) {
	return func(operands ...Op) {
		if broadly() {
			sixteen(operands...)
		} else {
			eight(operands...)
		}
	}
}

// Instructions whose first operand is a constant, the same in all lanes.
var (
	setC     = either(VMOVUPS, VBROADCASTSS)
	addC     = either(VADDPS, VADDPS_BCST)
	subC     = either(VSUBPS, VSUBPS_BCST)
	mulC     = either(VMULPS, VMULPS_BCST)
	fma213C  = either(VFMADD213PS, VFMADD213PS_BCST)
	fma231C  = either(VFMADD231PS, VFMADD231PS_BCST)
	fnma231C = either(VFNMADD231PS, VFNMADD231PS_BCST)
	andC     = either(VANDPS, VPANDD_BCST)
	orC      = either(VORPS, VPORD_BCST)
	xorC     = either(VXORPS, VPXORD_BCST)
	intSubC  = either(VPSUBD, VPSUBD_BCST)
)

// orV joins bits.
var orV = either(VORPS, VPORD)

// constant returns a register with the same number in all lanes.
func constant(v float64) vec {
	x := vector()
	setC(f8(v), x)
	return x
}

// Relations for compare. All but those with unordered in their name do not hold for NaN.
const (
	equal              = 0x00
	unordered          = 0x03
	less               = 0x11
	lessEqual          = 0x12
	greaterOrUnordered = 0x16
	greaterEqual       = 0x1d
	greater            = 0x1e
)

// compare returns the mask of lanes in which x and y have the relation.
func compare(x vec, relation uint8, y vec) mask {
	var m mask = K()
	if !broadly() {
		m = YMM()
	}
	VCMPPS(Imm(uint64(relation)), y, x, m)
	return m
}

// blend sets no to yes where m holds.
func blend(m mask, yes, no vec) {
	if broadly() {
		VMOVAPS(yes, m, no)
	} else {
		VBLENDVPS(m, yes, no, no)
	}
}

// keep clears x where m does not hold.
func keep(m mask, x vec) {
	if broadly() {
		VMOVAPS_Z(x, m, x)
	} else {
		VANDPS(m, x, x)
	}
}

// keepBoth clears x where m or n does not hold; it spoils m.
func keepBoth(m, n mask, x vec) {
	if broadly() {
		KANDW(n, m, m)
	} else {
		VANDPS(n, m, m)
	}
	keep(m, x)
}

// join extends m by where n holds.
func join(n, m mask) {
	if broadly() {
		KORW(n, m, m)
	} else {
		VORPS(n, m, m)
	}
}

// noLanes returns a mask that holds nowhere.
func noLanes() mask {
	if broadly() {
		m := K()
		KXORW(m, m, m)
		return m
	}
	return cleared(1)[0]
}

// unlessAny jumps if m holds nowhere.
func unlessAny(m mask, to string) {
	if broadly() {
		KORTESTW(m, m)
	} else {
		bits := GP32()
		VMOVMSKPS(m, bits)
		TESTL(bits, bits)
	}
	JZ(LabelRef(to))
}

// load reads a vector, of which a mask may select the lanes that exist; the others become 0.
func load(m Mem, k mask, x vec) {
	switch {
	case k == nil:
		VMOVUPS(m, x)
	case broadly():
		VMOVUPS_Z(m, k, x)
	default:
		VMASKMOVPS(m, k, x)
	}
}

// store writes a vector, of which a mask may select lanes.
func store(x vec, k mask, m Mem) {
	switch {
	case k == nil:
		VMOVUPS(x, m)
	case broadly():
		VMOVUPS(x, k, m)
	default:
		VMASKMOVPS(x, k, m)
	}
}

// loadMask returns the mask of the first r lanes, 0 ≤ r ≤ lanes; it clobbers r.
func loadMask(r reg.Register) mask {
	if broadly() {
		bits, k := GP32(), K()
		MOVL(U32(0xffff), bits)
		BZHIL(r.(reg.GPVirtual).As32(), bits, bits)
		KMOVW(bits, k)
		return k
	}
	base, m := GP64(), YMM()
	LEAQ(maskTable, base)
	NEGQ(r)
	VMOVDQU(Mem{Base: base, Index: r, Scale: 4, Disp: 32}, m)
	return m
}

// blocks writes a loop over n columns: blocks of wide vectors, of one, and a masked remainder. body receives
// the number of vectors and, for the remainder, the mask.
func blocks(n reg.Register, wide int, body func(vectors int, k mask), advance func(bytes int)) {
	lanes := current.lanes
	Label(label("wide"))
	CMPQ(n, U32(uint32(lanes*wide)))
	JLT(LabelRef(label("narrow")))
	body(wide, nil)
	advance(4 * lanes * wide)
	SUBQ(U32(uint32(lanes*wide)), n)
	JMP(LabelRef(label("wide")))
	Label(label("narrow"))
	if wide > 1 {
		CMPQ(n, Imm(uint64(lanes)))
		JLT(LabelRef(label("rest")))
		body(1, nil)
		advance(4 * lanes)
		SUBQ(Imm(uint64(lanes)), n)
		JMP(LabelRef(label("narrow")))
		Label(label("rest"))
	}
	TESTQ(n, n)
	JZ(LabelRef(label("end")))
	body(1, loadMask(n))
	Label(label("end"))
}

// across combines all lanes of the accumulators, which it spoils, to one.
func across(s []vec, combine func(...Op)) vec {
	for len(s) > 1 {
		half := len(s) / 2
		for k := range half {
			combine(s[half+k], s[k], s[k])
		}
		s = s[:half]
	}
	x, top := s[0].AsY(), XMM()
	if broadly() {
		upper := YMM()
		VEXTRACTF64X4(Imm(1), s[0], upper)
		combine(upper, x, x)
	}
	VEXTRACTF128(Imm(1), x, top)
	combine(s[0].AsX(), top, top)
	for _, order := range []uint8{0x4e, 0xb1} {
		t := XMM()
		VPERMILPS(Imm(uint64(order)), top, t)
		combine(t, top, top)
	}
	return top
}
