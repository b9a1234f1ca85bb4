package nn_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// weight is fixed in the element type of x.
func weight(x *G.Node, name string, dims ...int) *G.Node {
	v := random(uint64(len(name)+int(name[0])), dims...)
	if x.Dtype() == tensor.Float64 {
		wide, err := dtype.Float64s(v)
		if err != nil {
			panic(err)
		}
		return G.NewTensor(x.Graph(), G.Float64, len(dims), G.WithName(name), G.WithValue(tensor.New(tensor.WithShape(dims...), tensor.WithBacking(wide))))
	}
	return G.NewTensor(x.Graph(), G.Float32, len(dims), G.WithName(name), G.WithValue(v))
}

// number returns a constant in the element type of x.
func number(x *G.Node, v float64) *G.Node {
	if x.Dtype() == tensor.Float64 {
		return G.NewConstant(v)
	}
	return G.NewConstant(float32(v))
}

func energy(x *G.Node) *G.Node { return G.Must(G.Sum(G.Must(G.Square(x)))) }

// grow returns one step: h + tanh(h·w) with a weight of its own, and one from around it.
func grow(h, w *G.Node) *G.Node {
	return G.Must(G.Add(G.Must(G.HadamardProd(h, number(h, 1.25))), G.Must(G.Tanh(G.Must(G.Add(G.Must(G.Mul(h, w)), G.Must(G.Mul(h, weight(h, "inside", 3, 3)))))))))
}

// control is a function with control flow beside one that computes the same without.
type control struct {
	name        string
	inputs      []string
	ops         string // in the traced graph
	with, plain nn.Expr
}

var controls = []control{
	{"While", []string{"x %s[N,3]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return nn.While(func(s ...*G.Node) (*G.Node, error) { return G.Lt(energy(s[0]), number(x[0], 40), false) },
			func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{grow(s[0], w)}, nil }, x[0])
	}, func(x ...*G.Node) (G.Nodes, error) { // of the data below it takes five
		w, h := weight(x[0], "w", 3, 3), x[0]
		for range 5 {
			h = grow(h, w)
		}
		return G.Nodes{h}, nil
	}},
	{"For", []string{"x %s[2,N]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		return nn.For(x[0].Shape()[1], func(s ...*G.Node) (G.Nodes, error) {
			i := G.Must(std.Operators().Apply1(std.CastConfig{To: dtype.Of(x[0].Dtype())}, s[0]))
			return G.Nodes{G.Must(G.Add(G.Must(G.Sin(s[1])), G.Must(G.HadamardProd(x[0], i))))}, nil
		}, x[0])
	}, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for i := range x[0].Shape()[1] {
			h = G.Must(G.Add(G.Must(G.Sin(h)), G.Must(G.HadamardProd(x[0], number(h, float64(i))))))
		}
		return G.Nodes{h}, nil
	}},
	{"ForEach", []string{"x %s[4,N,3]", "h %s[N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		final, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
			h := grow(G.Must(G.Add(s[0], s[1])), w)
			return G.Nodes{h, G.Must(G.Square(h))}, nil
		}, G.Nodes{x[1]}, G.Nodes{x[0]})
		return append(final, all...), err
	}, func(x ...*G.Node) (G.Nodes, error) {
		w, h := weight(x[0], "w", 3, 3), x[1]
		var all G.Nodes
		for t := range 4 {
			h = grow(G.Must(G.Add(h, G.Must(G.Slice(x[0], G.S(t))))), w)
			s := G.Must(G.Square(h))
			all = append(all, G.Must(G.Reshape(s, append(tensor.Shape{1}, s.Shape()...))))
		}
		return G.Nodes{h, G.Must(G.Concat(0, all...))}, nil
	}},
	{"Cond", []string{"x %s[N,3]"}, "If", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return nn.Cond(G.Must(G.Gt(energy(x[0]), number(x[0], 1e6), false)),
			func(x ...*G.Node) (G.Nodes, error) { return x, nil },
			func(x ...*G.Node) (G.Nodes, error) { return G.Nodes{grow(x[0], w)}, nil }, x[0])
	}, func(x ...*G.Node) (G.Nodes, error) {
		return G.Nodes{grow(x[0], weight(x[0], "w", 3, 3))}, nil
	}},
	{"nested", []string{"x %s[4,N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) { // a loop and a branch in a scan
		w := weight(x[0], "w", 3, 3)
		zero := G.Must(G.HadamardProd(G.Must(G.Slice(x[0], G.S(0))), number(x[0], 0)))
		final, _, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
			h, err := nn.For(2, func(r ...*G.Node) (G.Nodes, error) {
				return nn.Cond(G.Must(G.Lt(energy(r[1]), number(x[0], 0), false)),
					func(y ...*G.Node) (G.Nodes, error) { return G.Nodes{s[1]}, nil },
					func(y ...*G.Node) (G.Nodes, error) { return G.Nodes{G.Must(G.Add(grow(y[0], w), s[1]))}, nil }, r[1])
			}, s[0])
			return h, err
		}, G.Nodes{zero}, G.Nodes{x[0]})
		return final, err
	}, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		h := G.Must(G.HadamardProd(G.Must(G.Slice(x[0], G.S(0))), number(x[0], 0)))
		for t := range 4 {
			s := G.Must(G.Slice(x[0], G.S(t)))
			for range 2 {
				h = G.Must(G.Add(grow(h, w), s))
			}
		}
		return G.Nodes{h}, nil
	}},
}

