package nn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// fixed makes a parameter node whose values follow from its name and size alone.
func fixed(g *G.ExprGraph, name string, dims ...int) *G.Node {
	return G.NewTensor(g, G.Float32, len(dims), G.WithName(name), G.WithValue(random(7, dims...)))
}

func random(seed uint64, dims ...int) *tensor.Dense {
	r := rand.New(rand.NewPCG(seed, 1))
	n := 1
	for _, d := range dims {
		n *= d
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64()) * 0.5
	}
	d, err := dtype.FromSlice(x, dims...)
	if err != nil {
		panic(err)
	}
	return d
}

// tape runs f on Gorgonia's own machine.
func tape(t *testing.T, f nn.Expr, in ...*tensor.Dense) []G.Value {
	t.Helper()
	g := G.NewGraph()
	var x []*G.Node
	for i, d := range in {
		x = append(x, G.NodeFromAny(g, d, G.WithName("in"+string(rune('0'+i)))))
	}
	out, err := f(x...)
	if err != nil {
		t.Fatal(err)
	}
	vals := make([]G.Value, len(out))
	for i, n := range out {
		G.Read(n, &vals[i])
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	return vals
}

func tapeNear(t *testing.T, what string, got *tensor.Dense, want G.Value) {
	t.Helper()
	g, err := dtype.Float64s(got)
	if err != nil {
		t.Fatal(err)
	}
	var w []float64
	switch x := want.(type) {
	case *tensor.Dense:
		w = elements(x)
		if !x.Shape().Eq(got.Shape()) || len(x.Shape()) != len(got.Shape()) {
			t.Fatalf("%s: shape %v, want %v", what, got.Shape(), x.Shape())
		}
	case G.Scalar:
		w = []float64{float64(x.Data().(float32))}
		if len(got.Shape()) != 0 {
			t.Fatalf("%s: shape %v, want a scalar", what, got.Shape())
		}
	}
	if len(g) != len(w) {
		t.Fatalf("%s: %d elements, want %d", what, len(g), len(w))
	}
	for i := range g {
		if math.Abs(g[i]-w[i]) > 1e-5+1e-4*math.Abs(w[i]) || math.IsNaN(g[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g[i], w[i])
		}
	}
}

// elements reads a tensor however it is in memory.
func elements(d *tensor.Dense) []float64 {
	shape := d.Shape()
	at := make([]int, len(shape))
	var list []float64
	for range shape.TotalSize() {
		x, err := d.At(at...)
		if err != nil {
			panic(err)
		}
		list = append(list, float64(x.(float32)))
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
	return list
}

func one(n *G.Node, err error) (G.Nodes, error) { return G.Nodes{n}, err }

func mlp(x ...*G.Node) (G.Nodes, error) {
	g := x[0].Graph()
	h := G.Must(G.Mul(x[0], fixed(g, "w", 6, 5)))
	h = G.Must(G.BroadcastAdd(h, fixed(g, "b", 5), nil, []byte{0}))
	h = G.Must(G.Rectify(h))
	for range 3 {
		h = G.Must(G.Tanh(h))
	}
	h = G.Must(G.Mul(h, fixed(g, "v", 5, 4)))
	h = G.Must(G.Sigmoid(h))
	return one(G.SoftMax(h))
}

func cnn(x ...*G.Node) (G.Nodes, error) {
	g, n := x[0].Graph(), x[0].Shape()[0]
	h := G.Must(G.Conv2d(x[0], fixed(g, "k", 4, 1, 3, 3), tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))
	h = G.Must(G.Rectify(h))
	h = G.Must(G.MaxPool2D(h, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	h = G.Must(G.Reshape(h, tensor.Shape{n, 4 * 4 * 4}))
	h = G.Must(G.Mul(h, fixed(g, "w", 64, 3)))
	b := fixed(g, "b", 1, 3)
	h = G.Must(G.BroadcastAdd(h, b, nil, []byte{0}))
	y := G.Must(G.SoftMax(h))
	return G.Nodes{y, G.Must(G.Mean(y, 0)), G.Must(G.Mean(y))}, nil
}

type stockCase struct {
	name   string
	f      nn.Expr
	inputs []string
	ops    string // what the graph consists of
}

func stockCases() []stockCase {
	unary := func(f func(*G.Node) (*G.Node, error)) nn.Expr {
		return func(x ...*G.Node) (G.Nodes, error) {
			return one(f(G.Must(G.Add(G.Must(G.Square(x[0])), G.NewConstant(float32(0.5))))))
		}
	}
	m := "x float32[N,4]"
	list := []stockCase{
		{"mlp", mlp, []string{"x float32[N,6]"}, "MatMul Add Relu Tanh Tanh Tanh MatMul Sigmoid Softmax"},
		{"cnn", cnn, []string{"x float32[N,1,8,8]"}, "Conv Relu MaxPool Reshape MatMul Add Softmax ReduceMean ReduceMean"},
		{"upsample", func(x ...*G.Node) (G.Nodes, error) { return one(G.Upsample2D(x[0], 3)) }, []string{"x float32[N,2,3,4]"}, "Resize"},
		{"group normalization", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.GroupNorm(x[0], weight(x[0], "gamma", 1, 4, 1, 1), weight(x[0], "beta", 1, 4, 1, 1), 2, 4, 1e-3))
		}, []string{"x float32[N,4,2,4]"}, "GroupNormalization Mul Add"},
		{"leaky", func(x ...*G.Node) (G.Nodes, error) { return one(G.LeakyRelu(x[0], 0.1)) }, []string{m}, "LeakyRelu"},
		{"sum", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.Sum(x[0])), G.Must(G.Sum(x[0], 0)), G.Must(G.Sum(x[0], 1, 2)), G.Must(G.Max(x[0], 1))}, nil
		}, []string{"x float32[N,3,4]"}, "ReduceSum ReduceSum ReduceSum ReduceMax"},
		{"slice", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.Slice(x[0], nil, G.S(1, 4))), G.Must(G.Slice(x[0], G.S(0))), G.Must(G.Slice(x[0], nil, G.S(2)))}, nil
		}, []string{m}, ""},
		{"slice to the end", func(x ...*G.Node) (G.Nodes, error) {
			n := x[0].Shape()[0]
			return one(G.Slice(x[0], G.S(1, n)))
		}, []string{m}, "Slice"},
		{"half", func(x ...*G.Node) (G.Nodes, error) {
			n := x[0].Shape()[0]
			return G.Nodes{G.Must(G.Slice(x[0], G.S(0, n-2)))}, nil
		}, []string{m}, ""},
		{"concat", func(x ...*G.Node) (G.Nodes, error) { return one(G.Concat(1, x[0], x[1], x[0])) }, []string{m, "y float32[N,2]"}, "Concat"},
		{"transpose", func(x ...*G.Node) (G.Nodes, error) { return one(G.Exp(G.Must(G.Transpose(x[0], 2, 0, 1)))) }, []string{"x float32[N,3,4]"}, "Transpose Exp"},
		{"batched", func(x ...*G.Node) (G.Nodes, error) { return one(G.BatchedMatMul(x[0], x[1], false, true)) }, []string{"x float32[N,3,4]", "y float32[N,5,4]"}, "Transpose MatMul"},
		{"vector", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], fixed(x[0].Graph(), "v", 4))) }, []string{m}, "MatMul"},
		{"column", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], fixed(x[0].Graph(), "v", 4, 1))) }, []string{m}, ""},
		{"outer", func(x ...*G.Node) (G.Nodes, error) { return one(G.OuterProd(x[0], x[1])) }, []string{"x float32[N]", "y float32[3]"}, ""},
		{"dot", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[N]", "y float32[N]"}, "MatMul"},
		{"gradients of a product", func(x ...*G.Node) (G.Nodes, error) {
			w := fixed(x[0].Graph(), "w", 4, 5)
			return G.Backpropagate(G.Nodes{G.Must(G.Mul(x[0], w))}, G.Nodes{x[1]}, G.Nodes{x[0], w})
		}, []string{m, "dy float32[N,5]"}, "Gemm Gemm"},
		{"merge and split", func(x ...*G.Node) (G.Nodes, error) {
			n := x[0].Shape()[0]
			h := G.Must(G.Reshape(x[0], tensor.Shape{n * 2, 6}))
			h = G.Must(G.Tanh(h))
			return one(G.Reshape(h, tensor.Shape{3, n, 4}))
		}, []string{"x float32[N,3,4]"}, "Reshape Tanh Reshape"},
		{"two symbols", func(x ...*G.Node) (G.Nodes, error) {
			n, s := x[0].Shape()[0], x[0].Shape()[1]
			h := G.Must(G.Reshape(x[0], tensor.Shape{n * s, 4}))
			h = G.Must(G.Mul(h, fixed(h.Graph(), "w", 4, 6)))
			h = G.Must(G.Reshape(h, tensor.Shape{n, s, 2, 3}))
			h = G.Must(G.Transpose(h, 0, 2, 1, 3))
			return one(G.Reshape(h, tensor.Shape{n * 2, s, 3}))
		}, []string{"x float32[N,S,4]"}, ""},
		{"batch mean by hand", func(x ...*G.Node) (G.Nodes, error) {
			c := G.NewConstant(float32(1) / float32(x[0].Shape()[0]))
			return one(G.Mul(G.Must(G.Sum(x[0])), c))
		}, []string{m}, ""},
		{"broadcast both", func(x ...*G.Node) (G.Nodes, error) { return one(G.BroadcastAdd(x[0], x[1], []byte{1}, []byte{0})) }, []string{"x float32[N,1]", "y float32[1,3]"}, ""},
		{"compare", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.HadamardProd(x[0], G.Must(G.Lt(x[0], x[1], true))))
		}, []string{m, "y float32[N,4]"}, "Less Cast Mul"},
		{"rows by number", func(x ...*G.Node) (G.Nodes, error) {
			i := G.NewVector(x[0].Graph(), G.Int, G.WithName("rows"), G.WithValue(tensor.New(tensor.WithBacking([]int{2, 0, 1, 1}))))
			return one(G.ByIndices(x[0], i, 0))
		}, []string{"x float32[3,4]"}, "Gather"},
		{"three symbols", func(x ...*G.Node) (G.Nodes, error) {
			s := x[0].Shape()
			return one(G.Reshape(G.Must(G.Tanh(x[0])), tensor.Shape{s[2], s[0] * s[1]}))
		}, []string{"x float32[N,S,T]"}, ""},
		{"one more row", func(x ...*G.Node) (G.Nodes, error) {
			h := G.Must(G.Concat(0, x[0], fixed(x[0].Graph(), "w", 1, 4)))
			n := h.Shape()[0]
			return G.Nodes{G.Must(G.Reshape(h, tensor.Shape{4, n})), G.Must(G.Reshape(h, tensor.Shape{n * 2, 2}))}, nil
		}, []string{m}, ""},
		{"strided convolution", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Conv2d(x[0], fixed(x[0].Graph(), "k", 3, 2, 3, 2), tensor.Shape{3, 2}, []int{1, 0}, []int{2, 1}, []int{1, 2}))
		}, []string{"x float32[N,2,7,6]"}, "Conv"},
		{"quotients", func(x ...*G.Node) (G.Nodes, error) {
			two := G.NewConstant(float32(2))
			return G.Nodes{G.Must(G.Sub(x[0], x[1])), G.Must(G.HadamardDiv(x[0], two)), G.Must(G.Sub(two, x[1])), G.Must(G.Pow(G.Must(G.Square(x[0])), two))}, nil
		}, []string{m, "y float32[N,4]"}, "Sub Div Sub Mul Pow"},
		{"every second", func(x ...*G.Node) (G.Nodes, error) { return one(G.Slice(x[0], nil, G.S(0, 4, 2))) }, []string{m}, "Slice"},
		{"several maxima", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.Max(x[0], 0)), G.Must(G.Mean(x[0], 1)), G.Must(G.Mean(x[0], 0, 2))}, nil
		}, []string{"x float32[N,3,4]"}, "ReduceMax ReduceMean ReduceMean"},
		{"softmax of a column", func(x ...*G.Node) (G.Nodes, error) { return one(G.SoftMax(x[0])) }, []string{"x float32[N,1]"}, "Softmax"},
		{"log softmax", func(x ...*G.Node) (G.Nodes, error) { return one(G.LogSoftMax(x[0])) }, []string{m}, "LogSoftmax"},
		{"softmax 0", func(x ...*G.Node) (G.Nodes, error) { return one(G.SoftMax(x[0], 0)) }, []string{m}, "Softmax"},
		{"log1p", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Log(G.Must(G.Add(G.Must(G.Square(x[0])), G.NewConstant(float32(1))))))
		}, []string{m}, "Mul Add Log"},
		{"crossentropy", func(x ...*G.Node) (G.Nodes, error) {
			p := G.Must(G.Log(G.Must(G.SoftMax(x[0]))))
			return one(G.Neg(G.Must(G.Mean(G.Must(G.HadamardProd(p, x[1]))))))
		}, []string{m, "y float32[N,4]"}, ""},
		{"ours", func(x ...*G.Node) (G.Nodes, error) {
			h, err := std.Operators().ApplyN(1, std.GemmConfig{TransB: true}, x[0], fixed(x[0].Graph(), "w", 5, 4))
			if err != nil {
				return nil, err
			}
			return std.Operators().ApplyN(1, op.Plain("Relu"), h[0])
		}, []string{m}, "Gemm Relu"},
	}
	for name, f := range map[string]func(*G.Node) (*G.Node, error){
		"Abs": G.Abs, "Sign": G.Sign, "Ceil": G.Ceil, "Floor": G.Floor, "Sin": G.Sin, "Cos": G.Cos, "Exp": G.Exp, "Log": G.Log, "Log2": G.Log2,
		"Neg": G.Neg, "Square": G.Square, "Sqrt": G.Sqrt, "Inverse": G.Inverse, "InverseSqrt": G.InverseSqrt, "Cube": G.Cube,
		"Log1p": G.Log1p, "Expm1": G.Expm1, "Softplus": G.Softplus,
	} {
		list = append(list, stockCase{name, unary(f), []string{m}, ""})
	}
	return list
}

