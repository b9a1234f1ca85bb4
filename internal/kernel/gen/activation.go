package main

import (
	. "github.com/mmcloughlin/avo/build"
)

// activations makes the activation functions and gradients that are more than one function of
// transcendental: in one pass over memory.
func activations() {
	for _, l := range []loop{
		{name: "geluV", doc: "dst[i] = x * Φ(x) with x = a[i], Φ the normal distribution function", arrays: "a",
			f: func(x, _ []vec) vec { VMULPS(x[0], normal(x[0]), x[0]); return x[0] }},
		{name: "geluGradVV", doc: "dst[i] = a[i] * (Φ(x) + x*φ(x)) with x = b[i], φ the density of Φ", arrays: "ab", f: geluGrad},
		{name: "geluTanhV", doc: "dst[i] = x * (1 + tanh(g))/2 = x * sigmoid(2g) with x = a[i], g = √(2/π)*(x + 0.044715*x³)", arrays: "a",
			f: func(x, _ []vec) vec { return ratio(x[0], geluPower(x[0], squared(x[0]))) }},
		{name: "geluTanhGradVV", doc: "dst[i] is a[i] times the derivative of geluTanhV at b[i]", arrays: "ab", f: geluTanhGrad},
		{name: "swishVS", doc: "dst[i] = a[i] * sigmoid(s[0]*a[i])", arrays: "a", scalars: 1,
			f: func(x, s []vec) vec { return ratio(x[0], product(x[0], s[0])) }},
		{name: "swishGradVV", doc: "dst[i] is a[i] times the derivative of swishVS at b[i]", arrays: "ab", scalars: 1, f: func(x, s []vec) vec {
			y := product(x[1], s[0])
			return logisticSlope(x[0], logistic(y), y)
		}},
		{name: "mishV", doc: "dst[i] = a[i] * tanh(log(1 + exp(a[i])))", arrays: "a", f: func(x, _ []vec) vec {
			_, r := mishRatio(x[0])
			VMULPS(r, x[0], r)
			return r
		}},
		{name: "mishGradVV", doc: "dst[i] is a[i] times the derivative of mishV at b[i]", arrays: "ab", f: mishGrad},
		{name: "hardSwishV", doc: "dst[i] = x * (x/6 + 1/2 clipped to [0, 1]) with x = a[i]", arrays: "a", vectors: 4, f: func(x, _ []vec) vec {
			r := constant(0.5)
			fma231C(f8(1./6), x[0], r)
			VMAXPS(r, constant(0), r) // in this order NaN stays
			VMINPS(r, constant(1), r)
			VMULPS(x[0], r, r)
			return r
		}},
		{name: "hardSwishGradVV", doc: "dst[i] = a[i] * (x/3 + 1/2), but 0 for x = b[i] ≤ -3 and a[i] for x ≥ 3", arrays: "ab", vectors: 4, f: hardSwishGrad},
	} {
		if l.vectors == 0 {
			l.vectors = 1
		}
		l.write()
	}
}

func product(x, y vec) vec {
	z := vector()
	VMULPS(x, y, z)
	return z
}

func squared(x vec) vec { return product(x, x) }

// normal is Φ(x) = 1/2 + an odd function of x, which is approximated by a rational function in x² to 1.5e-7.
// From -5.35 downward it is 0.
func normal(x vec) vec {
	return half(x, 5.35,
		[]float64{2.37157573e-08, 6.36823764e-06, 1.62264130e-04, 4.63898347e-03, 3.31484739e-02, 3.98942250e-01},
		[]float64{1.22671550e-06, 7.18519786e-05, 1.84739809e-03, 2.82553390e-02, 2.49757065e-01, 1})
}

// geluGrad multiplies dy by the derivative of Gelu at x, Φ(x) + x*φ(x): 1/2 + an odd function as well,
// to 3.2e-7, and 0 from -5.8 downward.
func geluGrad(args, _ []vec) vec {
	slope := half(args[1], 5.8,
		[]float64{1.92929240e-07, 3.59559413e-05, 1.92203550e-05, 1.42303064e-02, -3.09958658e-02, 7.97885361e-01},
		[]float64{8.95241827e-06, 1.92036358e-04, 3.52303446e-03, 4.09802076e-02, 2.94494027e-01, 1})
	VMULPS(slope, args[0], slope)
	return slope
}

