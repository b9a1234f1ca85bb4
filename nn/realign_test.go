package nn_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

func concat(e *nn.Edit, name string, in ...*nn.Value) *nn.Value {
	return e.Apply(layers.Concat{Name: name}, in...)
}

func add(e *nn.Edit, name string, a, b *nn.Value) *nn.Value {
	v := e.Node(op.Plain("Add"), a, b).Out(0)
	if v != nil {
		e.RenameValue(v, name)
	}
	return v
}

func input(e *nn.Edit) *nn.Value { return e.Input("x", "float32[N,3,4,4]") }

// chain is three convolutions of different widths with what stands between layers.
func chain(e *nn.Edit) {
	y := e.Apply(nn.Sequential{conv(8, 3, "a"), layers.BatchNorm{Name: "bn"}, layers.ReLU{Name: "act"}, conv(12, 3, "b"), conv(5, 1, "c")}, input(e))
	e.Output("y", e.Apply(conv(2, 1, "out"), y))
}

// fork has a branch that joins the trunk by a sum.
func fork(e *nn.Edit) {
	x := e.Apply(conv(6, 1, "in"), input(e))
	y := e.Apply(conv(9, 3, "m"), x)
	e.Output("y", e.Apply(conv(2, 1, "out"), add(e, "sum", x, e.Apply(conv(6, 3, "b"), y))))
}

// cycle has a Concat whose result, through a layer, is added to one of its sources.
func cycle(e *nn.Edit) {
	v1 := e.Apply(conv(5, 1, "v1"), input(e))
	cat := concat(e, "cat", v1, e.Apply(conv(3, 1, "v2"), v1))
	s := add(e, "sum", v1, e.Apply(conv(5, 1, "v3"), cat))
	e.Output("y", e.Apply(conv(2, 1, "out"), s))
}

// parts is a Concat of three.
func parts(e *nn.Edit) {
	x := e.Apply(conv(4, 1, "in"), input(e))
	a, b, c := e.Apply(conv(2, 1, "a"), x), e.Apply(conv(3, 1, "b"), x), e.Apply(conv(4, 1, "c"), x)
	f := e.Apply(layers.Flatten{}, e.Apply(layers.ReLU{}, concat(e, "cat", a, b, c)))
	e.Output("y", e.Apply(layers.Linear{Out: 3, Name: "fc"}, f))
}

func value(label string) func(e *nn.Edit) *nn.Value {
	return func(e *nn.Edit) *nn.Value { return node(e, label).Out(0) }
}

