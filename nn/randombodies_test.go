package nn_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// nested is a random network [4,3] to [4,3]: its layers, some of them in bodies of Loop, Scan and If, which may be in bodies themselves.
type nested struct {
	kind  string    // of a layer, or of the body around parts
	index int       // of a layer, which names its parameters; layers of one index share them
	trips int       // iterations of a Loop, slices of a Scan
	open  bool      // a Loop that ends by its condition, with a state that grows: only running it tells the lengths of its results
	parts []*nested // what is in the body
}

// drawNested draws a network of some parts; layers counts those drawn so far.
func drawNested(r *rand.Rand, depth, trips int, layers *int) *nested {
	n := &nested{trips: 1}
	for range 1 + r.IntN(2) {
		if depth > 0 && r.IntN(4) > 0 {
			inner := drawNested(r, depth-1, trips, layers)
			inner.kind, inner.trips = []string{"Loop", "Scan", "If"}[r.IntN(3)], 1+r.IntN(trips)
			inner.open = inner.kind == "Loop" && r.IntN(2) == 0
			n.parts = append(n.parts, inner)
			continue
		}
		*layers++
		n.parts = append(n.parts, &nested{kind: []string{"BatchNormalization", "Dropout", "MatMul", "RNN", "Mul"}[r.IntN(5)], index: *layers})
	}
	return n
}

// each calls f for the layers.
func (n *nested) each(f func(layer *nested)) {
	if len(n.parts) == 0 {
		f(n)
	}
	for _, p := range n.parts {
		p.each(f)
	}
}

// String returns the network as text.
func (n *nested) String() string {
	if len(n.parts) == 0 {
		return n.kind
	}
	if n.open {
		return fmt.Sprint("open ", n.kind, n.trips, n.parts)
	}
	return fmt.Sprint(n.kind, n.trips, n.parts)
}

// nestedBuilder adds the nodes of a network to an edit, with its parameters as they are called there.
type nestedBuilder struct {
	e      *nn.Edit
	params map[string]*nn.Value
	plain  bool // without bodies
}

func (b nestedBuilder) do(c op.Config, in ...*nn.Value) *nn.Value { return b.e.Node(c, in...).Out(0) }

// param adds the parameters of a layer to the outermost graph.
func (b nestedBuilder) param(r *rand.Rand, layer *nested) {
	add := func(name string, base, spread float64, dims ...int) {
		name = fmt.Sprint(name, layer.index)
		d := dtype.New(dtype.Float64, dims...)
		for i := range dtype.Slice[float64](d) {
			dtype.Slice[float64](d)[i] = base + spread*r.NormFloat64()
		}
		v := b.e.ParamOf(name, dtype.Float64, initial.Zeros{}, dims...)
		b.e.SetData(v, d)
		b.params[name] = v
	}
	switch layer.kind {
	case "BatchNormalization":
		add("scale", 1, 0.2, 3)
		add("shift", 0, 0.2, 3)
		add("mean", 0, 0.2, 3)
		add("var", 1, 0.1, 3)
	case "MatMul":
		add("w", 0, 0.7, 3, 3)
	case "RNN":
		add("input", 0, 0.7, 1, 3, 3)
		add("recurrence", 0, 0.7, 1, 3, 3)
	case "Mul":
		add("factor", 1, 0.3, 3)
	}
}

