package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// product is patches · filterᵀ as Conv2d has it, which Gorgonia gives as a gradient only.
func product(patches, filter *G.Node) *G.Node {
	a := fixed(patches.Graph(), "a", patches.Shape()[0], filter.Shape()[0])
	d, err := G.Backpropagate(G.Nodes{G.Must(G.Mul(a, filter))}, G.Nodes{patches}, G.Nodes{a})
	if err != nil {
		panic(err)
	}
	return d[0]
}

// patched is nearly a convolution: the filter w, of so many rows, over patches of 2 by 3 of an image of 4 channels and 5 by 4 pixels.
func patched(rows, filterRows int, out tensor.Shape, w ...int) nn.Expr {
	return func(x ...*G.Node) (G.Nodes, error) {
		n := x[0].Shape()[0]
		cols := G.Must(G.Im2Col(x[0], tensor.Shape{2, 3}, tensor.Shape{0, 0}, tensor.Shape{1, 1}, tensor.Shape{1, 1}))
		patches := G.Must(G.Reshape(cols, tensor.Shape{n * rows, 8 * 24 / rows}))
		p := product(patches, G.Must(G.Reshape(fixed(x[0].Graph(), "w", w...), tensor.Shape{filterRows, tensor.Shape(w).TotalSize() / filterRows})))
		return one(G.Transpose(G.Must(G.Reshape(p, append(tensor.Shape{n}, out...))), 0, 3, 1, 2))
	}
}

