package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// steps makes absolute values, signs, rounding and comparisons.
func steps() {
	round := func(mode uint64) func(x, s []vec) vec {
		return of(func(x vec) vec { roundTo(mode, x); return x })
	}
	for _, l := range []loop{
		{name: "absV", doc: "dst[i] = |a[i]|", arrays: "a", f: of(func(x vec) vec { andC(i8(otherBits), x, x); return x })},
		{name: "floorV", doc: "dst[i] = a[i] rounded down", arrays: "a", f: round(1)},
		{name: "ceilV", doc: "dst[i] = a[i] rounded up", arrays: "a", f: round(2)},
		{name: "roundV", doc: "dst[i] = a[i] rounded to the nearest integer, halves to the even one", arrays: "a", f: round(0)},
		{name: "signV", doc: "dst[i] = 1 or -1 where a[i] is above or below 0, else a[i]", arrays: "a", f: of(func(x vec) vec {
			none := cleared(1)[0]
			above, below := compare(x, greater, none), compare(x, less, none)
			blend(above, constant(1), x)
			blend(below, constant(-1), x)
			return x
		})},
		{name: "equalVV", doc: "dst[i] = 1 where a[i] = b[i], else 0", arrays: "ab", f: func(x, _ []vec) vec {
			y := constant(1)
			keep(compare(x[0], equal, x[1]), y)
			return y
		}},
	} {
		l.write()
	}
}

// roundTo rounds x to integers in a direction.
func roundTo(direction uint64, x vec) {
	mode := Imm(direction | 8) // it is nothing to report that a fraction is lost
	if broadly() {
		VRNDSCALEPS(mode, x, x)
	} else {
		VROUNDPS(mode, x, x)
	}
}

// trigonometric makes sine, cosine and arc tangent.
func trigonometric() {
	loop{name: "sinV", doc: "dst[i] = sin(a[i]) for |a[i]| up to 2²²", arrays: "a", vectors: 1, f: of(func(x vec) vec { return wave(x, 0) })}.write()
	loop{name: "cosV", doc: "dst[i] = cos(a[i]) for |a[i]| up to 2²²", arrays: "a", vectors: 1, f: of(func(x vec) vec { return wave(x, 1) })}.write()
	loop{name: "atanV", doc: "dst[i] = atan(a[i])", arrays: "a", vectors: 1, f: of(arcTangent)}.write()
}

// arcTangent is, for t = |x|, atan(t), π/4 + atan((t-1)/(t+1)) or π/2 + atan(-1/t), so that the reduced argument is
// below tan(π/8), where atan is a polynomial of the Cephes library.
func arcTangent(x vec) vec {
	sign, t := signAndSize(x)
	one, angle := constant(1), cleared(1)[0]
	above, below := vector(), constant(1)
	VMOVAPS(t, above)
	middle, large := compare(t, greater, constant(math.Tan(math.Pi/8))), compare(t, greater, constant(math.Tan(3*math.Pi/8)))
	part := vector()
	VSUBPS(one, t, part)
	blend(middle, part, above)
	blend(middle, constant(math.Pi/4), angle)
	VADDPS(one, t, part)
	blend(middle, part, below)
	blend(large, constant(-1), above)
	blend(large, t, below)
	blend(large, constant(math.Pi/2), angle)
	VDIVPS(below, above, above)
	z := squared(above)
	r := horner(z, 8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
	VMULPS(z, r, r)
	VFMADD213PS(above, above, r)
	VADDPS(angle, r, r)
	orV(sign, r, r)
	return r
}

// wave is sin(x + prefetch·π/2); it clobbers x. With n = round(x/(π/2)), sine and cosine of the remainder are
// the polynomials of the Cephes library, and n determines which of them applies, and the sign.
func wave(x vec, prefetch int32) vec {
	n := constant(integers)
	fma231C(f8(0.63661977236758134), x, n)
	subC(f8(integers), n, n)
	for _, part := range []float64{1.5707963705062866, -4.3711388286737929e-8, -1.7151245100058e-15} { // of π/2
		fnma231C(f8(part), n, x)
	}
	VCVTPS2DQ(n, n)
	if prefetch != 0 {
		intSubC(i8(-prefetch), n, n)
	}
	z := squared(x)
	sine := horner(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	VMULPS(z, sine, sine)
	VFMADD213PS(x, x, sine)
	cosine := horner(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5)
	fma213C(f8(1), z, cosine)
	blend(odd(n), cosine, sine)
	VPSLLD(Imm(30), n, n) // the second bit becomes the sign
	andC(i8(signBit), n, n)
	xorV(n, sine, sine)
	return sine
}

var xorV = either(VXORPS, VPXORD)

// odd is where the integers n are odd.
func odd(n vec) mask {
	if broadly() {
		ones, m := vector(), K()
		VPBROADCASTD(i8(1), ones)
		VPTESTMD(ones, n, m)
		return m
	}
	m := YMM() // a blend looks at the sign bit
	VPSLLD(Imm(31), n, m)
	return m
}
