package nn_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// fanOf returns a graph of count nodes and their sum: each reads the input and one weight, which the sum reads, too.
func fanOf(t *testing.T, count int) *nn.Graph {
	t.Helper()
	g := nn.New("wide")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x, w := e.Input("x", "float32[2,4]"), e.Param("w", initial.Normal{Std: 1}, 4)
		all := []*nn.Value{w}
		for range count {
			all = append(all, e.Node(op.Plain("Add"), x, w).Out(0))
		}
		e.Output("y", e.Node(op.Plain("Sum"), all...).Out(0))
	})
	return g
}

// growth returns what f allocates for a graph of 1,000 nodes, relative to one of 250.
func growth(t *testing.T, model func(count int) *nn.Graph, f func(g *nn.Graph)) float64 {
	t.Helper()
	allocated := func(count int) float64 {
		g := model(count)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f(g)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	return allocated(1000) / allocated(250)
}

// TestEditsLinear: what an edit does to each node of a graph in turn takes time in proportion to the graph, in chains and in wide graphs, and
// so does undoing it.
func TestEditsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates more")
	}
	each := func(do func(e *nn.Edit, i int, n *nn.Node)) func(e *nn.Edit) {
		return func(e *nn.Edit) {
			for i, n := range e.Nodes() {
				if n.Type() != "Sum" {
					do(e, i, n)
				}
			}
		}
	}
	edits := map[string]func(e *nn.Edit){
		"remove": each(func(e *nn.Edit, _ int, n *nn.Node) { e.Remove(n) }),
		"remove backward": func(e *nn.Edit) {
			list := e.Nodes()
			for i := range list {
				if n := list[len(list)-1-i]; n.Type() != "Sum" {
					e.Remove(n)
				}
			}
		},
		"remove what one node needed": func(e *nn.Edit) {
			e.Output("x2", e.Node(op.Plain("Relu"), e.Inputs()[0]).Out(0))
			e.RemoveOutput("y")
		},
		"insert":         each(func(e *nn.Edit, _ int, n *nn.Node) { e.Insert(n.Out(0), layers.ReLU{}) }),
		"insert, remove": each(func(e *nn.Edit, _ int, n *nn.Node) { e.Remove(e.Insert(n.Out(0), layers.ReLU{}).Producer()) }),
		"replace":        each(func(e *nn.Edit, _ int, n *nn.Node) { e.Replace(n, layers.Tanh{}) }),
		"rename":         each(func(e *nn.Edit, i int, n *nn.Node) { e.RenameNode(n, fmt.Sprint("node", i)) }),
		"rewire":         each(func(e *nn.Edit, _ int, n *nn.Node) { e.Rewire(n.Out(0), e.Inputs()[0]) }),
		"annotate":       each(func(e *nn.Edit, _ int, n *nn.Node) { e.Anchor(n.Out(0), nn.Annotations{"a": 1}) }),
		"outputs":        each(func(e *nn.Edit, i int, n *nn.Node) { e.AsOutput(fmt.Sprint("o", i), n.Out(0)) }),
		"inputs":         each(func(e *nn.Edit, i int, n *nn.Node) { e.Input(fmt.Sprint("i", i), "float32[2]") }),
		"weights":        each(func(e *nn.Edit, i int, n *nn.Node) { e.Param("weight", initial.Normal{Std: 1}, 4) }),
		"remove inputs": func(e *nn.Edit) {
			list := e.Nodes()
			for i := range list {
				e.Input(fmt.Sprint("i", i), "float32[2]")
			}
			for i := range list {
				e.RemoveInput(fmt.Sprint("i", len(list)-1-i))
			}
		},
	}
	models := map[string]func(count int) *nn.Graph{
		"chain": func(count int) *nn.Graph { return chainOf(t, count, "Sin", "Relu") },
		"wide":  func(count int) *nn.Graph { return fanOf(t, count) },
	}
	for name, f := range edits {
		for kind, model := range models {
			if by := growth(t, model, func(g *nn.Graph) {
				p, err := g.Plan(f)
				if err == nil {
					err = p.Apply()
				}
				if err == nil {
					err = p.Undo()
				}
				if err != nil {
					t.Errorf("%s, %s: %v", name, kind, err)
				}
			}); by > 7 {
				t.Errorf("%s, %s: four times the nodes allocate %.1f times as much", name, kind, by)
			}
		}
	}
}

// productsOf returns a graph of count products with weights of their own, each followed by an activation.
func productsOf(t *testing.T, count int) *nn.Graph {
	t.Helper()
	g := nn.New("products")
	nntest.Edit(t, g, func(e *nn.Edit) {
		v := e.Input("x", "float32[2,4]")
		for range count {
			v = e.Node(op.Plain("Relu"), e.Node(op.Plain("MatMul"), v, e.Param("w", initial.Normal{Std: 1}, 4, 4)).Out(0)).Out(0)
		}
		e.Output("y", v)
	})
	return g
}

// TestChannelsLinear: resizing all layers at once, and writing out their gradients, takes time in proportion to the graph.
func TestChannelsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates more")
	}
	resize := func(to int) func(g *nn.Graph) {
		return func(g *nn.Graph) {
			nntest.Edit(t, g, func(e *nn.Edit) {
				var all []nn.Request
				for _, n := range e.Nodes() {
					if v := n.Out(0); n.Traits().WeightedSums != nil && len(v.Users()) > 0 {
						all = append(all, nn.Request{Value: v, Channels: to})
					}
				}
				e.ResizeAll(all[:len(all)-1]...) // the last is the output of the graph
			})
		}
	}
	for name, f := range map[string]func(g *nn.Graph){
		"shrink": resize(3),
		"grow":   resize(5),
		"derive": func(g *nn.Graph) {
			var loss *nn.Value
			nntest.Edit(t, g, func(e *nn.Edit) {
				loss = e.Node(op.Plain("ReduceSum"), e.Outputs()[0]).Out(0)
				e.Output("loss", loss)
			})
			var wrt []*nn.Param
			for p := range g.Params() {
				if p.Trainable() {
					wrt = append(wrt, p)
				}
			}
			if _, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: wrt[:len(wrt)/4]}, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) }); err != nil {
				t.Error(err)
			}
		},
	} {
		if by := growth(t, func(count int) *nn.Graph { return productsOf(t, count) }, f); by > 5 {
			t.Errorf("%s: four times the nodes allocate %.1f times as much", name, by)
		}
	}
}
