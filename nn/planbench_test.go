package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// residualChain returns a residual network of 4 nodes a block.
func residualChain(blocks int) func(e *nn.Edit) {
	return func(e *nn.Edit) {
		x := e.Apply(conv(16, 1, "in"), e.Input("x", "float32[N,3,8,8]"))
		for range blocks {
			y := e.Apply(nn.Sequential{layers.Conv{Out: 16, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}}, x)
			x = e.Node(op.Plain("Add"), x, y).Out(0)
		}
		e.Output("y", e.Apply(conv(2, 1, "out"), x))
	}
}

// tangle returns a random network of about n nodes: residuals, concatenations, splits, shuffles, groups.
func tangle(n int, seed uint64) func(e *nn.Edit) {
	return func(e *nn.Edit) {
		r := rand.New(rand.NewPCG(seed, 1))
		live := []*nn.Value{e.Apply(conv(16, 3, "stem"), e.Input("x", "float32[N,3,4,4]"))}
		width := func(v *nn.Value) int { return v.Type().Shape[1].Size }
		for i := 0; i < n; i++ {
			x := live[max(0, len(live)-1-r.IntN(min(len(live), 6)))]
			c := width(x)
			var y *nn.Value
			switch k := r.IntN(8); {
			case c > 64 || k == 0:
				y = e.Apply(conv(8+4*r.IntN(4), 1, fmt.Sprintf("c%d", i)), x)
			case k == 1:
				y = e.Apply(layers.BatchNorm{}, x)
			case k == 2:
				y = e.Apply(layers.ReLU{}, x)
			case k == 3:
				y = e.Node(std.ConcatConfig{Axis: 1}, x, live[len(live)-1]).Out(0)
			case k == 4:
				y = e.Node(op.Plain("Add"), x, e.Apply(conv(c, 3, fmt.Sprintf("r%d", i)), x)).Out(0)
				i++
			case k == 5 && c%2 == 0:
				y = e.Node(std.ReshapeConfig{}, x, e.Ints("s", 0, 2, c/2, 4, 4)).Out(0)
				y = e.Node(std.TransposeConfig{Perm: []int{0, 2, 1, 3, 4}}, y).Out(0)
				y = e.Node(std.ReshapeConfig{}, y, e.Ints("s", 0, c, 4, 4)).Out(0)
				i += 2
			case k == 6 && c > 1:
				s := e.NodeN(std.SplitConfig{Axis: 1}, 2, x, e.Ints("sizes", c/2, c-c/2))
				live = append(live, s.Out(0))
				y = s.Out(1)
			default:
				y = e.Apply(layers.Conv{Out: c, Kernel: []int{3}, Same: true, Group: c, Name: fmt.Sprintf("d%d", i)}, x)
			}
			live = append(live, y)
		}
		e.Output("y", e.Apply(conv(2, 1, "out"), live[len(live)-1]))
	}
}

// stack returns a transformer with heads split off by Reshape and Transpose, 27 nodes a block.
func stack(blocks int) func(e *nn.Edit) {
	return func(e *nn.Edit) {
		const d, heads = 16, 4
		h := e.Input("x", "float32[N,6,16]")
		split := func(x *nn.Value, perm ...int) *nn.Value {
			x = e.Node(std.ReshapeConfig{}, e.Apply(layers.Linear{Out: d}, x), e.Ints("s", 0, 0, heads, d/heads)).Out(0)
			return e.Node(std.TransposeConfig{Perm: perm}, x).Out(0)
		}
		for range blocks {
			x := e.Apply(layers.LayerNorm{}, h)
			q, k, v := split(x, 0, 2, 1, 3), split(x, 0, 2, 3, 1), split(x, 0, 2, 1, 3)
			a := e.Node(op.Plain("Div"), e.Node(op.Plain("MatMul"), q, k).Out(0), e.Scalar("root", h, 2)).Out(0)
			a = e.Node(op.Plain("MatMul"), e.Node(std.SoftmaxConfig{}, a).Out(0), v).Out(0)
			a = e.Node(std.TransposeConfig{Perm: []int{0, 2, 1, 3}}, a).Out(0)
			a = e.Node(std.ReshapeConfig{}, a, e.Ints("s", 0, 0, d)).Out(0)
			h = e.Node(op.Plain("Add"), h, e.Apply(layers.Linear{Out: d}, a)).Out(0)
			y := e.Apply(nn.Sequential{layers.LayerNorm{}, layers.Linear{Out: 4 * d}, layers.ReLU{}, layers.Linear{Out: d}}, h)
			h = e.Node(op.Plain("Add"), h, y).Out(0)
		}
		e.Output("y", e.Apply(layers.Linear{Out: 3}, h))
	}
}

// wide returns a layer of n channels between two others, with a normalization.
func wide(n int) func(e *nn.Edit) {
	return func(e *nn.Edit) {
		x := e.Apply(layers.Conv{Out: n, Kernel: []int{1}, Name: "wide"}, e.Input("x", "float32[N,8,4,4]"))
		x = e.Apply(nn.Sequential{layers.BatchNorm{}, layers.ReLU{}, layers.Conv{Out: n, Kernel: []int{3}, Same: true, Group: n, Name: "deep"}, layers.Conv{Out: 4, Kernel: []int{1}, Name: "last"}, layers.Flatten{}}, x)
		e.Output("y", e.Apply(layers.Linear{Out: 4}, x))
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		name  string
		build func(e *nn.Edit)
	}{{"chain5000", residualChain(1250)}, {"random5000", tangle(5000, 1)}, {"transformer200", stack(200)}, {"wide10000", wide(10000)}} {
		b.Run(c.name, func(b *testing.B) {
			g := nn.New("bench")
			if err := g.Edit(c.build); err != nil {
				b.Fatal(err)
			}
			nodes := 0
			for range g.Nodes() {
				nodes++
			}
			plans := map[string]func(e *nn.Edit){
				"cut": func(e *nn.Edit) {
					var atoms []*nn.Atom
					for _, x := range e.Channels().Groups() {
						if !x.Normalized {
							atoms = append(atoms, x.Atoms[:len(x.Atoms)/3]...)
						}
					}
					e.RemoveAtoms(atoms...)
				},
				"resize": func(e *nn.Edit) {
					var r []nn.Request
					c := e.Channels()
					for i, x := range c.Groups() {
						if p := x.Params()[0]; !x.Normalized && i < 3 {
							r = append(r, nn.Request{Value: p.Value, Channels: p.Size / 2, ResizeOptions: nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape), Near: true}})
						}
					}
					e.ResizeAll(r...)
				},
				"grow": func(e *nn.Edit) {
					for _, x := range e.Channels().Groups() {
						if p := x.Params()[0]; !x.Normalized {
							e.Resize(p.Value, p.Size+p.PerAtom, nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape)})
							return
						}
					}
				},
			}
			for _, what := range []string{"cut", "resize", "grow"} {
				b.Run(what, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := g.Plan(plans[what]); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(nodes), "nodes")
				})
			}
		})
	}
}

// BenchmarkBuild makes a chain of 5,000 nodes, every layer named by the graph.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		if err := nn.New("bench").Edit(residualChain(1250)); err != nil {
			b.Fatal(err)
		}
	}
}
