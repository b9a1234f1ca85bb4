package std_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// chains are expressions of operators on single elements, and how many steps they become.
var chains = []struct {
	name  string
	in    [][]int
	build func(in gorgonia.Nodes) gorgonia.Nodes
	steps int
}{
	{"one after another", [][]int{{3, 5000}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Tanh", apply("Abs", apply("Exp", in[0])))}
	}, 1},
	{"one element", [][]int{{1}, {}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Exp", apply("Mul", in[0], in[1]))}
	}, 1},
	{"input read twice", [][]int{{70, 300}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Mul", in[0], apply("Sigmoid", apply("Add", in[0], in[0])))}
	}, 1},
	{"a tree", [][]int{{9, 1300}, {9, 1300}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		a, b := apply("Sub", in[0], in[1]), apply("Div", apply("Sin", in[0]), apply("Exp", in[1]))
		return gorgonia.Nodes{apply("Sub", apply("Add", a, b), apply("Mul", apply("Neg", in[1]), in[0]))}
	}, 1},
	{"bounds", [][]int{{9, 1300}, {}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		y, err := std.Operators().Apply1(std.ClipConfig{}, apply("Mul", in[0], in[0]), in[1])
		if err != nil {
			panic(err)
		}
		return gorgonia.Nodes{apply("Sqrt", y)}
	}, 1},
	{"scalars on both sides", [][]int{{4, 3000}, {1}, {}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Sub", in[1], apply("Div", apply("Sub", in[0], in[2]), in[1]))}
	}, 1},
	{"rows", [][]int{{40, 37, 64}, {64}, {37, 64}, {1, 1, 64}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Mul", apply("Add", apply("Mul", in[0], in[1]), in[2]), apply("Exp", apply("Sub", in[0], in[3])))}
	}, 1},
	{"rows longer than a block, and that do not divide it", [][]int{{5, 1500}, {1500}, {7, 5, 60}, {60}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Exp", apply("Sub", in[0], in[1])), apply("Exp", apply("Sub", in[2], in[3]))}
	}, 2},
	{"columns", [][]int{{6, 30, 10, 20}, {30, 1, 1}, {6, 1, 1, 1}, {10, 1}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		y := apply("Add", apply("Mul", in[0], in[1]), in[2])
		return gorgonia.Nodes{apply("Tanh", apply("Sub", in[3], y))}
	}, 1},
	{"short columns stay alone", [][]int{{6, 30, 2}, {30, 1}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Exp", apply("Mul", apply("Exp", in[0]), in[1]))}
	}, 3},
	{"repeated in between stays alone", [][]int{{6, 3, 20}, {6, 1, 20}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Exp", apply("Mul", apply("Exp", in[0]), in[1]))}
	}, 3},
	{"what others read is written", [][]int{{50, 300}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		y := apply("Tanh", apply("Exp", in[0]))
		return gorgonia.Nodes{y, apply("Mul", apply("Abs", y), in[0])}
	}, 2},
	{"a result that is repeated does not join", [][]int{{64}, {50, 64}}, func(in gorgonia.Nodes) gorgonia.Nodes {
		return gorgonia.Nodes{apply("Mul", apply("Exp", in[0]), apply("Exp", in[1]))}
	}, 2},
}

// TestChains runs them together and one after another, to the same bits.
func TestChains(t *testing.T) {
	for _, c := range chains {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprint(c.name, " ", threads), func(t *testing.T) {
				pool := kernel.NewPool(threads)
				defer pool.Close()
				g := gorgonia.NewGraph()
				in := make(gorgonia.Nodes, len(c.in))
				for i, shape := range c.in {
					var err error
					if in[i], err = op.Const(g, optest.Rand(uint64(i+1), shape...)); err != nil {
						t.Fatal(err)
					}
				}
				roots := c.build(in)
				run := func(o engine.Options) (values [][]float32, steps []string) {
					o.Pool = pool
					p, err := engine.Compile(o, roots...)
					if err != nil {
						t.Fatal(err)
					}
					for range 2 {
						if err := p.Run(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					for _, y := range roots {
						values = append(values, dtype.Slice[float32](p.Value(y).(*tensor.Dense)))
					}
					return values, p.Stats().Steps
				}
				got, steps := run(engine.Options{})
				want, _ := run(engine.Options{Unfused: true})
				if len(steps) != c.steps {
					t.Errorf("%d steps, want %d: %v", len(steps), c.steps, steps)
				}
				for k := range want {
					for i, w := range want[k] {
						if v := got[k][i]; v != w && (v == v || w == w) {
							t.Fatalf("element %d of %d is %v, apart %v", i, k, v, w)
						}
					}
				}
			})
		}
	}
}
