package nn_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// A module of PyTorch that is called twice updates its running statistics in the order of the calls; so does a graph in which two
// nodes read the same ones.
func TestSharedStatistics(t *testing.T) {
	for name, staged := range map[string]bool{"in one stage": false, "in two stages": true} {
		t.Run(name, func(t *testing.T) { testSharedStatistics(t, staged) })
	}
}

func testSharedStatistics(t *testing.T, staged bool) {
	vector := func(x ...float32) *tensor.Dense { return optest.Floats([]int{len(x)}, x...) }
	g := nn.New("twice")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,2]")
		kept := e.Input("kept", "bool[N]")
		scale, bias := e.Const("scale", vector(2, 3)), e.Const("bias", vector(1, -1))
		mean, variance := e.Const("mean", vector(5, -4)), e.Const("var", vector(2, 7))
		for range 2 {
			x = e.Node(std.BatchNormalizationConfig{}, x, scale, bias, mean, variance).Out(0)
			x = e.Node(op.Plain("Exp"), x).Out(0)
			if staged { // what is computed of it has a length that only a run gives
				x = e.Node(std.CompressConfig{Axis: new(int)}, x, kept).Out(0)
			}
		}
		e.Output("loss", e.Node(std.ReduceMeanConfig{KeepDims: new(bool)}, x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Lower(nn.LowerOptions{Feed: nn.Feed{}, Sizes: map[string]int{"N": 3}, Train: true}); (err != nil) != staged {
		t.Fatalf("lowered as one: %v", err)
	}
	data := []float32{1, -2, 3, 0.5, 2, 4}
	want := map[string][]float64{"mean": {5, -4}, "var": {2, 7}}
	for c := range 2 { // by hand, in float64
		column := []float64{float64(data[c]), float64(data[2+c]), float64(data[4+c])}
		for range 2 {
			mean, variance := 0.0, 0.0
			for _, v := range column {
				mean += v / 3
			}
			for _, v := range column {
				variance += (v - mean) * (v - mean) / 3
			}
			want["mean"][c] = 0.9*want["mean"][c] + 0.1*mean
			want["var"][c] = 0.9*want["var"][c] + 0.1*variance
			for i, v := range column {
				column[i] = math.Exp((v-mean)/math.Sqrt(variance+1e-5)*[]float64{2, 3}[c] + []float64{1, -1}[c])
			}
		}
	}
	feed := nn.Feed{"x": optest.Floats([]int{3, 2}, data...), "kept": tensor.New(tensor.WithShape(3), tensor.WithBacking([]bool{true, true, true}))}
	taken := map[string]int{}
	next := map[string][]float64{}
	for _, hand := range []bool{false, true} {
		o := nn.StepOptions{Train: true, Loss: g.Outputs()[0]}
		if hand {
			o.Begin = func(float64) error { return nil }
			o.Take = func(p *nn.Param, d *tensor.Dense) error {
				if p.Role() == nn.Statistic {
					taken[p.Name()]++
					next[p.Name()], _ = dtype.Float64s(d)
				}
				return nil
			}
		}
		s, err := g.Step(t.Context(), feed, o)
		if err != nil {
			t.Fatal(err)
		}
		for p, d := range s.States {
			next[p.Name()], _ = dtype.Float64s(d)
		}
		for name, w := range want {
			for i := range w {
				if len(next[name]) != len(w) || math.Abs(next[name][i]-w[i]) > 1e-4*math.Abs(w[i]) {
					t.Fatalf("callbacks %v: %s becomes %v, want %v", hand, name, next[name], w)
				}
			}
		}
	}
	if len(taken) != 2 {
		t.Errorf("callbacks: %v", taken)
	}
	for name, n := range taken {
		if n != 1 {
			t.Errorf("%s was passed on %d times", name, n)
		}
	}
}
