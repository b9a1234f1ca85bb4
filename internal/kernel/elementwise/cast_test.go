package elementwise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

// castsAgree checks that a conversion gives what one gives, for all elements at once and for pieces of all
// small lengths, and writes no more.
func castsAgree[D, S any](t *testing.T, name string, src []S, convert func(p *kernel.Pool, dst []D, src []S), one func(S) D, bits func(D) uint64) {
	t.Helper()
	p := kernel.NewPool(2)
	defer p.Close()
	check := func(p *kernel.Pool, src []S) {
		t.Helper()
		dst := make([]D, len(src)+1)
		convert(p, dst[:len(src)], src)
		var want []D
		for _, v := range src {
			want = append(want, one(v))
		}
		want = append(want, *new(D))
		for i, w := range want {
			if bits(dst[i]) != bits(w) {
				t.Fatalf("%s, element %d of %d: %v became %v (%#x), not %v (%#x)", name, i, len(src), src[min(i, len(src)-1)], dst[i], bits(dst[i]), w, bits(w))
			}
		}
	}
	check(p, src)
	check(nil, src)
	for n := range 50 {
		check(nil, src[n:2*n])
	}
}

func word[T ~uint16](v T) uint64  { return uint64(v) }
func floatBits(v float32) uint64  { return uint64(math.Float32bits(v)) }
func long(v int64) uint64         { return uint64(v) }
func doubleBits(v float64) uint64 { return math.Float64bits(v) }

// randomBits are floats of all sizes, subnormal ones, infinities and many kinds of NaN.
func randomBits(n int) []float32 {
	r, list := rand.New(rand.NewPCG(1, 2)), make([]float32, n)
	for i := range list {
		list[i] = math.Float32frombits(r.Uint32())
	}
	return list
}

// halfwayFloats returns what is around the values of float16 and around the middle between two of them.
func halfwayFloats() []float32 {
	var list []float32
	for i := range 1 << 16 {
		b := math.Float32bits(dtype.F16(i).Float32())
		for _, add := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 1<<12 + 1<<13} {
			list = append(list, math.Float32frombits(b+add))
		}
	}
	return list
}

func TestCastFloat16(t *testing.T) {
	halves, brains := make([]dtype.F16, 1<<16), make([]dtype.BF16, 1<<16)
	for i := range halves {
		halves[i], brains[i] = dtype.F16(i), dtype.BF16(i)
	}
	castsAgree(t, "float16 to float32", halves, Float16ToFloat32, dtype.F16.Float32, floatBits)
	castsAgree(t, "bfloat16 to float32", brains, BFloat16ToFloat32, dtype.BF16.Float32, floatBits)
	floats := append(randomBits(1<<20), halfwayFloats()...)
	castsAgree(t, "float32 to float16", floats, Float32ToFloat16, dtype.F16From, word)
	castsAgree(t, "float32 to bfloat16", floats, Float32ToBFloat16, dtype.BF16From, word)
}

func TestCastFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	doubles := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300, 1e-42, 1e-300, 1 + 1e-9, 16777217, 16777219}
	for range 1 << 16 {
		doubles = append(doubles, math.Float64frombits(r.Uint64()), r.NormFloat64())
	}
	castsAgree(t, "float64 to float32", doubles, Float64ToFloat32, func(v float64) float32 { return float32(v) }, floatBits)
	castsAgree(t, "float32 to float64", randomBits(1<<16), Float32ToFloat64, func(v float32) float64 { return float64(v) }, doubleBits)
}

func TestCastIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	longs := []int64{0, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MinInt32 - 1, 16777217, 16777219, 1 << 32, -1 << 32}
	floats := []float32{0, -0.9, 2147483520, 1 << 31, -1 << 31, -2147483904, 1 << 63, -1 << 63, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}
	for i := range 1 << 14 {
		longs = append(longs, r.Int64N(1<<32)-1<<31)
		floats = append(floats, 1000*float32(r.NormFloat64()))
		if i%100 == 0 {
			longs, floats = append(longs, int64(r.Uint64())), append(floats, math.Float32frombits(r.Uint32()))
		}
	}
	castsAgree(t, "int64 to float32", longs, Int64ToFloat32, func(v int64) float32 { return float32(v) }, floatBits)
	castsAgree(t, "float32 to int64", floats, Float32ToInt64, func(v float32) int64 { return dtype.Truncate(float64(v)) }, long)
	bytes := make([]uint8, 1000)
	for i := range bytes {
		bytes[i] = uint8(i)
	}
	castsAgree(t, "uint8 to float32", bytes, Uint8ToFloat32, func(v uint8) float32 { return float32(v) }, floatBits)
	castsAgree(t, "uint8 to int64", bytes, Uint8ToInt64, func(v uint8) int64 { return int64(v) }, long)
}
