package op

import (
	"fmt"
	"hash"
	"math"
	"slices"
	"sync/atomic"

	"github.com/chewxy/hm"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// emission is one operator in an expression graph: a call, its input nodes and its output nodes (siblings with the
// same Core), which are created on demand.
type emission struct {
	call  *Call
	core  *engine.Core
	in    gorgonia.Nodes // by formal position, nil where absent
	kids  gorgonia.Nodes // in without the nils
	slots []int          // formal position of each kid
	extra gorgonia.Nodes // nodes after the formal inputs: the key of random operators
	out   gorgonia.Nodes

	within *differentiation // that is going on; nil: none
}

// expr is the Op of one output node.
type expr struct {
	*emission
	index int
	id    uint32
}

// serial numbers our Ops: Gorgonia merges nodes with the same 32-bit hash of their Ops, which must therefore differ.
var serial atomic.Uint32

// CallOf returns the call that n is an output of, the nodes of its inputs, and the number of the output. It reports false
// if n is not a node of graft's.
func CallOf(n *gorgonia.Node) (c *Call, in gorgonia.Nodes, output int, ok bool) {
	if n == nil {
		return nil, nil, 0, false
	}
	e, ok := n.Op().(*expr)
	if !ok {
		return nil, nil, 0, false
	}
	return e.call, e.in, e.index, true
}

// Sibling returns output i of the operator that n is an output of.
func Sibling(n *gorgonia.Node, i int) (*gorgonia.Node, error) {
	if n == nil {
		return nil, errNoNode
	}
	e, ok := n.Op().(*expr)
	if !ok {
		return nil, fmt.Errorf("%v is not the output of an ONNX operator", n)
	}
	return e.node(i)
}

// Emit adds the operator of a call to an expression graph and returns the nodes of its formal outputs. in holds the
// formal inputs, nil for those that are absent. The types of the call must have been inferred. A composite operator emits
// the operators that it consists of.
func Emit(g *gorgonia.ExprGraph, c *Call, in gorgonia.Nodes, extra ...*gorgonia.Node) (gorgonia.Nodes, error) {
	if c == nil || c.Op == nil {
		return nil, errNoOp
	}
	if err := c.ended(); err != nil {
		return nil, err
	}
	if c.Op.Lower != nil && !c.whole() {
		if err := c.fits(); err != nil {
			return nil, err
		}
		return c.Op.Lower(c, in)
	}
	e := &emission{call: c, in: in, extra: extra, out: make(gorgonia.Nodes, len(c.Out))}
	for i, n := range slices.Concat(in, extra) {
		if err := c.endedAt(i); err != nil {
			return nil, err
		}
		if n != nil {
			e.kids = append(e.kids, n)
			e.slots = append(e.slots, i)
		}
	}
	if len(e.kids) == 0 {
		// Gorgonia deletes nodes without children; a constant that nothing reads gives this one a child.
		n, err := Const(g, dtype.New(dtype.Float32))
		if err != nil {
			return nil, err
		}
		e.kids, e.slots = gorgonia.Nodes{n}, []int{len(in) + len(extra)}
	}
	core, err := c.core(e)
	if err != nil {
		return nil, err
	}
	e.core = core
	nodes := make(gorgonia.Nodes, min(c.Outputs, len(c.Out)))
	for i := range nodes {
		if !c.Wants(i) {
			continue
		}
		if nodes[i], err = e.node(i); err != nil {
			return nil, err
		}
		if err := c.endedAt(i); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// ended returns the error of the context of a lowering that has ended, other than by a time limit.
func (c *Call) ended() error { return engine.WithoutLimit(c.Context()).Err() }

// endedAt is ended for step i of a loop, at some of the steps.
func (c *Call) endedAt(i int) error {
	if i%1024 != 1023 {
		return nil
	}
	return c.ended()
}

// fits refuses a call whose results exceed any memory, before they are allocated.
func (c *Call) fits() error {
	for i, t := range c.Out {
		if err := c.endedAt(i); err != nil {
			return err
		}
		if !t.Static() {
			continue
		}
		n, err := dtype.Count(t.Sizes())
		if err != nil || n > MaxElements || slices.Contains(t.Sizes(), math.MaxInt) {
			return c.Errorf("would give %v, more than fits in memory", t.Concrete())
		}
		if c.maybe {
			continue
		}
		if err := engine.Fits(float64(n) * elementBytes(t.DType)); err != nil {
			return c.Errorf("would give %v: %w", t.Concrete(), err)
		}
	}
	return nil
}

// elementBytes is how many bytes an element takes at least.
func elementBytes(t DType) float64 {
	if t == dtype.String {
		return 16
	}
	return float64(t.Size())
}

// givesNothing reports whether the outputs have no elements: there is nothing to compute, however long their other axes are.
func (c *Call) givesNothing() bool {
	return !slices.ContainsFunc(c.Out, func(t Type) bool { return t.Present() && !(t.Static() && t.Elements() == 0) })
}

// core binds the call's kernel.
func (c *Call) core(e *emission) (*engine.Core, error) {
	if err := c.fits(); err != nil {
		return nil, err
	}
	core := &engine.Core{Name: c.name(), Slots: e.slots, Inputs: len(e.in) + len(e.extra) + 1, InPlace: c.Op.Scheduling.InPlace, View: c.Op.Scheduling.View}
	for i, t := range c.Out {
		if err := c.endedAt(i); err != nil {
			return nil, err
		}
		spec := engine.Spec{}
		if t.Present() {
			spec = engine.Spec{DType: storage(t), Shape: t.TensorShape()}
		}
		core.Out = append(core.Out, spec)
	}
	if !c.Random() {
		if k := key(c.Config); k != "" {
			core.Key = fmt.Sprintf("%s@%d,%v,%d", k, c.Version, c.Train, c.Outputs)
		}
	}
	run := c.Op.Func
	if c.Op.Lower != nil {
		run = evalComposite
	}
	if c.Op.Kernel != nil && !c.flat() {
		if run = c.Op.Strings; run == nil {
			return nil, c.Errorf("does not take strings or containers")
		}
	}
	if run == nil && c.Op.Kernel != nil {
		k, err := c.Op.Kernel(c)
		if err != nil {
			return nil, err
		}
		core.Kernel = k.engine()
		core.Bilinear = c.Op.Scheduling.NoError && c.Op.Scheduling.Bilinear != nil && c.Op.Scheduling.Bilinear(c)
		if c.givesNothing() {
			core.Kernel = func(*engine.Exec, []*tensor.Dense, []*tensor.Dense) error { return nil }
		} else if c.Op.Scheduling.Patterns != nil {
			c.describe(core, c.Op.Scheduling.Patterns(c))
		} else if c.Op.Scheduling.View {
			c.describe(core, []Pattern{engine.Reshaping{DType: storage(c.In[0])}})
		}
		switch {
		case c.Op.Scheduling.Cheap:
			core.Rematerialize = &engine.Rematerialization{Kernel: core.Kernel}
		case c.Op.Scheduling.Rematerialize != nil:
			core.Rematerialize = c.Op.Scheduling.Rematerialize(c).engine()
		}
		return core, nil
	}
	if run == nil {
		return nil, c.Errorf("has no kernel")
	}
	inputs := len(e.in)
	core.Func = func(x *engine.Exec, in []gorgonia.Value) ([]gorgonia.Value, error) {
		at := *c
		at.Ctx = x.Context()
		if inputs < len(in) && in[inputs] != nil && c.Random() {
			if key, ok := in[inputs].(*tensor.Dense); ok {
				at.Key = [2]uint64(dtype.Slice[uint64](key))
			}
		}
		args := make([]dtype.Value, inputs)
		for i := range args {
			if i < len(in) && in[i] != nil {
				args[i] = in[i]
			}
		}
		res, err := run(&at, args)
		out := make([]gorgonia.Value, len(res))
		for i, v := range res {
			if v != nil {
				out[i] = v
			}
		}
		return out, err
	}
	return core, nil
}

// whole reports whether a composite operator is emitted as one node: if the graph is to be traced,
// and no gradient passes through it.
func (c *Call) whole() bool {
	for _, t := range c.Out {
		if Differentiable(t) {
			return false
		}
	}
	return c.Keep
}

// flat reports whether every input and output is a tensor of numbers.
func (c *Call) flat() bool {
	for _, list := range [][]Type{c.In, c.Out} {
		for _, t := range list {
			if t.Kind != Tensor || t.DType == dtype.String {
				return false
			}
		}
	}
	return true
}

func (c *Call) name() string {
	if c.Node == "" {
		return c.Op.Name
	}
	return c.Op.Name + " " + c.Node
}

// manyKids is the number of inputs from which adding a node, in which nothing checks the context, takes long.
const manyKids = 1 << 14

func (e *emission) node(i int) (*gorgonia.Node, error) {
	if i >= len(e.out) {
		return nil, e.call.Errorf("has no output %d", i)
	}
	if e.out[i] != nil {
		return e.out[i], nil
	}
	if !e.call.Out[i].Present() {
		return nil, e.call.Errorf("output %d has no type", i)
	}
	var n *gorgonia.Node
	var err error
	add := func() { n, err = apply(&expr{e, i, serial.Add(1)}, e.kids) }
	if len(e.kids) < manyKids {
		add()
	} else if ended := engine.Await(engine.WithoutLimit(e.call.Context()), add); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, &Error{Op: e.call.Op.Name, Node: e.call.node(), Err: err}
	}
	if e.call.Node != "" {
		gorgonia.WithName(fmt.Sprintf("%s:%d", e.call.Node, i))(n)
	}
	e.out[i] = n
	return n, nil
}

// nodeType returns the Gorgonia type of a value. Rank 0, and values that are not numeric tensors, are a bare
// element type, by which Gorgonia recognizes scalars.
func nodeType(t Type) hm.Type {
	if t.Kind != Tensor || t.DType == dtype.String || len(t.Shape) == 0 {
		return storage(t)
	}
	return gorgonia.TensorType{Dims: len(t.Shape), Of: storage(t)}
}

func storage(t Type) tensor.Dtype {
	switch t.Kind {
	case Sequence:
		return dtype.SequenceType
	case Optional:
		return dtype.OptionalType
	case Map:
		return dtype.MapType
	}
	return t.DType.Tensor()
}

// The methods below make expr a gorgonia.SDOp and an engine.Op.

func (o *expr) Core() *engine.Core { return o.core }
func (o *expr) Output() int        { return o.index }
func (o *expr) Arity() int         { return len(o.kids) }

// Type returns a new type each time, since Gorgonia puts it into a pool after use.
func (o *expr) Type() hm.Type {
	ts := make([]hm.Type, 0, len(o.kids)+1)
	for _, k := range o.kids {
		ts = append(ts, k.Type())
	}
	return hm.NewFnType(append(ts, nodeType(o.call.Out[o.index]))...)
}

func (o *expr) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	t := o.call.Out[o.index]
	if t.Kind != Tensor || t.DType == dtype.String {
		return tensor.ScalarShape(), nil
	}
	return t.TensorShape(), nil
}

func (o *expr) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	out, err := engine.Do(o.core, in)
	if err != nil {
		return nil, &Error{Stage: "run", Op: o.call.Op.Name, Node: o.call.node(), Err: err}
	}
	return out[o.index], nil
}

func (o *expr) ReturnsPtr() bool      { return false }
func (o *expr) CallsExtern() bool     { return false }
func (o *expr) OverwritesInput() int  { return -1 }
func (o *expr) WriteHash(h hash.Hash) { fmt.Fprintf(h, "%s#%d", o.call.Op.Name, o.id) }
func (o *expr) Hashcode() uint32      { return o.id }

func (o *expr) String() string {
	if len(o.call.Out) == 1 {
		return o.call.name()
	}
	return fmt.Sprintf("%s:%d", o.call.name(), o.index)
}

// MaxElements is the largest number of elements of an output whose shape comes from attributes.
const MaxElements = min(1<<34, math.MaxInt/16)
