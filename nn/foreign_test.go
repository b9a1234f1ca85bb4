package nn_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
)

// handleVerbs are the verbs that take handles: up to two values and two nodes. The letters say which of them a verb reads.
var handleVerbs = []struct {
	name, reads string
	do          func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node)
}{
	{"Rewire", "vw", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Rewire(v, w) }},
	{"Rewire for one", "vwn", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Rewire(v, w, n) }},
	{"Rewire for two", "vwnm", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Rewire(v, w, n, m) }},
	{"AddEdge", "vn", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.AddEdge(v, n) }},
	{"RemoveEdge", "vn", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.RemoveEdge(v, n) }},
	{"Insert", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Insert(v, layers.ReLU{}) }},
	{"Insert for one", "vn", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Insert(v, layers.ReLU{}, n) }},
	{"Realign.Insert", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { nn.Realign{}.Insert(e, v, layers.Linear{Out: 3}) }},
	{"Replace", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Replace(n, layers.ReLU{}) }},
	{"Realign.Replace", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { nn.Realign{}.Replace(e, n, layers.ReLU{}) }},
	{"Remove", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Remove(n) }},
	{"Realign.Remove", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { nn.Realign{}.Remove(e, n) }},
	{"Output", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Output("o", v) }},
	{"AsOutput", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.AsOutput("o", v) }},
	{"Anchor", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Anchor(v, nil) }},
	{"RenameValue", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.RenameValue(v, "o") }},
	{"RenameNode", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.RenameNode(n, "o") }},
	{"Configure", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Configure(n, op.Plain("Relu")) }},
	{"SetData", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.SetData(v, nntest.Ramp(2)) }},
	{"SetRole", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.SetRole(v, nn.Weight) }},
	{"SetKernel", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.SetKernel(n, 5) }},
	{"Widen", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Widen(n, 2) }},
	{"AddChannels", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.AddChannels(n, 1) }},
	{"RemoveChannels", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.RemoveChannels(n, 1) }},
	{"SetChannels", "n", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.SetChannels(n, 6) }},
	{"Resize", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Resize(v, 6, nn.ResizeOptions{Axis: 1}) }},
	{"ResizeAll", "vw", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) {
		e.ResizeAll(nn.Request{Value: v, Channels: 6, ResizeOptions: nn.ResizeOptions{Axis: 1}}, nn.Request{Value: w, Channels: 6, ResizeOptions: nn.ResizeOptions{Axis: 1}})
	}},
	{"Deepen", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Deepen(v, nn.Deepening{Layer: layers.Fitting{}}) }},
	{"SetInputChannels", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.SetInputChannels(v, 1, 0) }},
	{"Node", "vw", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Output("o", e.Node(op.Plain("Add"), v, w).Out(0)) }},
	{"Repeat", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Repeat(n, v) }},
	{"Apply", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Apply(layers.ReLU{}, v) }},
	{"ApplyAll", "vw", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.ApplyAll(nn.OpLayer{Config: op.Plain("Add")}, v, w) }},
	{"Decompose", "nm", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) { e.Decompose(n, m) }},
	{"Expr", "vw", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) {
		e.Expr(func(x ...*G.Node) (G.Nodes, error) { return one(G.Add(x[0], x[1])) }, v, w)
	}},
	{"Body", "v", func(e *nn.Edit, v, w *nn.Value, n, m *nn.Node) {
		e.Body("body", nil, []*nn.Value{v}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Neg"), in[0]).Out(0)}
		})
	}},
}

// TestForeignHandles: a handle of another graph, one that is nil, and one that an edit has removed are refused by every verb, wherever
// they stand among its arguments, and leave the graph as it was.
func TestForeignHandles(t *testing.T) {
	other := nntest.Small(t)
	strange := func(name string) (*nn.Value, *nn.Node) {
		v, err := other.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		return v, v.Producer()
	}
	foreignValue, foreignNode := strange("act")
	for _, kind := range []string{"foreign", "nil", "removed"} {
		for _, verb := range handleVerbs {
			for _, bad := range verb.reads {
				g := nntest.Small(t)
				before := nntest.Dump(g)
				err := g.Edit(func(e *nn.Edit) {
					v, w, n, m := e.Value("features"), e.Value("norm"), node(e, "fc"), node(e, "body")
					x, y := foreignValue, foreignNode
					switch kind {
					case "nil":
						x, y = nil, nil
					case "removed":
						y = e.Node(op.Plain("Neg"), e.Value("act"))
						x = y.Out(0)
						e.Remove(y)
						if err := e.Err(); err != nil {
							t.Fatal(err)
						}
					}
					switch bad {
					case 'v':
						v = x
					case 'w':
						w = x
					case 'n':
						n = y
					case 'm':
						m = y
					}
					verb.do(e, v, w, n, m)
				})
				optional := kind == "nil" && bad == 'w' && verb.name != "Rewire" && verb.name != "ResizeAll" && verb.name != "Rewire for one" && verb.name != "Rewire for two"
				if err == nil && !optional {
					t.Errorf("%s: a %s handle as %c is taken", verb.name, kind, bad)
				}
				if after := nntest.Dump(g); err != nil && after != before {
					t.Errorf("%s: refused for a %s handle as %c, the graph has changed:\n%s", verb.name, kind, bad, diff(before, after))
				}
			}
		}
	}
}

