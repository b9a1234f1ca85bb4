package optest

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// built is a case in an expression graph.
type built struct {
	call  *op.Call
	graph *gorgonia.ExprGraph
	in    gorgonia.Nodes // by formal position
	key   *gorgonia.Node // of a random operator
	out   gorgonia.Nodes // by formal position, nil where not wanted
}

// set holds the operator of a case and those that it applies.
func (c *Case) set() (op.Set, error) {
	if !c.Ops.IsZero() {
		return c.Ops, nil
	}
	if o, ok := c.Config.(*op.Op); ok {
		return std.Operators().With(o)
	}
	return std.Operators(), nil
}

// op returns the operator of a case; nil if there is none.
func (c *Case) op() *op.Op {
	set, err := c.set()
	if err != nil {
		return nil
	}
	o, _ := set.Of(c.Config)
	return o
}

// call returns the call of a case on inputs of the given types; the values of inputs that are asked
// for are known.
func (c *Case) call(types []op.Type) (*op.Call, error) {
	set, err := c.set()
	if err != nil {
		return nil, err
	}
	call, err := set.NewCall(c.Config, types...)
	if err != nil {
		return nil, err
	}
	if c.decoded {
		call.Config = c.Config
	}
	if c.Version != 0 {
		call.Version = c.Version
	}
	call.Node = "node"
	call.Opset = c.Opset
	if call.Opset == 0 {
		call.Opset = call.Version
	}
	call.Outputs = max(c.Outputs, 1)
	call.Train = c.Train
	if len(c.Skip) > 0 {
		call.Want = make([]bool, call.Outputs)
		for i := range call.Want {
			call.Want[i] = !slices.Contains(c.Skip, i)
		}
	}
	return call, nil
}

func typesOf(in []dtype.Value) []op.Type {
	types := make([]op.Type, len(in))
	for i, v := range in {
		if v != nil {
			types[i] = op.TypeOf(v)
		}
	}
	return types
}

// build emits the case on in. Inputs whose value an operator asks for are specialized, no others.
func (c *Case) build(in []dtype.Value) (*built, error) {
	known := map[int]bool{}
	for {
		b, err := c.emit(in, known)
		i, needs := op.Needs(err)
		if !needs || known[i] {
			return b, err
		}
		if i >= len(in) || in[i] == nil {
			return nil, fmt.Errorf("asks for the value of input %d, which is absent", i)
		}
		known[i] = true
	}
}

func (c *Case) emit(in []dtype.Value, known map[int]bool) (*built, error) {
	call, err := c.call(typesOf(in))
	if err != nil {
		return nil, err
	}
	b := &built{call: call, graph: gorgonia.NewGraph(), in: make(gorgonia.Nodes, len(in))}
	for i := range known {
		b.call.Known[i].Value = in[i]
	}
	if err := b.call.Resolve(); err != nil {
		return nil, err
	}
	for i, v := range in {
		if v == nil {
			continue
		}
		var err error
		if b.in[i], err = op.Input(b.graph, fmt.Sprintf("in%d", i), b.call.In[i], v); err != nil {
			return nil, err
		}
	}
	var extra gorgonia.Nodes
	if b.call.Op.Random {
		k, err := dtype.FromSlice([]uint64{c.Key[0], c.Key[1]}, 2)
		if err != nil {
			return nil, err
		}
		if b.key, err = op.Input(b.graph, "key", op.TypeOf(k), k); err != nil {
			return nil, err
		}
		extra = gorgonia.Nodes{b.key}
	}
	b.out, err = op.Emit(b.graph, b.call, b.in, extra...)
	return b, err
}

// forward computes the outputs by Op.Do alone. values replace those of input nodes.
func (b *built) forward(values map[*gorgonia.Node]gorgonia.Value) ([]dtype.Value, error) {
	return evaluate(b.out, values)
}

// evaluate computes nodes by calling Op.Do in order, the plainest way to run a graph.
func evaluate(nodes gorgonia.Nodes, values map[*gorgonia.Node]gorgonia.Value) ([]dtype.Value, error) {
	seen := map[*gorgonia.Node]gorgonia.Value{}
	out := make([]dtype.Value, len(nodes))
	for i, n := range nodes {
		if n == nil {
			continue
		}
		v, err := evaluateNode(n, values, seen)
		if err != nil {
			return nil, err
		}
		if out[i], err = plain(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func evaluateNode(n *gorgonia.Node, values, seen map[*gorgonia.Node]gorgonia.Value) (gorgonia.Value, error) {
	if v, ok := seen[n]; ok {
		return v, nil
	}
	if v, ok := values[n]; ok {
		return v, nil
	}
	kids := op.Children(n)
	if n.Op() == nil || len(kids) == 0 {
		return n.Value(), nil
	}
	in := make([]gorgonia.Value, len(kids))
	for i, k := range kids {
		v, err := evaluateNode(k, values, seen)
		if err != nil {
			return nil, err
		}
		in[i] = v
	}
	v, err := n.Op().Do(in...)
	seen[n] = v
	return v, err
}

// plain converts Gorgonia's scalars to tensors of rank 0.
func plain(v gorgonia.Value) (dtype.Value, error) {
	if s, ok := v.(gorgonia.Scalar); ok {
		switch x := s.Data().(type) {
		case float32:
			return dtype.Scalar(x), nil
		case float64:
			return dtype.Scalar(x), nil
		}
		return nil, fmt.Errorf("scalar of type %T", s.Data())
	}
	if v == nil {
		return nil, nil
	}
	d, ok := v.(dtype.Value)
	if !ok {
		return nil, fmt.Errorf("%T is no value", v)
	}
	return d, nil
}

// dense returns a tensor of numbers, or nil.
func dense(v dtype.Value) *tensor.Dense {
	d, _ := v.(*tensor.Dense)
	return d
}

func isFloat(v dtype.Value) bool {
	d := dense(v)
	return d != nil && dtype.DTypeOf(d).IsFloat()
}
