package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestClone(t *testing.T) {
	g := nntest.Small(t)
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Freeze(nn.Glob("stem"))
		e.SetMeta("k", "v")
		e.SetRole(e.Value("fc.bias"), nn.Constant)
	})
	x := nntest.Ramp(2, 3, 8, 8)
	before, want := nntest.Dump(g), nntest.Run(t, g, x)
	c := nntest.Clone(t, g)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if got := nntest.Dump(c); got != before {
		t.Fatalf("the clone differs:\n%s", diff(before, got))
	}
	nntest.Near(t, "clone", nntest.Run(t, c, x), want, 0)

	nntest.Edit(t, c, func(e *nn.Edit) {
		e.Insert(e.Value("act"), layers.Sigmoid{})
		e.Head(nn.Head{Labels: []string{"a", "b"}, Output: "scores"})
		e.Unfreeze()
	})
	for p := range c.Params() {
		clear(p.Data().Data().([]float32))
	}
	if got := nntest.Dump(g); got != before {
		t.Errorf("changing the clone changed the original:\n%s", diff(before, got))
	}
}

func TestFork(t *testing.T) {
	g := nntest.Small(t)
	before := nntest.Dump(g)
	f, origin := g.Fork()
	if got := nntest.Dump(f); got != before {
		t.Fatalf("the fork differs:\n%s", diff(before, got))
	}
	n := 0
	for p := range f.Params() {
		o := origin[p]
		if o == nil || o == p || o.Data() != p.Data() || o.Name() != p.Name() {
			t.Errorf("%s is not a copy that shares its tensor", p.Name())
		}
		if v, err := g.Value(p.Name()); err != nil || v.Param() != o {
			t.Errorf("%s does not lead back to the original", p.Name())
		}
		n++
	}
	if n != len(origin) {
		t.Errorf("%d parameters, the map has %d", n, len(origin))
	}
	nntest.Edit(t, f, func(e *nn.Edit) {
		e.Output("loss", e.Node(op.Plain("Neg"), e.Value("scores")).Out(0))
	})
	if got := nntest.Dump(g); got != before {
		t.Errorf("a loss on the fork changed the original:\n%s", diff(before, got))
	}
	w, err := f.Value("fc.weight")
	if err != nil {
		t.Fatal(err)
	}
	w.Param().Data().Data().([]float32)[0] = 42
	o, _ := g.Value("fc.weight")
	if o.Param().Data().Data().([]float32)[0] != 42 {
		t.Error("training the fork does not train the original")
	}
}

// TestCloneModels clones models with subgraphs, unknown operators and whatever else files hold.
func TestCloneModels(t *testing.T) {
	for _, model := range []string{"silero-vad-16k", "iris-random-forest", "mnist-int8-qdq", "torch-lstm", "squeezenet1.1", "yunet-n-320"} {
		t.Run(model, func(t *testing.T) {
			g := shared(t, model)
			c := nntest.Clone(t, g)
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			if a, b := nntest.Dump(g), nntest.Dump(c); a != b {
				t.Errorf("the clone differs:\n%s", diff(a, b))
			}
			own := map[*nn.Graph]bool{}
			graphs(g, own)
			for n := range c.Nodes() {
				for _, b := range n.Bodies() {
					if own[b.Graph] {
						t.Errorf("%s shares its subgraph with the original", n.Label())
					}
				}
			}
		})
	}
}

func graphs(g *nn.Graph, seen map[*nn.Graph]bool) {
	seen[g] = true
	for n := range g.Nodes() {
		for _, b := range n.Bodies() {
			graphs(b.Graph, seen)
		}
	}
}

