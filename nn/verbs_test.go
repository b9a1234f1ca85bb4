package nn_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
)

// node finds a node by its label; the test fails when there is none.
func node(e *nn.Edit, label string) *nn.Node {
	n, err := find(e, label)
	e.Fail(err)
	return n
}

func find(e *nn.Edit, label string) (*nn.Node, error) {
	for _, n := range e.Nodes() {
		if n.Label() == label {
			return n, nil
		}
	}
	return nil, errors.New("no node " + label)
}

var verbCases = []struct {
	name string
	edit func(e *nn.Edit)
	adds string // lines of the dump that are new, in part
	same bool   // what the model computes stays
}{
	{"insert", func(e *nn.Edit) { e.Insert(e.Value("act"), layers.Sigmoid{}) }, `Sigmoid "sigmoid1"(act float32[N,4,8,8])`, false},
	{"insert the identity", func(e *nn.Edit) { e.Insert(e.Value("act"), layers.BatchNorm{}) }, `Conv "body"(batchnorm1`, true},
	{"insert towards one user", func(e *nn.Edit) { e.Insert(e.Value("act"), layers.Sigmoid{}, node(e, "body")) }, `Conv "body"(sigmoid1`, false},
	{"insert before the output", func(e *nn.Edit) { e.Insert(e.Value("scores"), layers.Dropout{P: 0.5}) }, "-> scores float32[N,10]", true},
	{"insert behind an input", func(e *nn.Edit) { e.Insert(e.Value("x"), layers.Sigmoid{}) }, `Conv "stem"(sigmoid1`, false},
	{"remove", func(e *nn.Edit) { e.Remove(node(e, "act")) }, `Conv "body"(norm`, false},
	{"remove before the output", func(e *nn.Edit) { e.Remove(node(e, "prob")) }, "-> scores float32[N,10]", false},
	{"remove with its parameters", func(e *nn.Edit) { e.Remove(node(e, "norm")) }, `Relu "act"(stem`, false},
	{"replace", func(e *nn.Edit) { e.Replace(node(e, "act"), layers.SiLU{Name: "swish"}) }, `Mul "swish"`, false},
	{"replace with a smaller output", func(e *nn.Edit) {
		e.Replace(node(e, "fc"), layers.Linear{Out: 3, Name: "fc3"})
	}, "scores float32[N,3]", false},
	{"rewire", func(e *nn.Edit) { e.Rewire(e.Value("act"), e.Value("norm"), node(e, "body")) }, `Conv "body"(norm`, false},
	{"rewire an output", func(e *nn.Edit) { e.Rewire(e.Value("scores"), e.Value("features")) }, "out ", false},
	{"configure", func(e *nn.Edit) { e.Configure(node(e, "prob"), std.SoftmaxConfig{Axis: new(int)}) }, "axis", false},
	{"freeze", func(e *nn.Edit) { e.Freeze(nn.Ops("Conv")) }, "stem.weight float32[4,3,3,3] weight frozen=true", true},
	{"role", func(e *nn.Edit) { e.SetRole(e.Value("fc.bias"), nn.Constant) }, "fc.bias float32[10] constant", true},
	{"rename", func(e *nn.Edit) { e.RenameValue(e.Value("act"), "activated") }, "activated float32[N,4,8,8]", true},
	{"rename an output", func(e *nn.Edit) { e.RenameValue(e.Value("scores"), "p") }, "p float32[N,10]", true},
	{"rename a node", func(e *nn.Edit) { e.RenameNode(node(e, "act"), "relu") }, `Relu "relu"`, true},
	{"rename in bulk", func(e *nn.Edit) { e.Rename(func(s string) string { return "net/" + s }) }, `Conv "net/stem"(x float32[N,3,8,8], net/stem.weight`, true},
	{"add an output", func(e *nn.Edit) { e.Output("hidden", e.Value("act")) }, "hidden float32[N,4,8,8]", true},
	{"add an input as output", func(e *nn.Edit) { e.Output("again", e.Value("x")) }, `Identity ""(x`, true},
	{"remove an output", func(e *nn.Edit) { e.RemoveOutput("scores") }, "out features float32[N,4]\n", true},
	{"add and remove an input", func(e *nn.Edit) { e.Input("u", "float32[N]"); e.RemoveInput("u") }, "", true},
	{"metadata", func(e *nn.Edit) { e.SetLabels("a", "b") }, `graft.labels:["a","b"]`, true},
	{"tensor", func(e *nn.Edit) { e.SetData(e.Value("fc.bias"), nntest.Ramp(10)) }, "", false},
	{"nothing", func(e *nn.Edit) {}, "", true},
}