// nearStock are functions of Gorgonia's that are nearly what an operator is, or have shapes that it treats in its own way.
func nearStock() []stockCase {
	m, image := []string{"x float32[N,4]"}, []string{"x float32[N,4,5,4]"}
	gradient := func(f func(x *G.Node) *G.Node) nn.Expr {
		return func(x ...*G.Node) (G.Nodes, error) { return G.Grad(f(x[0]), x[0]) }
	}
	sums := func(x ...*G.Node) (G.Nodes, error) {
		return G.Nodes{G.Must(G.Sum(x[0], 0)), G.Must(G.Sum(x[0], 1)), G.Must(G.Sum(x[0])), G.Must(G.Mean(x[0], 0)), G.Must(G.Max(x[0], 1))}, nil
	}
	return []stockCase{
		{"a row by a column", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[1,N]", "y float32[N,1]"}, ""},
		{"a column by a row", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[N,1]", "y float32[1,3]"}, ""},
		{"a row by a vector", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[1,N]", "y float32[N]"}, ""},
		{"a matrix by a row", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[3,1]", "y float32[1,N]"}, ""},
		{"a row by a matrix", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[1,N]", "y float32[N,3]"}, ""},
		{"a vector by a matrix", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[N]", "y float32[N,3]"}, ""},
		{"a vector by a column", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[N]", "y float32[N,1]"}, ""},
		{"a matrix by a column", func(x ...*G.Node) (G.Nodes, error) { return one(G.Mul(x[0], x[1])) }, []string{"x float32[3,N]", "y float32[N,1]"}, ""},
		{"rows less their means", func(x ...*G.Node) (G.Nodes, error) { // square where N is 4
			mean := G.Must(G.Reshape(G.Must(G.Mean(x[0], 1)), tensor.Shape{x[0].Shape()[0], 1}))
			return one(G.BroadcastSub(x[0], mean, nil, []byte{1}))
		}, m, ""},
		{"sums of a column", sums, []string{"x float32[N,1]"}, ""},
		{"sums of a row", sums, []string{"x float32[1,N]"}, ""},
		{"sums of thin blocks", func(x ...*G.Node) (list G.Nodes, err error) {
			for _, y := range x {
				for _, axes := range [][]int{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}} {
					list = append(list, G.Must(G.Sum(y, axes...)))
				}
			}
			return list, nil
		}, []string{"x float32[1,N,1]", "y float32[N,1,3]", "z float32[3,2,N]"}, ""},
		{"gradient of a sum", gradient(func(x *G.Node) *G.Node { return energy(x) }), m, ""},
		{"gradient of a mean of rows", gradient(func(x *G.Node) *G.Node { return energy(G.Must(G.Sum(x, 1))) }), m, ""},
		{"read by two", func(x ...*G.Node) (G.Nodes, error) {
			y := G.Must(G.Neg(G.Must(G.LogSoftMax(x[0]))))
			return G.Nodes{G.Must(G.Exp(y)), G.Must(G.Square(y))}, nil
		}, m, ""},
		{"a convolution by hand", patched(8, 2, tensor.Shape{4, 2, 2}, 2, 4, 2, 3), image, "Conv"},
		{"patches of none", func(x ...*G.Node) (G.Nodes, error) {
			n := x[0].Shape()[0]
			part := G.Must(G.Reshape(G.Must(G.Slice(x[0], nil, nil, G.S(0, 3), G.S(0, 2))), tensor.Shape{n, 24}))
			p := product(part, G.Must(G.Reshape(fixed(x[0].Graph(), "w", 2, 4, 2, 3), tensor.Shape{2, 24})))
			return one(G.Transpose(G.Must(G.Reshape(p, tensor.Shape{n, 1, 1, 2})), 0, 3, 1, 2))
		}, image, ""},
	}
}

// nearTraces are functions whose parts depend on sizes in one thing, or that have no form.
func nearTraces() []stockCase {
	m, image := []string{"x float32[N,4]"}, []string{"x float32[N,4,5,4]"}
	at := func(x *G.Node, axis int) int { return x.Shape()[axis] }
	even := func(x *G.Node) bool { return at(x, 0)%2 == 0 }
	constant := func(x *G.Node, v int, more ...int) *G.Node { // of ours, in the graph of x
		n, err := op.Const(x.Graph(), whole(tensor.Shape{1 + len(more)}, append([]int{v}, more...)...).Value().(*tensor.Dense))
		if err != nil {
			panic(err)
		}
		return n
	}
	pool := func(pad ...int) nn.Expr {
		return func(x ...*G.Node) (G.Nodes, error) {
			return one(G.MaxPool2D(x[0], tensor.Shape{2, 2}, pad, []int{2, 2}))
		}
	}
	return []stockCase{
		{"turned patches", patched(8, 2, tensor.Shape{2, 4, 2}, 2, 4, 2, 3), image, ""},
		{"a turned filter", patched(8, 2, tensor.Shape{4, 2, 2}, 2, 4, 3, 2), image, ""},
		{"a filter of three axes", patched(8, 2, tensor.Shape{4, 2, 2}, 2, 12, 2), image, ""},
		{"a wide filter", patched(8, 2, tensor.Shape{4, 2, 2}, 2, 2, 2, 6), image, ""},
		{"a flat filter", patched(8, 2, tensor.Shape{4, 2, 2}, 2, 8, 1, 3), image, ""},
		{"two filters as one", patched(8, 2, tensor.Shape{4, 2, 2}, 4, 2, 2, 3), image, ""},
		{"halves of patches", patched(16, 2, tensor.Shape{4, 2, 4}, 4, 1, 2, 3), image, ""},
		{"a filter that is not turned", func(x ...*G.Node) (G.Nodes, error) {
			n := x[0].Shape()[0]
			cols := G.Must(G.Im2Col(x[0], tensor.Shape{2, 3}, tensor.Shape{0, 0}, tensor.Shape{1, 1}, tensor.Shape{1, 1}))
			p := G.Must(G.Mul(G.Must(G.Reshape(cols, tensor.Shape{n * 8, 24})), G.Must(G.Reshape(fixed(x[0].Graph(), "w", 24, 4, 2, 3), tensor.Shape{24, 24}))))
			return one(G.Transpose(G.Must(G.Reshape(p, tensor.Shape{n, 4, 2, 24})), 0, 3, 1, 2))
		}, image, ""},
		{"a filter as it is, and patches after a function", func(x ...*G.Node) (G.Nodes, error) {
			n := x[0].Shape()[0]
			w := fixed(x[0].Graph(), "w", 2, 4, 2, 3)
			flat := G.Must(G.Reshape(w, tensor.Shape{2, 24}))
			cols := G.Must(G.Im2Col(x[0], tensor.Shape{2, 3}, tensor.Shape{0, 0}, tensor.Shape{1, 1}, tensor.Shape{1, 1}))
			image := func(p *G.Node, h int) *G.Node {
				return G.Must(G.Transpose(G.Must(G.Reshape(p, tensor.Shape{n, h, p.Shape()[0] / n / h, 2})), 0, 3, 1, 2))
			}
			patches := G.Must(G.Reshape(cols, tensor.Shape{n * 8, 24}))
			return G.Nodes{image(product(patches, fixed(x[0].Graph(), "v", 2, 24)), 4), image(product(G.Must(G.Tanh(patches)), flat), 4)}, nil
		}, image, ""},
		{"a type that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			if even(x[0]) {
				return G.Nodes{x[0], G.NewConstant(int32(3))}, nil
			}
			return G.Nodes{x[0], G.NewConstant(int64(3))}, nil
		}, m, ""},
		{"a rank that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			if even(x[0]) {
				return G.Nodes{x[0], whole(nil, 3)}, nil
			}
			return G.Nodes{x[0], whole(tensor.Shape{1}, 3)}, nil
		}, m, ""},
		{"numbers that depend on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.BroadcastAdd(x[0], G.NewConstant(tensor.New(tensor.WithBacking([]float32{1, 2, 3, float32(at(x[0], 0))}))), nil, []byte{0}))
		}, m, ""},
		{"a table that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{x[0], whole(tensor.Shape{1, 2}, 1, at(x[0], 0))}, nil
		}, m, ""},
		{"no number", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Add(x[0], G.NewConstant(float32(math.NaN()))))
		}, m, ""},
		{"nearly an inverse", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Mul(x[0], G.NewConstant(1/(float32(at(x[0], 0))+0.001))))
		}, m, ""},
		{"an output that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			a, b := apply2(std.SplitConfig{Axis: 1, NumOutputs: 2}, x[0])
			if even(x[0]) {
				a = b
			}
			return G.Nodes{a}, nil
		}, m, ""},
		{"an operator that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			if even(x[0]) {
				return G.Nodes{apply1(op.Plain("Tanh"), x[0])}, nil
			}
			return G.Nodes{apply1(op.Plain("Sigmoid"), x[0])}, nil
		}, m, ""},
		{"inputs that depend on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			if even(x[0]) {
				return G.Nodes{apply1(op.Plain("Sum"), x[0], x[0])}, nil
			}
			return G.Nodes{apply1(op.Plain("Sum"), x[0], x[0], x[0])}, nil
		}, m, ""},
		{"shapes of ours", func(x ...*G.Node) (G.Nodes, error) {
			n := at(x[0], 0)
			return G.Nodes{
				apply1(op.Plain("Reshape"), x[0], constant(x[0], n, 2, 2)), apply1(op.Plain("Reshape"), x[0], constant(x[0], 2, n, 2)),
				apply1(op.Plain("Expand"), apply1(std.UnsqueezeConfig{}, x[0], constant(x[0], 0)), constant(x[0], 3, n, 4)),
				apply1(op.Plain("Reshape"), constant(x[0], 1, 2, 3, 4), constant(x[0], 2, 2)), apply1(op.Plain("Tile"), x[0], constant(x[0], n, 1)),
			}, nil
		}, m, ""},
		{"as much as at the first size", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Slice(x[0], G.S(1, 11)))
		}, m, ""},
		{"in fours", func(x ...*G.Node) (G.Nodes, error) { return one(G.Reshape(x[0], tensor.Shape{at(x[0], 0) / 4, 4})) }, []string{"x float32[N]"}, ""},
		{"in blocks of 32", func(x ...*G.Node) (G.Nodes, error) { return one(G.Reshape(x[0], tensor.Shape{at(x[0], 0) / 32, 32})) }, []string{"x float32[N]"}, ""},
		{"in blocks of 5", func(x ...*G.Node) (G.Nodes, error) { return one(G.Reshape(x[0], tensor.Shape{at(x[0], 0) / 5, 5})) }, []string{"x float32[N]"}, ""},
		{"two that are open and agree", func(x ...*G.Node) (G.Nodes, error) { return one(G.Add(x[0], x[1])) }, []string{"x float32[?,4]", "y float32[?,4]"}, ""},
		{"two that are open", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Reshape(x[0], tensor.Shape{at(x[0], 1), at(x[0], 0)}))
		}, []string{"x float32[?,?]"}, ""},
		{"nothing to annotate", func(x ...*G.Node) (G.Nodes, error) {
			same, err := nn.Annotate(nn.Annotations{"k": 1}, func(x ...*G.Node) (G.Nodes, error) { return x, nil })(x...)
			if err != nil {
				return nil, err
			}
			return then(nn.Annotate(nn.Annotations{"k": 2}, dense("a", 4)), dense("b", 4))(same...)
		}, m, ""},
		{"three anchors", then(anchored, dense("a", 4), anchored, dense("b", 4), anchored), m, ""},
		{"who reads weights of a loop", func(x ...*G.Node) (G.Nodes, error) {
			ours, theirs := weight(x[0], "ours", 1, 4), weight(x[0], "theirs", 1, 4)
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) {
				return one(G.BroadcastHadamardProd(apply1(op.Plain("Add"), s[1], ours), theirs, nil, []byte{0}))
			}, x[0])
		}, m, ""},
		{"a pool with padding above", pool(1, 0, 0, 0), []string{"x float32[N,2,5,4]"}, ""},
		{"a pool with padding on the left", pool(0, 0, 1, 0), []string{"x float32[N,2,4,5]"}, ""},
		{"a pool with padding around", pool(1, 1, 1, 1), []string{"x float32[N,2,4,4]"}, ""},
	}
}

