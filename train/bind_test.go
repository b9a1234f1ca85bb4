package train

import (
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func of[T any](t *testing.T, v []T, shape ...int) *tensor.Dense {
	t.Helper()
	d, err := dtype.FromSlice(v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDefaultLoss checks the default loss for targets: numbers, classes, and class probabilities such as those of MixUp.
func TestDefaultLoss(t *testing.T) {
	for _, c := range []struct {
		y    *tensor.Dense
		want Loss
	}{
		{dtype.New(dtype.Int64, 3), CrossEntropy{}}, {dtype.New(dtype.Int32, 3), CrossEntropy{}},
		{dtype.New(dtype.Float32, 3), MSE{}}, {dtype.New(dtype.Float32, 3, 1), MSE{}}, {dtype.New(dtype.Float32, 0, 2), MSE{}},
		{of(t, []float32{0.25, 0.75, 0, 1}, 2, 2), CrossEntropy{}}, {of(t, []float64{0.25, 0.75, 0, 1}, 2, 2), CrossEntropy{}},
		{of(t, []float32{1, 1}, 2, 1), MSE{}}, {of(t, []float32{0.25, 0.75, 0, 0.9}, 2, 2), MSE{}}, {of(t, []float32{0.5, 0.6}, 1, 2), MSE{}},
		{of(t, []float32{0.5, 0.5005}, 1, 2), CrossEntropy{}}, {of(t, []float32{0.5, 0.4995}, 1, 2), CrossEntropy{}},
		{of(t, []float32{-0.5, 1.5}, 1, 2), MSE{}}, {of(t, []float32{1, float32(math.NaN())}, 1, 2), MSE{}},
		{of(t, []float32{0.5, 0.5, 0.5, 0.5}, 1, 2, 2), MSE{}},
	} {
		if got := defaultLoss([]*tensor.Dense{c.y}, nil); isCrossEntropy(got) != isCrossEntropy(c.want) {
			t.Errorf("%v of shape %v: %T, want %T", c.y, c.y.Shape(), got, c.want)
		}
	}
	if j, ok := defaultLoss([]*tensor.Dense{dtype.New(dtype.Float32, 3), dtype.New(dtype.Int64, 3)}, nil).(Joint); !ok || len(j.Losses) != 2 || j.Losses[0] != (MSE{}) || !isCrossEntropy(j.Losses[1]) {
		t.Errorf("of two targets: %+v", j)
	}
	if l := defaultLoss(nil, nil); !isCrossEntropy(l) {
		t.Errorf("of none: %T", l)
	}
}

func isCrossEntropy(l Loss) bool { _, ok := l.(CrossEntropy); return ok }

// The target's batch axis is the output's; other axes are fixed until they vary.
func TestTargetType(t *testing.T) {
	outputs := func(typ string) []*nn.Value {
		if typ == "" {
			return nil
		}
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", typ)).Out(0)) }); err != nil {
			t.Fatal(err)
		}
		return g.Outputs()
	}
	for _, c := range []struct {
		y    *tensor.Dense
		out  string
		open bool
		want string
	}{
		{dtype.New(dtype.Int64, 7), "float32[N,3]", false, "int64[N]"},
		{dtype.New(dtype.Int64, 7), "float32[7,3]", false, "int64[7]"},
		{dtype.New(dtype.Int64, 7), "float32[?,3]", false, "int64[?]"},
		{dtype.New(dtype.Int64, 7), "float32[]", false, "int64[?]"},
		{dtype.New(dtype.Int64, 7), "", false, "int64[?]"},
		{dtype.New(dtype.Float32, 7, 5, 4), "float32[N,3]", false, "float32[N,5,4]"},
		{dtype.New(dtype.Float32, 7, 5, 4), "float32[N,3]", true, "float32[N,?,?]"},
		{dtype.Scalar(float32(1)), "float32[N,3]", false, "float32[]"},
	} {
		if got := targetType(op.TypeOf(c.y), outputs(c.out), c.open); got != c.want {
			t.Errorf("target %v, output %s, open %v: %s, want %s", op.TypeOf(c.y), c.out, c.open, got, c.want)
		}
	}
}

// TestBindingFits checks that a loss built for given target types accepts batches of any size; other
// sizes that vary become symbolic from then on.
func TestBindingFits(t *testing.T) {
	d := &binding{types: []op.Type{op.TypeOf(dtype.New(dtype.Int64, 4)), op.TypeOf(dtype.New(dtype.Float32, 4, 5, 6))}, open: []bool{false, false}}
	classes, wide := dtype.New(dtype.Int64, 9), dtype.New(dtype.Float32, 9, 5, 6)
	for _, c := range []struct {
		y    []*tensor.Dense
		fits bool
		open []bool
	}{
		{[]*tensor.Dense{classes, wide}, true, []bool{false, false}},
		{[]*tensor.Dense{classes}, false, nil},
		{[]*tensor.Dense{classes, dtype.New(dtype.Float64, 9, 5, 6)}, false, []bool{false, false}},
		{[]*tensor.Dense{classes, dtype.New(dtype.Float32, 9, 5)}, false, []bool{false, false}},
		{[]*tensor.Dense{classes, dtype.New(dtype.Float32, 9, 7, 6)}, false, []bool{false, true}},
		{[]*tensor.Dense{classes, dtype.New(dtype.Float32, 9, 5, 7)}, false, []bool{false, true}},
	} {
		if got := d.fits(c.y); got != c.fits {
			t.Errorf("%v: fits is %v", c.y[len(c.y)-1].Shape(), got)
		}
		if got := d.vary(c.y); !slices.Equal(got, c.open) {
			t.Errorf("%v: open %v, want %v", c.y[len(c.y)-1].Shape(), got, c.open)
		}
	}
	d.open = []bool{true, true}
	if !d.fits([]*tensor.Dense{classes, dtype.New(dtype.Float32, 9, 7, 8)}) || d.fits([]*tensor.Dense{classes, dtype.New(dtype.Float32, 9, 7)}) {
		t.Error("open targets take any sizes of their rank")
	}
	if got := d.vary([]*tensor.Dense{dtype.New(dtype.Int32, 9), dtype.New(dtype.Float32, 9, 7, 8)}); !slices.Equal(got, []bool{false, true}) {
		t.Errorf("a target of another type is closed again: %v", got)
	}
}
