package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// powers makes powers and remainders of the division.
func powers() {
	for _, l := range []loop{
		{name: "powVV", doc: "dst[i] = a[i] to the power of b[i]", arrays: "ab", f: func(x, _ []vec) vec { return power(x[0], x[1]) }},
		{name: "powVS", doc: "dst[i] = a[i] to the power of s[0]", arrays: "a", scalars: 1, f: func(x, s []vec) vec { return power(x[0], s[0]) }},
		{name: "fmodVV", doc: "dst[i] = a[i] - q*b[i] with q the whole part of a[i]/b[i], NaN from |q| = 2²² on", arrays: "ab",
			f: func(x, _ []vec) vec { return remainder(x[0], x[1]) }},
		{name: "fmodVS", doc: "dst[i] = a[i] - q*s[0] with q the whole part of a[i]/s[0], NaN from |q| = 2²² on", arrays: "a", scalars: 1,
			f: func(x, s []vec) vec { return remainder(x[0], s[0]) }},
	} {
		l.vectors = 1
		l.write()
	}
}

// power is x to the power of y by the rules of C: exp2(y*log2|x|) in double precision, one half of the lanes after the
// other, with the sign for negative x. It clobbers x.
func power(x, y vec) vec {
	sign, size := signAndSize(x)
	r := inHalves(size, y, func(x, y vec) vec {
		l := logarithm2(x)
		VMULPD(y, l, l)
		return exponential2(l)
	})
	// The number 1 to any power and any number to the power of 0 are 1, and so is -1 to an infinite power.
	one := constant(1)
	unit := compare(size, equal, one)
	ordered := compare(y, equal, y)
	keepMask(ordered, unit)
	blend(unit, one, r)
	blend(compare(y, equal, cleared(1)[0]), one, r)
	plain := compare(x, equal, one)
	// Negative numbers: odd integers keep the sign, fractions leave no result but of 0 and infinity.
	whole, half, rest := vector(), vector(), vector()
	VMOVAPS(y, whole)
	roundTo(towardZero, whole)
	VMULPS(constant(0.5), y, half)
	VMOVAPS(half, rest)
	roundTo(towardZero, rest)
	fraction := compare(whole, differs, y)
	VMOVAPS(sign, whole)
	keep(compare(rest, differs, half), whole)
	// Half of a fraction is no integer either; its sign does not matter where the result is none.
	clearWhere(fraction, whole)
	orV(whole, r, r)
	inside := compare(x, less, cleared(1)[0])
	keepMask(compare(x, greater, constant(minusInf)), inside)
	keepMask(fraction, inside)
	blend(inside, constant(math.NaN()), r)
	blend(plain, one, r)
	return r
}

const (
	towardZero = 3
	differs    = 0x0c // not equal, and both numbers
)

// remainder returns the remainder of |x| divided by |y|, with the sign of x.
func remainder(x, y vec) vec {
	sign, left := signAndSize(x)
	q, by := vector(), vector()
	andC(i8(otherBits), y, by)
	VDIVPS(by, left, q)
	roundTo(towardZero, q)
	usable := compare(q, less, constant(1<<22))
	VFNMADD231PS(by, q, left) // exact; a quotient that was rounded up took too much
	keep(compare(left, less, cleared(1)[0]), by)
	VADDPS(by, left, left)
	orV(sign, left, left)
	r := constant(math.NaN())
	blend(usable, left, r)
	return r
}

// keepMask restricts m to where n holds.
func keepMask(n, m mask) {
	if broadly() {
		KANDW(n, m, m)
	} else {
		VANDPS(n, m, m)
	}
}

// clearWhere clears x where m holds.
func clearWhere(m mask, x vec) { blend(m, cleared(1)[0], x) }

// inHalves applies a function in double precision to the lower and the upper halves of float32 vectors.
func inHalves(x, y vec, f func(x, y vec) vec) vec {
	if broadly() {
		upperX, upperY := YMM(), YMM()
		VEXTRACTF64X4(Imm(1), x, upperX)
		VEXTRACTF64X4(Imm(1), y, upperY)
		part := func(x, y Op) vec {
			a, b, r := ZMM(), ZMM(), YMM()
			VCVTPS2PD(x, a)
			VCVTPS2PD(y, b)
			VCVTPD2PS(f(a, b), r)
			return r
		}
		lower, r := part(x.AsY(), y.AsY()), ZMM()
		VINSERTF64X4(Imm(1), part(upperX, upperY), lower.AsZ(), r)
		return r
	}
	upperX, upperY := XMM(), XMM()
	VEXTRACTF128(Imm(1), x, upperX)
	VEXTRACTF128(Imm(1), y, upperY)
	part := func(x, y Op) vec {
		a, b, r := YMM(), YMM(), XMM()
		VCVTPS2PD(x, a)
		VCVTPS2PD(y, b)
		VCVTPD2PSY(f(a, b), r)
		return r
	}
	lower, r := part(x.AsX(), y.AsX()), YMM()
	VINSERTF128(Imm(1), part(upperX, upperY), lower.AsY(), r)
	return r
}

