package nn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// twoLayers returns a small model as a file might hold it.
func twoLayers(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("classifier")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		h := e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", initial.FanIn{}, 8, 4), e.Param("b1", initial.Zeros{}, 8)).Out(0)
		h = e.Node(op.Plain("Tanh"), h).Out(0)
		e.Output("logits", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 3, 8), e.Param("b2", initial.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGorgoniaTrainsALowering puts a loss of Gorgonia's operators on a lowered model and trains it
// with Gorgonia's gradients, machine and solver. The parameters are the model's own.
func TestGorgoniaTrainsALowering(t *testing.T) {
	g := twoLayers(t)
	l, err := g.Lower(nn.LowerOptions{Sizes: map[string]int{"N": 6}})
	if err != nil {
		t.Fatal(err)
	}
	want := G.NewMatrix(l.ExprGraph, G.Float32, G.WithShape(6, 3), G.WithName("want"))
	p := G.Must(G.Log(G.Must(G.SoftMax(l.Outputs[0]))))
	loss := G.Must(G.Neg(G.Must(G.Mean(G.Must(G.HadamardProd(p, want))))))
	params, weights := l.Trainable()
	if len(params) != 4 {
		t.Fatalf("%d trainable parameters, want 4", len(params))
	}
	if _, err := G.Grad(loss, weights...); err != nil {
		t.Fatal(err)
	}
	var value G.Value
	G.Read(loss, &value)
	m := G.NewTapeMachine(l.ExprGraph, G.BindDualValues(weights...))
	defer m.Close()

	x := random(3, 6, 4)
	onehot, _ := dtype.FromSlice([]float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 6, 3)
	before := append([]float32(nil), dtype.Slice[float32](params[0].Data())...)
	solver := G.NewVanillaSolver(G.WithLearnRate(1))
	var first, last float32
	for step := range 30 {
		op.Bind(l.Inputs[0], x)
		op.Bind(want, onehot)
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		last = value.Data().(float32)
		if step == 0 {
			first = last
		}
		if err := solver.Step(G.NodesToValueGrads(weights)); err != nil {
			t.Fatal(err)
		}
		m.Reset()
	}
	if last > first/2 {
		t.Errorf("the loss went from %v to %v only", first, last)
	}
	if after := dtype.Slice[float32](params[0].Data()); after[0] == before[0] && after[1] == before[1] {
		t.Error("the model's parameter has not changed")
	}
	// The model computes with what Gorgonia learned, and so does the model with its loss traced.
	out, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := nn.Tracer{Inputs: G.Nodes{l.Inputs[0], want}}.Nodes(l.Outputs[0], loss)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Check(); err != nil {
		t.Fatal(err)
	}
	both, err := whole.Run(context.Background(), x, onehot)
	if err != nil {
		t.Fatal(err)
	}
	tapeNear(t, "logits", both[0], out[0])
	if s := whole.Inputs()[0].Type().String(); s != "float32[N,4]" {
		t.Errorf("the traced input is %s", s)
	}
	n := 0
	for p := range whole.Params() {
		if p.Trainable() {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d trainable parameters after the trace, want 4", n)
	}
}

// TestMachine trains a convolutional network of Gorgonia's own operators with Gorgonia's solver, on
// graft's engine and on a TapeMachine.
func TestMachine(t *testing.T) {
	train := func(machine func(g *G.ExprGraph, learn ...*G.Node) G.VM) []float32 {
		g := G.NewGraph()
		x := G.NodeFromAny(g, random(3, 2, 1, 8, 8), G.WithName("x"))
		k, w := fixed(g, "k", 4, 1, 3, 3), fixed(g, "w", 64, 3)
		h := G.Must(G.Rectify(G.Must(G.Conv2d(x, k, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))))
		h = G.Must(G.MaxPool2D(h, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
		y := G.Must(G.SoftMax(G.Must(G.Mul(G.Must(G.Reshape(h, tensor.Shape{2, 64})), w))))
		loss := G.Must(G.Neg(G.Must(G.Mean(G.Must(G.Log(G.Must(G.Slice(y, nil, G.S(1)))))))))
		if _, err := G.Grad(loss, k, w); err != nil {
			t.Fatal(err)
		}
		var value G.Value
		G.Read(loss, &value)
		vm := machine(g, k, w)
		defer vm.Close()
		solver := G.NewVanillaSolver(G.WithLearnRate(0.1))
		var losses []float32
		for range 5 {
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			losses = append(losses, value.Data().(float32))
			if err := solver.Step(G.NodesToValueGrads(G.Nodes{k, w})); err != nil {
				t.Fatal(err)
			}
			vm.Reset()
		}
		return losses
	}
	want := train(func(g *G.ExprGraph, learn ...*G.Node) G.VM { return G.NewTapeMachine(g, G.BindDualValues(learn...)) })
	got := train(func(g *G.ExprGraph, _ ...*G.Node) G.VM { return nn.NewMachine(g) })
	for i := range want {
		if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("losses %v, want %v", got, want)
		}
	}
	if want[4] >= want[0] {
		t.Errorf("nothing is learned: %v", want)
	}
}

// TestExpr adds a Gorgonia function to a model: a loss over two values of symbolic batch.
func TestExpr(t *testing.T) {
	g := twoLayers(t)
	loss := func(x ...*G.Node) (G.Nodes, error) {
		p := G.Must(G.Log(G.Must(G.SoftMax(x[0]))))
		scale := fixed(x[0].Graph(), "w1", 3) // the name is taken: it is made unique
		p = G.Must(G.BroadcastHadamardProd(p, scale, nil, []byte{0}))
		h, err := std.Operators().Apply1(op.Plain("Abs"), p)
		if err != nil {
			return nil, err
		}
		return G.Nodes{G.Must(G.Mean(G.Must(G.HadamardProd(h, x[1])))), h}, nil
	}
	err := g.Edit(func(e *nn.Edit) {
		out := e.Expr(loss, e.Value("logits"), e.Input("want", "float32[N,3]"))
		if e.Err() == nil {
			e.Output("loss", out[0])
			e.Output("terms", out[1])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	if v, err := g.Value("terms"); err != nil || v.Type().String() != "float32[N,3]" {
		t.Errorf("terms: %v, %v", v.Type(), err)
	}
	if _, err := g.Value("w1_1"); err != nil {
		t.Error(err)
	}
	for _, n := range []int{1, 5} {
		x, want := random(5, n, 4), random(6, n, 3)
		out, err := g.Run(context.Background(), x, want)
		if err != nil {
			t.Fatal(err)
		}
		if n > 1 {
			exp := tape(t, loss, out[0], want)
			tapeNear(t, "loss", out[1], exp[0])
		}
	}
	grads, err := g.Grad(context.Background(), nn.Feed{"x": random(5, 5, 4), "want": random(6, 5, 3)}, "loss", "w1", "w1_1")
	if err != nil {
		t.Fatal(err)
	}
	if len(grads) != 3 {
		t.Errorf("gradients of %v", grads)
	}
}

// TestExprIsALayer inserts a function between two layers.
func TestExprIsALayer(t *testing.T) {
	g := twoLayers(t)
	err := g.Edit(func(e *nn.Edit) {
		e.Insert(e.Value("tanh"), nn.Expr(func(x ...*G.Node) (G.Nodes, error) { return one(G.Square(x[0])) }))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := operators(g); got != "Gemm Tanh Mul Gemm" {
		t.Errorf("the graph is %s", got)
	}
}

func TestExprErrors(t *testing.T) {
	cases := []struct {
		name string
		f    nn.Expr
		want string
	}{
		{"panics", func(x ...*G.Node) (G.Nodes, error) { panic("no luck") }, "no luck"},
		{"nothing", func(x ...*G.Node) (G.Nodes, error) { return nil, nil }, "returns no node"},
		{"unbound", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Add(x[0], G.NewMatrix(x[0].Graph(), G.Float32, G.WithShape(x[0].Shape()...), G.WithName("extra"))))
		}, "extra: the node has no value"},
		{"batch in a parameter", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Add(x[0], fixed(x[0].Graph(), "big", x[0].Shape()...)))
		}, "shape of the parameter depends on a symbol"},
		{"structure", func(x ...*G.Node) (G.Nodes, error) {
			if x[0].Shape()[0] > 20 {
				return one(G.Exp(x[0]))
			}
			return one(G.Transpose(x[0]))
		}, "depends on a symbol"},
		{"constant", func(x ...*G.Node) (G.Nodes, error) {
			n := float32(x[0].Shape()[0])
			return one(G.Add(x[0], G.NewConstant(n*n*0.3)))
		}, "constant depends on a symbol"},
		{"unsupported", func(x ...*G.Node) (G.Nodes, error) {
			h := G.Must(G.Sparsemax(x[0]))
			return one(G.Add(h, G.Must(G.Sparsemax(G.Must(G.Exp(h))))))
		}, "no ONNX form: *gorgonia.sparsemaxOp Sparsemax{}()"},
		{"pool", func(x ...*G.Node) (G.Nodes, error) {
			h := G.Must(G.Reshape(x[0], tensor.Shape{x[0].Shape()[0], 1, 2, 2}))
			return one(G.AveragePool2D(h, tensor.Shape{2, 2}, []int{0, 0}, []int{1, 1}))
		}, "no ONNX form: *gorgonia.avgPoolOp"},
		{"a statement", func(x ...*G.Node) (G.Nodes, error) {
			var v G.Value
			return G.Nodes{G.Read(G.Must(G.Tanh(x[0])), &v)}, nil
		}, "a statement, which has no value"},
		{"an input at one size", func(x ...*G.Node) (G.Nodes, error) {
			if x[0].Shape()[0] > 20 {
				return one(G.Exp(x[0]))
			}
			return x, nil
		}, "what is computed depends on a symbol"},
		{"two kinds", func(x ...*G.Node) (G.Nodes, error) {
			h := G.Must(G.Sparsemax(x[0]))
			h = G.Must(G.Reshape(h, tensor.Shape{x[0].Shape()[0], 1, 2, 2}))
			return one(G.AveragePool2D(h, tensor.Shape{2, 2}, []int{0, 0}, []int{1, 1}))
		}, ", *gorgonia.sparsemaxOp"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := nn.Trace(c.f, "x float32[N,4]")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %q, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			g := twoLayers(t)
			version, before := g.Version(), operators(g)
			err = g.Edit(func(e *nn.Edit) { e.Expr(c.f, e.Value("x")) })
			if err == nil || g.Version() != version || operators(g) != before {
				t.Errorf("Edit: %v, the graph is %s", err, operators(g))
			}
		})
	}
}

// TestTraceInputsOfOneName: Gorgonia would merge them, and compute something else.
func TestTraceInputsOfOneName(t *testing.T) {
	_, err := nn.Trace(func(x ...*G.Node) (G.Nodes, error) { return one(G.Sub(x[0], x[1])) }, "x float32[N]", "x float32[N]")
	if err == nil || err.Error() != "trace: input x: two inputs have this name" {
		t.Errorf("the error is %v", err)
	}
}

// TestTracerRules gives an Op of one's own an ONNX form.
func TestTracerRules(t *testing.T) {
	tr := nn.Tracer{Rules: map[string]nn.TraceRule{"*gorgonia.sparsemaxOp": func(s *nn.Site) *nn.Value {
		if s.Int("axis") != -1 {
			s.Failf("axis")
		}
		return s.Node(op.Plain("Softsign"), s.In(0).Value())
	}}}
	f := func(x ...*G.Node) (G.Nodes, error) { return one(G.Sparsemax(x[0])) }
	g, err := tr.Trace(f, "x float32[N,4]")
	if err != nil {
		t.Fatal(err)
	}
	if got := operators(g); got != "Softsign" {
		t.Errorf("the graph is %s", got)
	}
}

// TestTraceGradient says by name which parts of a gradient have no ONNX form.
func TestTraceGradient(t *testing.T) {
	g := twoLayers(t)
	l, err := g.Lower(nn.LowerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	loss := G.Must(G.Sum(l.Outputs[0]))
	_, weights := l.Trainable()
	d, err := G.Grad(loss, weights[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err = nn.TraceNodes(d[0]); err == nil || !strings.Contains(err.Error(), "no ONNX form: ") {
		t.Errorf("the error is %v", err)
	}
}
