package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestNilHandles: what a failed edit gives is nil, and can be asked all that others can.
func TestNilHandles(t *testing.T) {
	var n *nn.Node
	if n.Name() != "" || n.Label() != "" || n.Type() != "" || n.Domain() != "" || n.Op() != nil || n.Config() != nil || n.Inputs() != nil || n.In(0) != nil ||
		n.Captured() != nil || n.Outputs() != nil || n.Out(0) != nil || n.Call() != nil || n.IsActivation() || n.Annotations() != nil {
		t.Error("a nil node says something")
	}
	if _, ok := n.WeightedSum(); ok {
		t.Error("a nil node is a layer")
	}
	var v *nn.Value
	if v.Name() != "" || v.Type().Present() || v.Known().Value != nil || v.Producer() != nil || v.Param() != nil || v.IsInput() || v.Users() != nil || v.Graph() != nil {
		t.Error("a nil value says something")
	}
	if err := nn.NewMachine(nil).RunAll(); err == nil || err.Error() != "engine: the graph is nil" {
		t.Errorf("a machine of no graph: %v", err)
	}
}

// TestHandles: inputs and outputs beyond the ends are absent, and a node without a name is known by its first output.
func TestHandles(t *testing.T) {
	g := readNetwork(t, "absent", "float32")
	n, err := g.Node("LH")
	if err == nil {
		t.Fatalf("%v has the name of an output that is absent in front of it", n)
	}
	v, err := g.Value("lh")
	if err != nil {
		t.Fatal(err)
	}
	n = v.Producer()
	for _, i := range []int{-1, len(n.Inputs())} {
		if n.In(i) != nil {
			t.Errorf("input %d is %s", i, n.In(i).Name())
		}
	}
	for i, want := range map[int]string{-1: "", 0: "", 1: "lh", 2: "lc", 3: ""} {
		if got := n.Out(i).Name(); got != want {
			t.Errorf("output %d is %q, want %q", i, got, want)
		}
	}
	nntest.Edit(t, g, func(e *nn.Edit) { e.RenameNode(node(e, n.Label()), "") })
	if n.Label() != "lh" {
		t.Errorf("the label is %q, want that of the first output there is", n.Label())
	}
	var users []string
	for _, u := range v.Users() {
		users = append(users, u.Type())
	}
	if !slices.Equal(users, []string{"Clip"}) {
		t.Errorf("%q is read by %v", v.Name(), users)
	}
	if w, _ := g.Value("one"); len(w.Users()) != 2 || w.Users()[0].Type() != "Unsqueeze" {
		t.Errorf("users are %v, want them in the order of the graph", labels(w.Users()))
	}
}

// TestFedOutputs: a node all of whose outputs are fed is left out, with what only it reads, although it has outputs that are absent.
func TestFedOutputs(t *testing.T) {
	g := readNetwork(t, "absent", "float32")
	in := nntest.Ramp(2, 4)
	all, err := g.Eval(t.Context(), nn.Feed{"x": in}, "d", "i", "y", "v", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		feed []string
		ok   bool
	}{
		{"y", []string{"d"}, true}, {"y", []string{"v", "a", "b"}, true}, {"y", []string{"v", "a"}, false}, {"i", []string{"i"}, true}, {"i", []string{"v"}, false}, {"i", []string{"y"}, false}, {"d", []string{"i", "d"}, true},
	} {
		feed := nn.Feed{}
		for _, name := range c.feed {
			feed[name] = all[name]
		}
		out, err := g.Eval(t.Context(), feed, c.want)
		if c.ok != (err == nil) {
			t.Errorf("%s of %v: %v", c.want, c.feed, err)
		} else if c.ok && result(out[c.want]) != result(all[c.want]) {
			t.Errorf("%s of %v is %s, want %s", c.want, c.feed, result(out[c.want]), result(all[c.want]))
		}
	}
}

// TestKnownAhead: what is known of values without a run ends with a size and with what is drawn or learned.
func TestKnownAhead(t *testing.T) {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		w := e.Param("w", initial.Zeros{}, 2, 2)
		e.Output("y", e.Node(op.Plain("MatMul"), e.Input("x", "float32[N,2]"), w).Out(0))
		number := func(n int) *nn.Value {
			return e.Node(std.ConstantConfig{Value: dtype.New(dtype.Float32, n)}).Out(0)
		}
		for _, c := range []struct {
			name  string
			v     *nn.Value
			known bool
		}{
			{"small", e.Node(op.Plain("Neg"), number(1024)).Out(0), true},
			{"large", e.Node(op.Plain("Neg"), number(1025)).Out(0), false},
			{"large results", e.Node(op.Plain("Expand"), number(1), e.Ints("shape", 5, 205)).Out(0), false},
			{"random", e.Node(std.RandomNormalConfig{Shape: []int{2}}).Out(0), false},
			{"learned", e.Node(op.Plain("Neg"), w).Out(0), false},
		} {
			if err := e.Err(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if (c.v.Known().Value != nil) != c.known {
				t.Errorf("%s is known: %v", c.name, !c.known)
			}
			e.Output(c.name, c.v)
		}
	})
}

// TestBodySays: what a subgraph says of itself, by what its nodes and those of subgraphs inside it do.
func TestBodySays(t *testing.T) {
	types := []string{"float32[N,4]", "float32[4]", "bool[]"}
	norm := func(e *nn.Edit, in []*nn.Value) *nn.Value {
		return e.Node(std.BatchNormalizationConfig{}, in[0], in[1], in[1], e.Const("mean", nntest.Ramp(4)), in[1]).Out(0)
	}
	noise := func(e *nn.Edit, in []*nn.Value) *nn.Value { return e.Node(std.RandomNormalLikeConfig{}, in[0]).Out(0) }
	plain := func(e *nn.Edit, in []*nn.Value) *nn.Value { return e.Node(op.Plain("Relu"), in[0]).Out(0) }
	inside := func(f func(e *nn.Edit, in []*nn.Value) *nn.Value) func(e *nn.Edit, in []*nn.Value) *nn.Value {
		return func(e *nn.Edit, in []*nn.Value) *nn.Value {
			branch := func(name string, f func(e *nn.Edit, in []*nn.Value) *nn.Value) *nn.Body {
				return e.Body(name, nil, in, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{f(e, in)} })
			}
			return e.Node(std.IfConfig{Then: branch("yes", plain), Else: branch("no", f)}, in[2]).Out(0)
		}
	}
	for _, c := range []struct {
		name   string
		f      func(e *nn.Edit, in []*nn.Value) *nn.Value
		random bool
		states []int
	}{
		{"a norm", norm, false, []int{1}}, {"noise", noise, true, nil}, {"neither", plain, false, nil},
		{"a norm inside", inside(norm), false, []int{1}}, {"noise inside", inside(noise), true, nil}, {"neither inside", inside(plain), false, nil},
	} {
		nntest.Edit(t, nn.New("m"), func(e *nn.Edit) {
			b := e.Body("body", types, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{c.f(e, in)} })
			if err := e.Err(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if b.Random() != c.random || !slices.Equal(b.States(), c.states) || b.Inputs() != len(types) {
				t.Errorf("%s: random %v, states %v of %d inputs", c.name, b.Random(), b.States(), b.Inputs())
			}
		})
	}
}
