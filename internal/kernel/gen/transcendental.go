package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// transcendental makes the loops over functions approximated by polynomials. The
// coefficients of exp, log and tanh are those of the Cephes library, those of erf
// are Juffa's.
func transcendental() {
	for _, l := range []loop{
		{name: "expV", doc: "dst[i] = exp(a[i])", f: of(exp)},
		{name: "sigmoidV", doc: "dst[i] = 1/(1+exp(-a[i]))", f: of(sigmoid)},
		{name: "tanhV", doc: "dst[i] = tanh(a[i])", f: of(tanh)},
		{name: "erfV", doc: "dst[i] = erf(a[i])", f: of(erf)},
		{name: "logV", doc: "dst[i] = log(a[i])", f: of(log)},
		{name: "expSubVS", doc: "dst[i] = exp(a[i] - *s)", scalars: 1, f: func(x, s []vec) vec { VSUBPS(s[0], x[0], x[0]); return exp(x[0]) }},
	} {
		l.arrays, l.vectors = "a", 2
		l.write()
	}
}

// of returns a function of one operand as loops take it.
func of(f func(x vec) vec) func(x, s []vec) vec {
	return func(x, _ []vec) vec { return f(x[0]) }
}

// horner evaluates a polynomial in x, highest coefficient first.
func horner(x vec, c ...float64) vec {
	r := constant(c[0])
	for _, v := range c[1:] {
		fma213C(f8(v), x, r)
	}
	return r
}

// inPairs is horner in z = x², whose coefficients are linear functions of x: with half as many steps
// that wait for each other. The number of coefficients is even.
func inPairs(x, z vec, c ...float64) vec {
	var lines []vec
	for i := 0; i < len(c); i += 2 {
		lines = append(lines, horner(x, c[i], c[i+1]))
	}
	for _, v := range lines[1:] {
		VFMADD213PS(v, z, lines[0])
	}
	return lines[0]
}

// integers, added to a number of a smaller size than 2²², leaves no place for a fraction.
const integers = 3 << 22

// exp spoils x. With n = round(x/ln 2), exp(x) = 2ⁿ·exp(x - n·ln 2).
func exp(x vec) vec {
	n, r := reducedExp(x)
	addC(f8(1), r, r)
	scale(n, r)
	return r
}

// reducedExp is n = round(x/ln 2) and r = exp(x - n·ln 2) - 1; it spoils x.
func reducedExp(x vec) (n, r vec) {
	n = constant(89)
	VMINPS(x, n, x) // in this order NaN stays
	VMAXPS(x, constant(-104), x)
	setC(f8(integers), n)
	fma231C(f8(1.44269504088896341), x, n)
	subC(f8(integers), n, n)
	fnma231C(f8(0.693359375), n, x)
	fnma231C(f8(-2.12194440e-4), n, x)
	z := squared(x)
	r = inPairs(x, z, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	VFMADD213PS(x, z, r)
	return n, r
}

// scale multiplies r by 2ⁿ, to infinity and the subnormal numbers; with eight lanes it takes two
// steps, and spoils n.
func scale(n, r vec) {
	if broadly() {
		VSCALEFPS(n, r, r)
		return
	}
	h := vector()
	VCVTPS2DQ(n, n)
	VPSRAD(Imm(1), n, h)
	VPSUBD(h, n, n)
	for _, p := range []vec{h, n} {
		VPADDD(i8(127), p, p)
		VPSLLD(Imm(23), p, p)
		VMULPS(p, r, r)
	}
}

const (
	signBit   = -1 << 31
	otherBits = 1<<31 - 1
)

// signAndSize separates the sign bit of x from |x|.
func signAndSize(x vec) (sign, size vec) {
	sign, size = vector(), vector()
	andC(i8(otherBits), x, size)
	andC(i8(signBit), x, sign)
	return sign, size
}

func sigmoid(x vec) vec {
	xorC(i8(signBit), x, x)
	e := exp(x)
	one := constant(1)
	VADDPS(one, e, e)
	VDIVPS(e, one, e)
	return e
}

// tanh returns an odd polynomial below 0.625 and 1 - 2/(exp(2|x|)+1) above.
func tanh(x vec) vec {
	sign, a := signAndSize(x)
	z := vector()
	VMULPS(x, x, z)
	small := horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	VMULPS(z, small, small)
	VFMADD213PS(x, x, small)
	use := compare(a, less, constant(0.625))
	VADDPS(a, a, a)
	e := exp(a)
	addC(f8(1), e, e)
	VDIVPS(e, constant(2), e)
	VSUBPS(e, constant(1), e)
	blend(use, small, e)
	orV(sign, e, e) // that of −0, too
	return e
}

// erf returns an odd polynomial up to 475/512 and 1 - exp(polynomial) above.
func erf(x vec) vec {
	sign, t := signAndSize(x)
	s := vector()
	VMINPS(t, constant(4), t)
	VMULPS(x, x, s)
	small := horner(s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	VFMADD213PS(x, x, small)
	VMULPS(t, t, s)
	r := horner(t, -1.72853470e-5, 3.83197126e-4)
	u := horner(t, -3.88396438e-3, 2.42546219e-2)
	VFMADD213PS(u, s, r)
	fma213C(f8(-1.06777877e-1), t, r)
	VFMADD213PS(horner(t, -6.34846687e-1, -1.28717512e-1), s, r)
	VFMSUB213PS(t, t, r)
	use := compare(t, lessEqual, constant(475.0/512))
	e := exp(r)
	VSUBPS(e, constant(1), e)
	orV(sign, e, e)
	blend(use, small, e)
	return e
}

// log splits x into 2ᵉ·m with m in [√½, √2) and takes a polynomial in m - 1.
func log(x vec) vec {
	orig, e, extra := vector(), vector(), vector()
	VMOVAPS(x, orig)
	below := compare(x, less, constant(1.1754943508222875e-38)) // the normal numbers
	mulC(f8(8388608), x, e)
	blend(below, e, x)
	setC(f8(23), extra)
	keep(below, extra)
	VPSRLD(Imm(23), x, e)
	intSubC(i8(126), e, e)
	VCVTDQ2PS(e, e)
	VSUBPS(extra, e, e)
	andC(i8(0x007fffff), x, x)
	orC(f8(0.5), x, x) // m in [½, 1)
	low := compare(x, less, constant(0.70710678118654752440))
	VMOVAPS(x, extra)
	keep(low, extra)
	VADDPS(extra, x, x)
	setC(f8(1), extra)
	keep(low, extra)
	VSUBPS(extra, e, e)
	subC(f8(1), x, x)
	r := horner(x, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	z := vector()
	VMULPS(x, x, z)
	VMULPS(x, r, r)
	VMULPS(z, r, r)
	fma231C(f8(-2.12194440e-4), e, r)
	fnma231C(f8(0.5), z, r)
	VADDPS(r, x, x)
	fma231C(f8(0.693359375), e, x)
	// 0 gives -Inf, negative numbers NaN; +Inf and NaN are unchanged.
	none := cleared(1)[0]
	blend(compare(orig, equal, none), constant(minusInf), x)
	blend(compare(orig, less, none), constant(math.NaN()), x)
	blend(compare(orig, greaterOrUnordered, constant(math.MaxFloat32)), orig, x)
	return x
}
