package std_test

import (
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestProductEpilogue runs products with what they absorb, and step by step.
func TestProductEpilogue(t *testing.T) {
	do := func(cfg op.Config, in ...*gorgonia.Node) *gorgonia.Node {
		n, err := std.Operators().Apply1(cfg, in...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	gemm := func(in ...*gorgonia.Node) *gorgonia.Node { return do(std.GemmConfig{}, in...) }
	for _, c := range []struct {
		name  string
		in    [][]int
		build func(in gorgonia.Nodes) *gorgonia.Node
	}{
		{"bias, relu", [][]int{{7, 20}, {20, 33}, {33}}, func(in gorgonia.Nodes) *gorgonia.Node { return apply("Relu", gemm(in...)) }},
		{"full C, sum, tanh", [][]int{{7, 20}, {20, 33}, {7, 33}, {7, 33}}, func(in gorgonia.Nodes) *gorgonia.Node {
			return apply("Tanh", apply("Add", in[3], gemm(in[:3]...)))
		}},
		{"scale and shift of the columns", [][]int{{9, 20}, {20, 5}, {5}, {5}, {5}}, func(in gorgonia.Nodes) *gorgonia.Node {
			return apply("Sigmoid", apply("Add", apply("Mul", gemm(in[:3]...), in[3]), in[4]))
		}},
		{"another shape, sum, gelu", [][]int{{6, 20}, {20, 8}, {8}, {2, 3, 8}}, func(in gorgonia.Nodes) *gorgonia.Node {
			y, err := (&op.Call{Set: std.Operators()}).ReshapeTo(gemm(in[:3]...), op.D(2), op.D(3), op.D(8))
			if err != nil {
				t.Fatal(err)
			}
			return do(std.GeluConfig{}, apply("Add", y, in[3]))
		}},
		{"bias, gelu by tanh", [][]int{{6, 20}, {20, 40}, {40}}, func(in gorgonia.Nodes) *gorgonia.Node {
			return do(std.GeluConfig{Approximate: "tanh"}, gemm(in...))
		}},
		{"stack with one matrix, relu", [][]int{{2, 3, 4}, {4, 5}, {2, 3, 5}}, func(in gorgonia.Nodes) *gorgonia.Node {
			return apply("Relu", apply("Add", apply("MatMul", in[0], in[1]), in[2]))
		}},
		{"matrices, bias, relu", [][]int{{1, 40}, {40, 5}, {5}}, func(in gorgonia.Nodes) *gorgonia.Node {
			return apply("Relu", apply("Add", apply("MatMul", in[0], in[1]), in[2]))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gorgonia.NewGraph()
			in := make(gorgonia.Nodes, len(c.in))
			for i, shape := range c.in {
				var err error
				if in[i], err = op.Const(g, optest.Rand(uint64(i+1), shape...)); err != nil {
					t.Fatal(err)
				}
			}
			y := c.build(in)
			run := func(o engine.Options) ([]float32, int) {
				p, err := engine.Compile(o, y)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				return dtype.Slice[float32](p.Value(y).(*tensor.Dense)), len(p.Stats().Steps)
			}
			got, steps := run(engine.Options{})
			want, _ := run(engine.Options{Unfused: true})
			if steps != 1 {
				t.Errorf("%d steps", steps)
			}
			for i, w := range want {
				if d := got[i] - w; !(d < 1e-5 && d > -1e-5) {
					t.Fatalf("element %d is %v, apart %v", i, got[i], w)
				}
			}
		})
	}
}
