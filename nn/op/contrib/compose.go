package contrib

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// value is an intermediate result of an expression: its type and, unless only types are inferred, its node.
type value struct {
	typ   op.Type
	node  *gorgonia.Node
	known op.Known
	rows  *value // of heads that split made: the same before their transposition, [B, S, N, H]
}

// there reports whether the value is present; absent inputs are not.
func (v value) there() bool { return v.typ.Present() }

// dim is dimension i of a value of known rank, counted from the end if i is negative.
func (v value) dim(i int) op.Dim {
	if i < 0 {
		i += len(v.typ.Shape)
	}
	if i < 0 || i >= len(v.typ.Shape) {
		return op.Unknown()
	}
	return v.typ.Shape[i]
}

// expression applies operators of a call's set: to types while types are inferred, and to nodes when the call is
// lowered. It keeps the first error; results after it are absent values.
type expression struct {
	c    *op.Call
	g    *gorgonia.ExprGraph // nil: types alone
	macs int64               // multiply-adds of the operators applied, where sizes are known
	err  error
}

// formula computes the outputs of an operator from its inputs, either of which may be absent.
type formula func(e *expression, in []value) []value

// composed declares an operator of Domain, unless it names another, by its formula.
func composed(o op.Op, f formula) *op.Op {
	if o.Domain == "" {
		o.Domain = Domain
	}
	return expressed(o, f)
}

// expressed declares an operator by its formula: types, values and, by way of the operators it is made of, gradients.
// Its domain is the one it names, "" that of the standard.
func expressed(o op.Op, f formula) *op.Op {
	if o.Since == nil {
		o.Since = []int{1}
	}
	if o.Cost != nil {
		o.Cost = func(c *op.Call) (int64, int64) { return cost(c, f) }
	}
	o.Infer = func(c *op.Call) ([]op.Type, error) { return inferred(c, f) }
	o.Lower = func(c *op.Call, nodes gorgonia.Nodes) (gorgonia.Nodes, error) { return lowered(c, nodes, f) }
	return &o
}

// counted is the Cost of a composed operator: the multiply-adds of the operators in its formula are counted.
func counted(*op.Call) (macs, bytes int64) { return 0, 0 }

// cost adds the multiply-adds of a formula's operators; inputs and outputs are moved once.
func cost(c *op.Call, f formula) (macs, bytes int64) {
	e := &expression{c: c}
	f(e, padded(c, described(c)))
	for _, list := range [][]op.Type{c.In, c.Out[:min(c.Outputs, len(c.Out))]} {
		for _, t := range list {
			if t.Present() {
				bytes += int64(t.Elements()) * int64(t.DType.Size())
			}
		}
	}
	if e.err != nil {
		return 0, bytes
	}
	return e.macs, bytes
}

// described returns the inputs of a call without nodes.
func described(c *op.Call) []value {
	in := make([]value, len(c.In))
	for i, t := range c.In {
		in[i].typ = t
		if i < len(c.Known) {
			in[i].known = c.Known[i]
		}
	}
	return in
}

func inferred(c *op.Call, f formula) ([]op.Type, error) {
	e := &expression{c: c}
	for _, t := range c.In {
		if t.Present() && t.Kind == op.Tensor && t.Unranked {
			return unranked(c), nil
		}
	}
	out := f(e, padded(c, described(c)))
	if e.err != nil {
		return nil, e.err
	}
	types := make([]op.Type, len(out))
	for i, v := range out {
		types[i] = v.typ
	}
	return types, nil
}

// unranked returns the outputs of a call of which an input has no known rank: an output has the element type of the inputs that
// share its type variable, or that of the first input where none of them is there.
func unranked(c *op.Call) []op.Type {
	out, types := c.Op.Out.List(), make([]op.Type, c.Outputs)
	for i := range types {
		slot, _ := op.At(out, i)
		types[i] = op.Type{DType: c.In[0].DType, Unranked: true}
		if t, err := dtype.Parse(slot.Type); err == nil {
			types[i].DType = t
		}
		for k, t := range c.In {
			if in, ok := op.At(c.Op.In.List(), k); ok && in.Type == slot.Type && t.Present() {
				types[i].DType = t.DType
				break
			}
		}
	}
	return types
}

// padded has a place for each formal input.
func padded(c *op.Call, in []value) []value {
	for len(in) < len(c.Op.In.List()) {
		in = append(in, value{})
	}
	return in
}

func lowered(c *op.Call, nodes gorgonia.Nodes, f formula) (gorgonia.Nodes, error) {
	e := &expression{c: c}
	in := make([]value, len(nodes))
	for i, n := range nodes {
		if n == nil {
			continue
		}
		e.g = n.Graph()
		in[i] = value{typ: c.In[i], node: n}
		if i < len(c.Known) {
			in[i].known = c.Known[i]
		}
	}
	if e.g == nil {
		return nil, c.Errorf("has no input")
	}
	out := f(e, padded(c, in))
	results := make(gorgonia.Nodes, len(out))
	for i, v := range out {
		if !c.Wants(i) || !v.there() {
			continue
		}
		for _, n := range nodes {
			if v.node == n && n != nil { // an input that is returned as an output gets a separate node
				v = e.do(op.Plain("Identity"), v)
			}
		}
		results[i] = v.node
	}
	return results, e.err
}

// do returns the first output of an operator.
func (e *expression) do(cfg op.Config, in ...value) value { return e.doN(1, cfg, in...)[0] }

