package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// Predicate is a function of nodes that returns one boolean.
type Predicate func(x ...*gorgonia.Node) (*gorgonia.Node, error)

// While applies body to state as long as cond holds for the state, and returns the last state. The values of the state
// keep their element types and shapes. body and cond are called once. They may read nodes that are defined outside of
// them, weights included, and create weights, which are trained like others; so are weights that the state begins with.
//
// The results are ordinary nodes: Gorgonia's machines run and differentiate them, and Trace makes a Loop of them. If
// gradients are asked for, the inputs of every iteration are kept in memory.
func While(cond Predicate, body Expr, state ...*gorgonia.Node) (gorgonia.Nodes, error) {
	return Tracer{}.While(cond, body, state...)
}

// For applies body times times and returns the last state. body gets the number of the iteration, an int64 scalar that
// counts from 0, followed by the state. If times was computed from a shape, such as x.Shape()[0], a traced graph keeps it
// symbolic. See While for the rest.
func For(times int, body Expr, state ...*gorgonia.Node) (gorgonia.Nodes, error) {
	return Tracer{}.For(times, body, state...)
}

// ForEach applies body to the slices of the values in over along their first axis, which must have the same length. body
// gets the state, followed by one slice of each value, without that axis; it returns the next state, followed by the
// values to collect. ForEach returns the last state, and the collected values stacked along a new first axis. Trace makes
// a Scan of it, which runs no iteration if the values have no slices; ONNX Runtime refuses that. See While for the rest.
func ForEach(body Expr, state, over gorgonia.Nodes) (final, collected gorgonia.Nodes, err error) {
	return Tracer{}.ForEach(body, state, over)
}

// Cond computes then(x...) if pred, a single boolean, is true, and alternative(x...) otherwise. Both functions return the
// same number of values, with the same types and shapes. Only the branch that is taken is computed; gradients with
// respect to what only the other one reads are zero. Trace makes an If of it.
func Cond(pred *gorgonia.Node, then, alternative Expr, x ...*gorgonia.Node) (gorgonia.Nodes, error) {
	return Tracer{}.Cond(pred, then, alternative, x...)
}

// While returns the function While with the tracer's rules and operators.
func (tr Tracer) While(cond Predicate, body Expr, state ...*gorgonia.Node) (gorgonia.Nodes, error) {
	g, state, err := controlGraph("While", state, cond != nil && body != nil)
	if err != nil {
		return nil, err
	}
	first, err := cond.call(state)
	if err != nil {
		return nil, controlError("While", err)
	}
	b, err := tr.closure("While", g, loopInputs(state), func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		next, err := call(body, in[2:])
		if err != nil {
			return nil, err
		}
		if err := sameTypes("state", state, next, "after an iteration"); err != nil {
			return nil, err
		}
		on, err := cond.call(next)
		return append(gorgonia.Nodes{on}, next...), err
	})
	if err != nil {
		return nil, err
	}
	in := append(gorgonia.Nodes{nil, first}, state...)
	return tr.applyControl("While", len(state), std.LoopConfig{Body: b}, append(in, b.made.captured...))
}

// For returns the function For with the tracer's rules and operators.
func (tr Tracer) For(times int, body Expr, state ...*gorgonia.Node) (gorgonia.Nodes, error) {
	if times < 0 {
		return nil, controlError("For", fmt.Errorf("%d iterations: want none or more", times))
	}
	g, state, err := controlGraph("For", state, body != nil)
	if err != nil {
		return nil, err
	}
	trips, err := op.Const(g, dtype.Scalar(int64(times)))
	if err != nil {
		return nil, controlError("For", err)
	}
	b, err := tr.closure("For", g, loopInputs(state), func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		next, err := call(body, append(in[:1:1], in[2:]...))
		if err != nil {
			return nil, err
		}
		return append(in[1:2:2], next...), sameTypes("state", state, next, "after an iteration")
	})
	if err != nil {
		return nil, err
	}
	in := append(gorgonia.Nodes{trips, nil}, state...)
	return tr.applyControl("For", len(state), std.LoopConfig{Body: b}, append(in, b.made.captured...))
}

// ForEach returns the function ForEach with the tracer's rules and operators.
func (tr Tracer) ForEach(body Expr, state, over gorgonia.Nodes) (final, collected gorgonia.Nodes, err error) {
	g, all, err := controlGraph("ForEach", slices.Concat(state, over), body != nil)
	if err != nil {
		return nil, nil, err
	}
	state, over = all[:len(state):len(state)], all[len(state):]
	types := nodeTypes(state)
	for i, x := range over {
		t := op.NodeType(x)
		if len(t.Shape) == 0 || t.Shape[0] != op.NodeType(over[0]).Shape[0] {
			return nil, nil, controlError("ForEach", fmt.Errorf("value %d to iterate over is %v: want a first axis as long as that of %v", i, t, op.NodeType(over[0])))
		}
		types = append(types, t.With(t.Shape[1:]...))
	}
	if len(over) == 0 {
		return nil, nil, controlError("ForEach", errors.New("there is nothing to iterate over"))
	}
	outputs := 0
	b, err := tr.closure("ForEach", g, types, func(in gorgonia.Nodes) (gorgonia.Nodes, error) {
		out, err := call(body, in)
		if err != nil {
			return nil, err
		}
		if outputs = len(out); outputs < len(state) {
			return nil, fmt.Errorf("the body returns %d values, fewer than the state has: %d", outputs, len(state))
		}
		return out, sameTypes("state", state, out[:len(state)], "after an iteration")
	})
	if err != nil {
		return nil, nil, err
	}
	out, err := tr.applyControl("ForEach", outputs, std.ScanConfig{Body: b, NumScanInputs: len(over)}, append(all, b.made.captured...))
	if err != nil {
		return nil, nil, err
	}
	return out[:len(state)], out[len(state):], nil
}

