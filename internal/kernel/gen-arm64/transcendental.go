package main

import "math"

// transcendental makes the loops over functions approximated by polynomials. The coefficients of
// exp, log and tanh are those of the Cephes library, those of erf are Juffa's.
func transcendental(p *program) {
	for _, t := range []struct {
		name string
		f    func(f *function, x vec) vec
	}{{"expV", exp}, {"sigmoidV", sigmoid}, {"tanhV", tanh}, {"erfV", erf}, {"logV", log}} {
		p.kernel(t.name, func(f *function) {
			f.constants()
			loop(f, 2, "dst", []string{"a"}, 0, func(x, _ []vec) { x[0] = t.f(f, x[0]) })
		})
	}
	p.kernel("expSubVS", func(f *function) {
		f.constants()
		loop(f, 2, "dst", []string{"a"}, 1, func(x, s []vec) {
			f.op("FSUB", x[0], x[0], s[0])
			x[0] = exp(f, x[0])
		})
	})
}

// float returns a new vector of four equal constants.
func (f *function) float(c float64) vec {
	v := f.vec()
	f.constant(v, c)
	return v
}

// word4 returns a new vector of four equal words.
func (f *function) word4(c uint32) vec {
	v := f.vec()
	f.bits(v, c)
	return v
}

// made returns a new vector n op m.
func (f *function) made(op string, n, m vec) vec {
	v := f.vec()
	f.op(op, v, n, m)
	return v
}

// horner evaluates a polynomial in x, highest coefficient first: each coefficient is loaded into
// the register in which its sum then grows.
func horner(f *function, x vec, c ...float64) vec {
	r, t := f.float(c[0]), f.vec()
	for _, v := range c[1:] {
		f.constant(t, v)
		f.op("FMLA", t, r, x)
		r, t = t, r
	}
	return r
}