// TestVerbs applies each verb, then takes it back: plan, apply, undo, apply again.
func TestVerbs(t *testing.T) {
	x := nntest.Ramp(2, 3, 8, 8)
	for _, c := range verbCases {
		t.Run(c.name, func(t *testing.T) {
			g := nntest.Small(t)
			before, want := nntest.Dump(g), nntest.Run(t, g, x)
			same := func(when string) {
				t.Helper()
				if got := nntest.Dump(g); got != before {
					t.Fatalf("%s the graph differs:\n%s", when, diff(before, got))
				}
			}
			p, err := g.Plan(c.edit)
			if err != nil {
				t.Fatal(err)
			}
			same("after planning")
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			after := nntest.Dump(g)
			if c.adds != "" && !strings.Contains(diff(before, after), c.adds) {
				t.Errorf("no %q in what changed:\n%s", c.adds, diff(before, after))
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			got := nntest.Run(t, g, x)
			if c.same {
				nntest.Near(t, "outputs", got, want, 1e-6)
			}
			if err := p.Apply(); err == nil || err.Error() != "plan: is applied already" {
				t.Errorf("applying twice: %v", err)
			}
			if err := p.Undo(); err != nil {
				t.Fatal(err)
			}
			same("after undoing")
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			nntest.Near(t, "outputs after undoing", nntest.Run(t, g, x), want, 0)
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if again := nntest.Dump(g); again != after {
				t.Errorf("applying again differs:\n%s", diff(after, again))
			}
		})
	}
}

func TestVerbRefusals(t *testing.T) {
	other := nntest.Small(t)
	cases := []struct {
		name string
		edit func(e *nn.Edit)
		want string
	}{
		{"no value", func(e *nn.Edit) { e.Value("stam") }, `edit: no value is named "stam": did you mean "stem", "sum"?`},
		{"insert what shrinks", func(e *nn.Edit) { e.Insert(e.Value("act"), layers.MaxPool{Kernel: []int{2}}, node(e, "body")) },
			"edit: Add sum: shapes [[N,4,8,8] [N,4,4,4]] do not broadcast: dimension 2 is 8 and 4"},
		{"insert towards a stranger", func(e *nn.Edit) { e.Insert(e.Value("act"), layers.ReLU{}, node(e, "fc")) }, `edit: node fc does not read "act"`},
		{"remove what changes the shape", func(e *nn.Edit) { e.Remove(node(e, "pool")) },
			"edit: GlobalAveragePool pool: cannot be removed: input sum: want float32[N,4,1,1], got float32[N,4,8,8]"},
		{"replace by another rank", func(e *nn.Edit) { e.Replace(node(e, "pool"), layers.Flatten{}) },
			"edit: GlobalAveragePool pool: cannot be replaced: input flatten1: want float32[N,4,1,1], got float32[N,256]"},
		{"rewire into a cycle", func(e *nn.Edit) { e.Rewire(e.Value("x"), e.Value("act"), node(e, "stem")) },
			"edit: Conv stem: is computed from its own result: the graph has a cycle"},
		{"rewire to another width", func(e *nn.Edit) { e.Rewire(e.Value("act"), e.Value("x"), node(e, "body")) }, "edit: Conv body:"},
		{"configure as another operator", func(e *nn.Edit) { e.Configure(node(e, "act"), std.SoftmaxConfig{}) },
			"edit: node act is a Relu, the attributes are those of Softmax"},
		{"rename to a taken name", func(e *nn.Edit) { e.RenameValue(e.Value("act"), "norm") }, `edit: the name "norm" is taken`},
		{"rename all to one", func(e *nn.Edit) { e.Rename(func(string) string { return "a" }) }, `edit: the name "a" is taken`},
		{"output under a taken name", func(e *nn.Edit) { e.Output("norm", e.Value("act")) }, `edit: the name "norm" is taken`},
		{"remove no output", func(e *nn.Edit) { e.RemoveOutput("act") }, `edit: "act" is not an output`},
		{"remove all outputs", func(e *nn.Edit) { e.RemoveOutput("scores"); e.RemoveOutput("features") }, `edit: "features" is the only output`},
		{"remove a read input", func(e *nn.Edit) { e.RemoveInput("x") }, `edit: input "x" is read by stem`},
		{"remove no input", func(e *nn.Edit) { e.RemoveInput("act") }, `edit: "act" is not an input`},
		{"input of no type", func(e *nn.Edit) { e.Input("u", "floot32[N]") }, "edit: "},
		{"tensor of another shape", func(e *nn.Edit) { e.SetData(e.Value("fc.bias"), nntest.Ramp(11)) }, "edit: Gemm fc:"},
		{"tensor for no parameter", func(e *nn.Edit) { e.SetData(e.Value("act"), nntest.Ramp(11)) }, `edit: "act" is not a parameter`},
		{"a stranger's value", func(e *nn.Edit) { v, _ := other.Value("act"); e.Insert(v, layers.ReLU{}) }, `edit: value "act" is not in this graph`},
		{"a stranger's node", func(e *nn.Edit) { n, _ := other.Node("act"); e.Remove(n) }, `edit: node "act" is not in this graph`},
		{"nil", func(e *nn.Edit) { e.Remove(nil) }, "edit: a node is nil"},
		{"input without a name", func(e *nn.Edit) { e.Input("", "float32[N]") }, "edit: an input needs a name"},
		{"output without a name", func(e *nn.Edit) { e.Output("", e.Value("act")) }, `edit: value "act" needs a name`},
		{"no operator", func(e *nn.Edit) { e.Node(nil, e.Value("x")) }, "edit: an operator is nil"},
		{"no initial values", func(e *nn.Edit) { e.Param("p", nil, 3) }, `edit: parameter "p" has no initial values`},
		{"too much", func(e *nn.Edit) { e.Param("p", initial.Zeros{}, 1<<40) }, `edit: parameter "p" of shape [1099511627776]:`},
		{"the first error sticks", func(e *nn.Edit) {
			e.SetMeta("k", "v")
			e.Failf("first")
			e.Failf("second")
			e.Remove(nil)
			e.Output("o", e.Apply(nn.Sequential{layers.ReLU{}, layers.Attention{}, layers.LSTM{}}, e.Value("none")))
		}, "edit: first"},
		{"late", func(e *nn.Edit) {
			e.Head(nn.Head{Labels: []string{"a", "b"}, Output: "scores"})
			e.Rename(func(s string) string { return s + "'" })
			e.Freeze()
			e.Failf("late")
		}, "edit: late"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := nntest.Small(t)
			before := nntest.Dump(g)
			err := g.Edit(c.edit)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(c.want, ":") && !strings.HasSuffix(c.want, " ") && err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if after := nntest.Dump(g); after != before {
				t.Errorf("the refused edit changed the graph:\n%s", diff(before, after))
			}
			if err := g.Check(); err != nil {
				t.Error(err)
			}
			if g.Version() != nntest.Small(t).Version() {
				t.Error("the refused edit counts as a version")
			}
		})
	}
}

