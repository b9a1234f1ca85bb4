package onnxio

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
)

// nodesOnly is a model as Paddle2ONNX writes it: no initializers, each tensor is in a Constant node before the node that
// reads it. x → Conv → BatchNormalization → GlobalAveragePool → Flatten → ·2 → MatMul + bias.
func nodesOnly(t *testing.T) []byte {
	t.Helper()
	g := nn.New("paddle")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,1,4,4]")
		x = e.Apply(nn.Sequential{layers.Conv{Out: 2, Kernel: []int{3}, Name: "conv"}, layers.BatchNorm{Name: "norm"}}, x)
		x = e.Node(op.Plain("Flatten"), e.Node(op.Plain("GlobalAveragePool"), x).Out(0)).Out(0)
		two, err := dtype.FromSlice([]float32{2})
		if err != nil {
			t.Fatal(err)
		}
		x = e.Node(op.Plain("Mul"), x, e.Const("two", two)).Out(0)
		e.Output("y", e.Apply(layers.Linear{Out: 3, Name: "top"}, x))
	})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := Write(&file, g); err != nil {
		t.Fatal(err)
	}
	m, err := decodeModel(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	p := m.Graph
	var nodes []*onnxpb.NodeProto
	for _, n := range p.Node {
		for _, i := range p.Initializer {
			if slices.Contains(n.Input, i.GetName()) {
				c := constantNode(i, false)
				c.Name = proto.String("held." + i.GetName())
				nodes = append(nodes, c)
			}
		}
		nodes = append(nodes, n)
	}
	p.Node, p.Initializer = nodes, nil
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func reload(t *testing.T, g *nn.Graph) *nn.Graph {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// rolesOf lists the parameters of a graph that are not constants.
func rolesOf(g *nn.Graph) map[string]nn.Role {
	roles := map[string]nn.Role{}
	for p := range g.Params() {
		if r := p.Role(); r != nn.Constant {
			roles[p.Name()] = r
		}
	}
	return roles
}

// TestConstantWeights checks that weights in Constant nodes are parameters and other constants remain
// nodes; saving restores the nodes.
func TestConstantWeights(t *testing.T) {
	file := nodesOnly(t)
	g, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]nn.Role{
		"conv.weight": nn.Weight, "conv.bias": nn.Weight, "norm.weight": nn.Weight, "norm.bias": nn.Weight,
		"norm.running_mean": nn.Statistic, "norm.running_var": nn.Statistic, "top.weight": nn.Weight, "top.bias": nn.Weight,
	}
	if got := rolesOf(g); !maps.Equal(got, want) {
		t.Errorf("the parameters are %v, want %v", got, want)
	}
	if v, err := g.Value("two"); err != nil || v.Producer() == nil {
		t.Errorf("the scalar is not a node any more: %v", err)
	}
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	old, err := decodeModel(file)
	if err != nil {
		t.Fatal(err)
	}
	now, err := decodeModel(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(old, now) {
		t.Errorf("saved as\n%v\nwant\n%v", now, old)
	}
}

// TestConstantWeightsEdited checks that edited and trained weights are also saved as nodes, and that a
// tensor that SetRole made a constant remains one.
func TestConstantWeightsEdited(t *testing.T) {
	g, err := Read(bytes.NewReader(nodesOnly(t)))
	if err != nil {
		t.Fatal(err)
	}
	before := len(rolesOf(g))
	err = g.Edit(func(e *nn.Edit) {
		e.Head(nn.Head{Classes: 5})
		e.Insert(e.Value("x"), layers.Conv{Out: 1, Kernel: []int{1}, Name: "first"})
		e.SetRole(e.Value("first.bias"), nn.Constant)
		e.SetRole(e.Value("conv.bias"), nn.Constant)
	})
	if err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		if d := p.Data(); p.Name() == "conv.weight" {
			dtype.Slice[float32](d)[0] = 42
			p.Changed()
		}
	}
	want := eval(t, g, 2, 1, 4, 4)
	for range 2 {
		g = reload(t, g)
		roles := rolesOf(g)
		if len(roles) != before { // one more by first, one less by conv.bias
			t.Errorf("the parameters are %v, want %d", roles, before)
		}
		if roles["first.weight"] != nn.Weight || roles["first.bias"] != "" || roles["conv.bias"] != "" {
			t.Errorf("the parameters are %v: first.weight is one of them, first.bias and conv.bias are not", roles)
		}
		if got := eval(t, g, 2, 1, 4, 4); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestOtherDocumentation checks that only graft's own mark in the documentation of a node decides about a role, and that other
// texts are kept.
func TestOtherDocumentation(t *testing.T) {
	for doc, want := range map[string]nn.Role{
		"": nn.Weight, "not trained": nn.Weight, "trained": nn.Weight, "graft.role=none": nn.Weight, "graft.role=weight": nn.Weight, "graft.role=constant": "",
	} {
		m, err := decodeModel(nodesOnly(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range m.Graph.Node {
			if n.GetOutput()[0] == "conv.weight" && doc != "" {
				n.DocString = proto.String(doc)
			}
		}
		file, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := rolesOf(g)["conv.weight"]; got != want {
			t.Errorf("%q: the weight is %q, want %q", doc, got, want)
		}
		var b bytes.Buffer
		if err := Write(&b, g); err != nil {
			t.Fatal(err)
		}
		if now, err := decodeModel(b.Bytes()); err != nil || !proto.Equal(m, now) {
			t.Errorf("%q: saved as %v (%v)", doc, now, err)
		}
	}
}

// A model that has weights in initializers is read as it says: nodes hold constants. Joined with a model of such nodes, all
// weights are initializers.
func TestConstantWeightsJoined(t *testing.T) {
	a, err := Read(bytes.NewReader(nodesOnly(t)))
	if err != nil {
		t.Fatal(err)
	}
	b := nn.New("head")
	if err := b.Edit(func(e *nn.Edit) {
		e.Output("z", e.Apply(layers.Linear{Out: 2, Name: "head"}, e.Input("h", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	joined, err := nn.Join(a, reload(t, b), map[string]string{"y": "h"})
	if err != nil {
		t.Fatal(err)
	}
	want := len(rolesOf(joined))
	if got := len(rolesOf(reload(t, joined))); got != want || got != 10 {
		t.Errorf("%d parameters after a file, want %d, which is 10", got, want)
	}
}