// Cond returns the function Cond with the tracer's rules and operators.
func (tr Tracer) Cond(pred *gorgonia.Node, then, alternative Expr, x ...*gorgonia.Node) (gorgonia.Nodes, error) {
	g, given, err := controlGraph("Cond", append(gorgonia.Nodes{pred}, x...), then != nil && alternative != nil)
	if err == nil {
		pred, x = given[0], given[1:]
		err = oneBoolean(pred)
	}
	if err != nil {
		return nil, controlError("Cond", err)
	}
	var yes gorgonia.Nodes
	branch := func(f Expr) (*Body, error) {
		return tr.closure("Cond", g, nil, func(gorgonia.Nodes) (gorgonia.Nodes, error) {
			out, err := call(f, x)
			if err == nil && yes != nil {
				err = sameTypes("result", yes, out, "in the other branch")
			}
			yes = out
			return out, err
		})
	}
	a, err := branch(then)
	if err != nil {
		return nil, err
	}
	outputs := len(yes)
	b, err := branch(alternative)
	if err != nil {
		return nil, err
	}
	in := append(gorgonia.Nodes{pred}, a.made.captured...)
	return tr.applyControl("Cond", outputs, std.IfConfig{Then: a, Else: b}, append(in, b.made.captured...))
}

// loopInputs returns the types of the inputs of a Loop's body: iteration number, condition, state.
func loopInputs(state gorgonia.Nodes) []op.Type {
	return append([]op.Type{op.Shaped(dtype.Int64), op.Shaped(dtype.Bool)}, nodeTypes(state)...)
}

func nodeTypes(list gorgonia.Nodes) []op.Type {
	types := make([]op.Type, len(list))
	for i, n := range list {
		types[i] = op.NodeType(n)
	}
	return types
}

// controlGraph returns the expression graph of the given nodes; constants without a graph are copied into it.
func controlGraph(what string, given gorgonia.Nodes, functions bool) (*gorgonia.ExprGraph, gorgonia.Nodes, error) {
	if !functions {
		return nil, nil, controlError(what, errNoFunction)
	}
	for i, n := range given {
		if n == nil {
			return nil, nil, controlError(what, fmt.Errorf("value %d is nil", i))
		}
	}
	if len(given) == 0 {
		return nil, nil, controlError(what, errors.New("needs at least one value to carry"))
	}
	i := slices.IndexFunc(given, func(n *gorgonia.Node) bool { return n.Graph() != nil })
	if i < 0 {
		return nil, nil, controlError(what, errors.New("no value given is in an expression graph"))
	}
	g, list := given[i].Graph(), make(gorgonia.Nodes, len(given))
	for k, n := range given {
		list[k] = at(g, n)
	}
	return g, list, nil
}

func controlError(what string, err error) error {
	var x *Error
	if errors.As(err, &x) && x.Op == what {
		return err
	}
	return &Error{Stage: "trace", Op: what, Err: err}
}

// call calls p as call does.
func (p Predicate) call(x gorgonia.Nodes) (on *gorgonia.Node, err error) {
	_, err = call(func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		var err error
		if on, err = p(x...); err == nil {
			err = oneBoolean(on)
		}
		return gorgonia.Nodes{on}, err
	}, x)
	return on, err
}

func oneBoolean(n *gorgonia.Node) error {
	if n == nil {
		return errors.New("the condition is nil")
	}
	if t := op.NodeType(n); t.DType != dtype.Bool || n.Shape().TotalSize() != 1 {
		return fmt.Errorf("the condition is %v, want one boolean", t)
	}
	return nil
}

// sameTypes compares the values of a state, or of two branches.
func sameTypes(what string, want, got gorgonia.Nodes, when string) error {
	if len(want) != len(got) {
		return fmt.Errorf("has %d values, %d %s", len(want), len(got), when)
	}
	for i, n := range got {
		if a, b := op.NodeType(want[i]), op.NodeType(n); a.DType != b.DType || a.Concrete() != b.Concrete() {
			return fmt.Errorf("%s %d is %v, and %v %s", what, i, a.Concrete(), b.Concrete(), when)
		}
	}
	return nil
}

// applyControl adds the operator.
func (tr Tracer) applyControl(what string, outputs int, c op.Config, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	out, err := tr.ops().ApplyN(outputs, c, in...)
	if err != nil {
		return nil, controlError(what, err)
	}
	return out, nil
}
