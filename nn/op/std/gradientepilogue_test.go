package std_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestGradientEpilogue differentiates a layer of a transformer, its parts absorbed and one by one: what goes
// around the layer joins the gradient of the normalization, the slope of GELU the product in front of it, and
// the sum of two products the second of them.
func TestGradientEpilogue(t *testing.T) {
	for _, approximate := range []string{"none", "tanh"} {
		g := gorgonia.NewGraph()
		var in gorgonia.Nodes
		for i, shape := range [][]int{{6, 8}, {8}, {8}, {8, 16}, {16, 8}, {8, 8}, {6, 8}} {
			n, err := op.Const(g, optest.Rand(uint64(i+1), shape...))
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, n)
		}
		do := func(cfg op.Config, in ...*gorgonia.Node) *gorgonia.Node {
			n, err := std.Operators().ApplyN(1, cfg, in...)
			if err != nil {
				t.Fatal(err)
			}
			return n[0]
		}
		h := do(std.LayerNormalizationConfig{}, in[:3]...)
		gelu := do(std.GeluConfig{Approximate: approximate}, do(std.GemmConfig{}, h, in[3]))
		y := apply("Add", apply("Add", in[0], do(std.GemmConfig{}, gelu, in[4])), do(std.GemmConfig{}, h, in[5]))
		grads, err := op.Backpropagate(t.Context(), gorgonia.Nodes{y}, gorgonia.Nodes{in[6]}, gorgonia.Nodes{in[0], in[1], in[3], in[4], in[5]})
		if err != nil {
			t.Fatal(err)
		}
		run := func(o engine.Options) ([][]float32, []string) {
			p, err := engine.Compile(o, grads...)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			var list [][]float32
			for _, n := range grads {
				list = append(list, slices.Clone(dtype.Slice[float32](p.Value(n).(*tensor.Dense))))
			}
			return list, p.Stats().Steps
		}
		got, steps := run(engine.Options{})
		want, _ := run(engine.Options{Unfused: true})
		for _, s := range []string{"LayerNormalizationGrad, +", "Gemm, +", "Gemm, GeluGrad"} {
			if !slices.ContainsFunc(steps, func(name string) bool { return strings.HasPrefix(name, s) }) {
				t.Errorf("no step %s in %q", s, steps)
			}
		}
		for i := range want {
			for k, w := range want[i] {
				if d := got[i][k] - w; !(d < 1e-5 && d > -1e-5) {
					t.Fatalf("%s: element %d of gradient %d is %v, apart %v", approximate, k, i, got[i][k], w)
				}
			}
		}
	}
}
