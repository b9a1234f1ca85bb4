package nn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// grownLinear is two matrices with four features between them, and a plan's file that gives them two more.
func grownLinear(t *testing.T) (*nn.Graph, map[string]any) {
	t.Helper()
	g := model(t, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3]")
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 4, Name: "a"}, layers.ReLU{}, layers.Linear{Out: 2, Name: "b"}}, x))
	})
	p, err := g.Plan(func(e *nn.Edit) { e.Widen(e.Find(nn.Glob("a")), 1.5) })
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]any
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return g, f
}

// A plan's file that was changed by hand is read as it is now, or refused for what does not hold.
func TestPlanFileChangedByHand(t *testing.T) {
	g, _ := grownLinear(t)
	axes := func(f map[string]any) []any {
		return f["resizes"].([]any)[0].(map[string]any)["grow"].(map[string]any)["axes"].([]any)
	}
	axis := func(f map[string]any, k int) map[string]any { return axes(f)[k].(map[string]any) }
	grow := func(f map[string]any) map[string]any {
		return f["resizes"].([]any)[0].(map[string]any)["grow"].(map[string]any)
	}
	none := "plan: the graph has no group of channels that can grow as the plan says"
	for _, c := range []struct {
		name   string
		change func(f map[string]any)
		want   string
	}{
		{"as it was", func(map[string]any) {}, ""},
		{"no resizes", func(f map[string]any) { delete(f, "resizes") }, "plan: the file has neither cuts nor resizes"},
		{"no axes", func(f map[string]any) { grow(f)["axes"] = []any{} }, none},
		{"one axis too few", func(f map[string]any) { grow(f)["axes"] = axes(f)[1:] }, none},
		{"an axis of another group, too", func(f map[string]any) {
			grow(f)["axes"] = append(axes(f), map[string]any{"initializer": "b.bias", "axis": 0, "node": "b", "before": 2, "after": 4, "index": []int{2, 3}, "like": []int{0, 1}})
		}, none},
		{"another initializer", func(f map[string]any) { axis(f, 0)["initializer"] = "c.weight" }, `plan: the graph has no initializer "c.weight"`},
		{"the length before", func(f map[string]any) { axis(f, 0)["before"] = 5 }, "plan: input a.weight: want 5, got 4: axis 0"},
		{"the length after", func(f map[string]any) { axis(f, 0)["after"] = 7 }, none},
		{"an axis that is not there", func(f map[string]any) { axis(f, 0)["axis"] = 2 }, "plan: input a.weight: want 4, got 0: axis 2"},
		{"another axis", func(f map[string]any) { axis(f, 0)["axis"] = 1 }, "plan: input a.weight: want 4, got 3: axis 1"},
		{"another place", func(f map[string]any) { axis(f, 0)["index"] = []int{0, 1} }, none},
		{"no count", func(f map[string]any) { grow(f)["count"] = 0 }, none},
		{"another count", func(f map[string]any) { grow(f)["count"] = 3 }, none},
		{"a step more", func(f map[string]any) { f["steps"] = append(f["steps"].([]any), "add Relu 'r'") }, `"add Relu 'r'" does not change sizes`},
		{"of several", func(f map[string]any) { f["steps"], f["joined"] = append(f["steps"].([]any), "add Relu 'r'"), true }, ""},
		{"a cut", func(f map[string]any) { delete(f, "resizes"); f["cuts"], f["steps"] = cutsOf("a.weight", 0, 4, 1), nil }, ""},
		{"a cut of no stated length", func(f map[string]any) { delete(f, "resizes"); f["cuts"], f["steps"] = cutsOf("a.weight", 0, 0, 1), nil }, ""},
		{"a cut of another length", func(f map[string]any) { delete(f, "resizes"); f["cuts"] = cutsOf("a.weight", 0, 5, 1) }, "plan: input a.weight: want 5, got 4: axis 0"},
		{"a cut of the input's features", func(f map[string]any) { delete(f, "resizes"); f["cuts"] = cutsOf("a.weight", 1, 3, 1) }, "plan: input a.weight: index 1 of axis 1 cannot be cut alone"},
		{"a cut of all", func(f map[string]any) { delete(f, "resizes"); f["cuts"] = cutsOf("a.weight", 0, 4, 0, 1, 2, 3) }, "nothing would be left of axis"},
		{"not JSON", nil, "plan: invalid character"},
	} {
		_, f := grownLinear(t)
		text := []byte("no plan")
		if c.change != nil {
			c.change(f)
			var err error
			if text, err = json.Marshal(f); err != nil {
				t.Fatal(err)
			}
		}
		_, err := nn.ReadPlan(g, bytes.NewReader(text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// cutsOf takes indices of a weight, and the same of the bias and of what reads them.
func cutsOf(name string, axis, before int, removed ...int) []any {
	list := []any{map[string]any{"initializer": name, "axis": axis, "before": before, "removed": removed}}
	if axis == 0 {
		list = append(list, map[string]any{"initializer": "a.bias", "axis": 0, "before": 4, "removed": removed}, map[string]any{"initializer": "b.weight", "axis": 1, "before": 4, "removed": removed})
	}
	return list
}

// TestStaleAtoms checks that atoms are valid for one state of one graph.
func TestStaleAtoms(t *testing.T) {
	g, _ := grownLinear(t)
	other := nntest.Clone(t, g)
	old := g.Channels()
	atom := func(c *nn.Channels) *nn.Atom { return c.Groups()[0].Atoms[0] }
	const stale = "the graph was edited after Channels was called: call it again"
	for name, c := range map[string]struct {
		f    func(e *nn.Edit)
		want string
	}{
		"of this state":         {func(e *nn.Edit) { e.RemoveAtoms(atom(old)) }, ""},
		"of another graph":      {func(e *nn.Edit) { e.RemoveAtoms(atom(other.Channels())) }, stale},
		"of before":             {func(e *nn.Edit) { e.RenameNode(e.Find(nn.Glob("a")), "z"); e.RemoveAtoms(atom(old)) }, stale},
		"of the edit":           {func(e *nn.Edit) { e.RenameNode(e.Find(nn.Glob("a")), "z"); e.RemoveAtoms(atom(e.Channels())) }, ""},
		"of two analyses":       {func(e *nn.Edit) { e.RemoveAtoms(atom(old), e.Channels().Groups()[0].Atoms[1]) }, "the atoms come from different calls of Channels"},
		"of an analysis reused": {func(e *nn.Edit) { e.RemoveAtoms(atom(e.Channels()), e.Channels().Groups()[0].Atoms[1]) }, ""},
		"none":                  {func(e *nn.Edit) { e.RemoveAtoms() }, ""},
	} {
		_, err := g.Plan(c.f)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	nntest.Edit(t, g, func(e *nn.Edit) { e.SetDoc("another version") })
	if _, err := g.Plan(func(e *nn.Edit) { e.RemoveAtoms(atom(old)) }); err == nil || !strings.Contains(err.Error(), stale) {
		t.Errorf("of another version: %v", err)
	}
}

// TestGlobs checks that globs match nodes by name, operator and parameters; an absent output matches nothing.
func TestGlobs(t *testing.T) {
	g := nn.New("globs")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		y := e.Apply(layers.Linear{Out: 3, Name: "fc/one"}, x)
		e.RenameValue(y, "logits")
		e.RenameNode(y.Producer(), "classifier")
		n := e.NodeN(op.Plain("Dropout"), 1, y)
		e.RenameNode(n, "drop")
		e.Output(n.Out(0).Name(), n.Out(0))
	})
	for pattern, want := range map[string]string{
		"classifier": "[classifier]", "logits": "[classifier]", "fc/one.weight": "[classifier]", "fc*bias": "[classifier]", "drop": "[drop]", "x": "[]", "*": "[classifier drop]", "[": "[]", "log": "[]",
	} {
		var got []string
		for n := range g.Nodes(nn.Glob(pattern)) {
			got = append(got, n.Name())
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", pattern, got, want)
		}
	}
}

// TestUniformBounds checks the bounds of Uniform: both zero mean −1 and 1, a single zero is a bound.
func TestUniformBounds(t *testing.T) {
	for _, c := range []struct {
		init      initial.Uniform
		low, high float64
	}{{initial.Uniform{}, -1, 1}, {initial.Uniform{High: 5}, 0, 5}, {initial.Uniform{Low: -3}, -3, 0}, {initial.Uniform{Low: 2, High: 2.5}, 2, 2.5}} {
		v := make([]float64, 1000)
		c.init.Fill(v, []int{1000}, rand.New(rand.NewPCG(1, 2)))
		span := c.high - c.low
		if least, most := slices.Min(v), slices.Max(v); least < c.low || most >= c.high || least > c.low+span/20 || most < c.high-span/20 {
			t.Errorf("%+v draws from %g to %g", c.init, least, most)
		}
	}
}

// A context that has ended stops runs, those too that have nothing to compute.
func TestEndedContext(t *testing.T) {
	g := model(t, func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N]")))
		e.Output("c", e.Node(op.Plain("Identity"), e.Ints("k", 3)).Out(0))
	})
	ctx, cancel := context.WithCancel(t.Context())
	for _, want := range []string{"y", "c", "x"} {
		if _, err := g.Eval(ctx, nn.Feed{"x": dtype.New(dtype.Float32, 2)}, want); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
	cancel()
	for _, want := range []string{"y", "c", "x"} {
		if _, err := g.Eval(ctx, nn.Feed{"x": dtype.New(dtype.Float32, 2)}, want); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that the context ended", want, err)
		}
	}
}