// loss adds the energy of all results as a last one.
func loss(f nn.Expr) nn.Expr {
	return func(x ...*G.Node) (G.Nodes, error) {
		out, err := f(x...)
		if err != nil {
			return nil, err
		}
		sum := energy(out[0])
		for _, y := range out[1:] {
			sum = G.Must(G.Add(sum, energy(y)))
		}
		return append(out, sum), nil
	}
}

func controlTrace(t *testing.T, f nn.Expr, inputs []string, typ string) (*nn.Graph, nn.Feed) {
	t.Helper()
	var list []string
	for _, s := range inputs {
		list = append(list, fmt.Sprintf(s, typ))
	}
	g, err := nn.Trace(loss(f), list...)
	if err != nil {
		t.Fatal(err)
	}
	feed := nn.Feed{}
	for i, v := range g.Inputs() {
		shape := v.Type().Sizes()
		for k, n := range shape {
			if n < 0 {
				shape[k] = 2
			}
		}
		d := random(uint64(i+3), shape...)
		if typ == "float64" {
			wide, _ := dtype.Float64s(d)
			d = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(wide))
		}
		feed[v.Name()] = d
	}
	return g, feed
}

func wrt(g *nn.Graph) (names []string) {
	for _, v := range g.Inputs() {
		names = append(names, v.Name())
	}
	for p := range g.Params() {
		if p.Role() == nn.Weight {
			names = append(names, p.Name())
		}
	}
	return names
}

// TestControl checks that traced control flow computes the same as the unrolled function, with gradients that agree with
// finite differences; Gorgonia's TapeMachine and ONNX Runtime agree.
func TestControl(t *testing.T) {
	for _, c := range append(controls, unusualControls...) {
		t.Run(c.name, func(t *testing.T) {
			var fixed []string // a loop that is unrolled knows how often it runs
			for _, s := range c.inputs {
				fixed = append(fixed, strings.ReplaceAll(s, "N", "2"))
			}
			g, feed := controlTrace(t, c.with, c.inputs, "float64")
			plain, _ := controlTrace(t, c.plain, fixed, "float64")
			if n := len(slices.Collect(g.Nodes(nn.Ops(c.ops)))); n != 1 {
				t.Errorf("%d nodes are %s:\n%v", n, c.ops, g.Summary())
			}
			names := wrt(g)
			if want := wrt(plain); len(names) != len(want) {
				t.Errorf("trained are %v, want %v", names, want)
			}
			ctx := context.Background()
			got, want := evalAll(t, g, feed), evalAll(t, plain, feed)
			for i := range want {
				nntest.Near(t, fmt.Sprintf("output %d", i), got[i], want[i], 1e-10)
			}
			last := len(want) - 1
			grads, err := g.Grad(ctx, feed, g.Outputs()[last].Name(), names...)
			if err != nil {
				t.Fatal(err)
			}
			unrolled, err := plain.Grad(ctx, feed, plain.Outputs()[last].Name(), names...)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				nntest.Near(t, "gradient of "+name, numbersOf(t, grads[name]), numbersOf(t, unrolled[name]), 1e-9)
			}
			finiteDifferences(t, g, feed, grads)
			onTape(t, c.with, feed, g, want[last][0], grads)
			t.Run("onnxruntime", func(t *testing.T) { controlInRuntime(t, oracle.ORT(t), c.with, c.inputs) })
		})
	}
}

