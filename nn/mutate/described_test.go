package mutate

import (
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// places are small networks with sites of every kind, and some that have nearly none.
func places(t *testing.T) []*nn.Graph {
	t.Helper()
	conv := func(out, kernel int) nn.Layer { return layers.Conv{Out: out, Kernel: []int{kernel}, Same: true} }
	build := func(name string, f func(e *nn.Edit)) *nn.Graph {
		g := nn.New(name)
		nntest.Edit(t, g, func(e *nn.Edit) { e.Seed(2); f(e) })
		return g
	}
	return []*nn.Graph{
		nntest.Small(t),
		build("rows", func(e *nn.Edit) {
			x := e.Input("x", "float32[N,6,4]")
			h := e.Apply(nn.Sequential{layers.Linear{Out: 6}, layers.GELU{}}, x)
			k := e.Apply(layers.Residual{Body: nn.Sequential{layers.Linear{Out: 6}, layers.LayerNorm{}, layers.Tanh{}}}, h)
			c := e.Node(std.ConcatConfig{Axis: 2}, h, k, e.Const("fixed", nntest.Ramp(1, 6, 2))).Out(0)
			p := e.Node(op.Plain("Mul"), e.Apply(layers.Linear{Out: 3}, c), e.Apply(layers.Sigmoid{}, e.Apply(layers.Linear{Out: 3}, k))).Out(0)
			e.Output("y", e.Apply(layers.Linear{Out: 2}, p))
		}),
		build("images", func(e *nn.Edit) {
			x := e.Input("x", "float32[N,2,8,6]")
			a := e.Apply(nn.Sequential{conv(4, 3), layers.ReLU{}}, x)
			b := e.Apply(nn.Sequential{conv(4, 1), layers.BatchNorm{}, layers.LeakyReLU{}, layers.MaxPool{Kernel: []int{3}, Stride: []int{1}, Pad: []int{1}}}, a)
			s := e.Node(op.Plain("Add"), a, b).Out(0)
			c := e.Node(std.ConcatConfig{Axis: 1}, s, e.Apply(conv(2, 5), s)).Out(0)
			e.Output("y", e.Apply(nn.Sequential{layers.Dropout{P: 0.5}, conv(3, 3), layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 5}}, c))
		}),
		build("constants", func(e *nn.Edit) { // values that are computed from parameters alone, by few nodes and by many
			x, fixed := e.Input("x", "float32[4,6]"), e.Node(op.Plain("Neg"), e.Param("p", initial.Ones{}, 4, 6)).Out(0)
			high := e.Scalar("high", x, 1)
			deep := e.Node(op.Plain("Clip"), fixed, nil, high).Out(0)
			for range 13 {
				deep = e.Node(op.Plain("Neg"), deep).Out(0)
			}
			h := e.Node(op.Plain("Add"), e.Apply(layers.Linear{Out: 6}, x), fixed).Out(0)
			h = e.Node(op.Plain("Clip"), h, nil, high).Out(0)
			e.Output("y", e.Apply(layers.Linear{Out: 6}, e.Node(op.Plain("Mul"), h, deep).Out(0)))
		}),
		build("one layer", func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[N,4]"))) }),
		build("two layers", func(e *nn.Edit) {
			e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 1}, layers.ReLU{}, layers.Linear{Out: 3}}, e.Input("x", "float32[N,4]")))
		}),
		build("no layer", func(e *nn.Edit) {
			i := e.Input("i", "int64[N,4]")
			e.Output("y", e.Node(op.Plain("Add"), i, i).Out(0))
			e.Output("z", e.Node(op.Plain("Abs"), e.Input("v", "float32[4]")).Out(0))
		}),
	}
}

// TestDescribed lists the places for each kind of change in small networks, and what three draws do there, in testdata/sites.txt;
// after an intended change, go test ./nn/mutate -run TestDescribed -update and read the difference.
func TestDescribed(t *testing.T) {
	var b strings.Builder
	for _, g := range places(t) {
		for _, m := range []Mutator{{}, {Step: 2, Kernels: []int{1, 2}, Activations: []nn.Layer{layers.Tanh{}, layers.ReLU{}}, Keep: []nn.Selector{nn.Ops("MatMul"), nn.Glob("stem")}}} {
			for _, k := range Kinds() {
				count := 0
				for i := 0; i == 0 || i < count; i++ {
					for draw := range 3 {
						text := ""
						p, err := g.Plan(func(e *nn.Edit) {
							f := finder{m: m, e: e, r: random(7, 10*i+draw)}
							sites := f.sites(k)
							if count = len(sites); count > 0 {
								text = sites[i]()
							}
						})
						switch {
						case count == 0:
						case err != nil:
							fmt.Fprintf(&b, "%s, %s %d.%d: refused: %v\n", g.Name(), k, i, draw, err)
						default:
							if err := p.Apply(); err != nil {
								t.Fatal(err)
							}
							fmt.Fprintf(&b, "%s, %s %d.%d: %s, then %08x\n", g.Name(), k, i, draw, text, crc32.ChecksumIEEE([]byte(nntest.Spelled(g))))
							if err := p.Undo(); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
				fmt.Fprintf(&b, "%s, %s: %d places\n", g.Name(), k, count)
			}
		}
	}
	nntest.CompareFile(t, filepath.Join("testdata", "sites.txt"), b.String())
}

// TestOrder: kinds are drawn as often as their weights say, each once, and those without weight never.
func TestOrder(t *testing.T) {
	const draws = 8000
	for _, weights := range []map[Kind]float64{
		nil, {Widen: 1, Narrow: 3}, {Deepen: 0.5, Kernel: 1, AddEdge: 2.5, Remove: 0}, {Activation: 1}, {Widen: 2, Kernel: 2, RemoveEdge: 4, Deepen: 8}, {Widen: -1, Narrow: 1},
	} {
		first, second, total, kinds := map[Kind]int{}, map[Kind]int{}, 0.0, 0
		weight := func(k Kind) float64 {
			if weights == nil {
				return 1
			}
			return max(weights[k], 0)
		}
		for _, k := range Kinds() {
			if w := weight(k); w > 0 {
				total, kinds = total+w, kinds+1
			}
		}
		for i := range draws {
			list := Mutator{Weights: weights}.order(random(3, i))
			if len(list) != kinds {
				t.Fatalf("%v gives %v", weights, list)
			}
			if first[list[0]]++; kinds > 1 {
				second[list[1]]++
			}
		}
		for _, k := range Kinds() {
			p := weight(k) / total
			if got := float64(first[k]) / draws; math.Abs(got-p) > 4*math.Sqrt(p*(1-p)/draws) {
				t.Errorf("%v: %s comes first in %v, want %v", weights, k, got, p)
			}
			q := 0.0 // that it comes second: for each that comes first
			for _, j := range Kinds() {
				if w := weight(j); j != k && w > 0 {
					q += w / total * weight(k) / (total - w)
				}
			}
			if got := float64(second[k]) / draws; kinds > 1 && math.Abs(got-q) > 4*math.Sqrt(q*(1-q)/draws)+1e-9 {
				t.Errorf("%v: %s comes second in %v, want %v", weights, k, got, q)
			}
		}
	}
}
