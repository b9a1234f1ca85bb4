package std_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// subgraph is a body made of a Go function.
type subgraph struct {
	inputs, captured int
	f                func(in gorgonia.Nodes) (gorgonia.Nodes, error)
}

// apply calls f; what an operator refuses there is an error.
func (s *subgraph) apply(in gorgonia.Nodes) (out gorgonia.Nodes, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return s.f(in)
}

func (s *subgraph) Inputs() int { return s.inputs }

func (s *subgraph) Captured() []string { return make([]string, s.captured) }

func (s *subgraph) Infer(ctx context.Context, in []op.Type, known []op.Known, train bool) ([]op.Type, error) {
	g := gorgonia.NewGraph()
	nodes := make(gorgonia.Nodes, len(in))
	symbolic, sized := false, true
	for i, t := range in {
		t.Shape = append([]op.Dim(nil), t.Shape...)
		for a, d := range t.Shape {
			symbolic, sized = symbolic || d.Symbolic(), sized && d.Known()
			if !d.Known() { // a size that its symbol carries: d3
				if _, err := fmt.Sscanf(d.Sym, "d%d", &t.Shape[a].Size); err != nil {
					return nil, err
				}
			}
		}
		var err error
		if nodes[i], err = op.Input(g, fmt.Sprint("x", i), t, nil); err != nil {
			return nil, err
		}
	}
	out, err := s.apply(nodes)
	types := make([]op.Type, len(out))
	for i, n := range out {
		types[i] = op.NodeType(n)
		shape := append([]op.Dim{}, types[i].Shape...)
		for a, d := range shape {
			if symbolic && d.Size != 1 {
				if shape[a].Sym = fmt.Sprint("d", d.Size); !sized {
					shape[a].Size = -1
				}
			}
		}
		types[i].Shape = shape
	}
	return types, err
}

func (s *subgraph) Random() bool { return false }

func (s *subgraph) States() []int { return nil }

func (s *subgraph) Lower(_ op.Scope, in gorgonia.Nodes, types []op.Type, known []op.Known) (gorgonia.Nodes, error) {
	return s.apply(in)
}

func (s *subgraph) Run(_ op.SubgraphRun, in []dtype.Value) (out, next []dtype.Value, err error) {
	g := gorgonia.NewGraph()
	nodes := make(gorgonia.Nodes, len(in))
	for i, v := range in {
		var err error
		if nodes[i], err = op.Const(g, v); err != nil {
			return nil, nil, err
		}
	}
	roots, err := s.apply(nodes)
	if err != nil {
		return nil, nil, err
	}
	out, err = computed(roots)
	return out, nil, err
}

// computed returns the values of nodes.
func computed(roots gorgonia.Nodes) ([]dtype.Value, error) {
	p, err := engine.Compile(engine.Options{}, roots...)
	if err != nil {
		return nil, err
	}
	if err := p.Run(context.Background()); err != nil {
		return nil, err
	}
	out := make([]dtype.Value, len(roots))
	for i, r := range roots {
		if out[i] = p.Value(r); out[i] != nil {
			out[i] = dtype.Clone(out[i].(*tensor.Dense))
		}
	}
	return out, nil
}

// Depends says that all outputs depend on all inputs.
func (s *subgraph) Depends([]bool) []bool { return slices.Repeat([]bool{true}, 9) }

