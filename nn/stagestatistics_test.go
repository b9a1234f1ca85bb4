package nn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestStatisticsOfStages: where the shape of a result depends on values, a step runs in stages, and statistics move by what the nodes of
// each stage read, whether there are gradients or not.
func TestStatisticsOfStages(t *testing.T) {
	layer := func(kind string, i int) *nested { return &nested{kind: kind, index: i} }
	norm := func(i int) *nested { return layer("BatchNormalization", i) }
	in := func(kind string, open bool, parts ...*nested) *nested {
		return &nested{kind: kind, trips: 1, open: open, parts: parts}
	}
	x := dtype.New(dtype.Float64, 4, 3)
	for i := range 12 {
		dtype.Slice[float64](x)[i] = float64(i*i%7) - 3
	}
	for _, parts := range [][]*nested{
		{norm(1), in("Loop", true, layer("Mul", 2))},
		{in("Loop", false, norm(1)), in("Loop", true, layer("Mul", 2))},
		{in("If", false, norm(1)), in("Loop", true, layer("Mul", 2))},
		{in("Loop", true, norm(1)), in("Loop", true, layer("Mul", 2))},
		{in("Loop", true, norm(1)), in("Loop", true, norm(2))},
		{in("Loop", true, layer("Mul", 1)), in("Loop", false, norm(2))},
		{in("Loop", false, norm(1)), in("Loop", true, norm(2)), norm(3)},
		{in("Scan", false, norm(1), in("If", false, norm(2))), in("Loop", true, in("Scan", false, norm(3))), in("Loop", true, layer("Mul", 4))},
	} {
		n := &nested{trips: 1, parts: parts}
		for _, differentiated := range []bool{true, false} {
			states := func(plain bool) (text string) {
				g := n.build(t, 3, plain)
				loss, err := g.Value("loss")
				if err != nil {
					t.Fatal(err)
				}
				o := nn.StepOptions{Want: []*nn.Value{loss}, Train: true, Seed: 5, Count: 3}
				if differentiated {
					o.Loss = loss
					for p := range g.Params() {
						if p.Trainable() {
							o.Params = append(o.Params, p)
						}
					}
				}
				s, err := g.Step(t.Context(), nn.Feed{"x": x}, o)
				if err != nil {
					t.Fatalf("%v: %v", n, err)
				}
				defer s.Release()
				for p := range g.Params() {
					if d := s.States[p]; d != nil {
						text += fmt.Sprintf("%s %.10f\n", p.Name(), dtype.Slice[float64](d))
					}
				}
				return text
			}
			if got, want := states(false), states(true); got != want || want == "" {
				t.Errorf("%v, differentiated %v: the statistics are\n%swithout bodies\n%s", n, differentiated, got, want)
			}
		}
	}
}

// TestStatisticOfTwoStages: a statistic that nodes of two stages move is refused.
func TestStatisticOfTwoStages(t *testing.T) {
	g := nn.New("twice")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,2]")
		vector := func(name string, v float32) *nn.Value {
			return e.Const(name, tensor.New(tensor.WithBacking([]float32{v, v})))
		}
		one, zero, mean, variance := vector("one", 1), vector("zero", 0), vector("mean", 0), vector("var", 1)
		norm := func(x *nn.Value) *nn.Value {
			return e.Node(std.BatchNormalizationConfig{}, x, one, zero, mean, variance).Out(0)
		}
		h := norm(x)
		some := e.Node(std.CompressConfig{Axis: new(0)}, h, e.Node(op.Plain("Greater"), e.Node(std.ReduceSumConfig{KeepDims: new(false)}, h, e.Ints("axes", 1)).Out(0), e.Scalar("low", h, -9)).Out(0)).Out(0)
		e.Output("y", norm(some))
	}); err != nil {
		t.Fatal(err)
	}
	_, err := g.Step(t.Context(), nn.Feed{"x": random(1, 4, 2)}, nn.StepOptions{Train: true, Want: g.Outputs()})
	if err == nil || !strings.Contains(err.Error(), "is a statistic of several nodes") {
		t.Errorf("the error is %v", err)
	}
}
