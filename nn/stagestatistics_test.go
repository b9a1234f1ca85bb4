package nn_test

import (
	"fmt"
	"math/rand/v2"
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

// TestStatisticOfTwoStages: a statistic that nodes of several stages move is moved by each in the order of the nodes.
func TestStatisticOfTwoStages(t *testing.T) {
	norm := &nested{kind: "BatchNormalization", index: 1}
	open := func(part *nested) *nested { return &nested{kind: "Loop", trips: 1, open: true, parts: []*nested{part}} }
	scale := &nested{kind: "Mul", index: 2}
	x := dtype.New(dtype.Float64, 4, 3)
	for i := range 12 {
		dtype.Slice[float64](x)[i] = float64(i*i%7) - 3
	}
	for _, parts := range [][]*nested{
		{norm, open(scale), norm},
		{norm, open(norm), norm},
		{open(norm), open(norm), norm, open(scale), open(norm)},
		{{kind: "If", trips: 1, parts: []*nested{norm, open(norm), norm}}, norm},
		{{kind: "Scan", trips: 1, parts: []*nested{open(norm), open(open(norm)), norm}}, open(norm)},
	} {
		for _, beside := range []bool{false, true} { // all parts read x, so that all but the open ones could be computed first
			for _, differentiated := range []bool{true, false} {
				states := func(plain bool) (text string) {
					n := &nested{trips: 1, parts: parts}
					g := n.build(t, 3, plain)
					if beside {
						g = nn.New("beside")
						if err := g.Edit(func(e *nn.Edit) {
							b := nestedBuilder{e: e, params: map[string]*nn.Value{}, plain: plain}
							x := e.Input("x", "float64[4,3]")
							b.param(rand.New(rand.NewPCG(3, 2)), norm)
							b.param(rand.New(rand.NewPCG(3, 3)), scale)
							b.params["yes"], b.params["ratio"] = e.Const("yes", dtype.Scalar(true)), e.Const("ratio", dtype.Scalar(float64(0.3)))
							y := x
							for i, p := range parts {
								in := x
								if i%2 == 0 {
									in = b.do(op.Plain("Tanh"), x)
								}
								y = b.do(op.Plain("Add"), y, b.apply(p, in))
							}
							e.Output("loss", b.do(std.ReduceMeanConfig{KeepDims: new(bool)}, b.do(op.Plain("Mul"), y, y)))
						}); err != nil {
							t.Fatal(err)
						}
					}
					loss, err := g.Value("loss")
					if err != nil {
						t.Fatal(err)
					}
					o := nn.StepOptions{Want: []*nn.Value{loss}, Train: true}
					if differentiated {
						o.Loss = loss
					}
					s, err := g.Step(t.Context(), nn.Feed{"x": x}, o)
					if err != nil {
						t.Fatalf("%v, beside one another %v: %v", n, beside, err)
					}
					defer s.Release()
					for p := range g.Params() {
						for _, d := range []*tensor.Dense{s.States[p], s.Grads[p]} {
							if d != nil {
								text += fmt.Sprintf("%s %.8g\n", p.Name(), dtype.Slice[float64](d))
							}
						}
					}
					return text
				}
				if got, want := states(false), states(true); got != want || want == "" {
					t.Errorf("%v, beside one another %v, differentiated %v: statistics and gradients are\n%swithout bodies\n%s", parts, beside, differentiated, got, want)
				}
			}
		}
	}
}

// TestRandomLoopForward: the numbers that a Loop of unknown length draws are those of the step's seed, with gradients and without.
func TestRandomLoopForward(t *testing.T) {
	n := &nested{trips: 1, parts: []*nested{{kind: "Loop", trips: 2, open: true, parts: []*nested{{kind: "Dropout", index: 1}, {kind: "Mul", index: 2}}}}}
	g := n.build(t, 3, false)
	loss, err := g.Value("loss")
	if err != nil {
		t.Fatal(err)
	}
	x := dtype.New(dtype.Float64, 4, 3)
	for i := range 12 {
		dtype.Slice[float64](x)[i] = float64(i*i%7) - 3
	}
	seen := map[float64]bool{}
	for seed := range uint64(4) {
		var losses []float64
		for _, o := range []nn.StepOptions{{Loss: loss}, {}} {
			o.Want, o.Train, o.Seed = []*nn.Value{loss}, true, seed
			s, err := g.Step(t.Context(), nn.Feed{"x": x}, o)
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, dtype.Slice[float64](s.Values[0].(*tensor.Dense))[0])
			s.Release()
		}
		if losses[0] != losses[1] || seen[losses[0]] {
			t.Errorf("seed %d: the loss is %v with gradients and %v without; with other seeds %v", seed, losses[0], losses[1], seen)
		}
		seen[losses[0]] = true
	}
}