func numbersOf(t *testing.T, v G.Value) []float64 {
	t.Helper()
	d, ok := v.(*tensor.Dense)
	if !ok {
		t.Fatalf("%T is not a tensor", v)
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func evalAll(t *testing.T, g *nn.Graph, feed nn.Feed) (list [][]float64) {
	t.Helper()
	out, err := g.Eval(context.Background(), feed)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range g.Outputs() {
		list = append(list, numbersOf(t, out[v.Name()]))
	}
	return list
}

// finiteDifferences changes one element of each input.
func finiteDifferences(t *testing.T, g *nn.Graph, feed nn.Feed, grads nn.Feed) {
	const h = 1e-6
	for name := range feed {
		x := dtype.Slice[float64](feed[name].(*tensor.Dense))
		last := len(g.Outputs()) - 1
		at := len(x) / 2
		was := x[at]
		x[at] = was + h
		up := evalAll(t, g, feed)[last][0]
		x[at] = was - h
		down := evalAll(t, g, feed)[last][0]
		x[at] = was
		if want, got := (up-down)/(2*h), numbersOf(t, grads[name])[at]; math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("gradient of %s, element %d: %g, finite differences say %g", name, at, got, want)
		}
	}
}

// onTape runs and differentiates the function on Gorgonia's machine.
func onTape(t *testing.T, f nn.Expr, feed nn.Feed, g *nn.Graph, want float64, grads nn.Feed) {
	t.Helper()
	eg := G.NewGraph()
	var in []*G.Node
	for _, v := range g.Inputs() {
		in = append(in, G.NodeFromAny(eg, feed[v.Name()], G.WithName(v.Name())))
	}
	out, err := loss(f)(in...)
	if err != nil {
		t.Fatal(err)
	}
	d, err := G.Grad(out[len(out)-1], in...)
	if err != nil {
		t.Fatal(err)
	}
	var value G.Value
	G.Read(out[len(out)-1], &value)
	list := make([]G.Value, len(d))
	for i, n := range d {
		G.Read(n, &list[i])
	}
	m := G.NewTapeMachine(eg)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	if got := value.Data().(float64); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
		t.Errorf("Gorgonia's machine gives %g, want %g", got, want)
	}
	for i, v := range list {
		nntest.Near(t, "gradient on Gorgonia's machine of "+in[i].Name(), numbersOf(t, v), numbersOf(t, grads[in[i].Name()]), 1e-9)
	}
}

// controlInRuntime exports the function in float32, with its symbols, and runs the file.
func controlInRuntime(t *testing.T, ort *oracle.Runtime, f nn.Expr, inputs []string) {
	t.Helper()
	g, feed := controlTrace(t, f, inputs, "float32")
	want := evalAll(t, g, feed)
	for _, opset := range []int{0, 13} {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.onnx", opset))
		if err := (onnxio.Saver{Opset: opset}).Save(file, g); err != nil {
			t.Fatal(err)
		}
		again, err := onnxio.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]oracle.Tensor{}
		for name, v := range feed {
			in[name] = oracle.Tensor{DType: "float32", Shape: append([]int{}, v.Shape()...), Data: dtype.Bytes(v.(*tensor.Dense))}
		}
		out, err := ort.RunFile(file, in)
		if err != nil {
			t.Fatalf("operator set %d: %v", opset, err)
		}
		for i, v := range again.Outputs() {
			x, err := out[v.Name()].Float64s()
			if err != nil {
				t.Fatal(err)
			}
			nntest.Near(t, fmt.Sprintf("operator set %d, output %d in ONNX Runtime", opset, i), x, want[i], 1e-3)
		}
	}
}