// Gradient differentiates what f computes.
func (s *subgraph) Gradient(_ op.SubgraphRun, in, dout []dtype.Value, asked []bool) ([]dtype.Value, error) {
	g := gorgonia.NewGraph()
	var of, seeds, wrt gorgonia.Nodes
	nodes, place := make(gorgonia.Nodes, len(in)), []int{}
	for i, v := range in {
		var err error
		if nodes[i], err = op.Input(g, fmt.Sprint("x", i), op.TypeOf(v), v); err != nil {
			return nil, err
		}
	}
	roots, err := s.apply(nodes)
	if err != nil {
		return nil, err
	}
	for i, d := range dout {
		if d == nil {
			continue
		}
		seed, err := op.Const(g, d)
		if err != nil {
			return nil, err
		}
		of, seeds = append(of, apply("Identity", roots[i])), append(seeds, seed)
	}
	for i, n := range nodes {
		if asked[i] && slices.ContainsFunc(of, func(o *gorgonia.Node) bool { return op.DependsOnMarked(o, map[*gorgonia.Node]bool{n: true}) }) {
			wrt, place = append(wrt, n), append(place, i)
		}
	}
	grads := make([]dtype.Value, len(in))
	if len(of) == 0 || len(wrt) == 0 {
		return grads, nil
	}
	list, err := op.Backpropagate(context.Background(), of, seeds, wrt)
	if err != nil {
		return nil, err
	}
	out, err := computed(list)
	for k, v := range out {
		grads[place[k]] = v
	}
	return grads, err
}

func apply(name string, in ...*gorgonia.Node) *gorgonia.Node {
	n, err := std.Operators().Apply1(op.Plain(name), in...)
	if err != nil {
		panic(err)
	}
	return n
}

// newCall returns a call of an operator of the standard set.
func newCall(t *testing.T, c op.Config, in ...op.Type) *op.Call {
	t.Helper()
	call, err := std.Operators().NewCall(c, in...)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func TestIf(t *testing.T) {
	x, y, z := optest.Rand(1, 3), optest.Rand(2, 3), optest.Rand(3, 3)
	then := &subgraph{0, 2, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gorgonia.Nodes{apply("Mul", in[0], in[1]), in[0]}, nil
	}}
	otherwise := &subgraph{0, 1, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		e := apply("Exp", in[0])
		return gorgonia.Nodes{e, e}, nil
	}}
	var cases []optest.Case
	for _, yes := range []bool{true, false} {
		cases = append(cases, optest.Case{Name: fmt.Sprint(yes), Config: std.IfConfig{Then: then, Else: otherwise},
			In: values(optest.Tensor([]bool{yes}), x, y, z), Outputs: 2})
	}
	wide := &subgraph{0, 1, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		n, err := (&op.Call{Set: std.Operators()}).ReshapeTo(in[0], op.D(3), op.D(1))
		return gorgonia.Nodes{n}, err
	}}
	cases = append(cases, optest.Case{Name: "shapes differ", Config: std.IfConfig{Then: wide, Else: otherwise}, In: values(optest.Tensor([]bool{true}), x, z)})
	runDeclared(t, cases...)
	optest.Fails(t, optest.Case{Name: "two conditions", Config: std.IfConfig{Then: then, Else: otherwise}, In: values(optest.Tensor([]bool{true, false}, 2), x, y, z), Outputs: 2, Refusal: "want one boolean"})
	optest.Fails(t, optest.Case{Name: "captured", Config: std.IfConfig{Then: then, Else: otherwise}, In: values(optest.Tensor([]bool{true}), x), Refusal: "reads 2 values: want a condition, and the 3 that its branches capture"})
}

