package ort_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func graph(t testing.TB, build func(e *nn.Edit)) *nn.Graph {
	t.Helper()
	g := nn.New("net")
	if err := g.Edit(build); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestValues checks that every common element type round-trips through the library, also in empty
// tensors, scalars and strings.
func TestValues(t *testing.T) {
	r := runtime(t)
	for _, typ := range dtype.All() {
		if typ.Bits() < 8 && typ != dtype.String && typ != dtype.Bool || typ > dtype.BFloat16 || typ.IsComplex() {
			continue
		}
		for dims, shape := range map[string][]int{"": nil, "?": {3}, "?,?": {2, 2}, "?,?,?": {2, 0, 1}} {
			g := graph(t, func(e *nn.Edit) { e.Output("y", e.Input("x", typ.String()+"["+dims+"]")) })
			var x dtype.Value
			if typ == dtype.String {
				list := []string{"", "ü", "a\x00b", "four"}
				n := dtype.Product(shape)
				s, err := dtype.NewStrings(list[:n:n], shape...)
				if err != nil {
					t.Fatal(err)
				}
				x = s
			} else {
				d := dtype.New(typ, shape...)
				for i := range dtype.Bytes(d) {
					dtype.Bytes(d)[i] = byte(i % 2)
				}
				x = d
			}
			out, err := r.Run(t.Context(), g, nn.Feed{"x": x})
			if err != nil {
				t.Errorf("%v[%s]: %v", typ, dims, err)
				continue
			}
			if _, err := (dtype.Tolerance{}).Compare(out["y"], x); err != nil {
				if s, ok := x.(*dtype.Strings); ok && strings.Contains(strings.Join(s.Elems, ""), "\x00") {
					continue // strings of C end there
				}
				t.Errorf("%v[%s]: %v", typ, dims, err)
			}
		}
	}
}

// TestSequence checks sequences as inputs and outputs.
func TestSequence(t *testing.T) {
	g := graph(t, func(e *nn.Edit) {
		x := e.Input("x", "seq(float32[?])")
		e.Output("n", e.Node(op.Plain("SequenceLength"), x).Out(0))
		e.Output("y", e.Node(op.Plain("SequenceInsert"), x, e.Node(op.Plain("SequenceAt"), x, e.Const("zero", dtype.Scalar(int64(0)))).Out(0)).Out(0))
	})
	list := &dtype.Sequence{Elem: dtype.Float32}
	for i := range 3 {
		list.Items = append(list.Items, dtype.New(dtype.Float32, i+1))
	}
	out, err := runtime(t).Run(t.Context(), g, nn.Feed{"x": list})
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := out["n"].(*tensor.Dense); !ok || dtype.Slice[int64](n)[0] != 3 {
		t.Errorf("%v", out["n"])
	}
	if s, ok := out["y"].(*dtype.Sequence); !ok || len(s.Items) != 4 || s.Elem != dtype.Float32 {
		t.Errorf("%v", out["y"])
	}
}

// A run that is cancelled ends.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	g := graph(t, func(e *nn.Edit) {
		x := e.Input("x", "float32[?,?]")
		for range 50 {
			x = e.Node(op.Plain("MatMul"), x, x).Out(0)
		}
		e.Output("y", x)
	})
	if _, err := runtime(t).Run(ctx, g, nn.Feed{"x": dtype.New(dtype.Float32, 600, 600)}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// TestDevice checks that values on the device can be read repeatedly, also while they are inputs, and
// not after their release.
func TestDevice(t *testing.T) {
	d, err := runtime(t).Open()
	if err != nil {
		t.Fatal(err)
	}
	x := dtype.New(dtype.Float32, 2, 3)
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = float32(i)
	}
	v, err := d.Put(x)
	if err != nil {
		t.Fatal(err)
	}
	dtype.Slice[float32](x)[0] = 9 // the device has a copy
	for range 2 {
		y, err := d.Get(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(dtype.Slice[float32](y), []float32{0, 1, 2, 3, 4, 5}); diff != "" {
			t.Error(diff)
		}
	}
	v.Release()
	v.Release()
	if _, err := d.Get(v); err == nil {
		t.Error("a released value was read")
	}
}

// TestClosed: a program on the device may be closed twice, and while it runs; then it is an error to run it.
func TestClosed(t *testing.T) {
	d, err := runtime(t).Open()
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Load(graph(t, func(e *nn.Edit) {
		x := e.Input("x", "float32[?,?]")
		for range 8 {
			x = e.Node(op.Plain("MatMul"), x, x).Out(0)
		}
		e.Output("y", x)
	}))
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan bool, 4), make(chan error, 4)
	for range cap(ended) {
		go func() {
			started <- true
			var err error
			for err == nil {
				_, _, err = p.Run(t.Context(), nn.Feed{"x": dtype.New(dtype.Float32, 32, 32)}, nil, nil)
			}
			ended <- err
		}()
	}
	for range cap(started) {
		<-started
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for range cap(ended) {
		if err := <-ended; err == nil || err.Error() != "ort: the model is closed" {
			t.Error(err)
		}
	}
}