// doubles returns a vector constant of four equal double words.
func doubles(bits uint64) Mem {
	if m, ok := doubled[bits]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("d%016x", bits), RODATA|NOPTR)
	for i := range 4 {
		DATA(8*i, U64(bits))
	}
	doubled[bits] = m
	return m
}

var doubled = map[uint64]Mem{}

// d4 returns a vector constant of four equal numbers in double precision.
func d4(v float64) Mem { return doubles(math.Float64bits(v)) }

// Instructions on double words whose first operand is a constant, the same in all lanes.
var (
	setD    = either(VMOVUPD, VBROADCASTSD)
	addD    = either(VADDPD, VADDPD_BCST)
	subD    = either(VSUBPD, VSUBPD_BCST)
	fma213D = either(VFMADD213PD, VFMADD213PD_BCST)
	addBits = either(VPADDQ, VPADDQ_BCST)
	andBits = either(VANDPD, VPANDQ_BCST)
	orBits  = either(VORPD, VPORQ_BCST)
)

func constantD(v float64) vec {
	x := vector()
	setD(d4(v), x)
	return x
}

// hornerD is horner in double precision.
func hornerD(x vec, c ...float64) vec {
	r := constantD(c[0])
	for _, v := range c[1:] {
		fma213D(d4(v), x, r)
	}
	return r
}

// blendD sets no to yes where the relation of x to y holds.
func blendD(x vec, relation uint8, y, yes, no vec) {
	if broadly() {
		m := K()
		VCMPPD(Imm(uint64(relation)), y, x, m)
		VMOVAPD(yes, m, no)
		return
	}
	m := YMM()
	VCMPPD(Imm(uint64(relation)), y, x, m)
	VBLENDVPD(m, yes, no, no)
}

// logarithm2 is log2(x) of a nonnegative float32 converted to double, with a relative error of 1e-12.
// It splits x into 2ᵉ·m with m in [√½, √2); log2(m) is a series in s = (m-1)/(m+1).
func logarithm2(x vec) vec {
	const rootHalf, implied = 0x3fe6a09e667f3bcd, 0x3ff0000000000000
	bits, e := vector(), vector()
	addBits(doubles(implied-rootHalf), x, bits)
	VPSRLQ(Imm(52), bits, e)
	orBits(d4(1<<52), e, e) // the exponent becomes the end of the fraction of a number
	subD(d4(1<<52+1023), e, e)
	andBits(doubles(1<<52-1), bits, bits)
	addBits(doubles(rootHalf), bits, bits)
	s, below := vector(), vector()
	subD(d4(1), bits, s)
	addD(d4(1), bits, below)
	VDIVPD(below, s, s)
	z := vector()
	VMULPD(s, s, z)
	var c []float64
	for k := 13; k > 0; k -= 2 {
		c = append(c, 2/(float64(k)*math.Ln2))
	}
	VFMADD231PD(hornerD(z, c...), s, e)
	blendD(x, lessEqual, constantD(0), constantD(minusInf), e)
	blendD(x, greaterOrUnordered, constantD(math.MaxFloat64), x, e) // infinity and NaN stay
	return e
}

// exponential2 is 2ˣ with a relative error of 1e-11 within float32's range, and beyond it what rounds
// to 0 and infinity. It clobbers x.
func exponential2(x vec) vec {
	const integers = 3 << 51
	limit := constantD(130)
	VMINPD(x, limit, x) // in this order NaN stays
	VMAXPD(x, constantD(-160), x)
	n, whole := constantD(integers), vector()
	VADDPD(n, x, n)
	subD(d4(integers), n, whole)
	VSUBPD(whole, x, x)
	c := []float64{1}
	for k := 1.; k <= 9; k++ {
		c = append([]float64{c[0] * math.Ln2 / k}, c...)
	}
	r := hornerD(x, c...)
	VPSLLQ(Imm(52), n, n)
	VPADDQ(n, r, r)
	return r
}