// half is 1/2 + x*p(x²)/q(x²) for x up to a limit either way. Beyond it stays as it is at the limit above,
// and is 0 below. NaN stays.
func half(x vec, limit float64, p, q []float64) vec {
	near := constant(limit)
	VMINPS(x, near, near)
	VMAXPS(near, constant(-limit), near)
	z := squared(near)
	n := horner(z, p...)
	VMULPS(near, n, n)
	r := quotient(n, horner(z, q...))
	addC(f8(0.5), r, r)
	keep(compare(x, greaterOrUnordered, constant(-limit)), r)
	return r
}

// quotient is n/d, d a number far from 0 and infinity. Dividing sixteen lanes takes longer than
// multiplying by an estimate of 1/d and correcting the result once. It spoils n.
func quotient(n, d vec) vec {
	r := vector()
	if !broadly() {
		VDIVPS(d, n, r)
		return r
	}
	inverse := vector()
	VRCP14PS(d, inverse)
	VMULPS(n, inverse, r)
	VFNMADD231PS(r, d, n) // the remainder of n
	VFMADD231PS(n, inverse, r)
	return r
}

const (
	geluSlope = 1.5957691216057308 // 2√(2/π)
	geluCube  = 0.044715
)

// geluPower is 2√(2/π)*(x + 0.044715*x³), z is x²; it spoils z.
func geluPower(x, z vec) vec {
	p := constant(geluSlope)
	fma231C(f8(geluSlope*geluCube), z, p)
	VMULPS(x, p, p)
	return p
}

func geluTanhGrad(args, _ []vec) vec {
	dy, x := args[0], args[1]
	z := squared(x)
	s := logistic(geluPower(x, z))
	slope := constant(geluSlope)
	fma231C(f8(3*geluSlope*geluCube), z, slope)
	VMULPS(x, slope, slope)
	return logisticSlope(dy, s, slope)
}

// logistic is 1/(1 + exp(-y)).
func logistic(y vec) vec { return ratio(constant(1), y) }

// ratio is x/(1 + exp(-y)).
func ratio(x, y vec) vec {
	t := vector()
	xorC(i8(signBit), y, t)
	e := exp(t)
	addC(f8(1), e, e)
	VDIVPS(e, x, e)
	return e
}

// logisticSlope is dy*s*(1 + y*(1-s)); it spoils y and dy.
func logisticSlope(dy, s, y vec) vec {
	VMULPS(s, dy, dy)
	VFNMADD213PS(y, y, s) // y - y*s
	VFMADD213PS(dy, s, dy)
	return dy
}

// mishRatio is e = exp(x) and tanh(log(1 + e)) = q/(q+2) with q = e*(e+2). Beyond 20 it is 1.
func mishRatio(x vec) (e, r vec) {
	t := constant(20)
	VMINPS(x, t, t)
	e = exp(t)
	q, d := vector(), vector()
	addC(f8(2), e, q)
	VMULPS(e, q, q)
	addC(f8(2), q, d)
	VDIVPS(d, q, q)
	return e, q
}

func mishGrad(args, _ []vec) vec {
	dy, x := args[0], args[1]
	e, r := mishRatio(x)
	d := vector()
	addC(f8(1), e, d)
	VDIVPS(d, e, e)
	VMULPS(x, e, e) // x*sigmoid(x)
	s := constant(1)
	VFNMADD231PS(r, r, s) // 1 - r²
	VFMADD213PS(r, e, s)
	VMULPS(s, dy, dy)
	return dy
}

func hardSwishGrad(args, _ []vec) vec {
	dy, x := args[0], args[1]
	r := constant(0.5)
	fma231C(f8(1./3), x, r)
	VMULPS(dy, r, r)
	blend(compare(x, lessEqual, constant(-3)), constant(0), r)
	blend(compare(x, greaterEqual, constant(3)), dy, r)
	return r
}
