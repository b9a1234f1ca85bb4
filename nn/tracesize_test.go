package nn_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// shapely computes a Reshape's target from the shape of its input: by concatenation, which a
// lowering follows symbolically, or in floating point, which it does not.
func shapely(t *testing.T, float bool) *nn.Graph {
	t.Helper()
	g := nn.New("shapely")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,4]")
		s := e.Node(std.ShapeConfig{}, x).Out(0)
		var target *nn.Value
		if float {
			keep := true
			first := e.Node(std.GatherConfig{}, s, e.Ints("two", 0, 1)).Out(0)
			first = e.Node(std.CastConfig{To: dtype.Float32}, first).Out(0)
			first = e.Node(std.CastConfig{To: dtype.Int64}, e.Node(std.ReduceProdConfig{KeepDims: &keep}, first).Out(0)).Out(0)
			target = e.Node(std.ConcatConfig{}, first, e.Ints("four", 4)).Out(0)
		} else {
			target = e.Node(std.ConcatConfig{}, e.Node(std.GatherConfig{}, s, e.Ints("zero", 0)).Out(0), e.Ints("twelve", 12)).Out(0)
		}
		e.Output("y", e.Node(op.Plain("Reshape"), x, target).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestTraceKeepsSymbols traces lowerings with and without Keep: the batch of the lowering never
// gets into the traced model.
func TestTraceKeepsSymbols(t *testing.T) {
	for _, float := range []bool{false, true} {
		for _, keep := range []bool{false, true} {
			g := shapely(t, float)
			l, err := g.Lower(nn.LowerOptions{Keep: keep, Sizes: map[string]int{"N": 5}})
			if err != nil {
				t.Fatal(err)
			}
			nodes, err := nn.TraceNodes(l.Outputs...)
			if float && !keep {
				if err == nil || !strings.Contains(err.Error(), "computed in advance from a symbolic shape: lower with Keep") {
					t.Errorf("the error is %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				takesOtherSize(t, g, nodes)
			}
			traced, err := l.Trace()
			if err != nil {
				t.Fatal(err)
			}
			takesOtherSize(t, g, traced)
		}
	}
}

func takesOtherSize(t *testing.T, g, traced *nn.Graph) {
	t.Helper()
	if s := traced.Inputs()[0].Type().String(); s != "float32[N,3,4]" {
		t.Errorf("the input is %s", s)
	}
	x := random(1, 2, 3, 4)
	want, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := traced.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	tapeNear(t, "y", got[0], want[0])
}

// TestTraceOnOldOperatorSets adds Gorgonia functions to models of older operator sets: inputs that
// were attributes then become attributes.
func TestTraceOnOldOperatorSets(t *testing.T) {
	f := func(x ...*G.Node) (G.Nodes, error) {
		h := G.Must(G.Slice(x[0], nil, G.S(1, 3)))
		h = G.Must(G.Rectify(h))
		return G.Nodes{G.Must(G.Sum(h, 1)), G.Must(G.Max(h, 0)), G.Must(G.SoftMax(h)), G.Must(G.Slice(x[0], G.S(0)))}, nil
	}
	for _, opset := range []int{9, 11, 12, 13, 17, 18, 21} {
		g := nn.NewGraph("old", std.Operators(), map[string]int{"": opset})
		err := g.Edit(func(e *nn.Edit) {
			for i, v := range e.Expr(f, e.Input("x", "float32[N,4]")) {
				e.Output("y"+string(rune('0'+i)), v)
			}
		})
		if err != nil {
			t.Errorf("operator set %d: %v", opset, err)
			continue
		}
		x := random(2, 3, 4)
		got, err := g.Run(context.Background(), x)
		if err != nil {
			t.Errorf("operator set %d: %v", opset, err)
			continue
		}
		for i, w := range tape(t, f, x) {
			tapeNear(t, "y", got[i], w)
		}
	}
	first := func(x ...*G.Node) (G.Nodes, error) { return one(G.SoftMax(x[0], 0)) } // an axis that Softmax 11 takes together with others
	g := nn.NewGraph("old", std.Operators(), map[string]int{"": 11})
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Expr(first, e.Input("x", "float32[N,4]"))[0]) }); err != nil {
		t.Fatal(err)
	}
	x := random(2, 3, 4)
	got, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	tapeNear(t, "softmax over the first axis", got[0], tape(t, first, x)[0])
}

// TestTraceStockInRuntime saves the traced functions and runs them in ONNX Runtime.
func TestTraceStockInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, c := range append(stockCases(), nearStock()...) {
		t.Run(c.name, func(t *testing.T) {
			g, err := nn.Trace(c.f, c.inputs...)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "model.onnx")
			if err := onnxio.Save(file, g); err != nil {
				t.Fatal(err)
			}
			feed, want := nn.Feed{}, nn.Feed{}
			var in []*tensor.Dense
			for i, v := range g.Inputs() {
				in = append(in, random(uint64(i+11), dimsAt(t, v.Type(), map[string]int{"N": 6, "S": 3, "T": 2})...))
				feed[v.Name()] = in[i]
			}
			out, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range g.Outputs() {
				want[v.Name()] = out[i]
			}
			inRuntime(t, ort, file, feed, want)
		})
	}
}
