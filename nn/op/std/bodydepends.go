package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// asks reports whether the gradient with respect to input i of the subgraph is needed: the input depends on a requested value.
func (b *bodyGrad) asks(i int) bool {
	if b.depends != nil {
		return b.depends[i]
	}
	return !b.flags.apart(i)
}

// back runs the gradient of iteration t of a subgraph that carries n values, its inputs from first on, its outputs from
// firstOut on. Carried values may depend on requested values although the initial ones do not, and vice versa: if that
// matters, it is determined for each iteration.
func (b *bodyGrad) back(key [2]uint64, t int, tape [][]dtype.Value, seeds []dtype.Value, first, firstOut, n int) ([]dtype.Value, error) {
	apart := slices.ContainsFunc(tape[t][first:first+n], func(v dtype.Value) bool {
		typ := op.TypeOf(v)
		return op.Differentiable(typ) || typ.Kind != op.Tensor
	}) &&
		slices.ContainsFunc(seq(first, n), b.flags.apart)
	if apart && b.reached == nil {
		if err := b.follow(tape, first, firstOut, n); err != nil {
			return nil, err
		}
	}
	if b.reached == nil {
		d, err := b.gradient(key, tape[t], seeds)
		if err == nil {
			return d, nil
		}
		if b.follow(tape, first, firstOut, n) != nil { // the first error is more informative
			return nil, err
		}
	}
	if !slices.Equal(b.depends, b.reached[t]) {
		b.depends, b.shapes = b.reached[t], ""
	}
	return b.gradient(key, tape[t], seeds)
}

// seq returns n consecutive numbers from first on.
func seq(first, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = first + i
	}
	return list
}

// follow fills reached: for each iteration, which inputs depend on requested values.
func (b *bodyGrad) follow(tape [][]dtype.Value, first, firstOut, n int) error {
	now := make([]bool, len(tape[0]))
	for i, v := range tape[0] {
		now[i] = !b.flags.apart(i) && v != nil
	}
	var reached [][]bool
	var in, out gorgonia.Nodes
	shapes, all := "", false
	for _, values := range tape {
		reached = append(reached, now)
		if s := shapesOf(values); s != shapes || all {
			var err error
			if in, out, err = b.lowered(values, all); err != nil && !all {
				all = true
				in, out, err = b.lowered(values, all)
			}
			if err != nil {
				return err
			}
			shapes = s
		}
		marked := map[*gorgonia.Node]bool{}
		for i, x := range in {
			marked[x] = now[i]
		}
		now = slices.Clone(now)
		for i := range n {
			y := out[firstOut+i]
			now[first+i] = y != nil && op.DependsOnMarked(y, marked)
		}
	}
	b.reached = reached
	return nil
}

func shapesOf(values []dtype.Value) string {
	s := ""
	for _, v := range values {
		s += op.TypeOf(v).String() + ";"
	}
	return s
}

// lowered returns the subgraph as an expression for the shapes of in and for the integers that are fixed, or for all integers.
func (b *bodyGrad) lowered(in []dtype.Value, all bool) (nodes, out gorgonia.Nodes, err error) {
	g := gorgonia.NewGraph()
	types, known := b.knownOf(in, all)
	nodes = make(gorgonia.Nodes, len(in))
	for i, t := range types {
		if nodes[i], err = op.Input(g, "input "+op.D(i).String(), t, nil); err != nil {
			return nil, nil, err
		}
	}
	scope := op.Scope{Graph: g, Train: b.run.Train, Ctx: b.run.Ctx, Grad: true, Key: func() (*gorgonia.Node, error) {
		return op.Input(g, "random key", op.Shaped(dtype.Uint64, 2), nil)
	}}
	out, err = b.body.Lower(scope, nodes, types, known)
	return nodes, out, err
}

// knownOf returns the types of inputs, and the values that a lowering may treat as known.
func (b *bodyGrad) knownOf(in []dtype.Value, all bool) ([]op.Type, []op.Known) {
	types, known := make([]op.Type, len(in)), make([]op.Known, len(in))
	for i, v := range in {
		types[i] = op.TypeOf(v)
		known[i].Apart = !b.asks(i)
		known[i].Frozen = i < len(b.run.Frozen) && b.run.Frozen[i]
		if (all || i < len(b.fixed) && b.fixed[i]) && !types[i].DType.IsFloat() {
			known[i].Value = v
		}
	}
	return types, known
}