var structures = []struct {
	name  string
	build func(e *nn.Edit)
	edit  func(e *nn.Edit)
	nodes []string
	want  []int
	says  string // in the plan
	same  bool   // what the model computes stays
	err   string
}{
	{name: "remove between different sizes", build: chain, edit: func(e *nn.Edit) { e.Remove(node(e, "b")) },
		nodes: []string{"a", "c"}, want: []int{12, 5}, says: "realigned axis 1 of act: length 8 before it and 12 after it became 12"},
	{name: "remove, what reads follows", build: chain, edit: func(e *nn.Edit) { nn.Realign{Prefer: nn.PreferAfter}.Remove(e, node(e, "b")) },
		nodes: []string{"a", "c"}, want: []int{8, 5}, says: "axis 1 of c.weight 12 → 8"},
	{name: "remove, the larger side shrinks", build: chain, edit: func(e *nn.Edit) { nn.Realign{Prefer: nn.PreferShrink}.Remove(e, node(e, "c")) },
		nodes: []string{"b"}, want: []int{5}, says: "b: axis 0 of b.weight 12 → 5"},
	{name: "remove, what computes follows", build: chain, edit: func(e *nn.Edit) { nn.Realign{Prefer: nn.PreferBefore}.Remove(e, node(e, "c")) },
		nodes: []string{"b"}, want: []int{5}, says: "became 5"},
	{name: "remove the last layer", build: chain, edit: func(e *nn.Edit) { e.Remove(node(e, "out")) },
		nodes: []string{"y"}, want: []int{2}, says: "length 5 before it and 2 after it became 2"},
	{name: "remove the first layer", build: chain, edit: func(e *nn.Edit) { e.Remove(node(e, "a")) },
		nodes: []string{"bn", "b"}, want: []int{3, 12}, says: "bn: axis 0 of bn.weight 8 → 3"},
	{name: "remove all the layers between", build: chain, edit: func(e *nn.Edit) {
		for _, n := range []string{"a", "bn", "act", "b", "c"} {
			e.Remove(node(e, n))
		}
	}, nodes: []string{"y"}, want: []int{2}},
	{name: "remove in a branch", build: fork, edit: func(e *nn.Edit) { e.Remove(node(e, "m")) },
		nodes: []string{"in", "b"}, want: []int{9, 9}},
	{name: "remove in a branch, readers follow", build: fork, edit: func(e *nn.Edit) { nn.Realign{Prefer: nn.PreferAfter}.Remove(e, node(e, "m")) },
		nodes: []string{"in", "b"}, want: []int{6, 6}},
	{name: "size cycle", build: cycle, edit: func(e *nn.Edit) { e.Remove(node(e, "v3")) },
		err: "they depend on each other (a size cycle)"},
	{name: "the other source of a size cycle goes", build: cycle, edit: func(e *nn.Edit) {
		e.RemoveEdge(value("v2")(e), node(e, "cat"))
		e.Remove(node(e, "v3"))
	}, nodes: []string{"v1"}, want: []int{5}},
	{name: "immutable neighbours", build: func(e *nn.Edit) {
		e.Output("y", e.Apply(conv(2, 1, "only"), input(e)))
	}, edit: func(e *nn.Edit) { e.Remove(node(e, "only")) }, err: "axis 1 of x is fixed: it is the graph input 'x'; axis 1 of"},
	{name: "remove a concat", build: parts, edit: func(e *nn.Edit) { e.Remove(node(e, "cat")) },
		nodes: []string{"in", "a"}, want: []int{4, 2}, says: "fc: axis 1 of fc.weight 144 → 32"},
	{name: "remove what makes an output of an input", build: func(e *nn.Edit) {
		h := e.Apply(conv(8, 1, "a"), input(e))
		e.Output("h", h)
		e.Output("y", e.Apply(conv(2, 1, "b"), h))
	}, edit: func(e *nn.Edit) { e.Remove(node(e, "a")) }, err: "axis 1 of x is fixed: it is the graph input 'x'; axis 1 of h is fixed: it reaches graph output 'h'"},
	{name: "remove what makes an output of an output", build: func(e *nn.Edit) {
		f := e.Apply(conv(8, 1, "a"), input(e))
		e.Output("f", f)
		h := e.Apply(conv(5, 1, "b"), f)
		e.Output("h", h)
		e.Output("y", e.Apply(conv(2, 1, "c"), h))
	}, edit: func(e *nn.Edit) { e.Remove(node(e, "b")) }, err: "axis 1 of a is fixed: it reaches graph output 'f'; axis 1 of h is fixed: it reaches graph output 'h'"},
	{name: "insert with another size", build: chain, edit: func(e *nn.Edit) { e.Insert(value("act")(e), conv(20, 1, "wide")) },
		nodes: []string{"a", "wide", "b"}, want: []int{8, 20, 12}, says: "b: axis 1 of b.weight 8 → 20"},
	{name: "insert smaller into a branch", build: fork, edit: func(e *nn.Edit) { e.Insert(value("b")(e), conv(4, 1, "narrow")) },
		nodes: []string{"in", "b", "narrow"}, want: []int{4, 6, 4}},
	{name: "insert where nothing can follow", build: func(e *nn.Edit) {
		x := input(e)
		e.Output("y", add(e, "sum", x, e.Apply(conv(3, 1, "c"), x)))
	}, edit: func(e *nn.Edit) { e.Insert(value("c")(e), conv(7, 1, "odd")) }, nodes: []string{"odd"}, want: []int{3}},
	{name: "replace by another size", build: chain, edit: func(e *nn.Edit) { e.Replace(node(e, "b"), conv(3, 5, "b2")) },
		nodes: []string{"a", "b2", "c"}, want: []int{8, 3, 5}, says: "c: axis 1 of c.weight 12 → 3"},
	{name: "add a skip edge", build: chain, edit: func(e *nn.Edit) { e.AddEdge(value("act")(e), node(e, "c")) },
		nodes: []string{"a", "b", "c"}, want: []int{12, 12, 5}},
	{name: "add a skip edge, the larger shrinks", build: chain, edit: func(e *nn.Edit) {
		nn.Realign{Prefer: nn.PreferShrink}.AddEdge(e, value("act")(e), node(e, "c"))
	}, nodes: []string{"a", "b", "c"}, want: []int{8, 8, 5}},
	{name: "add a skip edge to a sum", build: fork, edit: func(e *nn.Edit) { e.AddEdge(value("m")(e), node(e, "sum")) },
		nodes: []string{"in", "m", "b"}, want: []int{9, 9, 9}},
	{name: "add a skip edge by concatenation", build: chain, edit: func(e *nn.Edit) {
		nn.Realign{Concat: true}.AddEdge(e, value("act")(e), node(e, "c"))
	}, nodes: []string{"a", "b", "c"}, want: []int{8, 12, 5}, says: "c: axis 1 of c.weight 12 → 20", same: true},
	{name: "add a silent skip edge", build: chain, edit: func(e *nn.Edit) {
		nn.Realign{Via: layers.Conv{Kernel: []int{1}, Name: "skip"}}.AddEdge(e, value("act")(e), node(e, "c"))
	}, nodes: []string{"a", "b", "skip"}, want: []int{8, 12, 12}, same: true},
	{name: "add a part to a concat", build: parts, edit: func(e *nn.Edit) { e.AddEdge(value("in")(e), node(e, "cat")) },
		nodes: []string{"in", "cat"}, want: []int{4, 13}, says: "fc: axis 1 of fc.weight 144 → 208", same: true},
	{name: "add the same part twice", build: parts, edit: func(e *nn.Edit) { e.AddEdge(value("a")(e), node(e, "cat")) },
		nodes: []string{"a", "cat"}, want: []int{2, 11}, same: true},
	{name: "add an edge backwards", build: chain, edit: func(e *nn.Edit) { e.AddEdge(value("c")(e), node(e, "bn")) },
		err: "the graph has a cycle"},
	{name: "add an edge between different images", build: func(e *nn.Edit) {
		a := e.Apply(conv(4, 3, "a"), input(e))
		e.Output("y", e.Apply(conv(2, 1, "b"), e.Apply(layers.MaxPool{Kernel: []int{2}, Name: "pool"}, a)))
	}, edit: func(e *nn.Edit) { e.AddEdge(value("a")(e), node(e, "b")) }, err: "the value does not fit: input a: want float32[N,4,2,2], got float32[N,4,4,4]"},
	{name: "remove a part of a concat", build: parts, edit: func(e *nn.Edit) { e.RemoveEdge(value("b")(e), node(e, "cat")) },
		nodes: []string{"a", "c", "cat"}, want: []int{2, 4, 6}, says: "fc: axis 1 of fc.weight 144 → 96"},
	{name: "remove a term of a sum", build: fork, edit: func(e *nn.Edit) { e.RemoveEdge(value("in")(e), node(e, "sum")) },
		nodes: []string{"in", "m", "b"}, want: []int{6, 9, 6}},
	{name: "a branch removed entirely", build: fork, edit: func(e *nn.Edit) { e.RemoveEdge(value("b")(e), node(e, "sum")) },
		nodes: []string{"in", "out"}, want: []int{6, 2}},
	{name: "remove an edge that is not there", build: fork, edit: func(e *nn.Edit) { e.RemoveEdge(value("m")(e), node(e, "sum")) },
		err: `does not read "m"`},
	{name: "remove the only edge", build: chain, edit: func(e *nn.Edit) { e.RemoveEdge(value("a")(e), node(e, "bn")) },
		err: "remove the node instead"},
	{name: "remove between different lengths", build: func(e *nn.Edit) {
		x := e.Apply(conv(4, 3, "a"), input(e))
		e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Apply(layers.Flatten{}, e.Apply(layers.MaxPool{Kernel: []int{2}, Name: "pool"}, x))))
	}, edit: func(e *nn.Edit) { e.Remove(node(e, "pool")) }, err: "cannot be removed: input a: want float32[N,4,2,2], got float32[N,4,4,4]"},
}

