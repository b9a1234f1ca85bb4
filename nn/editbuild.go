package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Input adds a graph input with a type such as "float32[N,3,224,224]". If the input exists, its type is changed: a symbol
// in place of a number frees a dimension that the file fixed, and what was computed from the number is rewritten. If that
// is impossible, the edit fails and names the node that prevents it.
func (e *Edit) Input(name, typ string) *Value {
	if e.err != nil {
		return nil
	}
	t, err := op.ParseType(typ)
	if err != nil {
		e.fail(err)
		return nil
	}
	if name == "" {
		e.Failf("an input needs a name")
		return nil
	}
	if v := e.g.values[name]; v != nil {
		if !v.input {
			e.Failf("%q is not an input", name)
			return nil
		}
		e.retype(v, t)
		return v
	}
	return e.input(name, t)
}

func (e *Edit) input(name string, t op.Type) *Value {
	v := &Value{name: name, typ: t, input: true, graph: e.g}
	e.addValue(v)
	e.setInputs(append(e.g.inputs, v), "add input "+name+" "+t.String())
	return v
}

// Output makes v a graph output with the given name. A value with another name is renamed, or copied by an Identity if it
// is an input, a parameter or already an output.
func (e *Edit) Output(name string, v *Value) {
	if e.err != nil || !e.mine(v) {
		return
	}
	if v.name != name {
		if other := e.g.values[name]; other != nil {
			e.Failf("the name %q is taken", name)
			return
		}
		if v.input || v.param != nil || slices.Contains(e.g.outputs, v) {
			n := e.NodeN(op.Plain("Identity"), 1, v)
			if e.err != nil {
				return
			}
			v = n.out[0]
		}
		e.RenameValue(v, name)
	}
	if slices.Contains(e.g.outputs, v) {
		return
	}
	e.setOutputs(append(e.g.outputs, v), "add output "+name)
}

// RemoveOutput makes a graph output an inner value. Nodes that were needed only for it are removed.
func (e *Edit) RemoveOutput(name string) {
	v := e.Value(name)
	if e.err != nil {
		return
	}
	i := slices.Index(e.g.outputs, v)
	if i < 0 {
		e.Failf("%q is not an output", name)
		return
	}
	if len(e.g.outputs) == 1 {
		e.Failf("%q is the only output", name)
		return
	}
	e.setOutputs(without(e.g.outputs, i), "remove output "+name)
	e.sweep(v)
}

// mine reports whether the handle is a value of this graph; if not, the edit fails.
func (e *Edit) mine(v *Value) bool {
	e.made()
	switch {
	case e.err != nil:
		return false
	case v == nil:
		e.Failf("a value is nil")
	case v.graph != e.g || e.g.values[v.name] != v:
		e.Failf("value %q is not in this graph", v.name)
	default:
		return true
	}
	return false
}

func (e *Edit) has(n *Node) bool {
	e.made()
	switch {
	case e.err != nil:
		return false
	case n == nil:
		e.Failf("a node is nil")
	case n.graph != e.g || !e.g.contains(n):
		e.Failf("node %q is not in this graph", n.label())
	default:
		return true
	}
	return false
}

// Param adds a float32 parameter of the given shape, initialized by init, and returns its value. The name is made unique.
func (e *Edit) Param(name string, init initial.Filler, dims ...int) *Value {
	return e.ParamOf(name, dtype.Float32, init, dims...)
}

// largeFill is the number of elements from which the context of an edit is looked at while they are drawn.
const largeFill = 1 << 20

// ParamOf is Param for any floating-point type.
func (e *Edit) ParamOf(name string, t op.DType, init initial.Filler, dims ...int) *Value {
	if e.err != nil {
		return nil
	}
	n, err := dtype.Count(dims)
	if err != nil {
		e.Failf("parameter %q: %w", name, err)
		return nil
	}
	if init == nil {
		e.Failf("parameter %q has no initial values", name)
		return nil
	}
	if err := engine.Fits(float64(n) * float64(8+t.Size())); err != nil {
		e.Failf("parameter %q of shape %v: %w", name, dims, err)
		return nil
	}
	name = e.unique(name)
	wide, err := budget.Made(8*int64(n), func() *tensor.Dense { return dtype.New(dtype.Float64, dims...) })
	if err == nil {
		var d *tensor.Dense
		r := e.random(name)
		fill := func() {
			init.Fill(dtype.Slice[float64](wide), dims, r)
			d, err = engine.Convert(t, wide)
		}
		if n < largeFill {
			fill()
		} else if ended := engine.Await(e.watched().context(), fill); ended != nil {
			e.fail(ended)
			return nil
		}
		if err == nil {
			return e.addWeight(name, d)
		}
	}
	e.Failf("parameter %q: %w", name, err)
	return nil
}

