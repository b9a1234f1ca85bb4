package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestFeedTransposed feeds transposed tensors and slices of larger ones to everything that takes values: the results are those
// of their elements in row-major order.
func TestFeedTransposed(t *testing.T) {
	for _, d := range []op.DType{dtype.Float32, dtype.Float64, dtype.Int64} {
		made := func(rows, cols int) *tensor.Dense {
			v := make([]int64, rows*cols)
			for i := range v {
				v[i] = int64(i)
			}
			x, err := dtype.FromSlice(v, rows, cols)
			if err != nil {
				t.Fatal(err)
			}
			return must(dtype.ConvertTo(d, x))
		}
		turned := made(3, 2)
		if err := turned.T(); err != nil {
			t.Fatal(err)
		}
		part, err := made(4, 5).Slice(gorgonia.S(1, 3), gorgonia.S(1, 4))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			x    *tensor.Dense
			want []float64
		}{
			{"transposed", turned, []float64{0, 2, 4, 1, 3, 5}},
			{"slice", part.(*tensor.Dense), []float64{6, 7, 8, 11, 12, 13}},
		} {
			check := func(way string, got dtype.Value, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%v %s, %s: %v", d, c.name, way, err)
					return
				}
				if f, err := dtype.Float64s(got.(*tensor.Dense)); err != nil || !slices.Equal(f, c.want) {
					t.Errorf("%v %s, %s: %v (%v), want %v", d, c.name, way, f, err, c.want)
				}
			}
			g := nn.New("g")
			if err := g.Edit(func(e *nn.Edit) {
				x := e.Input("x", fmt.Sprintf("%v[A,B]", d))
				e.Output("y", e.Node(op.Plain("Sub"), e.Node(op.Plain("Add"), x, x).Out(0), x).Out(0))
			}); err != nil {
				t.Fatal(err)
			}
			out, err := g.Run(t.Context(), c.x)
			if err != nil {
				t.Errorf("%v %s: %v", d, c.name, err)
				continue
			}
			check("Run", out[0], nil)
			all, err := g.Eval(t.Context(), nn.Feed{"x": c.x})
			check("Eval", all["y"], err)
			y, err := g.Value("y")
			if err != nil {
				t.Fatal(err)
			}
			step, err := g.Step(t.Context(), nn.Feed{"x": c.x}, nn.StepOptions{Want: []*nn.Value{y}})
			if err != nil {
				t.Errorf("%v %s, Step: %v", d, c.name, err)
				continue
			}
			check("Step", step.Values[0], nil)
			step.Release()
			l, err := g.Lower(nn.LowerOptions{Feed: nn.Feed{"x": c.x}})
			if err != nil {
				t.Errorf("%v %s, Lower: %v", d, c.name, err)
				continue
			}
			vm := gorgonia.NewTapeMachine(l.ExprGraph)
			err = vm.RunAll()
			check("Lower", l.Outputs[0].Value(), err)
			vm.Close()
			s := nn.New("s")
			if err := s.Edit(func(e *nn.Edit) {
				x := e.Input("x", fmt.Sprintf("seq(%v[A,B])", d))
				e.Output("y", e.Node(std.ConcatFromSequenceConfig{}, x).Out(0))
			}); err != nil {
				t.Fatal(err)
			}
			all, err = s.Eval(t.Context(), nn.Feed{"x": &dtype.Sequence{Elem: d, Items: []dtype.Value{c.x}}})
			check("sequence", all["y"], err)
		}
	}
	// A shape in every other element of a vector.
	long, err := dtype.FromSlice([]int64{3, 9, 2, 9}, 4)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := long.Slice(gorgonia.S(0, 4, 2))
	if err != nil {
		t.Fatal(err)
	}
	g := nn.New("reshape")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(std.ReshapeConfig{}, e.Input("x", "float32[N]"), e.Input("shape", "int64[2]")).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(t.Context(), dtype.New(dtype.Float32, 6), shape.(*tensor.Dense))
	if err != nil || !slices.Equal(out[0].Shape(), tensor.Shape{3, 2}) {
		t.Errorf("a sliced shape gives %v, %v", out, err)
	}
}