// TestEditIsOver: an Edit that was kept changes nothing once its function has returned.
func TestEditIsOver(t *testing.T) {
	g := nntest.Small(t)
	var kept *nn.Edit
	nntest.Edit(t, g, func(e *nn.Edit) { kept = e })
	before := nntest.Dump(g)
	kept.Insert(kept.Value("act"), layers.Tanh{})
	if err := kept.Err(); err == nil || err.Error() != "edit: the edit is over: begin another" {
		t.Errorf("the error is %v", err)
	}
	if after := nntest.Dump(g); after != before {
		t.Errorf("the graph differs:\n%s", diff(before, after))
	}
}

// TestPanicInEdit: a panic of the caller's passes through, and the graph is as it was.
func TestPanicInEdit(t *testing.T) {
	g := nntest.Small(t)
	before := nntest.Dump(g)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = g.Edit(func(e *nn.Edit) { e.Remove(node(e, "act")); panic("mine") })
	}()
	if after := nntest.Dump(g); after != before {
		t.Errorf("the graph differs:\n%s", diff(before, after))
	}
	nntest.Edit(t, g, func(e *nn.Edit) { e.Remove(node(e, "act")) })
}

func TestStalePlan(t *testing.T) {
	g := nntest.Small(t)
	p, err := g.Plan(func(e *nn.Edit) { e.Remove(node(e, "act")) })
	if err != nil {
		t.Fatal(err)
	}
	nntest.Edit(t, g, func(e *nn.Edit) { e.Insert(e.Value("act"), layers.Tanh{}) })
	if err := p.Apply(); err == nil || err.Error() != "plan: was made for version 1 of the graph, which is at 2" {
		t.Errorf("applying a stale plan: %v", err)
	}
	if err := p.Undo(); err == nil || err.Error() != "plan: is not applied" {
		t.Errorf("undoing what is not applied: %v", err)
	}
}

// TestRunWhileEditing runs a graph in several goroutines while another edits it back and forth.
func TestRunWhileEditing(t *testing.T) {
	g := nntest.Small(t)
	x := nntest.Ramp(1, 3, 8, 8)
	p, err := g.Plan(func(e *nn.Edit) { e.Insert(e.Value("act"), layers.BatchNorm{}) })
	if err != nil {
		t.Fatal(err)
	}
	want := nntest.Run(t, g, x)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				out, err := g.Run(context.Background(), x)
				if err != nil {
					t.Error(err)
					return
				}
				got, _ := dtype.ToSlice[float32](out[0])
				for i := range got {
					if d := float64(got[i]) - want[i]; d > 1e-6 || d < -1e-6 {
						t.Errorf("element %d is %g, want %g", i, got[i], want[i])
						return
					}
				}
				g.Summary()
				nntest.Clone(t, g)
			}
		})
	}
	for range 10 {
		if err := p.Apply(); err != nil {
			t.Error(err)
		}
		if err := p.Undo(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
