package std

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// bodyGrad is a subgraph, differentiated and compiled for values of certain shapes.
type bodyGrad struct {
	ops     op.Set
	body    op.Subgraph
	run     op.SubgraphRun
	flags   bodyFlags
	fixed   []bool // inputs whose value never changes: shapes may depend on them
	shapes  string
	program *engine.Program
	in      gorgonia.Nodes
	seeds   gorgonia.Nodes // gradients by output; nil: none
	grads   gorgonia.Nodes // gradients by input; nil: none
	key     *gorgonia.Node // of random operators; nil: none
	depends []bool         // by input: whether it depends on a requested value; nil: not distinguished
	reached [][]bool       // depends by iteration, see back; nil: not determined
}

// gradient returns the gradient with respect to every input, given the inputs and the gradients of the outputs; nil for
// inputs without one.
func (b *bodyGrad) gradient(key [2]uint64, in, dout []dtype.Value) ([]dtype.Value, error) {
	shapes := ""
	for _, v := range append(slices.Clone(in), dout...) {
		shapes += op.TypeOf(v).String() + ";"
	}
	if b.program == nil || b.shapes != shapes {
		b.shapes = shapes
		if b.compile(in, dout, false) != nil { // its shapes depend on integers that change
			b.shapes = ""
			if err := b.compile(in, dout, true); err != nil {
				return nil, err
			}
		}
	}
	grads := make([]dtype.Value, len(in))
	if b.program == nil {
		return grads, nil
	}
	for k, nodes := range []gorgonia.Nodes{b.in, b.seeds} {
		for i, n := range nodes {
			if n == nil {
				continue
			}
			if err := b.program.Bind(n, [][]dtype.Value{in, dout}[k][i]); err != nil {
				return nil, err
			}
		}
	}
	if b.key != nil {
		x, err := dtype.FromSlice(key[:], 2)
		if err != nil {
			return nil, err
		}
		if err := b.program.Bind(b.key, x); err != nil {
			return nil, err
		}
	}
	if err := b.program.Run(b.run.Ctx); err != nil {
		return nil, err
	}
	for i, n := range b.grads {
		if n != nil {
			d, ok := b.program.Value(n).(*tensor.Dense)
			if !ok {
				return nil, fmt.Errorf("gradient of subgraph input %d is not a tensor", i)
			}
			grads[i] = dtype.Clone(d)
		}
	}
	return grads, nil
}

// compile differentiates the subgraph for the shapes of in and for the integers that are fixed, or
// for all integers.
func (b *bodyGrad) compile(in, dout []dtype.Value, all bool) error {
	g := gorgonia.NewGraph()
	types, known := b.knownOf(in, all)
	b.in, b.seeds, b.program = make(gorgonia.Nodes, len(in)), make(gorgonia.Nodes, len(dout)), nil
	b.grads = make(gorgonia.Nodes, len(in))
	for i := range in {
		var err error
		if b.in[i], err = op.Input(g, fmt.Sprintf("input %d", i), types[i], nil); err != nil {
			return err
		}
	}
	b.key = nil
	scope := op.Scope{Graph: g, Train: b.run.Train, Ctx: b.run.Ctx, Grad: true, Key: func() (*gorgonia.Node, error) {
		var err error
		if b.key == nil {
			b.key, err = op.Input(g, "random key", op.Shaped(dtype.Uint64, 2), nil)
		}
		return b.key, err
	}}
	out, err := b.body.Lower(scope, b.in, types, known)
	if err != nil {
		return err
	}
	var from, seeds, asked gorgonia.Nodes
	for i, n := range b.in {
		if (op.Differentiable(types[i]) || types[i].Kind != op.Tensor) && b.asks(i) {
			asked = append(asked, n)
		}
	}
	reached := map[*gorgonia.Node]bool{}
	for i, v := range dout {
		if v == nil || i >= len(out) || out[i] == nil || !op.TypeOf(v).DType.IsFloat() {
			continue
		}
		n, err := b.ops.Apply1(op.Plain("Identity"), out[i]) // outputs may be inputs, or one another
		if err != nil {
			return err
		}
		if err := op.CheckGradients(gorgonia.Nodes{n}, asked); err != nil {
			return err
		}
		if b.seeds[i], err = op.Input(g, fmt.Sprintf("gradient %d", i), op.TypeOf(v), nil); err != nil {
			return err
		}
		before := len(reached)
		reachable(n, reached)
		if !slices.ContainsFunc(b.in, func(x *gorgonia.Node) bool { return dependsOn(n, x) }) || len(reached) == before {
			b.seeds[i] = nil
			continue
		}
		from, seeds = append(from, n), append(seeds, b.seeds[i])
	}
	var wrt gorgonia.Nodes
	var at []int
	for i, n := range b.in {
		if op.Differentiable(types[i]) && reached[n] && b.asks(i) {
			wrt, at = append(wrt, n), append(at, i)
		}
	}
	if len(wrt) == 0 || len(from) == 0 {
		return nil
	}
	grads, err := op.Backpropagate(b.run.Ctx, from, seeds, wrt)
	if err != nil {
		return err
	}
	for k, i := range at {
		b.grads[i] = grads[k]
	}
	b.program, err = engine.Compile(engine.Options{Context: b.run.Ctx}, grads...)
	return err
}

// reachable marks the nodes that n depends on differentiably.
func reachable(n *gorgonia.Node, seen map[*gorgonia.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	kids := op.Children(n)
	sd, ok := n.Op().(gorgonia.SDOp)
	if !ok || len(kids) == 0 {
		return
	}
	for k, d := range sd.DiffWRT(len(kids)) {
		if d {
			reachable(kids[k], seen)
		}
	}
}

func dependsOn(n, on *gorgonia.Node) bool {
	seen := map[*gorgonia.Node]bool{}
	reachable(n, seen)
	return seen[on] && op.Differentiable(op.NodeType(on))
}

// addValues returns a + b where nil counts as zero.
func addValues(s op.Set, a, b dtype.Value) (dtype.Value, error) {
	if a == nil {
		return b, nil
	}
	if b == nil {
		return a, nil
	}
	return compute1(&op.Call{Set: s}, op.Plain("Add"), 0, a, b)
}

// orZeros returns v, or zeros of type t if v is nil.
func orZeros(v dtype.Value, t op.Type) dtype.Value {
	if v != nil {
		return v
	}
	return dtype.New(t.DType, t.Sizes()...)
}
