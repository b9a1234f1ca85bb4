package dtype_test

import (
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

func vector[T any](v ...T) *tensor.Dense {
	d, err := dtype.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return d
}

func expect[T comparable](t *testing.T, name string, src *tensor.Dense, want ...T) {
	t.Helper()
	dst, err := dtype.ConvertTo(dtype.TypeOf[T](), src)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if got := dtype.Slice[T](dst); !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

func TestConvert(t *testing.T) {
	floats := vector(-1.9, -0.5, 0, 2.5, 300)
	expect[int8](t, "float64 to int8", floats, -1, 0, 0, 2, 44)
	expect[int64](t, "float64 to int64", floats, -1, 0, 0, 2, 300)
	expect(t, "float64 to bool", floats, true, true, false, true, true)
	expect[float32](t, "float64 to float32", vector(0.1), 0.1)
	expect[int64](t, "out of range", vector(1e30, -1e30, math.NaN(), math.Inf(1)), math.MaxInt64, math.MinInt64, 0, math.MaxInt64)
	expect[uint64](t, "to uint64", vector(1e19, 1e30, -1), 10000000000000000000, math.MaxUint64, math.MaxUint64)
	expect[float64](t, "from uint64", vector(uint64(math.MaxUint64)), 0x1p64)
	expect[float32](t, "from uint64", vector(uint64(1)<<63), 0x1p63)
	expect[uint8](t, "int32 to uint8", vector(int32(-1), 256, 257), 255, 0, 1)
	expect[dtype.I4](t, "int8 to int4", vector(int8(7), 8, -8, -9), 7, -8, -8, 7)
	expect[dtype.U4](t, "int8 to uint4", vector(int8(15), 16, -1), 15, 0, 15)
	expect[dtype.I2](t, "int8 to int2", vector(int8(1), 2, -2, 3), 1, -2, -2, -1)
	expect[int32](t, "int4 to int32", vector(dtype.I4(-8), 7), -8, 7)
	expect[float32](t, "bool to float32", vector(true, false), 1, 0)
	expect[float32](t, "float16 to float32", vector(dtype.F16From(-1.5)), -1.5)
	expect(t, "float16 to bfloat16", vector(dtype.F16From(3.25)), dtype.BF16From(3.25))
	expect[complex128](t, "complex", vector(complex64(1+2i)), 1+2i)
	expect[int64](t, "same type", vector[int64](1, 2), 1, 2)
	if err := dtype.Convert(dtype.New(dtype.Float32, 2), floats); err == nil {
		t.Error("5 elements went into 2")
	}
	if _, err := dtype.ConvertTo(dtype.Float32, vector(complex64(1))); err == nil {
		t.Error("a complex number became a real one")
	}
	if _, err := dtype.ConvertTo(dtype.String, floats); err == nil {
		t.Error("floats became strings")
	}
}

// TestConvertAll crosses every pair of types, past the length of one chunk, with values that all
// of them hold.
func TestConvertAll(t *testing.T) {
	const n = 600
	ones := make([]bool, n)
	for i := range ones {
		ones[i] = i%3 == 0
	}
	for _, from := range dtype.All() {
		src, err := dtype.ConvertTo(from, vector(ones...))
		if from == dtype.String || from.IsComplex() {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range dtype.All() {
			if to == dtype.String || to.IsComplex() {
				continue
			}
			dst, err := dtype.ConvertTo(to, src)
			if err != nil {
				t.Fatal(err)
			}
			f, err := dtype.Float64s(dst)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range f {
				zero := v == 0 || v < 1e-30 || from == dtype.Float8E8M0 && (to.IsInteger() || to == dtype.Bool)
				if ones[i] && v != 1 || !ones[i] && !zero {
					t.Fatalf("%v to %v: element %d is %g", from, to, i, v)
				}
			}
		}
	}
	empty, err := dtype.ConvertTo(dtype.Int4, dtype.New(dtype.Float32, 3, 0))
	if err != nil || empty.Shape().Dims() != 2 {
		t.Errorf("empty: %v, %v", empty.Shape(), err)
	}
}

// TestFewBits: floats become the nearest integers of 4 and 2 bits, of two the even one (ONNX, docs/technical/int4.md and int2.md).
func TestFewBits(t *testing.T) {
	src, err := dtype.FromSlice([]float32{-7.6, -1.5, -0.5, -0.4, 0.5, 0.6, 1.5, 2.5, 6.6}, 9)
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[dtype.DType][]float64{dtype.Int4: {-8, -2, 0, 0, 0, 1, 2, 2, 7}, dtype.Int8: {-7, -1, 0, 0, 0, 0, 1, 2, 6}} {
		d, err := dtype.ConvertTo(to, src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dtype.Float64s(d); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v (%v)", to, got, want, err)
		}
	}
}
