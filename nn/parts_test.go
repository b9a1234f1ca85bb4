package nn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestJournalHolds: a journal keeps the latest edits, and of others as many as fit, by the memory that lists and parameters take.
func TestJournalHolds(t *testing.T) {
	const edits = 2000
	large := &Param{data: dtype.New(dtype.Float32, 10000)}
	for _, c := range []struct {
		name  string
		entry Change
		bytes int // of what the entry points to
	}{
		{"names", Change{Kind: NodeAdded}, 0},
		{"kept indices", Change{Kind: ParamCut, Keep: make([]int, 600)}, 600 * 8},
		{"three lists", Change{Kind: ParamCut, Keep: make([]int, 200), Like: make([]int, 200), Scale: make([]float64, 200)}, 600 * 8},
		{"a parameter that is gone", Change{Kind: ParamRemoved, Param: large}, 40000},
		{"a parameter that stays", Change{Kind: ParamChanged, Param: large}, 0},
	} {
		var j journal
		for v := range edits {
			j.add(v+1, []action{{change: &c.entry}, {}})
		}
		if first := j.changes[0].Version; first != j.forgotten+1 || j.changes[len(j.changes)-1].Version != edits || len(j.changes) != edits-j.forgotten {
			t.Errorf("%s: %d entries from version %d on, forgotten %d", c.name, len(j.changes), first, j.forgotten)
		}
		fit := edits
		if c.bytes > 0 {
			fit = max(journalEdits, journalBytes/c.bytes)
		}
		if n := len(j.changes); n > fit || n < min(fit, journalEdits) || c.bytes == 0 && n != fit {
			t.Errorf("%s: %d of %d entries are left, want at most %d", c.name, n, edits, fit)
		}
	}
}

func TestFree(t *testing.T) {
	v := &Value{}
	for want, c := range map[string][2]map[string]*Value{
		"x_1": {{"x": v}, {}}, "x_2": {{"x_1": v}, {}}, "x_3": {{"x_1": v}, {"x_2": v}}, "x_4": {{"x_1": v, "x_3": v}, {"x_2": v, "x_5": v}},
	} {
		if got := free("x", c[0], c[1]); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for n := 1; n < 8; n++ {
		for text, want := range map[string]string{"": "", "größe": "größe", "a": "a"} {
			if r := []rune(text); len(r) > n {
				want = string(r[:n-1]) + "…"
			}
			if got := shorten(text, n); got != want {
				t.Errorf("%q to %d: %q, want %q", text, n, got, want)
			}
		}
	}
}

// TestPartAt compares with the elements written one after the other.
func TestPartAt(t *testing.T) {
	vector := func(name string, n int) *Value {
		return &Value{name: name, typ: op.Type{DType: dtype.Int64}.With(op.D(n))}
	}
	n := &Node{in: []*Value{vector("a", 2), vector("none", 0), vector("b", 1), vector("c", 3)}}
	list := strings.Fields("a0 a1 b0 c0 c1 c2")
	for at, want := range list {
		if v, i := partAt(n, at); v == nil || fmt.Sprint(v.name, i) != want {
			t.Errorf("element %d is in %v at %d, want %s", at, v, i, want)
		}
	}
	if v, _ := partAt(n, len(list)); v != nil {
		t.Errorf("there is an element behind the last, of %s", v.name)
	}
	n.in[2] = &Value{typ: op.Type{DType: dtype.Int64}.With(op.Sym("N"))}
	if v, i := partAt(n, 1); v.name != "a" || i != 1 {
		t.Error("what comes before an open length is not found")
	}
	if v, _ := partAt(n, 3); v != nil {
		t.Error("an element behind an open length")
	}
}

// TestNameAndDoc: what the model is called and said to be, which counts as a change only where it is one.
func TestNameAndDoc(t *testing.T) {
	g := chained(t)
	version := g.Version()
	p, err := g.Plan(func(e *Edit) {
		e.SetName("other")
		e.SetDoc("text")
		e.SetName("other")
	})
	if err == nil {
		err = p.Apply()
	}
	if err != nil || g.Name() != "other" || g.Doc() != "text" || g.Version() != version+1 {
		t.Errorf("%q, %q at version %d: %v", g.Name(), g.Doc(), g.Version(), err)
	}
	if got := strings.Join(p.Steps(), "; "); got != "name = other; description = text" {
		t.Errorf("the changes are %s", got)
	}
	if err := p.Undo(); err != nil || g.Name() != "m" || g.Doc() != "" {
		t.Errorf("%q, %q after undoing: %v", g.Name(), g.Doc(), err)
	}
	err = g.Edit(func(e *Edit) {
		e.Failf("no")
		e.SetName("third")
		e.SetDoc("third")
	})
	if err == nil || g.Name() != "m" || g.Doc() != "" {
		t.Errorf("%q, %q after a failure: %v", g.Name(), g.Doc(), err)
	}
}

// TestSimplifyEmpty: lengths of 0 are known.
func TestSimplifyEmpty(t *testing.T) {
	g := New("empty")
	if err := g.Edit(func(e *Edit) {
		x := e.Input("x", "float32[0,3]")
		s := e.Node(op.Plain("Shape"), x).Out(0)
		e.Output("y", e.Node(op.Plain("Add"), e.Node(std.CastConfig{To: dtype.Float32}, s).Out(0), e.Const("c", tensor.New(tensor.WithBacking([]float32{1, 2})))).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(func(e *Edit) { e.Simplify() }); err != nil {
		t.Fatal(err)
	}
	if n := g.Summary().Total.Nodes; n != 1 {
		t.Errorf("%d nodes, want 1:\n%v", n, g.Summary())
	}
}

// TestResizes: cuts of one change of channels stand together, and so does what one group gained, whatever comes between.
func TestResizes(t *testing.T) {
	one, two := &growth{}, &growth{}
	cut := func(name string, round int) Cut { return Cut{Initializer: name, Removed: []int{0}, round: round} }
	grown := func(name string, g *growth, round int) Cut {
		return Cut{Initializer: name, grow: g, round: round, added: &Added{}}
	}
	for want, cuts := range map[string][]Cut{
		"":                                 {{Initializer: "a constant", round: 1}},
		"cut a b":                          {cut("a", 1), cut("b", 1)},
		"cut a; cut b c":                   {cut("a", 1), cut("b", 2), cut("c", 2)},
		"grow a b; grow c":                 {grown("a", one, 1), grown("b", one, 1), grown("c", two, 1)},
		"cut a; grow b; cut c":             {cut("a", 1), grown("b", one, 2), cut("c", 3)},
		"cut a; grow b c; grow d; cut e f": {cut("a", 1), grown("b", one, 2), {Initializer: "a constant", round: 2}, grown("c", one, 2), grown("d", two, 2), cut("e", 2), cut("f", 2)},
		"grow a":                           {grown("a", one, 1), {Initializer: "no axis", grow: one, round: 1}},
	} {
		var list []string
		for _, r := range resizes(cuts) {
			what := "cut"
			var names []string
			for _, c := range r.Cut {
				names = append(names, c.Initializer)
			}
			if r.Grow != nil {
				what = "grow"
				for _, x := range r.Grow.Axes {
					names = append(names, x.Initializer)
				}
			}
			list = append(list, what+" "+strings.Join(names, " "))
		}
		if got := strings.Join(list, "; "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