// TestTraceStock traces functions of Gorgonia's own operators and compares with its TapeMachine,
// at sizes that the trace did not see.
func TestTraceStock(t *testing.T) {
	for _, c := range append(stockCases(), nearStock()...) {
		t.Run(c.name, func(t *testing.T) {
			g, err := nn.Trace(c.f, c.inputs...)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			if got := operators(g); c.ops != "" && got != c.ops {
				t.Errorf("the graph is %s, want %s", got, c.ops)
			}
			for _, sizes := range []map[string]int{{"N": 4, "S": 8, "T": 3}, {"N": 9, "S": 2, "T": 5}} {
				var in []*tensor.Dense
				for i, v := range g.Inputs() {
					in = append(in, random(uint64(i+11), dimsAt(t, v.Type(), sizes)...))
				}
				out, err := g.Run(context.Background(), in...)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range tape(t, c.f, in...) {
					tapeNear(t, c.name, out[i], w)
				}
			}
		})
	}
}

// TestTraceFixed traces the same functions with plain numbers for symbols.
func TestTraceFixed(t *testing.T) {
	for _, c := range append(stockCases(), nearStock()...) {
		t.Run(c.name, func(t *testing.T) {
			var inputs []string
			for _, s := range c.inputs {
				inputs = append(inputs, strings.NewReplacer("N", "4", "S", "8", "T", "3").Replace(s))
			}
			g, err := nn.Trace(c.f, inputs...)
			if err != nil {
				t.Fatal(err)
			}
			var in []*tensor.Dense
			for i, v := range g.Inputs() {
				in = append(in, random(uint64(i+11), dimsAt(t, v.Type(), nil)...))
			}
			out, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range tape(t, c.f, in...) {
				tapeNear(t, c.name, out[i], w)
			}
		})
	}
}

