package main

import (
	. "github.com/mmcloughlin/avo/build"
)

// piecewise makes the activations that follow a line where x is positive and something else elsewhere,
// and Softplus, the smooth one of them. Their gradients look at the result.
func piecewise() {
	for _, l := range []loop{
		{name: "leakyVS", doc: "dst[i] = a[i], times s[0] where that is negative", arrays: "a", scalars: 1, vectors: 4, f: func(x, s []vec) vec {
			scaled := product(x[0], s[0])
			blend(compare(x[0], less, cleared(1)[0]), scaled, x[0])
			return x[0]
		}},
		{name: "leakyGradVV", doc: "dst[i] = a[i], times s[0] where b[i] is not positive", arrays: "ab", scalars: 1, vectors: 4, f: func(x, s []vec) vec {
			scaled := product(x[0], s[0])
			blend(compare(x[1], greater, cleared(1)[0]), x[0], scaled)
			return scaled
		}},
		{name: "eluV", doc: "dst[i] = s[0]*x where x = a[i] is positive, s[1]*(exp(s[2]*x) - 1) elsewhere", arrays: "a", scalars: 3, f: func(x, s []vec) vec {
			y := product(positivePart(x[0]), s[0])
			VFMADD231PS(expMinusOne(product(negativePart(x[0]), s[2])), s[1], y)
			return y
		}},
		{name: "eluGradVV", doc: "dst[i] = a[i] times s[0] where b[i] is positive, s[1] + s[2]*b[i] elsewhere", arrays: "ab", scalars: 3, vectors: 4, f: func(x, s []vec) vec {
			slope := vector()
			VMOVAPS(s[1], slope)
			VFMADD231PS(x[1], s[2], slope)
			blend(compare(x[1], greater, cleared(1)[0]), s[0], slope)
			VMULPS(slope, x[0], slope)
			return slope
		}},
		{name: "softplusV", doc: "dst[i] = log(1 + exp(a[i]))", arrays: "a", f: func(x, _ []vec) vec { return softplus(x[0]) }},
		{name: "softplusGradVV", doc: "dst[i] = a[i] * (1 - exp(-b[i])), b[i] being a result of softplusV", arrays: "ab", f: func(x, _ []vec) vec {
			xorC(i8(signBit), x[1], x[1])
			slope := expMinusOne(x[1])
			xorC(i8(signBit), slope, slope)
			VMULPS(slope, x[0], slope)
			return slope
		}},
	} {
		if l.vectors == 0 {
			l.vectors = 1
		}
		l.write()
	}
}

// positivePart is x, or 0 below; NaN stays.
func positivePart(x vec) vec {
	y := cleared(1)[0]
	VMAXPS(x, y, y)
	return y
}

// negativePart is x, or 0 above; NaN stays.
func negativePart(x vec) vec {
	y := cleared(1)[0]
	VMINPS(x, y, y)
	return y
}

// expMinusOne is exp(x) - 1, in full precision around 0 too: 2ⁿ·r + (2ⁿ - 1) of the parts of exp. It spoils x.
func expMinusOne(x vec) vec {
	n, r := reducedExp(x)
	power := constant(1)
	scale(n, power)
	VMULPS(power, r, r)
	subC(f8(1), power, power)
	VADDPS(power, r, r)
	return r
}

// softplus is max(x, 0) + log(1+t) with t = exp(-|x|), where log(1+t) is the series of 2·artanh(u) with
// u = t/(2+t): exact for small t as well.
func softplus(x vec) vec {
	y := positivePart(x)
	orC(i8(signBit), x, x)
	t := exp(x)
	u := vector()
	addC(f8(2), t, u)
	VDIVPS(u, t, u)
	z := squared(u)
	r := horner(z, 2./13, 2./11, 2./9, 2./7, 2./5, 2./3, 2)
	VFMADD231PS(r, u, y)
	return y
}
