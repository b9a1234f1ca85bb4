package nn_test

import (
	"math"
	"sync"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// positives returns a model whose shapes depend on data: loss = Σ y² over the positive elements of
// y = x·w. How many there are is known only when the first stage has run.
func positives(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("positives")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N]")
		y := e.Node(op.Plain("Mul"), x, e.Param("w", initial.Values{Data: []float64{0.5, -1, 2, 3, 0.25}}, 5)).Out(0)
		e.RenameValue(y, "y")
		where := e.Node(op.Plain("NonZero"), e.Node(op.Plain("Greater"), y, e.Scalar("zero", y, 0)).Out(0)).Out(0)
		index := e.Node(op.Plain("Squeeze"), where, e.Ints("axes", 0)).Out(0)
		picked := e.Node(std.GatherConfig{}, y, index).Out(0)
		e.Output("picked", picked)
		e.Output("loss", e.Node(op.Plain("ReduceSumSquare"), picked).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestStages(t *testing.T) {
	g := positives(t)
	for _, x := range [][]float32{{1, 2, 3, -4, 5}, {-1, -2, -3, -4, 5}, {1, -1, 1, 1, 1}, {-1, 1, -1, -1, -1}} {
		d, err := dtype.FromSlice(x, 5)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Grad(t.Context(), nn.Feed{"x": d}, "loss", "w", "x")
		if err != nil {
			t.Fatal(err)
		}
		w := []float32{0.5, -1, 2, 3, 0.25}
		loss := 0.0
		dw, dx := slice32(t, got["w"]), slice32(t, got["x"])
		for i := range x {
			y := x[i] * w[i]
			if y <= 0 {
				y = 0
			}
			loss += float64(y * y)
			if math.Abs(float64(dw[i]-2*y*x[i])) > 1e-5 || math.Abs(float64(dx[i]-2*y*w[i])) > 1e-5 {
				t.Errorf("x = %v: dw = %v, dx = %v at %d, want %v and %v", x, dw[i], dx[i], i, 2*y*x[i], 2*y*w[i])
			}
		}
		if l := slice32(t, got["loss"])[0]; math.Abs(float64(l)-loss) > 1e-4 {
			t.Errorf("loss %v, want %v", l, loss)
		}
	}
}

// TestStagesConcurrently runs different shapes and lengths at once: every run has its own program.
func TestStagesConcurrently(t *testing.T) {
	g := positives(t)
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			x := []float32{1, 2, 3, 4, 5}
			x[k%5] = -x[k%5]
			d, err := dtype.FromSlice(x, 5)
			if err != nil {
				t.Error(err)
				return
			}
			for range 5 {
				out, err := g.Run(t.Context(), d)
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				for i, w := range []float32{0.5, -1, 2, 3, 0.25} {
					if x[i]*w > 0 {
						n++
					}
				}
				if out[0].Shape()[0] != n {
					t.Errorf("%v: %d picked, want %d", x, out[0].Shape()[0], n)
				}
			}
		}()
	}
	wg.Wait()
}

// TestSpecialization: a Reshape target that comes in as an input is baked into the lowering, and
// another value makes another lowering.
func TestSpecialization(t *testing.T) {
	g := nn.New("reshape")
	if err := g.Edit(func(e *nn.Edit) {
		x, shape := e.Input("x", "float32[6]"), e.Input("shape", "int64[2]")
		e.Output("y", e.Node(std.ReshapeConfig{}, x, shape).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x := dtype.New(dtype.Float32, 6)
	for _, want := range [][]int64{{2, 3}, {3, 2}, {2, 3}, {-1, 6}} {
		s, err := dtype.FromSlice(want, 2)
		if err != nil {
			t.Fatal(err)
		}
		out, err := g.Run(t.Context(), x, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := out[0].Shape(); int64(got[1]) != want[1] {
			t.Errorf("target %v gives %v", want, got)
		}
	}
	bad, err := dtype.FromSlice([]int64{4, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Run(t.Context(), x, bad)
	const text = "lower: Reshape y: cannot make [4 2] of float32[6]: the numbers of elements differ"
	if err == nil || err.Error() != text {
		t.Errorf("got %v, want %s", err, text)
	}
}

// TestUnsupported lists every unknown operator at once; the model still shows and edits.
func TestUnsupported(t *testing.T) {
	a := nn.Assemble(nn.New("odd"))
	a.Input("x", op.T(dtype.Float32, op.Sym("N")), nil)
	a.Node(nn.NodeSpec{Name: "first", Domain: "odd", Type: "Warp", In: []string{"x"}, Out: []string{"a"}})
	a.Node(nn.NodeSpec{Type: "Relu", In: []string{"a"}, Out: []string{"b"}})
	a.Node(nn.NodeSpec{Domain: "odd", Type: "Warp", In: []string{"b"}, Out: []string{"c"}})
	a.Node(nn.NodeSpec{Name: "last", Domain: "odd", Type: "Weft", In: []string{"c"}, Out: []string{"y"}})
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	a.Output("y", op.T(dtype.Float32, op.Sym("N")), nil)
	g, err := a.Graph()
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Run(t.Context(), dtype.New(dtype.Float32, 3))
	const text = "lower: unsupported operators: odd.Warp (first, c), odd.Weft (last)"
	if err == nil || err.Error() != text {
		t.Errorf("got %v, want %s", err, text)
	}
	if err := g.Edit(func(e *nn.Edit) { e.Insert(e.Value("b"), layers.ReLU{}) }); err != nil {
		t.Error(err)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

func slice32(t *testing.T, v dtype.Value) []float32 {
	t.Helper()
	d, ok := v.(*tensor.Dense)
	if !ok {
		t.Fatalf("a %T is no tensor", v)
	}
	return dtype.Slice[float32](d)
}

// TestReusedBuffer feeds one tensor twice, changed in between, where a shape depends on its elements.
func TestReusedBuffer(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[6]")
		e.Output("y", e.Node(std.ReshapeConfig{}, x, e.Input("shape", "int64[2]")).Out(0))
		e.Output("different", e.Node(std.UniqueConfig{}, x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x, shape := dtype.New(dtype.Float32, 6), dtype.New(dtype.Int64, 2)
	for i, n := range []int{2, 3, 6} {
		copy(dtype.Slice[int64](shape), []int64{int64(n), int64(6 / n)})
		dtype.Slice[float32](x)[i] = float32(i + 1)
		out, err := g.Eval(t.Context(), nn.Feed{"x": x, "shape": shape})
		if err != nil {
			t.Fatal(err)
		}
		if got := out["y"].Shape(); got[0] != n {
			t.Errorf("got %v for %v", got, shape)
		}
		if got := out["different"].Shape(); got[0] != i+2 {
			t.Errorf("%d different elements, want %d", got[0], i+2)
		}
	}
}