func dimsAt(t *testing.T, typ op.Type, sizes map[string]int) []int {
	var dims []int
	for _, d := range typ.Shape {
		n, err := d.Eval(sizes)
		if err != nil {
			t.Fatal(err)
		}
		dims = append(dims, n)
	}
	return dims
}

func operators(g *nn.Graph) string {
	var s []string
	for n := range g.Nodes() {
		s = append(s, n.Type())
	}
	return strings.Join(s, " ")
}

// TestTraceTrains differentiates a traced function: all of its parameters are weights.
func TestTraceTrains(t *testing.T) {
	g, err := nn.Trace(func(x ...*G.Node) (G.Nodes, error) {
		y, err := mlp(x...)
		if err != nil {
			return nil, err
		}
		return one(G.Mean(G.Must(G.Square(y[0]))))
	}, "x float32[N,6]")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for p := range g.Params() {
		if p.Trainable() {
			names = append(names, p.Name())
		}
	}
	if got := strings.Join(names, " "); got != "w b v" {
		t.Errorf("the trainable parameters are %s", got)
	}
	grads, err := g.Grad(context.Background(), nn.Feed{"x": random(4, 3, 6)}, g.Outputs()[0].Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		d, ok := grads[name].(*tensor.Dense)
		if !ok {
			t.Fatalf("no gradient of %s", name)
		}
		sum := 0.0
		for _, x := range elements(d) {
			sum += x * x
		}
		if sum == 0 {
			t.Errorf("the gradient of %s is zero", name)
		}
	}
}

