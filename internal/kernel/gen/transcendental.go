package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// transcendental makes the loops over functions approximated by polynomials. The
// coefficients of exp, log and tanh are those of the Cephes library, those of erf
// are Juffa's.
func transcendental() {
	one("expV", "dst[i] = exp(a[i])", 2, false, func(x, _ vec) vec { return exp(x) })
	one("sigmoidV", "dst[i] = 1/(1+exp(-a[i]))", 2, false, sigmoid)
	one("tanhV", "dst[i] = tanh(a[i])", 2, false, tanh)
	one("erfV", "dst[i] = erf(a[i])", 1, false, erf)
	one("logV", "dst[i] = log(a[i])", 2, false, log)
	one("expSubVS", "dst[i] = exp(a[i] - *s)", 2, true, func(x, s vec) vec { VSUBPS(s, x, x); return exp(x) })
}

// horner evaluates a polynomial in x, highest coefficient first.
func horner(x vec, c ...float64) vec {
	r := YMM()
	VMOVUPS(f8(c[0]), r)
	for _, v := range c[1:] {
		VFMADD213PS(f8(v), x, r)
	}
	return r
}

// exp spoils x. With n = round(x/ln 2), exp(x) = 2ⁿ·exp(x - n·ln 2); the power is
// applied in two halves so that it reaches infinity and the subnormal numbers.
func exp(x vec) vec {
	n, h := YMM(), YMM()
	VMOVUPS(f8(89), n)
	VMINPS(x, n, x) // in this order NaN stays
	VMOVUPS(f8(-104), n)
	VMAXPS(x, n, x)
	VMULPS(f8(1.44269504088896341), x, n)
	VROUNDPS(Imm(8), n, n)
	VFNMADD231PS(f8(0.693359375), n, x)
	VFNMADD231PS(f8(-2.12194440e-4), n, x)
	r := horner(x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	VMULPS(x, r, r)
	VFMADD213PS(x, x, r)
	VADDPS(f8(1), r, r)
	VCVTPS2DQ(n, n)
	VPSRAD(Imm(1), n, h)
	VPSUBD(h, n, n)
	for _, p := range []vec{h, n} {
		VPADDD(i8(127), p, p)
		VPSLLD(Imm(23), p, p)
		VMULPS(p, r, r)
	}
	return r
}

func sigmoid(x, _ vec) vec {
	VXORPS(i8(-1<<31), x, x)
	e, one := exp(x), YMM()
	VMOVUPS(f8(1), one)
	VADDPS(one, e, e)
	VDIVPS(e, one, e)
	return e
}

// tanh is an odd polynomial below 0.625 and 1 - 2/(exp(2|x|)+1) above.
func tanh(x, _ vec) vec {
	a, z, sign := YMM(), YMM(), YMM()
	VANDPS(i8(1<<31-1), x, a)
	VANDPS(i8(-1<<31), x, sign)
	VMULPS(x, x, z)
	small := horner(z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	VMULPS(z, small, small)
	VFMADD213PS(x, x, small)
	use := YMM()
	VCMPPS(Imm(0x11), f8(0.625), a, use) // a < 0.625
	VADDPS(a, a, a)
	e, two := exp(a), YMM()
	VADDPS(f8(1), e, e)
	VMOVUPS(f8(2), two)
	VDIVPS(e, two, e)
	VMOVUPS(f8(1), two)
	VSUBPS(e, two, e)
	VORPS(sign, e, e)
	VBLENDVPS(use, small, e, e)
	return e
}

// erf is an odd polynomial up to 475/512 and 1 - exp(polynomial) above.
func erf(x, _ vec) vec {
	t, s, sign := YMM(), YMM(), YMM()
	VANDPS(i8(1<<31-1), x, t)
	VANDPS(i8(-1<<31), x, sign)
	VMOVUPS(f8(4), s)
	VMINPS(t, s, t)
	VMULPS(x, x, s)
	small := horner(s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	VFMADD213PS(x, x, small)
	VMULPS(t, t, s)
	r := horner(t, -1.72853470e-5, 3.83197126e-4)
	u := horner(t, -3.88396438e-3, 2.42546219e-2)
	VFMADD213PS(u, s, r)
	for _, c := range []float64{-1.06777877e-1, -6.34846687e-1, -1.28717512e-1} {
		VFMADD213PS(f8(c), t, r)
	}
	VFMSUB213PS(t, t, r)
	use := YMM()
	VCMPPS(Imm(0x12), f8(475.0/512), t, use)
	e, one := exp(r), YMM()
	VMOVUPS(f8(1), one)
	VSUBPS(e, one, e)
	VORPS(sign, e, e)
	VBLENDVPS(use, small, e, e)
	return e
}

// log splits x into 2ᵉ·m with m in [√½, √2) and takes a polynomial in m - 1.
func log(x, _ vec) vec {
	orig, sub, e, k := YMM(), YMM(), YMM(), YMM()
	VMOVAPS(x, orig)
	VCMPPS(Imm(0x11), f8(1.1754943508222875e-38), x, sub) // below the normal numbers
	VMULPS(f8(8388608), x, e)
	VBLENDVPS(sub, e, x, x)
	VANDPS(f8(23), sub, sub)
	VPSRLD(Imm(23), x, e)
	VPSUBD(i8(126), e, e)
	VCVTDQ2PS(e, e)
	VSUBPS(sub, e, e)
	VANDPS(i8(0x007fffff), x, x)
	VORPS(f8(0.5), x, x) // m in [½, 1)
	VCMPPS(Imm(0x11), f8(0.70710678118654752440), x, k)
	VANDPS(x, k, sub)
	VADDPS(sub, x, x)
	VANDPS(f8(1), k, k)
	VSUBPS(k, e, e)
	VSUBPS(f8(1), x, x)
	r := horner(x, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	z := YMM()
	VMULPS(x, x, z)
	VMULPS(x, r, r)
	VMULPS(z, r, r)
	VFMADD231PS(f8(-2.12194440e-4), e, r)
	VFNMADD231PS(f8(0.5), z, r)
	VADDPS(r, x, x)
	VFMADD231PS(f8(0.693359375), e, x)
	// 0 gives -Inf; +Inf and NaN stay; what is below 0 gives NaN.
	zero := YMM()
	VXORPS(zero, zero, zero)
	VCMPPS(Imm(0), zero, orig, k)
	VBLENDVPS(k, f8(minusInf), x, x)
	VCMPPS(Imm(0x11), zero, orig, k) // orig < 0: all ones is a NaN
	VORPS(k, x, x)
	VCMPPS(Imm(0x16), f8(3.4028234663852886e38), orig, k) // not ≤ the largest number
	VBLENDVPS(k, orig, x, x)
	return x
}
