package nn_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestFeeds feeds values of many types to inputs of many declared types; testdata/feeds.txt says which are taken, as what, and
// why others are refused. -update writes it anew.
func TestFeeds(t *testing.T) {
	f32 := op.T(dtype.Float32, op.D(2), op.D(3))
	elem := func(t op.Type) *op.Type { return &t }
	declared := []op.Type{
		f32, op.T(dtype.Float32, op.Sym("N"), op.D(3)), op.T(dtype.Float32, op.Sym("N"), op.Sym("N")), op.T(dtype.Float32, op.Unknown(), op.D(3)),
		op.T(dtype.Float32), op.T(dtype.Int64), op.T(dtype.Undefined, op.D(2), op.D(3)), {DType: dtype.Float32, Unranked: true}, {},
		op.T(dtype.String, op.Sym("N")), {Kind: op.Sequence, Elem: &f32}, {Kind: op.Sequence}, {Kind: op.Optional, Elem: &f32}, {Kind: op.Optional},
		{Kind: op.Optional, Elem: elem(op.Type{Kind: op.Sequence, Elem: &f32})},
	}
	text, err := dtype.NewStrings([]string{"a", "b"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	fed := []struct {
		name  string
		value dtype.Value
	}{
		{"[2,3]", nntest.Ramp(2, 3)}, {"[3,3]", nntest.Ramp(3, 3)}, {"[2,2]", nntest.Ramp(2, 2)}, {"[6]", nntest.Ramp(6)}, {"[1,1]", nntest.Ramp(1, 1)}, {"one number", nntest.Ramp()}, {"integer", dtype.Scalar(int64(4))},
		{"float64[2,3]", dtype.New(dtype.Float64, 2, 3)}, {"two strings", text},
		{"a sequence", &dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{nntest.Ramp(2, 3)}}}, {"no tensor", (*tensor.Dense)(nil)}, {"nothing", nil},
	}
	var b strings.Builder
	for _, d := range declared {
		a := nn.Assemble(nn.NewGraph("m", std.Operators(), map[string]int{"": nn.LatestOpset}))
		a.Input("x", d, nil)
		a.Node(nn.NodeSpec{Type: "Identity", In: []string{"x"}, Out: []string{"y"}})
		if err := a.Finish(); err != nil {
			t.Fatal(err)
		}
		a.Output("y", op.Type{}, nil)
		g, err := a.Graph()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%v\n", d)
		for _, f := range fed {
			fmt.Fprintf(&b, "\t%s: ", f.name)
			out, err := g.Eval(t.Context(), nn.Feed{"x": f.value})
			if err != nil {
				fmt.Fprintln(&b, "refused:", err)
				continue
			}
			fmt.Fprintln(&b, op.TypeOf(out["y"]))
		}
		out, err := g.Eval(t.Context(), nn.Feed{})
		fmt.Fprintf(&b, "\tleft out: %s, %v\n", feedText(out), err)
		for _, in := range []string{"", "x float32[2,3]", "x float32[4,3]", "x float32[N,3]", "x int64[2,3]", "z float32[2]", "x"} {
			o := nn.LowerOptions{Inputs: []string{in}, Sizes: map[string]int{"N": 3}}
			if in == "" {
				o.Inputs = nil
			}
			fmt.Fprintf(&b, "\tlowered with %q: ", in)
			l, err := g.Lower(o)
			if err != nil {
				fmt.Fprintln(&b, "refused:", err)
				continue
			}
			fmt.Fprintln(&b, l.Outputs[0].Shape())
		}
	}
	b.WriteString("two inputs\n")
	g := nn.New("pair")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x, y := e.Input("x", "float32[N,3]"), e.Input("y", "float32[N,M]")
		e.Output("a", e.Apply(layers.ReLU{}, x))
		e.Output("b", e.Apply(layers.ReLU{}, y))
		e.Output("c", e.Apply(layers.Linear{Out: 2, Init: initial.Ones{}, BiasInit: initial.Zeros{}}, x))
	})
	for _, feed := range []nn.Feed{
		{"x": nntest.Ramp(2, 3), "y": nntest.Ramp(2, 5)}, {"x": nntest.Ramp(2, 3), "y": nntest.Ramp(4, 5)}, {"x": nntest.Ramp(2, 3)}, {"y": nntest.Ramp(1, 1)}, {}, {"z": nntest.Ramp(1)}, {"relu1": nntest.Ramp(2, 3)}, {"relu1": nntest.Ramp(2, 4)},
		{"linear1.weight": nntest.Ramp(2, 3), "x": nntest.Ramp(2, 3)}, {"linear1.weight": nntest.Ramp(1, 3), "x": nntest.Ramp(2, 3)},
	} {
		for _, want := range [][]string{nil, {"a"}, {"c"}, {"x"}, {"none"}, {}} {
			fmt.Fprintf(&b, "\t%s wants %q: ", feedText(feed), want)
			out, err := g.Eval(t.Context(), feed, want...)
			if err != nil {
				fmt.Fprintln(&b, "refused:", err)
				continue
			}
			fmt.Fprintln(&b, feedText(out))
		}
	}
	b.WriteString("losses\n")
	lossRefusals(t, &b)
	nntest.CompareFile(t, filepath.Join("testdata", "feeds.txt"), b.String())
}

func feedText(f nn.Feed) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		list = append(list, fmt.Sprint(name, " ", op.TypeOf(f[name])))
	}
	return strings.Join(list, ", ")
}

// lossRefusals takes steps, gradients and derivations of values that are a loss or are not.
func lossRefusals(t *testing.T, b *strings.Builder) {
	g := nn.New("losses")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3]")
		e.Input("k", "int64[]")
		e.Input("u", "float32[]")
		y := e.Apply(layers.Linear{Out: 2, Name: "fc", Init: initial.Ones{}, BiasInit: initial.Zeros{}}, x)
		e.Output("y", y)
		no := false
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, y).Out(0))
		e.Output("kept", e.Node(std.ReduceSumConfig{}, y).Out(0))
		e.Output("count", e.Node(op.Plain("Size"), y).Out(0))
		e.Output("five", e.Node(op.Plain("Identity"), e.Const("number", nntest.Ramp(1))).Out(0))
	})
	feed := nn.Feed{"x": nntest.Ramp(4, 3), "k": dtype.Scalar(int64(1)), "u": nntest.Ramp()}
	for _, name := range []string{"loss", "kept", "y", "count", "five", "x", "u", "fc.bias"} {
		v, err := g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		grads, err := g.Grad(t.Context(), feed, name, "x", "fc.weight")
		fmt.Fprintf(b, "\tgradient of %s: %s, %v\n", name, feedText(grads), err)
		s, err := g.Step(t.Context(), feed, nn.StepOptions{Loss: v})
		fmt.Fprintf(b, "\tstep of %s: %v\n", name, err)
		if err == nil {
			fmt.Fprintf(b, "\t\tloss %s, %d gradients\n", numeral(s.Loss), len(s.Grads))
			s.Release()
		}
		for _, opset := range []int{0, 18} {
			d, err := g.Derive(nn.DeriveOptions{Loss: v, Opset: opset}, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) })
			fmt.Fprintf(b, "\tderivation of %s: %v\n", name, err)
			if err == nil {
				fmt.Fprintf(b, "\toperator set %d\n%s", d.Opsets()[""], nntest.Indent(nntest.Spelled(d)))
			}
		}
	}
	_, err := g.Step(t.Context(), feed, nn.StepOptions{Loss: g.Outputs()[1], Params: []*nn.Param{nil}})
	fmt.Fprintf(b, "\tno parameter: %v\n", err)
}
