package main

import (
	"math"

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

// normal is Φ(x) = (1 + erf(x/√2))/2.
func normal(x vec) vec {
	t := vector()
	mulC(f8(1/math.Sqrt2), x, t)
	e := erf(t)
	half := constant(0.5)
	VFMADD213PS(half, half, e)
	return e
}

// geluGrad multiplies dy by the derivative of Gelu at x.
func geluGrad(args, _ []vec) vec {
	dy, x := args[0], args[1]
	z := squared(x)
	mulC(f8(-0.5), z, z)
	density := exp(z)
	mulC(f8(1/math.Sqrt(2*math.Pi)), density, density)
	VMULPS(x, density, density)
	VADDPS(normal(x), density, density)
	VMULPS(density, dy, dy)
	return dy
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