// addWeight adds a parameter, within a subgraph that is built to the graph around it.
func (e *Edit) addWeight(name string, d *tensor.Dense) *Value {
	if e.body == nil {
		return e.addParam(name, d)
	}
	v := e.outer.addWeight(name, d)
	if e.fail(e.outer.err); e.err != nil {
		return nil
	}
	return e.capture(v)
}

// Seed sets the seed of the initial values of parameters that are added afterwards. The values of a parameter depend only
// on the seed and on its name.
func (e *Edit) Seed(seed uint64) { e.seed = seed }

// Const adds a tensor as a parameter and returns its value. Integer tensors and tensors of rank 0 get the role Constant.
// What holds for Param.Data does for d.
func (e *Edit) Const(name string, d *tensor.Dense) *Value {
	if e.err != nil {
		return nil
	}
	if d == nil {
		e.Failf("constant %q is nil", name)
		return nil
	}
	v := e.addParam(e.unique(name), d)
	if v != nil {
		v.param.kept.Lend()
	}
	return v
}

// Ints adds a constant int64 vector.
func (e *Edit) Ints(name string, v ...int) *Value {
	if e.err != nil {
		return nil
	}
	d, err := dtype.FromInts(dtype.Int64, v, len(v))
	e.fail(err)
	return e.Const(name, d)
}

// Scalar adds a constant of rank 0 with the element type of like.
func (e *Edit) Scalar(name string, like *Value, x float64) *Value {
	if e.err != nil {
		return nil
	}
	d, err := dtype.FromFloats(like.typed().DType, []float64{x})
	e.fail(err)
	return e.Const(name, d)
}

func (e *Edit) addParam(name string, d *tensor.Dense) *Value {
	d = e.rowMajor(d)
	if e.err != nil {
		return nil
	}
	engine.Count(d)
	p := &Param{data: d, kept: new(engine.WeightCache)}
	v := &Value{name: name, typ: op.TypeOf(d), param: p, graph: e.g}
	p.value = v
	e.addValue(v)
	return v
}

// Node adds an operator with the given inputs and returns its node; a nil input is an absent optional one. The node's
// first output is Out(0). An operator with attributes has a configuration in package std, such as std.GemmConfig{TransB: true};
// one without, or with default values for all, is given by name: op.Plain("MatMul").
//
// The configuration and the inputs are those of the newest version of the operator: the axes of a Squeeze are an input,
// for example. In a graph with an earlier operator set they are rewritten for that version, perhaps with further nodes
// around the operator, or as nodes of other operators. The edit fails if that is impossible, and says which version would
// be needed. Attributes that no longer exist in the newest version are interpreted as in the graph's own version.
func (e *Edit) Node(c op.Config, in ...*Value) *Node { return e.NodeN(c, 1, in...) }

// NodeN is Node for an operator with several outputs. It fails if the graph's operator set needs several nodes to compute
// them.
func (e *Edit) NodeN(c op.Config, outputs int, in ...*Value) *Node {
	return e.oneNode(c, e.Op("", c, outputs, in...))
}

// Repeat adds a copy of n that reads other inputs. n is already written for the operator sets of the graph, so nothing is
// rewritten.
func (e *Edit) Repeat(n *Node, in ...*Value) *Node {
	if e.err != nil {
		return nil
	}
	if n == nil || n.op == nil {
		e.Failf("there is no node to repeat, or its operator is not known")
		return nil
	}
	out := slices.Repeat([]string{strings.ToLower(n.opType)}, len(n.out))
	return e.oneNode(n.config, e.build(addition{config: n.config, from: e.opsetOf(n.domain), in: in, captured: slices.Clone(n.captured), out: out}))
}

// available reports whether the graph's operator-set version has the operator and its attributes.
func (e *Edit) available(n *Node) error {
	if n.op.Domain == op.Internal {
		return &Error{Op: n.op.Name, Err: errors.New("exists only in lowered graphs")}
	}
	if _, ok := e.g.opsets[n.domain]; !ok {
		since := n.op.Latest()
		set := e.g.opsets
		e.act(action{do: func() { set[n.domain] = since }, undo: func() { delete(set, n.domain) }})
	}
	v := e.g.opset(n.domain)
	if n.op.Version(v) == 0 {
		return &Error{Op: n.op.Name, Err: fmt.Errorf("needs operator set %d, the graph has %d", n.op.Since[0], v)}
	}
	return op.Available(n.op.Version(v), n.config)
}

// random returns the generator of a parameter: seeded by the edit's seed and the parameter's name.
func (e *Edit) random(name string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(e.seed, h))
}
