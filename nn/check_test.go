package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// chained is x → A → b → B → y with a parameter w that B reads, the first half of a Split c that nothing reads, and an absent output.
func chained(t *testing.T) *Graph {
	t.Helper()
	g := New("m")
	err := g.Edit(func(e *Edit) {
		x := e.Input("x", "float32[N,4]")
		a := e.Node(op.Plain("Relu"), x)
		s := e.NodeN(std.SplitConfig{Axis: 1, NumOutputs: 2}, 2, a.Out(0))
		b := e.Node(op.Plain("Mul"), s.Out(1), e.Const("w", dtype.New(dtype.Float32, 2)))
		for i, n := range []*Node{a, s, b} {
			e.RenameNode(n, []string{"A", "S", "B"}[i])
		}
		e.Output("y", b.Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestCheckFinds breaks each invariant of a graph by itself.
func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		name, want string
		damage     func(g *Graph, a, s, b *Node)
	}{
		{"nothing", "", func(*Graph, *Node, *Node, *Node) {}},
		{"a node of another graph", "node A belongs to another graph", func(_ *Graph, a, _, _ *Node) { a.graph = New("other") }},
		{"a node twice", "node A is listed twice", func(g *Graph, a, _, _ *Node) { g.list = append(g.list, a) }},
		{"a foreign input", `input 1 of node B, "v", is not in the graph`, func(_ *Graph, _, _, b *Node) { b.in[1] = &Value{name: "v"} }},
		{"an input under another's name", `input 0 of node A, "w", is not in the graph`, func(_ *Graph, a, _, _ *Node) { a.in[0] = &Value{name: "w"} }},
		{"an order", "node B reads ", func(g *Graph, a, s, b *Node) { g.list = []*Node{a, b, s} }},
		{"a user that is not known", `value "w" does not know its user B`, func(g *Graph, _, _, _ *Node) { g.values["w"].users = nil }},
		{"an output that is not listed", "output 0 of node S is not its own", func(g *Graph, _, s, _ *Node) { delete(g.values, s.out[0].name) }},
		{"an output of another", "output 0 of node S is not its own", func(_ *Graph, a, s, _ *Node) { s.out[0].producer = a }},
		{"an output in another place", "output 1 of node S is not its own", func(_ *Graph, _, s, _ *Node) { s.out[1].index = 0 }},
		{"an input that is none", `input "w" is not in the graph`, func(g *Graph, _, _, _ *Node) { g.inputs = append(g.inputs, g.values["w"]) }},
		{"another input", `input "x" is not in the graph`, func(g *Graph, _, _, _ *Node) { g.inputs = append(g.inputs, &Value{name: "x", input: true}) }},
		{"another output", `output "y" is not in the graph`, func(g *Graph, _, _, _ *Node) { g.outputs = []*Value{{name: "y"}} }},
		{"an input that is not listed", `value "x" is an input the graph does not list`, func(g *Graph, _, _, _ *Node) { g.inputs = nil }},
		{"what computes is gone", "", func(g *Graph, _, s, _ *Node) { s.out[0] = nil }},
		{"a parameter of another value", `parameter "w" is incomplete`, func(g *Graph, _, _, _ *Node) { g.values["w"].param.value = nil }},
		{"a parameter of nothing", `parameter "w" is incomplete`, func(g *Graph, _, _, _ *Node) { g.values["w"].param.data = nil }},
		{"a parameter of both", `parameter "w" is incomplete`, func(g *Graph, _, _, _ *Node) { g.values["w"].param.text = &dtype.Strings{} }},
		{"a name", `value "v" is listed as "w"`, func(g *Graph, _, _, b *Node) {
			v := g.values["w"]
			g.values["v"], b.in[1].name = v, "v"
		}},
		{"a value of another graph", `value "w" is listed as "w"`, func(g *Graph, _, _, _ *Node) { g.values["w"].graph = New("other") }},
		{"two sources", `value "w" has 2 sources`, func(g *Graph, _, _, _ *Node) {
			g.values["w"].input = true
			g.inputs = append(g.inputs, g.values["w"])
		}},
		{"no source", `value "v" has 0 sources`, func(g *Graph, _, _, _ *Node) { g.values["v"] = &Value{name: "v", graph: g} }},
		{"a source outside", "", func(g *Graph, _, _, _ *Node) {
			g.values["v"] = &Value{name: "v", graph: g}
			g.body = &Body{Graph: g, outer: []*Value{g.values["v"]}}
		}},
		{"a node that is gone", "lists A, which does not read it", func(g *Graph, a, _, _ *Node) {
			g.list = g.list[1:]
			g.list[0].in[0] = g.values["x"]
			g.values["x"].users = append(g.values["x"].users, g.list[0])
			delete(g.values, a.out[0].name)
		}},
		{"a user that does not read it", `value "w" lists A, which does not read it`, func(g *Graph, a, _, _ *Node) { g.values["w"].users = append(g.values["w"].users, a) }},
		{"a producer that is gone", "is computed by a node that is gone", func(g *Graph, _, _, b *Node) {
			g.list = slices.Delete(g.list, 2, 3)
			for _, v := range b.in {
				v.users = nil
			}
		}},
	} {
		g := chained(t)
		c.damage(g, g.list[0], g.list[1], g.list[2])
		switch err := g.check(nil); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestCheckLongLists checks lists that are too long for linear search.
func TestCheckLongLists(t *testing.T) {
	for _, n := range []int{31, 32, 33, 100} {
		g := New("m")
		if err := g.Edit(func(e *Edit) {
			x := e.Input("x", "float32[4]")
			y := make([]*Value, n)
			for i := range y {
				y[i] = e.Node(op.Plain("Relu"), x).Out(0)
			}
			e.Output("y", e.Node(op.Plain("Sum"), y...).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		last := g.list[len(g.list)-1]
		missing := last.in[n-1]
		last.in = last.in[:n-1]
		if err := g.check(nil); err == nil || !strings.Contains(err.Error(), "which does not read it") {
			t.Errorf("%d inputs: %v", n, err)
		}
		last.in = append(last.in, missing)
		x := g.values["x"]
		x.users = x.users[:n-1]
		if err := g.check(nil); err == nil || !strings.Contains(err.Error(), "does not know its user") {
			t.Errorf("%d users: %v", n, err)
		}
	}
}