// names returns the names of the parameters of a network and the constants of its bodies.
func (b nestedBuilder) names(n *nested) (names []string) {
	n.each(func(layer *nested) {
		for _, p := range []string{"scale", "shift", "mean", "var", "w", "input", "recurrence", "factor"} {
			if name := fmt.Sprint(p, layer.index); b.params[name] != nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return append(names, "yes", "ratio")
}

func (b nestedBuilder) layer(n *nested, x *nn.Value) *nn.Value {
	p := func(name string) *nn.Value { return b.params[fmt.Sprint(name, n.index)] }
	shape := func(d ...int) *nn.Value { return b.e.Ints("shape", d...) }
	switch n.kind {
	case "BatchNormalization":
		return b.do(std.BatchNormalizationConfig{Momentum: new(float32(0.75))}, x, p("scale"), p("shift"), p("mean"), p("var"))
	case "Dropout":
		y := b.do(op.Plain("Dropout"), x, b.params["ratio"])
		b.e.RenameValue(y, fmt.Sprint("dropped", n.index)) // its numbers follow from its name: the same with and without bodies
		return y
	case "MatMul":
		return b.do(op.Plain("Tanh"), b.do(op.Plain("MatMul"), x, p("w")))
	case "RNN":
		y := b.do(std.RNNConfig{HiddenSize: 3}, b.do(std.ReshapeConfig{}, x, shape(-1, 1, 3)), p("input"), p("recurrence"))
		return b.do(std.ReshapeConfig{}, y, shape(-1, 3))
	}
	return b.do(op.Plain("Mul"), x, p("factor"))
}

// apply adds a network.
func (b nestedBuilder) apply(n *nested, x *nn.Value) *nn.Value {
	if len(n.parts) == 0 {
		return b.layer(n, x)
	}
	inside := func(b nestedBuilder, x *nn.Value) *nn.Value {
		for _, p := range n.parts {
			x = b.apply(p, x)
		}
		return x
	}
	if b.plain || n.kind == "" {
		h := inside(b, x)
		if n.kind == "Loop" || n.kind == "Scan" {
			return b.do(op.Plain("Add"), h, b.do(op.Plain("Mul"), h, h))
		}
		return h
	}
	names := b.names(n)
	body := func(name string, inputs []string, extra []*nn.Value, f func(b nestedBuilder, in []*nn.Value) []*nn.Value) *nn.Body {
		captured := append([]*nn.Value{}, extra...)
		for _, name := range names {
			captured = append(captured, b.params[name])
		}
		return b.e.Body(name, inputs, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			within := nestedBuilder{e: e, params: map[string]*nn.Value{}}
			first := len(inputs) + len(extra)
			for i, name := range names {
				within.params[name] = in[first+i]
			}
			return f(within, in[:first])
		})
	}
	sum := func(v *nn.Value) *nn.Value {
		return b.do(std.ReduceSumConfig{KeepDims: new(bool)}, v, b.e.Ints("axes", 0))
	}
	if n.open {
		loop := body("until", []string{"int64[]", "bool[]", "float64[4,3]", "float64[?,3]"}, nil, func(b nestedBuilder, in []*nn.Value) []*nn.Value {
			h := inside(b, in[2])
			return []*nn.Value{b.do(op.Plain("Less"), in[0], b.e.Const("last", dtype.Scalar(int64(n.trips-1)))), h, h, b.do(op.Plain("Mul"), h, h)}
		})
		few := b.e.Const("few", dtype.New(dtype.Float64, 1, 3))
		out := b.e.NodeN(std.LoopConfig{Body: loop}, 3, nil, b.params["yes"], x, few)
		return b.do(op.Plain("Add"), out.Out(1), sum(out.Out(2)))
	}
	switch n.kind {
	case "Loop":
		loop := body("again", []string{"int64[]", "bool[]", "float64[4,3]"}, nil, func(b nestedBuilder, in []*nn.Value) []*nn.Value {
			h := inside(b, in[2])
			return []*nn.Value{b.do(op.Plain("Identity"), in[1]), h, b.do(op.Plain("Mul"), h, h)}
		})
		out := b.e.NodeN(std.LoopConfig{Body: loop}, 2, b.e.Const("trips", dtype.Scalar(int64(n.trips))), nil, x)
		return b.do(op.Plain("Add"), out.Out(0), sum(out.Out(1)))
	case "Scan": // a state, and three results, of which one is not read
		scan := body("slice", []string{"float64[4,3]", "float64[4,3]"}, nil, func(b nestedBuilder, in []*nn.Value) []*nn.Value {
			h := b.do(op.Plain("Add"), inside(b, in[1]), in[0])
			return []*nn.Value{h, b.do(op.Plain("Mul"), h, h), b.do(op.Plain("Identity"), h), b.do(op.Plain("Neg"), h)}
		})
		zeros := b.do(op.Plain("Sub"), x, x)
		slices := b.do(op.Plain("Unsqueeze"), x, b.e.Ints("first", 0))
		if n.trips > 1 {
			slices = b.do(std.ConcatConfig{}, slices, b.do(op.Plain("Tanh"), slices))
		}
		out := b.e.NodeN(std.ScanConfig{Body: scan, NumScanInputs: 1}, 4, zeros, slices)
		squares, last := out.Out(1), out.Out(0)
		if n.index%2 == 0 && n.trips == 1 {
			last = sum(out.Out(2))
		}
		return b.do(op.Plain("Add"), last, sum(squares))
	}
	other := body("other", nil, []*nn.Value{x}, func(b nestedBuilder, in []*nn.Value) []*nn.Value {
		return []*nn.Value{b.do(op.Plain("Neg"), in[0])}
	})
	then := body("then", nil, []*nn.Value{x}, func(b nestedBuilder, in []*nn.Value) []*nn.Value { return []*nn.Value{inside(b, in[0])} })
	return b.do(std.IfConfig{Then: then, Else: other}, b.params["yes"])
}

// build makes the graph of a network, whose loss is the mean of its squares.
func (n *nested) build(t *testing.T, seed uint64, plain bool) *nn.Graph {
	t.Helper()
	g := nn.New("nested")
	r := rand.New(rand.NewPCG(seed, 2))
	if err := g.Edit(func(e *nn.Edit) {
		b := nestedBuilder{e: e, params: map[string]*nn.Value{}, plain: plain}
		x := e.Input("x", "float64[4,3]")
		made := map[int]bool{}
		n.each(func(layer *nested) {
			if !made[layer.index] { // not another with the same parameters
				made[layer.index] = true
				b.param(r, layer)
			}
		})
		b.params["yes"], b.params["ratio"] = e.Const("yes", dtype.Scalar(true)), e.Const("ratio", dtype.Scalar(float64(0.3)))
		y := b.apply(n, x)
		e.Output("loss", b.do(std.ReduceMeanConfig{KeepDims: new(bool)}, b.do(op.Plain("Mul"), y, y)))
	}); err != nil {
		t.Fatalf("%v: %v", n, err)
	}
	return g
}

var bodyNetworks = flag.Uint64("bodies", 24, "number of networks of TestRandomBodies")

// TestRandomBodies: in random networks in bodies of Loop, Scan and If, three deep, with several iterations and results, the gradients are those of
// the loss: they agree with finite differences of it, and, for one iteration, loss, gradients and next statistics with the network without bodies.
func TestRandomBodies(t *testing.T) {
	x := dtype.New(dtype.Float64, 4, 3)
	for i := range 12 {
		dtype.Slice[float64](x)[i] = math.Sin(float64(7 * i))
	}
	type outcome struct {
		loss        float64
		grads, next map[string][]float64
	}
	step := func(t *testing.T, n *nested, g *nn.Graph) outcome {
		t.Helper()
		loss, err := g.Value("loss")
		if err != nil {
			t.Fatal(err)
		}
		var params []*nn.Param
		for p := range g.Params() {
			if p.Trainable() {
				params = append(params, p)
			}
		}
		s, err := g.Step(t.Context(), nn.Feed{"x": x}, nn.StepOptions{Loss: loss, Params: params, Train: true, Seed: 5, Count: 3})
		if err != nil {
			t.Fatalf("%v: %v", n, err)
		}
		defer s.Release()
		o := outcome{s.Loss, map[string][]float64{}, map[string][]float64{}}
		for p, d := range s.Grads {
			o.grads[p.Name()], _ = dtype.Float64s(d)
		}
		for p, d := range s.States {
			o.next[p.Name()], _ = dtype.Float64s(d)
		}
		return o
	}
	near := func(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(a)+math.Abs(b)) }
	networks := *bodyNetworks
	if testing.Short() {
		networks = min(networks, 8)
	}
	for seed := range networks {
		r := rand.New(rand.NewPCG(seed, 1))
		layers, trips := 0, 1+int(seed%2)
		n := drawNested(r, 3, trips, &layers)
		g := n.build(t, seed, false)
		got := step(t, n, g)
		if trips == 1 {
			want := step(t, n, n.build(t, seed, true))
			if !near(got.loss, want.loss, 1e-12) {
				t.Errorf("%d: %v: the loss is %v, without bodies %v", seed, n, got.loss, want.loss)
			}
			for what, pair := range map[string][2]map[string][]float64{"the gradient of": {got.grads, want.grads}, "the next": {got.next, want.next}} {
				if len(pair[0]) != len(pair[1]) {
					t.Errorf("%d: %v: %s %v, without bodies %v", seed, n, what, pair[0], pair[1])
				}
				largest := 1.0 // others may be its rounding errors
				for _, w := range pair[1] {
					for _, x := range w {
						largest = max(largest, math.Abs(x))
					}
				}
				for name, w := range pair[1] {
					for i := range w {
						if len(pair[0][name]) != len(w) || !(math.Abs(pair[0][name][i]-w[i]) <= 1e-10*largest) {
							t.Errorf("%d: %v: %s %s is %v, without bodies %v", seed, n, what, name, pair[0][name], w)
							break
						}
					}
				}
			}
		}
		// Along a random direction, there and back.
		const h = 1e-6
		slope, moved := 0.0, map[*nn.Param][]float64{}
		for p := range g.Params() {
			for _, d := range got.grads[p.Name()] {
				v := r.NormFloat64()
				slope, moved[p] = slope+d*v, append(moved[p], v)
			}
		}
		move := func(by float64) {
			for p, v := range moved {
				for i := range v {
					dtype.Slice[float64](p.Data())[i] += by * v[i]
				}
				p.Changed()
			}
		}
		move(h)
		after := step(t, n, g).loss
		move(-2 * h)
		if found := (after - step(t, n, g).loss) / (2 * h); !near(found, slope, 1e-6) {
			t.Errorf("%d: %v: the loss changes by %v along a direction, its gradient says %v", seed, n, found, slope)
		}
	}
}

// counter is the attributes of an operator that counts how often it is computed.
type counter struct{}

func (counter) Operator() op.Name { return op.Name{Domain: "my", Name: "Counted"} }

// TestBodiesEnd: a run of Loop, Scan or If, forward and backward, with bodies in bodies, ends within their bodies with its context.
func TestBodiesEnd(t *testing.T) {
	for _, kind := range []string{"Loop", "Scan", "If"} {
		for _, outer := range []string{"", "Loop", "If"} {
			for _, at := range []int{3, 22} { // in the forward pass, and in the one that the gradient makes
				times, limit := 0, 0
				ctx, cancel := context.WithCancel(t.Context())
				ops, err := std.Operators().With(&op.Op{
					Domain: "my", Name: "Counted", Since: []int{1}, Doc: "Counts.", In: "X float64", Out: "Y float64", Attrs: counter{}, Pinned: "it counts",
					Infer: func(c *op.Call) ([]op.Type, error) { return c.In[:1], nil },
					Func: func(_ *op.Call, in []dtype.Value) ([]dtype.Value, error) {
						if times++; times == limit {
							cancel()
						}
						return []dtype.Value{dtype.Clone(in[0].(*tensor.Dense))}, nil
					},
					NoGrad: "it is a constant",
				})
				if err != nil {
					t.Fatal(err)
				}
				const turns = 20
				g := nn.NewGraph("m", ops, map[string]int{"": nn.LatestOpset, "my": 1})
				if err := g.Edit(func(e *nn.Edit) {
					x := e.Input("x", "float64[20]")
					var wrap func(e *nn.Edit, kinds []string, x *nn.Value) *nn.Value
					wrap = func(e *nn.Edit, kinds []string, x *nn.Value) *nn.Value {
						do := func(e *nn.Edit, c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
						inside := func(e *nn.Edit, x *nn.Value) *nn.Value {
							if len(kinds) > 1 {
								return wrap(e, kinds[1:], x)
							}
							n := 1
							if kinds[0] == "If" {
								n = turns
							}
							for range n {
								x = do(e, op.Plain("Mul"), x, do(e, counter{}, x))
							}
							return x
						}
						switch kinds[0] {
						case "Loop":
							trips := turns
							if len(kinds) > 1 {
								trips = 1
							}
							b := e.Body("b", []string{"int64[]", "bool[]", x.Type().String()}, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
								return []*nn.Value{do(e, op.Plain("Identity"), in[1]), inside(e, in[2])}
							})
							return e.NodeN(std.LoopConfig{Body: b}, 1, e.Const("trips", dtype.Scalar(int64(trips))), nil, x).Out(0)
						case "Scan":
							b := e.Body("b", []string{"float64[]"}, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{inside(e, in[0])} })
							return e.NodeN(std.ScanConfig{Body: b, NumScanInputs: 1}, 1, x).Out(0)
						}
						branch := func() *nn.Body {
							return e.Body("b", nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{inside(e, in[0])} })
						}
						yes := do(e, op.Plain("Greater"), do(e, std.ReduceSumConfig{KeepDims: new(bool)}, x), e.Const("no", dtype.Scalar(float64(-1))))
						return do(e, std.IfConfig{Then: branch(), Else: branch()}, yes)
					}
					kinds := []string{kind}
					if outer != "" {
						kinds = []string{outer, kind}
					}
					e.Output("y", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, wrap(e, kinds, x)).Out(0))
				}); err != nil {
					t.Fatal(kind, outer, err)
				}
				limit = at
				_, err = g.Grad(ctx, nn.Feed{"x": dtype.New(dtype.Float64, turns)}, "y", "x")
				cancel()
				if !errors.Is(err, context.Canceled) || times != at {
					t.Errorf("%s in %q: canceled when computed the %dth time, computed %d times: %v", kind, outer, at, times, err)
				}
			}
		}
	}
}