// TestTraceAfterRun: a number that was computed when the nodes ran is not a constant.
func TestTraceAfterRun(t *testing.T) {
	g := G.NewGraph()
	x := G.NewMatrix(g, G.Float32, G.WithName("x"), G.WithShape(2, 3), G.WithValue(random(1, 2, 3)))
	z := G.NewMatrix(g, G.Float32, G.WithName("z"), G.WithShape(2, 3), G.WithValue(tensor.New(tensor.WithShape(2, 3), tensor.Of(tensor.Float32))))
	zero, none := G.Must(G.Sum(z)), G.NewConstant(float32(0))
	part := func(f func(a, b *G.Node, same bool) (*G.Node, error), limit *G.Node) *G.Node {
		return times(x, G.Must(f(x, limit, true)))
	}
	out := G.Nodes{part(G.Gte, zero), G.Must(G.Add(part(G.Gte, none), G.Must(G.HadamardProd(part(G.Lt, none), zero)))), part(G.Gte, none)}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	traced, err := nn.Tracer{Inputs: G.Nodes{x, z}}.Nodes(out...)
	if err != nil {
		t.Fatal(err)
	}
	var relus []string
	for n := range traced.Nodes(nn.Ops("Relu", "LeakyRelu")) {
		relus = append(relus, n.Type())
	}
	if !slices.Equal(relus, []string{"Relu"}) {
		t.Errorf("%v, want one Relu:\n%s", relus, nntest.Spelled(traced))
	}
}