func TestExtract(t *testing.T) {
	g := nntest.Small(t)
	x := nntest.Ramp(2, 3, 8, 8)
	before, want := nntest.Dump(g), nntest.Run(t, g, x)
	trunk, err := g.Extract(nil, []string{"act"})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := g.Extract([]string{"act"}, []string{"features"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*nn.Graph{trunk, rest} {
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if got := nntest.Trained(rest); got != "body.bias body.weight" {
		t.Errorf("the second part has %s", got)
	}
	if got := rest.Inputs()[0].Type().String(); got != "float32[N,4,8,8]" {
		t.Errorf("the second part takes %s", got)
	}
	joined, err := nn.Join(trunk, rest, map[string]string{"act": "act"})
	if err != nil {
		t.Fatal(err)
	}
	if err := joined.Check(); err != nil {
		t.Fatal(err)
	}
	nntest.Near(t, "both parts joined", nntest.Run(t, joined, x), want, 0)
	if got := nntest.Dump(g); got != before {
		t.Errorf("the original changed:\n%s", diff(before, got))
	}
}

// TestExtractModel cuts SqueezeNet in two and joins the halves again.
func TestExtractModel(t *testing.T) {
	g := shared(t, "squeezenet1.1")
	x := nntest.Ramp(g.Inputs()[0].Type().Sizes()...)
	out := g.Outputs()[0].Name()
	a, err := g.Extract(nil, []string{"fire5/concat_1"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Extract([]string{"fire5/concat_1"}, []string{out})
	if err != nil {
		t.Fatal(err)
	}
	j, err := nn.Join(a, b, map[string]string{"fire5/concat_1": "fire5/concat_1"})
	if err != nil {
		t.Fatal(err)
	}
	nntest.Near(t, "halves", nntest.Run(t, j, x), nntest.Run(t, g, x), 0)
	if g.Summary().Total != j.Summary().Total {
		t.Errorf("totals %+v, want %+v", j.Summary().Total, g.Summary().Total)
	}
}

func TestExtractRefusals(t *testing.T) {
	cases := []struct {
		from, to []string
		want     string
	}{
		{nil, []string{"nothing"}, `extract: no value is named "nothing"`},
		{[]string{"act"}, nil, "extract: no output is named"},
		{[]string{"body"}, []string{"sum"}, `extract: [sum] also depend on input "x": name it, or a value computed from it`},
		{[]string{"act", "x"}, []string{"pool"}, `extract: [pool] do not depend on "x"`},
		{[]string{"act", "act"}, []string{"pool"}, `extract: "act" is named twice`},
	}
	for _, c := range cases {
		_, err := nntest.Small(t).Extract(c.from, c.to)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v to %v: error %v\nwant %s", c.from, c.to, err, c.want)
		}
	}
}

// TestJoin puts a model after another copy of itself's input: all names collide.
func TestJoin(t *testing.T) {
	g := nn.New("half")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Apply(layers.Linear{Out: 4, Name: "fc"}, x))
		e.Output("z", e.Apply(layers.ReLU{}, x))
	})
	j, err := nn.Join(g, g, map[string]string{"y": "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Check(); err != nil {
		t.Fatal(err)
	}
	var outs []string
	for _, v := range j.Outputs() {
		outs = append(outs, v.Name())
	}
	if got := strings.Join(outs, " "); got != "z y_1 z_1" {
		t.Errorf("outputs %s", got)
	}
	if got := nntest.Trained(j); got != "fc.bias fc.bias_1 fc.weight fc.weight_1" {
		t.Errorf("parameters %s", got)
	}
	x := nntest.Ramp(3, 4)
	half, err := dtype.ToSlice[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	once := nntest.Run(t, g, x)
	for i := range once {
		half[i] = float32(once[i])
	}
	twice := nntest.Run(t, g, x)
	out, err := j.Eval(t.Context(), nn.Feed{"x": nntest.Ramp(3, 4)}, "y_1")
	if err != nil {
		t.Fatal(err)
	}
	got := out["y_1"].Data().([]float32)
	for i := range got {
		if d := float64(got[i]) - twice[i]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("element %d is %g, want %g", i, got[i], twice[i])
		}
	}
}

func TestJoinRefusals(t *testing.T) {
	a := nntest.Small(t)
	old := nn.NewGraph("old", std.Operators(), map[string]int{"": 11})
	nntest.Edit(t, old, func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N,10]"))) })
	wide := nn.New("wide")
	nntest.Edit(t, wide, func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N,11]"))) })
	cases := []struct {
		b       *nn.Graph
		connect map[string]string
		want    string
	}{
		{wide, nil, "join: nothing is connected"},
		{wide, map[string]string{"act": "x"}, `join: "act" is not an output of "small"`},
		{wide, map[string]string{"scores": "y"}, `join: "y" is not an input of "wide"`},
		{wide, map[string]string{"scores": "x"}, `join: "scores" does not fit "x": input scores: want float32[N,11], got float32[N,10]`},
		{wide, map[string]string{"scores": "x", "features": "x"}, `join: "features" does not fit "x": input features: want float32[N,11], got float32[N,4]`},
		{old, map[string]string{"scores": "x"}, `join: operator set ai.onnx has version 21 in "small" and 11 in "old"`},
	}
	for _, c := range cases {
		if _, err := nn.Join(a, c.b, c.connect); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v\nwant %s", c.connect, err, c.want)
		}
	}
}
