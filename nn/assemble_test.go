package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// What a file may say wrong when its graph is put together, and the error that it ends with.
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
		{`load: output "z" is computed by nothing`, func(a *nn.Assembler) { a.Node(relu("x", "y")) }, "z"},
		{`load: output "" is computed by nothing`, func(a *nn.Assembler) { a.Node(relu("x", "y")) }, ""},
		{`reads "z", which nothing computes`, func(a *nn.Assembler) { a.Node(relu("z", "y")) }, "y"},
		{`two values are named "x"`, func(a *nn.Assembler) { a.Input("x", f32, nil) }, "x"},
		{`two values are named "x"`, func(a *nn.Assembler) { a.Param("x", ramp(2), nil) }, "x"},
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

// Types that a file declares: of what nodes compute they are taken, of inputs they stay what the input says.
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

// Absent nodes and inputs have no values; the selection of one node says what else it met.
func TestNothingThere(t *testing.T) {
	g := small(t)
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
	edit(t, g, func(e *nn.Edit) {
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