// TestStructures changes the structure of small models with layers of different sizes.
func TestStructures(t *testing.T) {
	for _, s := range structures {
		t.Run(s.name, func(t *testing.T) {
			g := model(t, s.build)
			before := nntest.Dump(g)
			p, err := g.Plan(s.edit)
			if nntest.Dump(g) != before {
				t.Fatal("planning changed the graph")
			}
			if s.err != "" {
				if err == nil || !strings.Contains(err.Error(), s.err) {
					t.Fatalf("got %v, want %q", err, s.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			in, err := draw(g, 2, 0, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			want, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			if got := channelsOf(t, g, s.nodes...); !reflect.DeepEqual(got, s.want) {
				t.Errorf("channels of %v are %v, want %v\n%v", s.nodes, got, s.want, p)
			}
			got, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatalf("%v\n%v", err, p)
			}
			if s.same {
				if err := agree(got[0], want[0], 1e-5); err != nil {
					t.Error(err)
				}
			}
			text := p.String()
			if !strings.Contains(text, s.says) || strings.Contains(text, "SplitEdge") || strings.Contains(text, "_realigned") {
				t.Errorf("the plan says\n%s\nwant %q", text, s.says)
			}
			if err := p.Undo(); err != nil {
				t.Fatal(err)
			}
			if nntest.Dump(g) != before {
				t.Error("undo does not give the graph back")
			}
		})
	}
}

// TestEdgesExactly compares models that lose an edge with models in which what came over it is zero.
func TestEdgesExactly(t *testing.T) {
	for name, c := range map[string]struct {
		build    func(e *nn.Edit)
		from, to string
	}{
		"first part": {parts, "a", "cat"}, "middle part": {parts, "b", "cat"}, "last part": {parts, "c", "cat"},
		"term": {fork, "b", "sum"},
	} {
		t.Run(name, func(t *testing.T) {
			g := model(t, c.build)
			zero := nntest.Clone(t, g)
			nntest.Edit(t, zero, func(e *nn.Edit) {
				for _, p := range []string{".weight", ".bias"} {
					v := e.Value(c.from + p)
					e.SetData(v, dtype.New(dtype.Float32, v.Type().Sizes()...))
				}
			})
			in, want := runDrawn(t, zero)
			nntest.Edit(t, g, func(e *nn.Edit) { e.RemoveEdge(value(c.from)(e), node(e, c.to)) })
			got, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			if err := agree(got[0], want[0], 1e-5); err != nil {
				t.Error(err)
			}
			for p := range g.Params() {
				if strings.HasPrefix(p.Name(), c.from+".") {
					t.Errorf("%s is left", p.Name())
				}
			}
		})
	}
}
