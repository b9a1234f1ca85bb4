package dtype

import "math"

// The floating-point types that Go lacks. A value holds the bits of one element.
type (
	F16        uint16 // Float16: IEEE 754 binary16
	BF16       uint16 // BFloat16: the upper half of a float32
	F8E4M3FN   uint8  // Float8E4M3FN: bias 7, no infinities, NaN 0x7f and 0xff
	F8E4M3FNUZ uint8  // Float8E4M3FNUZ: bias 8, no infinities, no -0, NaN 0x80
	F8E5M2     uint8  // Float8E5M2: bias 15, infinities 0x7c and 0xfc
	F8E5M2FNUZ uint8  // Float8E5M2FNUZ: bias 16, no infinities, no -0, NaN 0x80
	F8E8M0     uint8  // Float8E8M0: a power of two, exponent bias 127, NaN 0xff
	F4E2M1     uint8  // Float4E2M1: bias 1, in the low four bits, neither infinities nor NaN
)

// Float32 returns the value of f, exactly.
func (f F16) Float32() float32 {
	sign, exp, man := uint32(f>>15)<<31, uint32(f>>10)&31, uint32(f)&1023
	switch {
	case exp == 31:
		if man > 0 {
			man |= 1 << 9 // a quiet NaN, as processors do
		}
		return math.Float32frombits(sign | 255<<23 | man<<13)
	case exp == 0: // zero or subnormal: man * 2^-24
		v := float32(man) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// F16From rounds f to the nearest half, ties to even; too large becomes infinity.
func F16From(f float32) F16 {
	b := math.Float32bits(f)
	sign, a := F16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case a > 255<<23:
		return sign | 0x7e00
	case a >= (127+16)<<23: // 2^16 and more; smaller values that round up to 2^16 carry below
		return sign | 0x7c00
	case a < (127-14)<<23: // subnormal: adding 0.5 leaves the rounded bits in the low mantissa
		v := math.Float32frombits(a) + 0.5
		return sign | F16(math.Float32bits(v)-math.Float32bits(0.5))
	}
	odd := a >> 13 & 1
	return sign | F16((a-(112<<23)+0xfff+odd)>>13)
}

// Float32 returns the value of f, exactly.
func (f BF16) Float32() float32 { return math.Float32frombits(uint32(f) << 16) }

// BF16From rounds f to the nearest bfloat16, ties to even; too large becomes infinity.
func BF16From(f float32) BF16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 255<<23 {
		return BF16(b>>16)&0x8000 | 0x7fc0
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the value of f, exactly.
func (f F8E4M3FN) Float32() float32 { return e4m3fnValues[f] }

// Float32 returns the value of f, exactly.
func (f F8E4M3FNUZ) Float32() float32 { return e4m3fnuzValues[f] }

// Float32 returns the value of f, exactly.
func (f F8E5M2) Float32() float32 { return e5m2Values[f] }

// Float32 returns the value of f, exactly.
func (f F8E5M2FNUZ) Float32() float32 { return e5m2fnuzValues[f] }

// Float32 returns the value of f, exactly.
func (f F4E2M1) Float32() float32 { return e2m1Values[f&15] }

// Float32 returns the value of f, exactly: 2^(f-127), NaN for 0xff.
func (f F8E8M0) Float32() float32 {
	switch f {
	case 0:
		return math.Float32frombits(1 << 22) // 2^-127 is subnormal
	case 255:
		return float32(math.NaN())
	}
	return math.Float32frombits(uint32(f) << 23)
}

// f8e4m3fnFrom rounds to the nearest value, ties to even. What is too large, infinities
// included, becomes the largest value if saturate is set and NaN otherwise.
func f8e4m3fnFrom(f float32, saturate bool) F8E4M3FN {
	return F8E4M3FN(e4m3fn.encode(float64(f), saturate))
}

// f8e4m3fnuzFrom is like F8E4M3FNFrom.
func f8e4m3fnuzFrom(f float32, saturate bool) F8E4M3FNUZ {
	return F8E4M3FNUZ(e4m3fnuz.encode(float64(f), saturate))
}

// f8e5m2From is like F8E4M3FNFrom, with infinity instead of NaN for values that are too large.
func f8e5m2From(f float32, saturate bool) F8E5M2 {
	return F8E5M2(e5m2.encode(float64(f), saturate))
}

// f8e5m2fnuzFrom is like F8E4M3FNFrom.
func f8e5m2fnuzFrom(f float32, saturate bool) F8E5M2FNUZ {
	return F8E5M2FNUZ(e5m2fnuz.encode(float64(f), saturate))
}

// f4e2m1From rounds to the nearest value, ties to even; values that are too large become ±6 and NaN
// becomes -0, as in ONNX's backend tests.
func f4e2m1From(f float32) F4E2M1 { return F4E2M1(e2m1.encode(float64(f), true)) }

// Rounding is how a Cast rounds to Float8E8M0: round_mode of ONNX's Cast.
type Rounding uint8

// The rounding modes. Up is ONNX's default.
const (
	Up      Rounding = iota // to the next power of two that is not smaller
	Down                    // to the next power of two that is not larger
	Nearest                 // to the nearest power of two, ties up
)

// f8e8m0From rounds the magnitude of f to a power of two; the sign is lost. NaN and infinities
// become NaN. With saturate set a value above 2^127 becomes 2^127, otherwise NaN.
func f8e8m0From(f float32, saturate bool, r Rounding) F8E8M0 {
	b := math.Float32bits(f)
	exp, man := b>>23&255, b&(1<<23-1)
	if exp == 255 {
		return 255
	}
	up := false
	switch r {
	case Up:
		up = man > 0
	case Nearest:
		// A tie rounds up, except under the smallest normal number, as ONNX's reference does.
		up = man > 1<<22 || man == 1<<22 && exp > 0
	}
	if up && !(saturate && exp == 254) {
		exp++
	}
	return F8E8M0(exp)
}
