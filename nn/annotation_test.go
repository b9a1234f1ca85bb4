package nn_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/prune"
	"gorgonia.org/tensor"
)

func annotated(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("two convolutions")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,8,8]")
		for _, name := range []string{"first", "second", "third"} {
			x = e.Apply(nn.Sequential{layers.Conv{Out: 8, Kernel: []int{3}, Same: true, Name: name}, layers.ReLU{}}, x)
		}
		e.Output("y", x)
		e.Annotate(nn.Annotations{"prune": "no", "block": 1, "scale": 0.5, "sizes": []int{1, 2}}, nn.Glob("first*"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestAnnotations checks that annotations are found by key and value, follow the node through a cut
// and an undone plan, and can be removed.
func TestAnnotations(t *testing.T) {
	g := annotated(t)
	count := func(sel nn.Selector) (n int) {
		for range g.Nodes(sel) {
			n++
		}
		return n
	}
	for want, sels := range map[int][]nn.Selector{
		1: {nn.Annotated("prune"), nn.Annotated("prune", "yes", "no"), nn.Annotated("block", "1"), nn.Annotated("block", 1), nn.Glob("@prune=no"), nn.Glob("@block=1"),
			nn.Glob("@prune", "none"), nn.Annotated("scale", 0.5), nn.Annotated("sizes", "[1,2]")},
		0: {nn.Annotated("prune", "yes"), nn.Annotated("other"), nn.Glob("@prune=yes")},
	} {
		for i, s := range sels {
			if n := count(s); n != want {
				t.Errorf("selector %d selects %d nodes, want %d", i, n, want)
			}
		}
	}
	plan, err := g.Plan(func(e *nn.Edit) { e.RemoveAnnotations([]string{"prune"}, nn.Annotated("prune")) })
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(); err != nil || count(nn.Annotated("prune")) != 0 || count(nn.Annotated("block")) != 1 {
		t.Errorf("%v: not removed", err)
	}
	if err := plan.Undo(); err != nil || count(nn.Annotated("prune")) != 1 {
		t.Errorf("%v: not brought back", err)
	}
	c := nntest.Clone(t, g)
	pruner := prune.Pruner{Target: prune.Target{Channels: 0.5}, Keep: []nn.Selector{nn.Glob("@prune=no")}}
	small, err := pruner.Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := small.Apply(); err != nil {
		t.Fatal(err)
	}
	for n := range c.Nodes(nn.Annotated("prune")) {
		if got := n.In(1).Type().Shape[0].Size; got != 8 {
			t.Errorf("the node that is marked has %d channels", got)
		}
		if want := (nn.Annotations{"prune": "no", "block": int64(1), "scale": float32(0.5), "sizes": []int64{1, 2}}); !reflect.DeepEqual(n.Annotations(), want) {
			t.Errorf("annotations %v, want %v", n.Annotations(), want)
		}
	}
	if g.Check() != nil || c.Check() != nil {
		t.Error(g.Check(), c.Check())
	}
}

// TestAnchors checks that anchors are Identity nodes, which change no value, and that values become
// outputs under given names.
func TestAnchors(t *testing.T) {
	g := annotated(t)
	x := dtype.New(dtype.Float32, 1, 3, 8, 8)
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = float32(i%7) - 3
	}
	before, err := g.Eval(t.Context(), nn.Feed{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	err = g.Edit(func(e *nn.Edit) {
		e.ScopedAnchor(nn.Annotations{"role": "trunk"}, nn.Glob("first*"))
		e.ScopedAnchor(nil, nn.Ops("Relu"))
		e.Anchor(e.Outputs()[0], nn.Annotations{"end": 1})
		e.Anchor(e.Find(nn.Glob("second*")).Out(0), nil)
		e.AsOutput("middle", e.Find(nn.Glob("second*")).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Anchor_0_start", "Anchor_0_end", "Anchor_1_start", "Anchor_1_end", "Anchor", "Anchor_1"} {
		n, err := g.Node(name)
		if err != nil || n.Type() != "Identity" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range g.Nodes(nn.Annotated("role", "trunk")) {
		if !strings.HasPrefix(n.Name(), "Anchor_0_") {
			t.Errorf("%s is marked", n.Name())
		}
	}
	after, err := g.Eval(t.Context(), nn.Feed{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (dtype.Tolerance{}).Compare(after["y"], before["y"]); err != nil {
		t.Error(err)
	}
	if m, ok := after["middle"].(*tensor.Dense); !ok || m.Shape()[1] != 8 {
		t.Errorf("middle is %v", after["middle"])
	}
}

func TestAnnotationsRefused(t *testing.T) {
	for want, a := range map[string]nn.Annotations{
		"has no key":                     {"": 1},
		"want a string, a number":        {"k": struct{}{}},
		"has an attribute of that name":  {"strides": 1},
		"the selection matches no node ": nil,
	} {
		g := annotated(t)
		err := g.Edit(func(e *nn.Edit) {
			if a == nil {
				e.Annotate(nn.Annotations{"k": 1}, nn.Glob("none"))
				return
			}
			e.Annotate(a, nn.Glob("second*"))
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// The text of every annotation reads back as the annotation.
func TestAnnotationText(t *testing.T) {
	for _, v := range []any{"text", "", "1", "1.5", "[1]", `"quoted"`, "-", "a b", int64(-3), float32(2), float32(0.1), []int64{1, 2}, []float32{0.5, 2}, []string{"a", "1"}, "NaN", "1e400"} {
		if got := nn.ParseAnnotation(nn.AnnotationText(v)); !reflect.DeepEqual(got, v) {
			t.Errorf("%#v became %#v by way of %s", v, got, nn.AnnotationText(v))
		}
	}
}