// TestAfterFailure: once an edit has failed no verb does anything, whatever it is given.
func TestAfterFailure(t *testing.T) {
	more := map[string]func(e *nn.Edit) any{
		"Input": func(e *nn.Edit) any { return e.Input("u", "float32[N]") }, "Param": func(e *nn.Edit) any { return e.Param("p", initial.Zeros{}, 2) },
		"Const": func(e *nn.Edit) any { return e.Const("c", nil) }, "Ints": func(e *nn.Edit) any { return e.Ints("i", 1) }, "Scalar": func(e *nn.Edit) any { return e.Scalar("s", nil, 1) },
		"Value": func(e *nn.Edit) any { return e.Value("act") }, "Find": func(e *nn.Edit) any { return e.Find() }, "NodeN": func(e *nn.Edit) any { return e.NodeN(std.SplitConfig{}, 2, nil) },
		"Head": func(e *nn.Edit) any { return e.Head(nn.Head{Classes: 3}) }, "Apply": func(e *nn.Edit) any { return e.Apply(nil) }, "AsOutput": func(e *nn.Edit) any { return e.AsOutput("", nil) },
		"Deepen": func(e *nn.Edit) any { return e.Deepen(nil, nn.Deepening{}) }, "Anchor": func(e *nn.Edit) any { return e.Anchor(nil, nil) },
	}
	for name, f := range more {
		if err := nntest.Small(t).Edit(func(e *nn.Edit) {
			e.Failf("first")
			if got := fmt.Sprint(f(e)); got != "<nil>" {
				t.Errorf("%s gives %s after a failure", name, got)
			}
		}); err == nil || err.Error() != "edit: first" {
			t.Errorf("%s: %v", name, err)
		}
	}
	verbs := map[string]func(e *nn.Edit){
		"RemoveOutput": func(e *nn.Edit) { e.RemoveOutput("scores") }, "RemoveInput": func(e *nn.Edit) { e.RemoveInput("x") }, "SetName": func(e *nn.Edit) { e.SetName("o") },
		"SetMeta": func(e *nn.Edit) { e.SetMeta("k", "v") }, "SetLabels": func(e *nn.Edit) { e.SetLabels("a") }, "SetOpset": func(e *nn.Edit) { e.SetOpset(7) }, "FreeBatch": func(e *nn.Edit) { e.FreeBatch("B") },
		"TrainingMode": func(e *nn.Edit) { e.TrainingMode() }, "Simplify": func(e *nn.Edit) { e.Simplify() }, "InlineBranches": func(e *nn.Edit) { e.InlineBranches() }, "Freeze": func(e *nn.Edit) { e.Freeze() },
		"SwapActivations": func(e *nn.Edit) { e.SwapActivations(layers.Tanh{}) }, "Rename": func(e *nn.Edit) { e.Rename(func(s string) string { return s + "_" }) }, "RemoveAtoms": func(e *nn.Edit) { e.RemoveAtoms() },
		"Annotate": func(e *nn.Edit) { e.Annotate(nn.Annotations{"k": 1}) }, "ScopedAnchor": func(e *nn.Edit) { e.ScopedAnchor(nil) }, "Cut": func(e *nn.Edit) { e.Cut(nn.Cut{Initializer: "fc.weight"}) },
		"Note": func(e *nn.Edit) { e.Note("nothing") }, "Classifier": func(e *nn.Edit) { e.Classifier() },
	}
	var nodes []*nn.Node // of the graph under edit
	for _, verb := range handleVerbs {
		verbs[verb.name] = func(e *nn.Edit) {
			values := e.Outputs()
			verb.do(e, values[0], values[1], nodes[0], nodes[1])
			verb.do(e, nil, nil, nil, nil)
		}
	}
	for name, f := range verbs {
		g := nntest.Small(t)
		nodes = slicesCollect(g)
		before := nntest.Dump(g)
		var notes int
		err := g.Edit(func(e *nn.Edit) {
			e.Failf("first")
			f(e)
			notes = len(e.Notes())
		})
		if err == nil || err.Error() != "edit: first" || notes != 0 {
			t.Errorf("%s after a failure: %v, %d notes", name, err, notes)
		}
		if after := nntest.Dump(g); after != before {
			t.Errorf("%s after a failure: %s", name, diff(before, after))
		}
	}
}
