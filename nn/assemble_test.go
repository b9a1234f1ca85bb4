package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestAssembleRefuses checks the errors of inconsistent files when a graph is assembled.
func TestAssembleRefuses(t *testing.T) {
	f32 := op.T(dtype.Float32, op.Sym("N"))
	relu := func(in, out string) nn.NodeSpec {
		return nn.NodeSpec{Type: "Relu", In: []string{in}, Out: []string{out}}
	}
	for _, c := range []struct {
		want string
		add  func(a *nn.Assembler)
		out  string
	}{
		{"", func(a *nn.Assembler) { a.Node(relu("x", "y")) }, "y"},
		{"", func(a *nn.Assembler) { a.Node(relu("h", "y")); a.Node(relu("x", "h")) }, "y"}, // in any order
		{"", func(a *nn.Assembler) {
			s := relu("x", "y")
			s.Domain = "ai.onnx"
			a.Node(s)
		}, "y"},
		{"", func(a *nn.Assembler) { // nothing is known of it
			a.Node(nn.NodeSpec{Domain: "my", Type: "Odd", In: []string{"", "x"}, Out: []string{"", "y"}, Attrs: map[string]any{"b": 1, "a": "text"}})
		}, "y"},
		{`load: output "z" is not computed by any node`, func(a *nn.Assembler) { a.Node(relu("x", "y")) }, "z"},
		{`load: output "" is not computed by any node`, func(a *nn.Assembler) { a.Node(relu("x", "y")) }, ""},
		{`reads "z", which nothing computes`, func(a *nn.Assembler) { a.Node(relu("z", "y")) }, "y"},
		{`two values are named "x"`, func(a *nn.Assembler) { a.Input("x", f32, nil) }, "x"},
		{`two values are named "x"`, func(a *nn.Assembler) { a.Param("x", nntest.Ramp(2), nil) }, "x"},
		{`load: Relu y: two values are named "y"`, func(a *nn.Assembler) { a.Node(relu("x", "y")); a.Node(relu("x", "y")) }, "y"},
		{"a value has no name", func(a *nn.Assembler) { a.Input("", f32, nil) }, "x"},
		{"input p: an initializer is a *dtype.Sequence", func(a *nn.Assembler) { a.Param("p", &dtype.Sequence{Elem: dtype.Float32}, nil) }, "x"},
		{"is computed from its own result: the graph has a cycle", func(a *nn.Assembler) { a.Node(relu("b", "a")); a.Node(relu("a", "b")) }, "a"},
		{"is computed from its own result: the graph has a cycle", func(a *nn.Assembler) { a.Node(relu("a", "a")) }, "a"},
		{"Softmax y: attribute axis", func(a *nn.Assembler) {
			s := relu("x", "y")
			s.Type, s.Attrs = "Softmax", map[string]any{"axis": "one"}
			a.Node(s)
		}, "y"},
		{"load: Softmax y: axis 3 is outside of [-1, 0]", func(a *nn.Assembler) {
			s := relu("x", "y")
			s.Type, s.Attrs = "Softmax", map[string]any{"axis": int64(3)}
			a.Node(s)
		}, "y"},
	} {
		a := nn.Assemble(nn.NewGraph("m", std.Operators(), map[string]int{"": 17, "my": 1}))
		a.Input("x", f32, nil)
		c.add(a)
		err := a.Finish()
		if err == nil {
			a.Output(c.out, op.Type{}, nil)
			_, err = a.Graph()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestAssembledTypes checks that declared types are used for the results of nodes, and that inputs
// keep their declared types.
func TestAssembledTypes(t *testing.T) {
	wide, narrow := op.T(dtype.Float32, op.Sym("N"), op.D(3)), op.T(dtype.Float32, op.D(2), op.D(3))
	a := nn.Assemble(nn.NewGraph("m", std.Operators(), map[string]int{"": 17, "my": 1}))
	a.Describe("a description", nil)
	a.Describe("another", map[string]string{"k": "v"})
	a.Input("x", wide, "of the input")
	a.Node(nn.NodeSpec{Domain: "my", Type: "Odd", In: []string{"x"}, Out: []string{"h"}})
	a.Node(nn.NodeSpec{Type: "Relu", In: []string{"h"}, Out: []string{"y"}})
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	a.Type("h", narrow, "of the value")
	a.Type("x", narrow, nil)
	a.Type("none", narrow, nil)
	a.Output("x", narrow, "of the output")
	a.Output("h", wide, "of the output")
	a.Output("y", op.Type{}, "of the output")
	g, err := a.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"x": "float32[N,3] of the input", "h": "float32[N,3] of the value", "y": "float32[N,3] of the output"} {
		v, err := g.Value(name)
		if err != nil || v.Type().String()+" "+v.Origin().(string) != want {
			t.Errorf("%s is %v %v, want %s, %v", name, v.Type(), v.Origin(), want, err)
		}
	}
	if g.Doc() != "another" || g.Meta()["k"] != "v" {
		t.Errorf("description %q, metadata %v", g.Doc(), g.Meta())
	}
}

// TestNothingThere checks that absent nodes and inputs have no values, and that selecting one node by
// a pattern of several matches reports the others.
func TestNothingThere(t *testing.T) {
	g := nntest.Small(t)
	n := slicesCollect(g)[0]
	var none *nn.Node
	if n.In(-1) != nil || n.In(99) != nil || none.In(0) != nil || none.In(-1) != nil || n.Out(-1) != nil || n.Out(9) != nil || none.Out(0) != nil || none.Inputs() != nil || none.Outputs() != nil || none.Captured() != nil {
		t.Error("there is a value where there is none")
	}
	all := slicesCollect(g)
	err := g.Edit(func(e *nn.Edit) { e.Find() })
	if want := all[0].Label() + " and " + all[1].Label() + " among them: want one"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	nntest.Edit(t, g, func(e *nn.Edit) {
		if e.Find(func(n *nn.Node) bool { return n == all[1] }) != all[1] {
			t.Error("another node")
		}
	})
}

func slicesCollect(g *nn.Graph) (list []*nn.Node) {
	for n := range g.Nodes() {
		list = append(list, n)
	}
	return list
}

// A type that a file declares may be wrong: what follows of it refuses nothing before it runs.
func TestDeclaredTypesAreNoCertainty(t *testing.T) {
	for _, c := range []struct {
		first nn.NodeSpec
		want  string
	}{
		{nn.NodeSpec{Domain: "my", Type: "Odd", In: []string{"x"}, Out: []string{"a"}}, ""},
		{nn.NodeSpec{Type: "Relu", In: []string{"x"}, Out: []string{"a"}}, "MatMul y"},
	} {
		a := nn.Assemble(nn.NewGraph("m", std.Operators(), map[string]int{"": nn.LatestOpset, "my": 1}))
		a.Input("x", op.T(dtype.Float32, op.D(2), op.D(3)), nil)
		a.Param("w", nntest.Ramp(4, 5), nil)
		a.Node(c.first)
		a.Node(nn.NodeSpec{Type: "Relu", In: []string{"a"}, Out: []string{"b"}})
		a.Node(nn.NodeSpec{Type: "MatMul", In: []string{"b", "w"}, Out: []string{"y"}})
		err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		a.Type("a", op.T(dtype.Float32, op.D(2), op.D(3)), nil)
		a.Output("y", op.T(dtype.Float32, op.D(2), op.D(5)), nil)
		g, err := a.Graph()
		if err == nil {
			err = g.Edit(func(e *nn.Edit) { e.RenameNode(e.Find(nn.Ops("MatMul")), "product") })
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.first.Type, err, c.want)
		}
	}
}

// TestEditsOfWhatIsNotKnown checks nodes that cannot be repeated, and inputs of a Concat whose length is unknown.
func TestEditsOfWhatIsNotKnown(t *testing.T) {
	a := nn.Assemble(nn.NewGraph("m", std.Operators(), map[string]int{"": nn.LatestOpset, "my": 1}))
	a.Input("x", op.T(dtype.Float32, op.Sym("N"), op.D(4)), nil)
	a.Input("z", op.T(dtype.Float32, op.Sym("N"), op.Sym("K")), nil)
	a.Node(nn.NodeSpec{Domain: "my", Type: "Odd", In: []string{"x"}, Out: []string{"a"}})
	a.Node(nn.NodeSpec{Type: "Concat", In: []string{"x", "z"}, Out: []string{"y"}, Attrs: map[string]any{"axis": int64(1)}})
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	a.Output("a", op.T(dtype.Float32), nil)
	a.Output("y", op.Type{}, nil)
	g, err := a.Graph()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f    func(e *nn.Edit)
		want string
	}{
		{func(e *nn.Edit) { e.Repeat(nil, e.Value("x")) }, "there is no node to repeat, or its operator is not known"},
		{func(e *nn.Edit) { e.Repeat(e.Value("a").Producer(), e.Value("x")) }, "there is no node to repeat, or its operator is not known"},
		{func(e *nn.Edit) {
			e.Output("again", e.Repeat(e.Value("y").Producer(), e.Value("x"), e.Value("x")).Out(0))
		}, ""},
		{func(e *nn.Edit) { nn.Realign{}.RemoveEdge(e, e.Value("x"), e.Value("y").Producer()) }, "the length of axis 1 is not known"},
	} {
		if _, err := g.Plan(c.f); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