// exp spoils x. With n = round(x/ln 2), exp(x) = 2ⁿ·exp(x - n·ln 2); the power is applied in two
// halves so that it reaches infinity and the subnormal numbers.
func exp(f *function, x vec) vec {
	c, n := f.float(89), f.vec()
	f.op("FMIN", x, x, c)
	f.constant(c, -104)
	f.op("FMAX", x, x, c)
	f.constant(c, math.Log2E)
	f.op("FMUL", n, x, c)
	f.op1("FRINTN", n, n)
	f.constant(c, 0.693359375)
	f.op("FMLS", x, n, c)
	f.constant(c, -2.12194440e-4)
	f.op("FMLS", x, n, c)
	r := horner(f, x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	f.op("FMUL", r, r, x)
	f.copy(c, x)
	f.op("FMLA", c, r, x)
	f.constant(r, 1)
	f.op("FADD", r, r, c)
	half := f.vec()
	f.op1("FCVTNS", n, n)
	f.shiftRight(half, n, 1, true)
	f.op("SUB", n, n, half)
	f.bits(c, 127)
	for _, p := range []vec{half, n} {
		f.op("ADD", p, p, c)
		f.shiftLeft(p, p, 23)
		f.op("FMUL", r, r, p)
	}
	return r
}

func sigmoid(f *function, x vec) vec {
	f.op1("FNEG", x, x)
	e := exp(f, x)
	one := f.float(1)
	f.op("FADD", e, e, one)
	f.op("FDIV", e, one, e)
	return e
}

// signed gives e the sign of x, and selects small instead where mask is set; it returns mask.
func signed(f *function, mask, small, e, x vec) vec {
	sign := f.word4(1 << 31)
	f.op("AND", sign, sign, x)
	f.op("BSL", mask, small, e)
	f.op("ORR", mask, mask, sign) // that of −0, too
	return mask
}

// tanh returns an odd polynomial below 0.625 and 1 - 2/(exp(2|x|)+1) above.
func tanh(f *function, x vec) vec {
	a := f.vec()
	f.op1("FABS", a, x)
	z := f.made("FMUL", x, x)
	p := horner(f, z, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	f.op("FMUL", p, p, z)
	small := f.vec()
	f.copy(small, x)
	f.op("FMLA", small, p, x)
	use := f.float(0.625)
	f.op("FCMGT", use, use, a)
	f.op("FADD", a, a, a)
	e, c := exp(f, a), f.float(1)
	f.op("FADD", e, e, c)
	two := f.float(2)
	f.op("FDIV", e, two, e)
	f.op("FSUB", e, c, e)
	return signed(f, use, small, e, x)
}

// erf returns an odd polynomial up to 475/512 and 1 - exp(polynomial) above.
func erf(f *function, x vec) vec {
	t, c := f.vec(), f.float(4)
	f.op1("FABS", t, x)
	f.op("FMIN", t, t, c)
	s := f.made("FMUL", x, x)
	p := horner(f, s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	small := f.vec()
	f.copy(small, x)
	f.op("FMLA", small, p, x)
	f.op("FMUL", s, t, t)
	r := horner(f, t, -1.72853470e-5, 3.83197126e-4)
	u := horner(f, t, -3.88396438e-3, 2.42546219e-2)
	f.op("FMLA", u, r, s)
	for _, k := range []float64{-1.06777877e-1, -6.34846687e-1, -1.28717512e-1} {
		f.constant(r, k)
		f.op("FMLA", r, u, t)
		r, u = u, r
	}
	f.op1("FNEG", r, t)
	f.op("FMLA", r, u, t)
	use := f.float(475.0 / 512)
	f.op("FCMGE", use, use, t)
	e, one := exp(f, r), f.float(1)
	f.op("FSUB", e, one, e)
	return signed(f, use, small, e, x)
}

// log splits x into 2ᵉ·m with m in [√½, √2) and takes a polynomial in m - 1.
func log(f *function, orig vec) vec {
	c, x := f.float(8388608), f.vec()
	f.op("FMUL", x, orig, c)
	tiny := f.float(1.1754943508222875e-38)
	f.op("FCMGT", tiny, tiny, orig) // below the normal numbers
	bias := f.float(23)
	f.op("AND", bias, bias, tiny)
	f.op("BSL", tiny, x, orig)
	x = tiny
	e := f.vec()
	f.shiftRight(e, x, 23, false)
	f.bits(c, 126)
	f.op("SUB", e, e, c)
	f.op1("SCVTF", e, e)
	f.op("FSUB", e, e, bias)
	f.bits(c, 0x007fffff)
	f.op("AND", x, x, c)
	f.constant(c, 0.5)
	f.op("ORR", x, x, c) // m in [½, 1)
	low := f.float(math.Sqrt2 / 2)
	f.op("FCMGT", low, low, x)
	f.op("AND", bias, x, low)
	f.op("FADD", x, x, bias)
	f.constant(c, 1)
	f.op("AND", low, low, c)
	f.op("FSUB", e, e, low)
	f.op("FSUB", x, x, c)
	r := horner(f, x, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	z := f.made("FMUL", x, x)
	f.op("FMUL", r, r, x)
	f.op("FMUL", r, r, z)
	f.constant(c, -2.12194440e-4)
	f.op("FMLA", r, e, c)
	f.constant(c, 0.5)
	f.op("FMLS", r, z, c)
	f.op("FADD", x, x, r)
	f.constant(c, 0.693359375)
	f.op("FMLA", x, e, c)
	return logEdges(f, x, orig)
}

// logEdges: 0 gives -Inf; +Inf and NaN are unchanged; negative numbers give NaN.
func logEdges(f *function, x, orig vec) vec {
	zero := f.vec()
	f.clear(zero)
	at, below := f.made("FCMEQ", orig, zero), f.made("FCMGT", zero, orig)
	f.op("BSL", at, f.float(math.Inf(-1)), x)
	f.op("ORR", at, at, below) // all ones is a NaN
	finite := f.float(math.MaxFloat32)
	f.op("FCMGE", finite, finite, orig)
	f.op("BSL", finite, at, orig)
	return finite
}
