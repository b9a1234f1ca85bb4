package nn_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

func conv(out, kernel int, name string) nn.Layer {
	return layers.Conv{Out: out, Kernel: []int{kernel}, Same: true, Name: name}
}

// channelsOf reads the number of channels of the values of some nodes.
func channelsOf(t *testing.T, g *nn.Graph, names ...string) []int {
	t.Helper()
	var list []int
	for _, name := range names {
		n, err := g.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n.Out(0).Type().Shape[1].Size)
	}
	return list
}

func model(t *testing.T, f func(e *nn.Edit)) *nn.Graph {
	t.Helper()
	g := nn.New("m")
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
	return g
}

var scenarios = []struct {
	name  string
	build func(e *nn.Edit)
	edit  func(e *nn.Edit)
	nodes []string
	want  []int
	err   string
}{
	{
		name: "residual fork", build: func(e *nn.Edit) {
			x := e.Apply(conv(6, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			y := e.Apply(conv(6, 3, "b"), x)
			s := e.Node(op.Plain("Add"), x, y).Out(0)
			e.Output("y", e.Apply(conv(2, 1, "out"), s))
		},
		edit:  func(e *nn.Edit) { e.RemoveChannels(node(e, "b"), 2) },
		nodes: []string{"in", "b", "out"}, want: []int{4, 4, 2},
	},
	{
		name: "half-transparent residual fork", build: func(e *nn.Edit) {
			x := e.Apply(conv(8, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			a, b := e.Apply(conv(3, 3, "a"), x), e.Apply(conv(5, 3, "b"), x)
			s := e.Node(op.Plain("Add"), x, e.Node(std.ConcatConfig{Axis: 1}, a, b).Out(0)).Out(0)
			e.Output("y", e.Apply(conv(2, 1, "out"), s))
		},
		edit:  func(e *nn.Edit) { e.SetChannels(node(e, "a"), 2) },
		nodes: []string{"in", "a", "b"}, want: []int{7, 2, 5},
	},
	{
		name: "transparent fork with the same source twice", build: func(e *nn.Edit) {
			x := e.Apply(conv(4, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			c := e.Node(std.ConcatConfig{Axis: 1}, x, x).Out(0)
			e.RenameValue(c, "cat")
			e.Output("y", e.Apply(conv(2, 1, "out"), c))
		},
		edit:  func(e *nn.Edit) { e.Resize(e.Value("cat"), 6, nn.ResizeOptions{}) },
		nodes: []string{"in", "cat"}, want: []int{3, 6},
	},
	{
		name: "odd size of a source twice", build: func(e *nn.Edit) {
			x := e.Apply(conv(4, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			c := e.Node(std.ConcatConfig{Axis: 1}, x, x).Out(0)
			e.RenameValue(c, "cat")
			e.Output("y", e.Apply(conv(2, 1, "out"), c))
		},
		edit: func(e *nn.Edit) { e.Resize(e.Value("cat"), 5, nn.ResizeOptions{}) },
		err:  "sets of [2]",
	},
	{
		name: "nearest to an odd size", build: func(e *nn.Edit) {
			x := e.Apply(conv(4, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			c := e.Node(std.ConcatConfig{Axis: 1}, x, x).Out(0)
			e.RenameValue(c, "cat")
			e.Output("y", e.Apply(conv(2, 1, "out"), c))
		},
		edit:  func(e *nn.Edit) { e.Resize(e.Value("cat"), 5, nn.ResizeOptions{Near: true}) },
		nodes: []string{"out"}, want: []int{2},
	},
	{
		name: "deep concat", build: func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3,4,4]")
			a, b, c := e.Apply(conv(2, 1, "a"), x), e.Apply(conv(3, 1, "b"), x), e.Apply(conv(4, 1, "c"), x)
			d := e.Node(std.ConcatConfig{Axis: 1}, e.Node(std.ConcatConfig{Axis: 1}, a, b).Out(0), c).Out(0)
			e.RenameValue(d, "deep")
			e.Output("y", e.Apply(conv(2, 1, "out"), d))
		},
		edit:  func(e *nn.Edit) { e.Resize(e.Value("deep"), 3, nn.ResizeOptions{}) },
		nodes: []string{"a", "b", "c"}, want: []int{1, 1, 1},
	},
	{
		name: "immutable neighbour", build: func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3,4,4]")
			e.Output("boxes", e.Node(std.ConcatConfig{Axis: 1}, e.Apply(conv(2, 1, "conv5"), x), e.Apply(conv(3, 1, "b"), x)).Out(0))
		},
		edit: func(e *nn.Edit) { e.RemoveChannels(node(e, "conv5"), 1) },
		err:  "axis 1 of conv5 is fixed: it reaches graph output 'boxes' through Concat",
	},
	{
		name: "all utilities negative", build: func(e *nn.Edit) {
			e.Output("y", e.Apply(conv(2, 1, "out"), e.Apply(conv(4, 1, "in"), e.Input("x", "float32[N,3,4,4]"))))
		},
		edit:  func(e *nn.Edit) { e.Resize(node(e, "in").Out(0), 1, nn.ResizeOptions{}) },
		nodes: []string{"in"}, want: []int{1},
	},
	{
		name: "nothing left", build: func(e *nn.Edit) {
			e.Output("y", e.Apply(conv(2, 1, "out"), e.Apply(conv(4, 1, "in"), e.Input("x", "float32[N,3,4,4]"))))
		},
		edit: func(e *nn.Edit) { e.RemoveChannels(node(e, "in"), 4) },
		err:  "at least one must stay",
	},
	{
		name: "several at once", build: func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3,4,4]")
			a, b := e.Apply(conv(6, 1, "a"), x), e.Apply(conv(6, 1, "b"), x)
			c := e.Node(std.ConcatConfig{Axis: 1}, a, b).Out(0)
			e.RenameValue(c, "cat")
			e.Output("y", e.Apply(conv(2, 1, "out"), c))
		},
		edit: func(e *nn.Edit) {
			e.ResizeAll(nn.Request{Value: e.Value("cat"), Channels: 7, ResizeOptions: nn.ResizeOptions{Near: true}},
				nn.Request{Value: node(e, "a").Out(0), Channels: 4})
		},
		nodes: []string{"a", "b", "cat"}, want: []int{4, 3, 7},
	},
	{
		// Two sums over concatenations that share b: what b loses, both of the others lose.
		name: "invariant zig-zag", build: func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3,4,4]")
			a, b, c := e.Apply(conv(3, 1, "a"), x), e.Apply(conv(4, 1, "b"), x), e.Apply(conv(5, 1, "c"), x)
			u, v := e.Apply(conv(7, 1, "u"), x), e.Apply(conv(9, 1, "v"), x)
			p := e.Node(op.Plain("Add"), e.Node(std.ConcatConfig{Axis: 1}, a, b).Out(0), u).Out(0)
			q := e.Node(op.Plain("Add"), e.Node(std.ConcatConfig{Axis: 1}, b, c).Out(0), v).Out(0)
			e.Output("y", e.Apply(conv(2, 1, "out"), e.Node(std.ConcatConfig{Axis: 1}, p, q).Out(0)))
		},
		edit:  func(e *nn.Edit) { e.RemoveChannels(node(e, "b"), 2) },
		nodes: []string{"a", "b", "c", "u", "v"}, want: []int{3, 2, 5, 5, 7},
	},
	{
		name: "remote subtree constrains", build: remote,
		edit: func(e *nn.Edit) { e.Resize(node(e, "in").Out(0), 6, nn.ResizeOptions{}) },
		err:  "sets of [4]",
	},
	{
		name: "as near as a remote subtree allows", build: remote,
		edit:  func(e *nn.Edit) { e.Resize(node(e, "in").Out(0), 5, nn.ResizeOptions{Near: true}) },
		nodes: []string{"in", "b", "out"}, want: []int{4, 4, 2},
	},
	{
		name: "single absorbing path", build: func(e *nn.Edit) {
			x := e.Apply(conv(6, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			y := e.Node(op.Plain("Relu"), e.Apply(conv(5, 3, "a"), e.Node(op.Plain("Tanh"), x).Out(0))).Out(0)
			e.Output("y", e.Apply(conv(2, 1, "out"), y))
		},
		edit:  func(e *nn.Edit) { e.RemoveChannels(node(e, "in"), 3) },
		nodes: []string{"in", "a", "out"}, want: []int{3, 5, 2},
	},
	{
		name: "shuffle", build: func(e *nn.Edit) {
			x := e.Apply(conv(8, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
			r := e.Node(std.ReshapeConfig{}, x, e.Ints("s1", 0, 2, 4, 4, 4)).Out(0)
			r = e.Node(std.TransposeConfig{Perm: []int{0, 2, 1, 3, 4}}, r).Out(0)
			r = e.Node(std.ReshapeConfig{}, r, e.Ints("s2", 0, 8, 4, 4)).Out(0)
			e.RenameValue(r, "shuffled")
			e.Output("y", e.Apply(conv(2, 1, "out"), e.Apply(layers.Conv{Out: 8, Kernel: []int{1}, Group: 4, Name: "g"}, r)))
		},
		edit:  func(e *nn.Edit) { e.RemoveChannels(node(e, "in"), 2) },
		nodes: []string{"in", "shuffled"}, want: []int{6, 6},
	},
}

// remote adds to the input's branch one that, far away, is turned to space by fours.
func remote(e *nn.Edit) {
	x := e.Apply(conv(8, 1, "in"), e.Input("x", "float32[N,3,4,4]"))
	y := e.Node(op.Plain("Add"), e.Node(op.Plain("Relu"), x).Out(0), e.Apply(conv(8, 3, "b"), x)).Out(0)
	z := e.Node(std.DepthToSpaceConfig{BlockSize: 2}, e.Node(op.Plain("Tanh"), y).Out(0)).Out(0)
	e.Output("y", e.Apply(conv(2, 1, "out"), z))
}

// TestScenarios resizes small models. What shrinks is proved.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			g := model(t, s.build)
			if s.err != "" {
				before := nntest.Dump(g)
				err := g.Edit(s.edit)
				if err == nil || !strings.Contains(err.Error(), s.err) {
					t.Fatalf("got %v, want %q", err, s.err)
				}
				if nntest.Dump(g) != before {
					t.Error("the graph changed")
				}
				return
			}
			prove(t, g, 2, 0, s.edit)
			p, err := g.Plan(s.edit)
			if err != nil {
				t.Fatal(err)
			}
			before := nntest.Dump(g)
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if got := channelsOf(t, g, s.nodes...); !reflect.DeepEqual(got, s.want) {
				t.Errorf("channels of %v are %v, want %v", s.nodes, got, s.want)
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

// TestPlanReplays writes a plan and reads it for a copy of the model.
func TestPlanReplays(t *testing.T) {
	g := worked(t)
	p, err := g.Plan(func(e *nn.Edit) {
		e.Resize(e.Value("add"), 7, nn.ResizeOptions{})
		e.Resize(e.Value("add"), 5, nn.ResizeOptions{})
	})
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := nn.ReadPlan(nntest.Clone(t, g), strings.NewReader(string(js)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cuts() {
		found := false
		for _, d := range q.Cuts() {
			found = found || d.Initializer == c.Initializer && d.Axis == c.Axis && reflect.DeepEqual(d.Removed, c.Removed) && d.After == c.After
		}
		if !found {
			t.Errorf("%+v is not replayed", c)
		}
	}
	if !strings.Contains(p.String(), "multiply-adds") || !strings.Contains(p.String(), "8 → 7") {
		t.Error(p)
	}
	if _, err := nn.ReadPlan(g, strings.NewReader(`{"cuts":[{"initializer":"c1.weight","axis":0,"removed":[1]},{"initializer":"fc.bias","axis":0,"removed":[1]}]}`)); err == nil {
		t.Error("half an atom was cut")
	}
	p, err = g.Plan(func(e *nn.Edit) {
		e.Resize(e.Value("add"), 7, nn.ResizeOptions{})
		e.Insert(e.Value("add"), layers.Tanh{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if js, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	if _, err := nn.ReadPlan(g, strings.NewReader(string(js))); err == nil || !strings.Contains(err.Error(), "cannot be repeated") {
		t.Errorf("a plan with a new node is replayed without it: %v", err)
	}
}