func TestControlRefuses(t *testing.T) {
	same := func(x ...*G.Node) (G.Nodes, error) { return x, nil }
	yes := func(x ...*G.Node) (*G.Node, error) { return G.Gt(energy(x[0]), number(x[0], 1), false) }
	wide := func(x ...*G.Node) (G.Nodes, error) { return one(G.Concat(0, x[0], x[0])) }
	for _, c := range []struct {
		f    nn.Expr
		want string
	}{
		{func(x ...*G.Node) (G.Nodes, error) { return nn.While(yes, wide, x[0]) }, "While: state 0 is float32[2,3], and float32[4,3] after an iteration"},
		{func(x ...*G.Node) (G.Nodes, error) { return nn.While(yes, nil, x[0]) }, "While: the function is nil"},
		{func(x ...*G.Node) (G.Nodes, error) { return nn.While(yes, same) }, "While: needs at least one value to carry"},
		{func(x ...*G.Node) (G.Nodes, error) { return nn.While(yes, same, nil) }, "While: value 0 is nil"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.While(func(x ...*G.Node) (*G.Node, error) { return x[0], nil }, same, x[0])
		}, "While: the condition is float32[2,3], want one boolean"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.While(yes, func(...*G.Node) (G.Nodes, error) { return nil, nil }, x[0])
		}, "While: the function returns no node"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.While(yes, func(x ...*G.Node) (G.Nodes, error) { return append(x, x[0]), nil }, x[0])
		}, "While: has 1 values, 2 after an iteration"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(3, func(x ...*G.Node) (G.Nodes, error) { return nil, errors.New("no such layer") }, x[0])
		}, "For: no such layer"},
		{func(x ...*G.Node) (G.Nodes, error) {
			out, _, err := nn.ForEach(same, G.Nodes{x[0]}, G.Nodes{energy(x[0])})
			return out, err
		}, "ForEach: value 0 to iterate over is float32[]: want a first axis"},
		{func(x ...*G.Node) (G.Nodes, error) {
			out, _, err := nn.ForEach(same, G.Nodes{x[0]}, nil)
			return out, err
		}, "ForEach: there is nothing to iterate over"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.Cond(G.Must(yes(x[0])), same, wide, x[0])
		}, "Cond: result 0 is float32[2,3], and float32[4,3] in the other branch"},
		{func(x ...*G.Node) (G.Nodes, error) { return nn.Cond(x[0], same, wide, x[0]) }, "Cond: the condition is float32[2,3]"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) { return one(G.ByIndices(s[1], s[1], 0)) }, x[0])
		}, "For: "},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) {
				return G.Nodes{G.NewMatrix(G.NewGraph(), G.Float32, G.WithShape(2, 3), G.WithName("x"))}, nil
			}, x[0])
		}, "For: the function returns a node of another expression graph"},
	} {
		if _, err := nn.Trace(c.f, "x float32[2,3]"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestBrokenExpressions traces expressions that nobody can mean: errors say what is wrong and where.
func TestBrokenExpressions(t *testing.T) {
	var leaked *G.Node
	leak := func(x *G.Node) (G.Nodes, error) {
		return nn.For(2, func(s ...*G.Node) (G.Nodes, error) {
			leaked = G.Must(G.Tanh(s[1]))
			return G.Nodes{leaked}, nil
		}, x)
	}
	masked := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(make([]float32, 6), []bool{true, false, false, false, false, false}))
	for _, c := range []struct {
		f    nn.Expr
		want string
	}{
		{func(x ...*G.Node) (G.Nodes, error) { return G.Nodes{x[3]}, nil }, "index out of range [3] with length 1, at control_test.go:"},
		{func(x ...*G.Node) (G.Nodes, error) { return one(G.ApplyOp(nil, x[0])) }, "nil pointer dereference, at control_test.go:"},
		{func(x ...*G.Node) (G.Nodes, error) {
			_, err := leak(x[0])
			return G.Nodes{leaked}, err
		}, "input of a body"},
		{func(x ...*G.Node) (G.Nodes, error) {
			y, err := leak(x[0])
			if err != nil {
				return nil, err
			}
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) { return one(G.Add(s[1], leaked)) }, y[0])
		}, "input of a body"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return nn.While(func(...*G.Node) (*G.Node, error) { panic("not yet") }, func(x ...*G.Node) (G.Nodes, error) { return x, nil }, x[0])
		}, "While: not yet"},
		{func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Add(x[0], G.NodeFromAny(x[0].Graph(), masked, G.WithName("w"))))
		}, "w: the tensor has a mask"},
	} {
		if _, err := nn.Trace(c.f, "x float32[2,3]"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	leaf := func() *G.Node { return G.NewMatrix(G.NewGraph(), G.Float32, G.WithShape(2, 3), G.WithName("x")) }
	for _, c := range []struct {
		nodes G.Nodes
		want  string
	}{
		{G.Nodes{new(G.Node)}, "a node has no type"},
		{G.Nodes{G.Must(G.Tanh(leaf())), G.Must(G.Tanh(leaf()))}, "nodes of two expression graphs"},
	} {
		if _, err := nn.TraceNodes(c.nodes...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	x := leaf()
	var none context.Context
	if _, err := op.Backpropagate(none, G.Nodes{G.Must(G.Sum(x))}, G.Nodes{G.NewConstant(float32(1))}, G.Nodes{x}); err == nil {
		t.Error("a nil context")
	}
}
