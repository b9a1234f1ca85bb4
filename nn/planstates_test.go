package nn_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// A plan is applied and taken back in turns, outside of edits, and on the graph that it was made for; otherwise it is refused and nothing changes.
func TestPlanStates(t *testing.T) {
	g := nntest.Small(t)
	plan := func(g *nn.Graph, f func(e *nn.Edit)) *nn.Plan {
		t.Helper()
		p, err := g.Plan(f)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	insert := func(e *nn.Edit) { e.Insert(e.Value("act"), layers.Sigmoid{}) }
	refused := func(what string, f func() error, want string) {
		t.Helper()
		before := nntest.Dump(g)
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
		if got := nntest.Dump(g); got != before {
			t.Errorf("%s: it changed:\n%s", what, diff(before, got))
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, p := range map[string]*nn.Plan{"there is no plan": nil, "is zero": {}} {
		refused("Apply", p.Apply, what)
		refused("Undo", p.Undo, what)
		refused("MarshalJSON", func() error { _, err := p.MarshalJSON(); return err }, what)
	}
	p, other := plan(g, insert), plan(g, func(e *nn.Edit) { e.SetName("other") })
	refused("Undo before Apply", p.Undo, "is not applied")
	must(g.Edit(func(e *nn.Edit) {
		for _, f := range []func() error{p.Apply, p.Undo} {
			if f() == nil {
				t.Error("applied inside an edit")
			}
		}
	}))
	must(p.Apply())
	refused("Apply twice", p.Apply, "is applied already")
	refused("Apply of another", other.Apply, "was made for version")
	must(p.Undo())
	refused("Undo twice", p.Undo, "is not applied")
	must(p.Apply())
	must(g.Edit(func(e *nn.Edit) { e.SetMeta("k", "v") }))
	refused("Undo after an edit", p.Undo, "the graph was edited since")
}

// Plans are joined that were applied to one graph, the second right after the first. The joined one has the changes of both, in its file too, and taking it
// back is no version's undoing.
func TestJoinStates(t *testing.T) {
	grow := func(e *nn.Edit) { e.Resize(e.Value("add"), 9, nn.ResizeOptions{Copy: true}) }
	cut := func(e *nn.Edit) { e.RemoveChannels(node(e, "c1"), 1); e.RemoveChannels(node(e, "c1"), 0) }
	g, twin := worked(t), worked(t)
	plan := func(g *nn.Graph, f func(e *nn.Edit), apply bool) *nn.Plan {
		t.Helper()
		p, err := g.Plan(f)
		if err == nil && apply {
			err = p.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := nntest.Dump(g)
	first := plan(g, grow, true)
	unapplied, elsewhere := plan(g, cut, false), plan(twin, grow, true)
	second := plan(g, cut, true)
	third := plan(g, func(e *nn.Edit) { e.SetMeta("k", "v") }, true)
	for what, p := range map[string][2]*nn.Plan{"nil": {first, nil}, "not applied": {first, unapplied}, "of another graph": {first, elsewhere}, "not next": {first, third}, "backwards": {second, first}, "a zero plan": {{}, first}, "itself": {first, first}} {
		if _, err := p[0].Join(p[1]); err == nil || !strings.Contains(err.Error(), "two plans can be joined only when both are applied") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := third.Undo(); err != nil {
		t.Fatal(err)
	}
	after := nntest.Dump(g)
	g = worked(t)
	first = plan(g, grow, true)
	both, err := first.Join(plan(g, cut, true))
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(both)
	if err != nil {
		t.Fatal(err)
	}
	twin = worked(t)
	again, err := nn.ReadPlan(twin, bytes.NewReader(js))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Apply(); err != nil || nntest.Dump(twin) != after {
		t.Errorf("read from its file: %v\n%s", err, diff(after, nntest.Dump(twin)))
	}
	version := g.Version()
	if err := both.Undo(); err != nil || nntest.Dump(g) != before {
		t.Errorf("taken back: %v", err)
	}
	n := 0
	for c := range g.Changes(version) {
		if n++; c.Undoes != 0 {
			t.Errorf("%v undoes version %d of several", c.Kind, c.Undoes)
		}
	}
	if n == 0 {
		t.Error("the journal has nothing")
	}
}

// A plan's file has the cost before and after if it changes sizes, and only then.
func TestPlanFileCosts(t *testing.T) {
	for want, f := range map[bool]func(e *nn.Edit){true: func(e *nn.Edit) { e.RemoveChannels(node(e, "c1"), 1) }, false: func(e *nn.Edit) { e.SetMeta("k", "v") }} {
		p, err := worked(t).Plan(f)
		if err != nil {
			t.Fatal(err)
		}
		js, err := json.Marshal(p)
		var file map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(js, &file)
		}
		if err != nil || (file["before"] != nil) != want || (file["after"] != nil) != want {
			t.Errorf("%v: %s", err, js)
		}
	}
}

// The journal of a plan that is taken back has cuts with the indices that lead back, and names the other way around.
func TestUndoneCutsAndNames(t *testing.T) {
	g := worked(t)
	p, err := g.Plan(func(e *nn.Edit) {
		e.RemoveChannels(node(e, "c1"), 1)
		e.RenameValue(e.Value("add"), "sum")
	})
	if err != nil {
		t.Fatal(err)
	}
	var forth, back []nn.Change
	version := g.Version()
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	for c := range g.Changes(version) {
		forth = append(forth, c)
	}
	if err := p.Undo(); err != nil {
		t.Fatal(err)
	}
	for c := range g.Changes(version + 1) {
		back = append([]nn.Change{c}, back...)
	}
	cuts, names := 0, 0
	for i, c := range forth {
		b := back[i]
		if c.Old != "" {
			if names++; b.Name != c.Old || b.Old != c.Name {
				t.Errorf("%q to %q is taken back as %q to %q", c.Old, c.Name, b.Old, b.Name)
			}
		}
		if c.Kind != nn.ParamCut {
			continue
		}
		if cuts++; b.Size != len(c.Keep) || len(b.Keep) != c.Size {
			t.Errorf("%d of %d indices are taken back as %d of %d", len(c.Keep), c.Size, len(b.Keep), b.Size)
			continue
		}
		for to, k := range c.Keep {
			if b.Keep[k] != to {
				t.Errorf("index %d became %d, and comes back as %d", k, to, b.Keep[k])
			}
		}
	}
	if cuts == 0 || names == 0 {
		t.Errorf("%d cuts, %d names", cuts, names)
	}
}

// A copy has its own subgraphs, one for each of the original's, whose operator-set versions are those of the copy: an edit of either leaves the other as it
// was, inside too.
func TestCopiedBodies(t *testing.T) {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x, flag := e.Input("x", "float32[2]"), e.Input("flag", "bool[]")
		body := func(name, do string) *nn.Body {
			return e.Body(name, nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{e.Node(op.Plain(do), in[0]).Out(0)}
			})
		}
		e.Output("y", e.Node(std.IfConfig{Then: body("then", "Neg"), Else: body("else", "Abs")}, flag).Out(0))
	})
	for name, copied := range map[string]func() *nn.Graph{"Clone": func() *nn.Graph { return nntest.Clone(t, g) }, "Fork": func() *nn.Graph { f, _ := g.Fork(); return f }} {
		before := nntest.Dump(g)
		c := copied()
		own := map[*nn.Graph]bool{}
		graphs(g, own)
		n := 0
		each := func(f func(b *nn.Body)) {
			for x := range c.Nodes() {
				for _, b := range x.Bodies() {
					f(b)
				}
			}
		}
		each(func(b *nn.Body) {
			n++
			if own[b.Graph] {
				t.Errorf("%s: %s is the original's", name, b.Graph.Name())
			}
		})
		if err := c.Edit(func(e *nn.Edit) { e.SetOpset(17) }); err != nil {
			t.Fatal(err)
		}
		each(func(b *nn.Body) {
			if v := b.Graph.Opsets()[""]; v != 17 {
				t.Errorf("%s: %s has operator set %d", name, b.Graph.Name(), v)
			}
		})
		if err := c.Check(); err != nil || n != 2 {
			t.Errorf("%s: %d bodies, %v", name, n, err)
		}
		if got := nntest.Dump(g); got != before {
			t.Errorf("%s: an edit of the copy changed the original:\n%s", name, diff(before, got))
		}
	}
}
