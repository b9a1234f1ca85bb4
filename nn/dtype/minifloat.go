package dtype

import "math"

// minifloat describes a small floating-point format by its layout and its special values.
type minifloat struct {
	bits, mantissa, bias int
	max                  uint32 // bits of the largest finite value
	inf                  uint32 // bit pattern for values that are too large
	nan                  uint32
	fnuz                 bool // one zero, one NaN, no infinities
}

var (
	e5m10    = minifloat{bits: 16, mantissa: 10, bias: 15, max: 0x7bff, inf: 0x7c00, nan: 0x7e00}
	e8m7     = minifloat{bits: 16, mantissa: 7, bias: 127, max: 0x7f7f, inf: 0x7f80, nan: 0x7fc0}
	e4m3fn   = minifloat{bits: 8, mantissa: 3, bias: 7, max: 0x7e, inf: 0x7f, nan: 0x7f}
	e4m3fnuz = minifloat{bits: 8, mantissa: 3, bias: 8, max: 0x7f, inf: 0x80, nan: 0x80, fnuz: true}
	e5m2     = minifloat{bits: 8, mantissa: 2, bias: 15, max: 0x7b, inf: 0x7c, nan: 0x7f}
	e5m2fnuz = minifloat{bits: 8, mantissa: 2, bias: 16, max: 0x7f, inf: 0x80, nan: 0x80, fnuz: true}
	e2m1     = minifloat{bits: 4, mantissa: 1, bias: 1, max: 7, inf: 7, nan: 8}
)

// Values of all codes of the formats of eight bits and less.
var (
	e4m3fnValues   = e4m3fn.values()
	e4m3fnuzValues = e4m3fnuz.values()
	e5m2Values     = e5m2.values()
	e5m2fnuzValues = e5m2fnuz.values()
	e2m1Values     = e2m1.values()
)

// encode rounds f to the nearest value, ties to even. Rounding once from float64 is also right
// for a float32, which a float64 holds exactly.
func (m *minifloat) encode(f float64, saturate bool) uint32 {
	b := math.Float64bits(f)
	sign := uint32(b>>63) << (m.bits - 1)
	if m.fnuz && f != f {
		return m.nan
	}
	if f != f {
		if m.bits == 4 {
			return m.nan
		}
		return sign | m.nan
	}
	code := m.magnitude(math.Float64frombits(b &^ (1 << 63)))
	switch {
	case code <= m.max:
	case saturate:
		code = m.max
	case m.fnuz:
		return m.nan
	default:
		code = m.inf
	}
	if m.fnuz && code == 0 {
		return 0
	}
	return sign | code
}

// magnitude returns the code of f, which is not negative; it is above m.max if f is too large.
func (m *minifloat) magnitude(f float64) uint32 {
	exp := int(math.Float64bits(f)>>52) - 1023
	if exp > 1<<(m.bits-1-m.mantissa) { // above every format's range, infinity included
		return m.max + 1
	}
	ulp := max(exp, 1-m.bias) - m.mantissa // exponent of a unit in the last place
	scale := math.Float64frombits(uint64(1023-ulp) << 52)
	n := math.RoundToEven(f * scale)
	// n carries its leading bit, so a normal number adds one to the exponent field by itself,
	// and a carry out of the mantissa another.
	return uint32(ulp+m.mantissa+m.bias-1)<<m.mantissa + uint32(n)
}

// decode returns the inverse of encode, for formats of at most eight bits.
func (m *minifloat) decode(code uint32) float32 {
	sign := code >> (m.bits - 1)
	mag := code & (1<<(m.bits-1) - 1)
	switch {
	case m.fnuz && code == m.nan, !m.fnuz && m.inf != m.max && mag > m.inf, m.bits == 8 && mag == m.nan && !m.fnuz:
		return float32(math.NaN())
	case !m.fnuz && m.inf != m.max && mag == m.inf:
		return float32(math.Inf(1 - 2*int(sign)))
	}
	exp, man := int(mag>>m.mantissa), mag&(1<<m.mantissa-1)
	if exp == 0 {
		exp = 1
	} else {
		man |= 1 << m.mantissa
	}
	v := float32(math.Ldexp(float64(man), exp-m.bias-m.mantissa))
	if sign == 1 {
		return -v
	}
	return v
}

func (m *minifloat) values() (v [256]float32) {
	for i := range 1 << m.bits {
		v[i] = m.decode(uint32(i))
	}
	return v
}
