package nn_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// speller writes graphs the way exporters do.
type speller struct {
	*nn.Edit
	like *nn.Value // numbers are of its type
}

// on returns an operator with default attributes on values; numbers become constants.
func (s speller) on(name string, in ...any) *nn.Value { return s.with(op.Plain(name), in...) }

func (s speller) with(c op.Config, in ...any) *nn.Value {
	list := make([]*nn.Value, len(in))
	for i, x := range in {
		switch x := x.(type) {
		case *nn.Value:
			list[i] = x
		case float64:
			list[i] = s.Scalar("number", s.like, x)
		case []int:
			list[i] = s.Ints("ints", x...)
		}
	}
	return s.Node(c, list...).Out(0)
}

func (s speller) mean(x *nn.Value, axes ...int) *nn.Value { return s.on("ReduceMean", x, axes) }
func (s speller) turn(x *nn.Value, perm ...int) *nn.Value {
	return s.with(std.TransposeConfig{Perm: perm}, x)
}

func (s speller) weight(name string, shape ...int) *nn.Value {
	return s.ParamOf(name, s.like.Type().DType, initial.Normal{Std: 0.7}, shape...)
}

// spelling is a group of nodes after the inputs x, y and z, and the operators it should be run with.
type spelling struct {
	name   string
	shapes string // of the inputs, "2,3,8 2,3,8"
	build  func(s speller, in ...*nn.Value) *nn.Value
	want   string // operators; "" for those that are there
}

// graph builds a spelling with a loss after it.
func (s spelling) graph(t *testing.T, d dtype.DType) *nn.Graph {
	t.Helper()
	g := nn.New("spelling")
	err := g.Edit(func(e *nn.Edit) {
		var in []*nn.Value
		for i, shape := range strings.Fields(s.shapes) {
			in = append(in, e.Input(string("xyz"[i]), fmt.Sprintf("%v[%s]", d, shape)))
		}
		y := s.build(speller{e, in[0]}, in...)
		e.Output("out", y)
		w := e.ParamOf("loss weights", d, initial.Normal{Std: 1}, y.Type().Sizes()...)
		e.Output("loss", e.Node(op.Plain("ReduceSum"), e.Node(op.Plain("Mul"), y, w).Out(0)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (s spelling) feed(t *testing.T, g *nn.Graph, d dtype.DType) nn.Feed {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(len(s.name))))
	feed := nn.Feed{}
	for _, v := range g.Inputs() {
		shape := v.Type().Sizes()
		x := make([]float64, tensor.Shape(shape).TotalSize())
		for i := range x {
			x[i] = r.NormFloat64() * 1.5
		}
		f, err := dtype.FromFloats(d, x, shape...)
		if err != nil {
			t.Fatal(err)
		}
		feed[v.Name()] = f
	}
	return feed
}

// ranBy lists those that compute the output.
func ranBy(t *testing.T, g *nn.Graph, feed nn.Feed, want string) []string {
	t.Helper()
	in := map[*nn.Value]dtype.Value{}
	for _, v := range g.Inputs() {
		in[v] = feed[v.Name()]
	}
	v, err := g.Value(want)
	if err != nil {
		t.Fatal(err)
	}
	list, err := g.Operators(in, v)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sameWithAndWithout compares outputs and gradients of a fused run with those of single nodes.
func sameWithAndWithout(t *testing.T, g *nn.Graph, feed nn.Feed, tol float64) {
	t.Helper()
	wrt := slices.Collect(maps.Keys(feed))
	for p := range g.Params() {
		if p.Trainable() {
			wrt = append(wrt, p.Name())
		}
	}
	var runs [2]nn.Feed
	for i, on := range []bool{false, true} {
		g.SetFusion(on)
		out, err := g.Eval(t.Context(), feed, "out")
		if err != nil {
			t.Fatal(err)
		}
		if runs[i], err = g.Grad(t.Context(), feed, "loss", wrt...); err != nil {
			t.Fatal(err)
		}
		runs[i]["out"] = out["out"]
	}
	for name, a := range runs[0] {
		if err := closeTo(runs[1][name], a, tol); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// closeTo compares tensors relative to the largest element.
func closeTo(got, want dtype.Value, tol float64) error {
	a, ok := got.(*tensor.Dense)
	b, ok2 := want.(*tensor.Dense)
	if !ok || !ok2 {
		return fmt.Errorf("got %T, want %T", got, want)
	}
	if !slices.Equal(a.Shape(), b.Shape()) || a.Dtype() != b.Dtype() {
		return fmt.Errorf("got %v %v, want %v %v", a.Dtype(), a.Shape(), b.Dtype(), b.Shape())
	}
	x, err := dtype.Float64s(a)
	if err != nil {
		return err
	}
	y, err := dtype.Float64s(b)
	if err != nil {
		return err
	}
	top := 1e-30
	for _, v := range y {
		if !math.IsInf(v, 0) {
			top = max(top, math.Abs(v))
		}
	}
	for i := range x {
		if x[i] != y[i] && !(math.Abs(x[i]-y[i]) <= tol*top) && !(math.IsNaN(x[i]) && math.IsNaN(y[i])) {
			return fmt.Errorf("element %d is %v, want %v (largest %v)", i, x[i], y[i], top)
		}
	}
	return nil
}

func TestFusion(t *testing.T) {
	for _, s := range slices.Concat(normSpellings(), activationSpellings(), linearSpellings(), attentionSpellings(), packedSpellings(), reorderSpellings(), lossSpellings()) {
		t.Run(s.name, func(t *testing.T) {
			for _, d := range []dtype.DType{dtype.Float64, dtype.Float32} {
				g := s.graph(t, d)
				feed := s.feed(t, g, d)
				if got := strings.Join(ranBy(t, g, feed, "out"), " "); s.want != "" && got != s.want {
					t.Errorf("runs %s, want %s", got, s.want)
				}
				tol := 1e-6 // constants in the groups have the digits of float32
				if d == dtype.Float32 {
					tol = 1e-5
				}
				sameWithAndWithout(t, g, feed, tol)
			}
		})
	}
}

// TestFusionBlocked: what somebody asks for or reads from outside is computed.
func TestFusionBlocked(t *testing.T) {
	s := spelling{shapes: "4", build: func(s speller, in ...*nn.Value) *nn.Value {
		gate := s.on("Sigmoid", in[0])
		s.Output("gate", gate)
		return s.on("Mul", in[0], gate)
	}}
	g := s.graph(t, dtype.Float32)
	feed := s.feed(t, g, dtype.Float32)
	if got := ranBy(t, g, feed, "out"); !slices.Equal(got, []string{"Swish"}) {
		t.Errorf("the output alone runs %v", got)
	}
	in := map[*nn.Value]dtype.Value{g.Inputs()[0]: feed["x"]}
	got, err := g.Operators(in, g.Outputs()...)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(got, "Swish") || !slices.Contains(got, "Sigmoid") {
		t.Errorf("with the gate asked for, %v run", got)
	}
	l, err := g.Lower(nn.LowerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gate, err := g.Value("gate")
	if err != nil {
		t.Fatal(err)
	}
	if l.Node(gate) == nil {
		t.Error("Lower swallowed a node")
	}
}