// doN returns the first n outputs of an operator.
func (e *expression) doN(n int, cfg op.Config, in ...value) []value {
	out := make([]value, n)
	if e.err != nil {
		return out
	}
	if e.g == nil {
		return e.infer(out, cfg, in)
	}
	nodes := make(gorgonia.Nodes, len(in))
	for i, v := range in {
		nodes[i] = v.node
	}
	made, err := e.c.ApplyN(n, cfg, nodes...)
	if err != nil {
		e.fail(err)
		return out
	}
	for i, m := range made {
		if m != nil {
			out[i] = value{typ: op.NodeType(m), node: m}
		}
	}
	return out
}

// infer fills in the types of an operator's outputs.
func (e *expression) infer(out []value, cfg op.Config, in []value) []value {
	types := make([]op.Type, len(in))
	for i, v := range in {
		types[i] = v.typ
	}
	call, err := e.c.Set.NewCall(cfg, types...)
	if err == nil {
		call.Outputs = len(out)
		for i, v := range in {
			call.Known[i] = v.known
		}
		err = call.Resolve()
	}
	if err != nil {
		e.fail(err)
		return out
	}
	for i := range out {
		out[i].typ = call.Out[i]
	}
	if call.Op.Cost != nil && static(call) {
		n, _ := call.Op.Cost(call)
		e.macs += n
	}
	return out
}

// static reports whether the sizes of all inputs and outputs are known.
func static(c *op.Call) bool {
	unknown := func(t op.Type) bool { return t.Present() && !t.Static() }
	return !slices.ContainsFunc(c.In, unknown) && !slices.ContainsFunc(c.Out[:min(c.Outputs, len(c.Out))], unknown)
}

func (e *expression) fail(err error) {
	var need *op.NeedError
	if e.err == nil {
		if e.err = err; !errors.As(err, &need) {
			e.err = e.c.Errorf("%w", err)
		}
	}
}

func (e *expression) failf(format string, args ...any) {
	if e.err == nil {
		e.err = e.c.Errorf(format, args...)
	}
}

func (e *expression) constant(v dtype.Value, err error) value {
	if err != nil {
		e.fail(err)
	}
	if e.err != nil {
		return value{}
	}
	x := value{typ: op.TypeOf(v), known: op.Known{Value: v}}
	if e.g != nil {
		if x.node, err = op.Const(e.g, v); err != nil {
			e.fail(err)
		}
	}
	return x
}

// number returns a constant of rank 0 of the element type of like.
func (e *expression) number(like value, x float64) value {
	return e.constant(dtype.FromFloats(like.typ.DType, []float64{x}))
}

// ints returns a constant vector of int64.
func (e *expression) ints(x ...int) value { return e.constant(dtype.FromInts(dtype.Int64, x, len(x))) }

// reshape returns v with another shape of as many elements; its dimensions may be symbols.
func (e *expression) reshape(v value, shape ...op.Dim) value {
	if e.err != nil {
		return value{}
	}
	if e.g == nil {
		return value{typ: v.typ.With(shape...)}
	}
	n, err := e.c.ReshapeTo(v.node, shape...)
	if err != nil {
		e.fail(err)
		return value{}
	}
	return value{typ: op.NodeType(n), node: n}
}

func (e *expression) transpose(v value, perm ...int) value {
	return e.do(std.TransposeConfig{Perm: perm}, v)
}

// cast changes the element type, if it is another.
func (e *expression) cast(v value, t op.DType) value {
	if v.typ.DType == t {
		return v
	}
	return e.do(std.CastConfig{To: t}, v)
}

// slice is v from start to end, where end is counted from the front, along an axis.
func (e *expression) slice(v value, axis, start, end int) value {
	return e.do(std.SliceConfig{}, v, e.ints(start), e.ints(end), e.ints(axis))
}

func (e *expression) add(a, b value) value { return e.do(op.Plain("Add"), a, b) }

func (e *expression) mul(a, b value) value { return e.do(op.Plain("Mul"), a, b) }

// scale multiplies by a number other than 1.
func (e *expression) scale(v value, by float64) value {
	if by == 1 {
		return v
	}
	return e.mul(v, e.number(v, by))
}

// couplingsAs returns the couplings of a standard operator on inputs of the same types, at the same places.
func couplingsAs(c *op.Call, cfg op.Config, inputs int) []coupling.Coupling {
	types := c.In[:min(inputs, len(c.In))]
	call, err := c.Set.NewCall(cfg, types...)
	if err != nil || call.Resolve() != nil || call.Op.Couple == nil {
		return nil
	}
	return call.Op.Couple(call)
}

// or returns x, or the default if it is nil.
func or(x *float32, otherwise float32) float64 {
	if x == nil {
		return float64(otherwise)
	}
	return float64(*x)
}

// padChannels appends channels of zeros, axis 1.
func (e *expression) padChannels(v value, count int) value {
	if count == 0 || e.err != nil {
		return v
	}
	pads := make([]int, 2*len(v.typ.Shape))
	pads[len(v.typ.Shape)+1] = count
	return e.do(std.PadConfig{}, v, e.ints(pads...))
}

// resize is Resize by the factor of each axis.
func (e *expression) resize(cfg std.ResizeConfig, v value, scales []float32) value {
	if e.g == nil {
		return e.do(cfg, v, value{}, e.constant(dtype.FromSlice(scales, len(scales))))
	}
	sizes := make([]int, len(scales)) // nodes have known sizes, and whole numbers of theirs are known to their operators
	for i, d := range v.typ.Shape {
		sizes[i] = int(float32(d.Size) * scales[i])
	}
	return e.do(cfg, v, value{}, value{}, e.ints(sizes...))
}