// TestTraceInputsRefuse: inputs of TraceNodes are nodes that nothing computes.
func TestTraceInputsRefuse(t *testing.T) {
	x := G.NewMatrix(G.NewGraph(), G.Float32, G.WithName("x"), G.WithShape(2, 3))
	y := tanh(x)
	for _, in := range []G.Nodes{{nil}, {y}, {x, nil}} {
		if _, err := (nn.Tracer{Inputs: in}).Nodes(tanh(y)); err == nil || !strings.Contains(err.Error(), "an input is computed from other nodes") {
			t.Errorf("%v: %v", in, err)
		}
	}
}

// TestTraceLowered: a lowering keeps operator sets, roles and frozen parameters, and is traced as it was made.
func TestTraceLowered(t *testing.T) {
	g := nn.NewGraph("old", std.Operators(), map[string]int{"": 13})
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		w, c := e.Const("w", random(1, 4, 4)), e.Const("c", random(2, 4))
		e.SetRole(w, nn.Weight)
		e.SetRole(c, nn.Constant)
		e.SetFrozen(w.Param(), true)
		e.Output("y", e.Node(op.Plain("Add"), e.Node(op.Plain("MatMul"), x, w).Out(0), c).Out(0))
	})
	l, err := g.Lower(nn.LowerOptions{Sizes: map[string]int{"N": 3}})
	if err != nil {
		t.Fatal(err)
	}
	nntest.Edit(t, g, func(e *nn.Edit) { e.Output("z", e.Node(op.Plain("Neg"), e.Inputs()[0]).Out(0)) })
	traced, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	if got := operators(traced); got != "MatMul Add" {
		t.Errorf("after an edit of the graph the lowering is %s", got)
	}
	if w, c := paramOf(t, traced, "w"), paramOf(t, traced, "c"); w.Role() != nn.Weight || !w.Frozen() || c.Role() != nn.Constant || c.Frozen() {
		t.Errorf("w is a %v, frozen %v, c is a %v, frozen %v", w.Role(), w.Frozen(), c.Role(), c.Frozen())
	}
	nodes, err := nn.TraceNodes(l.Outputs...)
	if err != nil {
		t.Fatal(err)
	}
	stock, err := nn.TraceNodes(tanh(G.NewMatrix(G.NewGraph(), G.Float32, G.WithName("x"), G.WithShape(2, 3))))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		g    *nn.Graph
		want int
	}{"the lowering": {traced, 13}, "its nodes": {nodes, 13}, "Gorgonia's": {stock, nn.LatestOpset}} {
		if got := c.g.Opsets()[""]; got != c.want {
			t.Errorf("operator set of %s is %d, want %d", name, got, c.want)
		}
	}
	empty := nn.NewGraph("no node", std.Operators(), map[string]int{"": 13})
	nntest.Edit(t, empty, func(e *nn.Edit) { e.Output("y", e.Input("x", "float32[2]")) })
	if l, err = empty.Lower(nn.LowerOptions{}); err != nil {
		t.Fatal(err)
	}
	if traced, err = l.Trace(); err != nil || traced.Opsets()[""] != 13 {
		t.Errorf("without a node: %v", err)
	}
}

func paramOf(t *testing.T, g *nn.Graph, name string) *nn.Param {
	t.Helper()
	v, err := g.Value(name)
	if err != nil {
		t.Fatal(err)
	}
	return v.Param()
}