func TestLoop(t *testing.T) {
	// s ← s·w + x, and s is collected
	body := &subgraph{3, 2, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		s := apply("Add", apply("Mul", in[2], in[3]), in[4])
		return gorgonia.Nodes{in[1], s, s}, nil
	}}
	trips, s, w, x := optest.Tensor([]int64{3}), optest.Rand(1, 2), optest.Rand(2, 2), optest.Rand(3, 2)
	cases := []optest.Case{
		{Name: "collect", Config: std.LoopConfig{Body: body}, In: values(trips, nil, s, w, x), Outputs: 2},
		{Name: "condition", Config: std.LoopConfig{Body: body}, In: values(trips, optest.Tensor([]bool{true}), s, w, x), Outputs: 2},
		{Name: "final", Config: std.LoopConfig{Body: body}, In: values(trips, nil, s, w, x)},
	}
	runDeclared(t, cases...)
	count := &subgraph{3, 0, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gorgonia.Nodes{in[2], apply("Add", in[2], in[2])}, nil
	}}
	optest.Fails(t, optest.Case{Name: "a number as the condition", Config: std.LoopConfig{Body: count}, In: values(trips, nil, optest.Tensor([]int8{1})), Refusal: "want one boolean"})
	compare := &subgraph{3, 0, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gorgonia.Nodes{in[1], apply("Less", in[2], in[2])}, nil
	}}
	optest.Fails(t, optest.Case{Name: "another element type", Config: std.LoopConfig{Body: compare}, In: values(trips, nil, s), Refusal: "state 0 is of type float32, and of type bool after an iteration"})
	out, err := evaluate(std.LoopConfig{Body: body}, 2, values(trips, optest.Tensor([]bool{false}), s, w, x))
	if err == nil {
		err = optest.Compare(out[0], s, 0)
	}
	if err == nil {
		err = optest.Compare(out[1], optest.Floats([]int{0, 2}), 0)
	}
	if err != nil {
		t.Error("no iteration:", err)
	}
}

func TestScan(t *testing.T) {
	// s ← s·w + x, and s + x is collected
	body := &subgraph{2, 1, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		s := apply("Add", apply("Mul", in[0], in[2]), in[1])
		return gorgonia.Nodes{s, apply("Add", s, in[1])}, nil
	}}
	s, w := optest.Rand(1, 2), optest.Rand(2, 2)
	cases := []optest.Case{
		{Name: "forward", Config: std.ScanConfig{Body: body, NumScanInputs: 1}, In: values(s, optest.Rand(3, 3, 2), w), Outputs: 2},
		{Name: "backward", Config: std.ScanConfig{Body: body, NumScanInputs: 1, InputDirections: []int{1}, OutputDirections: []int{1}, InputAxes: []int{1}, OutputAxes: []int{-1}},
			In: values(s, optest.Rand(3, 2, 3), w), Outputs: 2},
		{Name: "batch", Config: std.ScanConfig{Body: body, NumScanInputs: 1}, Version: 8, NoGrad: "version 8 has none",
			In: values(optest.Ints(3, 1), optest.Rand(1, 2, 2), optest.Rand(3, 2, 3, 2), w), Outputs: 2},
		{Name: "batch backward", Config: std.ScanConfig{Body: body, NumScanInputs: 1, Directions: []int{1}}, Version: 8, NoGrad: "version 8 has none",
			In: values(nil, optest.Rand(1, 2, 2), optest.Rand(3, 2, 3, 2), w), Outputs: 2},
	}
	runDeclared(t, cases...)
	compare := &subgraph{2, 0, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gorgonia.Nodes{apply("Less", in[0], in[1])}, nil
	}}
	optest.Fails(t, optest.Case{Name: "another element type", Config: std.ScanConfig{Body: compare, NumScanInputs: 1}, In: values(s, optest.Rand(3, 3, 2)), Refusal: "state 0 is of type float32, and of type bool after an iteration"})
}

func TestSequenceMap(t *testing.T) {
	body := &subgraph{2, 0, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gorgonia.Nodes{apply("Add", in[0], in[1])}, nil
	}}
	seq := &dtype.Sequence{Elem: dtype.Float32, Items: values(optest.Floats([]int{2}, 1, 2), optest.Floats([]int{2}, 3, 4))}
	call := newCall(t, std.SequenceMapConfig{Body: body}, op.TypeOf(seq), op.Shaped(dtype.Float32, 2))
	call.Out = []op.Type{op.TypeOf(seq)}
	out, err := call.Op.Func(call, values(seq, optest.Floats([]int{2}, 10, 20)))
	if err == nil {
		err = optest.Compare(out[0], &dtype.Sequence{Elem: dtype.Float32, Items: values(optest.Floats([]int{2}, 11, 22), optest.Floats([]int{2}, 13, 24))}, 0)
	}
	if err != nil {
		t.Error(err)
	}
}