// TestTraceSoftmaxRead checks that Log of a SoftMax with other readers, which Gorgonia rewrites
// ambiguously, is refused, and that the documented alternative works.
func TestTraceSoftmaxRead(t *testing.T) {
	both := func(p, l *G.Node) (G.Nodes, error) {
		return one(G.Add(G.Must(G.Mean(p)), G.Must(G.Mean(l))))
	}
	for name, f := range map[string]nn.Expr{
		"the logarithm of what others read": func(x ...*G.Node) (G.Nodes, error) {
			p := G.Must(G.SoftMax(x[0]))
			return both(p, G.Must(G.Log(p)))
		},
		"returned": func(x ...*G.Node) (G.Nodes, error) {
			p := G.Must(G.SoftMax(x[0]))
			return G.Nodes{p, G.Must(G.Sum(G.Must(G.Log(p))))}, nil
		},
	} {
		if _, err := nn.Trace(f, "x float32[2,3]"); err == nil || !strings.Contains(err.Error(), `std.Operators().Apply1(op.Plain("LogSoftmax"), x)`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	g, err := nn.Trace(func(x ...*G.Node) (G.Nodes, error) {
		p, err := std.Operators().Apply1(op.Plain("Softmax"), x[0])
		if err != nil {
			return nil, err
		}
		return both(p, G.Must(G.LogSoftMax(x[0])))
	}, "x float32[1,3]")
	if err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{0, 1, 2}, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out[0].Data().(float32), float32(1.0/3-1.4076059); math.Abs(float64(got-want)) > 1e-5 {
		t.Errorf("%v, want %v", got, want)
	}
}

// batchNorm is Gorgonia's, with statistics unless it is fresh.
func batchNorm(fresh bool) nn.Expr {
	return func(x ...*G.Node) (G.Nodes, error) {
		y, _, _, norm, err := G.BatchNorm(x[0], weight(x[0], "gamma", 1, 3, 1, 1), weight(x[0], "beta", 1, 3, 1, 1), 0.2, 1e-3)
		if err != nil || fresh {
			return G.Nodes{y}, err
		}
		return G.Nodes{y}, norm.SetStats(tensor.New(tensor.WithBacking([]float32{0.5, -1, 2})), tensor.New(tensor.WithBacking([]float32{4, 0.25, 1})))
	}
}

// TestTraceBatchNorm compares with Gorgonia's machine in evaluation mode, and trains the trace.
func TestTraceBatchNorm(t *testing.T) {
	const in = "x float32[5,3,2,4]"
	g, err := nn.Trace(batchNorm(false), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := operators(g); got != "BatchNormalization Mul Add" {
		t.Errorf("the graph is %s", got)
	}
	var trained []string
	for p := range g.Params() {
		if p.Trainable() {
			trained = append(trained, p.Name())
		}
	}
	if want := []string{"gamma", "beta"}; !slices.Equal(trained, want) {
		t.Errorf("%q are trained, want %q", trained, want)
	}
	x := random(3, 5, 3, 2, 4)
	got, err := g.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	eg := G.NewGraph()
	y, err := batchNorm(false)(G.NewTensor(eg, G.Float32, 4, G.WithName("x"), G.WithValue(x)))
	if err != nil {
		t.Fatal(err)
	}
	var want G.Value
	G.Read(y[0], &want)
	vm := G.NewTapeMachine(eg, G.EvalMode())
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	tapeNear(t, "batch normalization", got[0], want)

	if g, err = nn.Trace(batchNorm(true), in); err != nil {
		t.Fatal(err)
	}
	stat, err := g.Value("batchnorm.running_var")
	if err != nil {
		t.Fatal(err)
	}
	if v := stat.Param().Data().Data().([]float32); !slices.Equal(v, []float32{1, 1, 1}) {
		t.Errorf("the variance of an operator that never ran is %v", v)
	}
}
