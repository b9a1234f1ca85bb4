package dtype_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// Every value type is one of Gorgonia's.
var _ = []gorgonia.Value{(*dtype.Strings)(nil), (*dtype.Sequence)(nil), (*dtype.Optional)(nil), dtype.Value(nil)}

func TestNames(t *testing.T) {
	for _, d := range dtype.All() {
		for _, s := range []string{d.String(), d.ONNX(), "tensor(" + d.ONNX() + ")"} {
			if got, err := dtype.Parse(s); got != d || err != nil {
				t.Errorf("Parse(%q) = %v, %v; want %v", s, got, err, d)
			}
		}
		if got := dtype.Of(d.Tensor()); got != d {
			t.Errorf("Of(%v.Tensor()) = %v", d, got)
		}
		if d.Bits() > 8 && d.Bits() != 8*d.Size() {
			t.Errorf("%v: %d bits in %d bytes", d, d.Bits(), d.Size())
		}
	}
	for _, s := range []string{"", "undefined", "float31", "tensor()"} {
		if got, err := dtype.Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", s, got)
		}
	}
	if got := dtype.DType(99).String(); got != "dtype(99)" {
		t.Errorf("String of 99 = %q", got)
	}
}

func TestNew(t *testing.T) {
	for _, shape := range [][]int{nil, {0}, {0, 3}, {1}, {2, 3}, {2, 1, 0, 4}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}} {
		n, err := dtype.Count(shape)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dtype.All() {
			if d == dtype.String {
				continue
			}
			x := dtype.New(d, shape...)
			if got := len(dtype.Bytes(x)); got != n*d.Size() {
				t.Errorf("%v%v: %d bytes", d, shape, got)
			}
			if len(x.Shape()) != len(shape) || dtype.DTypeOf(x) != d {
				t.Errorf("%v%v has shape %v, type %v", d, shape, x.Shape(), x.Dtype())
			}
			if c := dtype.Clone(x); len(c.Shape()) != len(shape) || len(dtype.Bytes(c)) != n*d.Size() {
				t.Errorf("%v%v cloned has shape %v", d, shape, c.Shape())
			}
			if v, err := dtype.View(x, n); err != nil || len(v.Shape()) != 1 {
				t.Errorf("%v%v: View: %v", d, shape, err)
			}
		}
	}
}

func TestSlice(t *testing.T) {
	x, err := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	dtype.Slice[float32](x)[4] = 50
	if got := dtype.Slice[float32](x); len(got) != 6 || got[4] != 50 {
		t.Errorf("got %v", got)
	}
	if n := testing.AllocsPerRun(10, func() { dtype.Slice[float32](x)[0]++ }); n != 0 {
		t.Errorf("Slice allocates %v times", n)
	}
	if got := dtype.Slice[bool](dtype.New(dtype.Bool, 0, 2)); len(got) != 0 {
		t.Errorf("empty tensor has elements %v", got)
	}
	if got := dtype.Slice[dtype.F16](dtype.Scalar(dtype.F16From(1.5))); len(got) != 1 || got[0].Float32() != 1.5 {
		t.Errorf("scalar is %v", got)
	}
	if got, err := dtype.ToSlice[float32](x); err != nil || len(got) != 6 || &got[0] != &dtype.Slice[float32](x)[0] {
		t.Errorf("got %v, %v", got, err)
	}
	x.T()
	for want, f := range map[string]func() error{
		"dtype: the tensor is nil":                            func() error { _, err := dtype.ToSlice[int32](nil); return err },
		"dtype: a tensor of float32, want int32":              func() error { _, err := dtype.ToSlice[int32](x); return err },
		"dtype: the tensor of shape (3, 2) is not contiguous": func() error { _, err := dtype.ToSlice[float32](x); return err },
	} {
		if err := f(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for name, f := range map[string]func(){
		"type":       func() { dtype.Slice[int32](x) },
		"transposed": func() { dtype.Slice[float32](x) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestFromSliceRefuses(t *testing.T) {
	if _, err := dtype.FromSlice([]int64{1, 2}, 3); err == nil || err.Error() != "shape [3] takes 3 elements, got 2" {
		t.Errorf("count: %v", err)
	}
	if _, err := dtype.FromSlice([]string{"a"}, 1); err == nil {
		t.Error("strings went into a tensor")
	}
	if _, err := dtype.FromSlice([]int(nil), 0); err == nil {
		t.Error("int is no element type")
	}
	if x, err := dtype.FromSlice[int64](nil, 0); err != nil || dtype.DTypeOf(x) != dtype.Int64 || x.Shape()[0] != 0 {
		t.Errorf("nil slice: %v %v", x, err)
	}
	for _, shape := range [][]int{{-1}, {1 << 32, 1 << 31}, {1 << 62, 4}, {3, -2, 0}, {0, -2}} {
		if n, err := dtype.Count(shape); err == nil {
			t.Errorf("Count(%v) = %d", shape, n)
		}
	}
	if n, err := dtype.Count([]int{1 << 40, 1 << 40, 0}); n != 0 || err != nil {
		t.Errorf("empty: %d, %v", n, err)
	}
}

func TestGorgoniaTypes(t *testing.T) {
	for _, v := range []gorgonia.Value{&dtype.Strings{}, &dtype.Sequence{}, &dtype.Optional{}} {
		if got := gorgonia.TypeOf(v); got != v.Dtype() {
			t.Errorf("%T has type %v", v, got)
		}
	}
}

func TestPick(t *testing.T) {
	d, err := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if p := dtype.Pick(d, 1, []int{2, -1, 0, 0}); !slices.Equal(p.Shape(), []int{2, 4}) || !slices.Equal(dtype.Slice[float32](p), []float32{3, 0, 1, 1, 6, 0, 4, 4}) {
		t.Errorf("columns %v", p)
	}
	if p := dtype.Pick(d, 0, []int{1}); !slices.Equal(dtype.Slice[float32](p), []float32{4, 5, 6}) {
		t.Errorf("row %v", p)
	}
}
