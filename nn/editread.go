package nn

import (
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Ops returns the set of operators that the graph knows.
func (e *Edit) Ops() op.Set {
	e.made()
	return e.g.ops
}

// Opset returns the version of the standard operator set that the graph uses.
func (e *Edit) Opset() int {
	e.made()
	return e.g.opset("")
}

// Meta returns a copy of the model's metadata.
func (e *Edit) Meta() map[string]string {
	e.made()
	return maps.Clone(e.g.meta)
}

// Value returns the value with the given name. The edit fails if there is none.
func (e *Edit) Value(name string) *Value {
	e.made()
	if e.err != nil {
		return nil
	}
	v, err := e.g.value(name)
	e.fail(err)
	return v
}

// Lookup returns the value with the given name, nil if there is none.
func (e *Edit) Lookup(name string) *Value {
	e.made()
	return e.g.values[name]
}

// Inputs returns the inputs of the graph.
func (e *Edit) Inputs() []*Value {
	e.made()
	return slices.Clone(e.g.inputs)
}

// Outputs returns the outputs of the graph.
func (e *Edit) Outputs() []*Value {
	e.made()
	return slices.Clone(e.g.outputs)
}

// Params returns the parameters in the order of the nodes that first read them, followed by those that no node reads.
func (e *Edit) Params() []*Param {
	e.sortNodes()
	return e.g.params()
}

// Find returns the one node that all selectors accept. The edit fails if there is none, or more than one.
func (e *Edit) Find(sel ...Selector) *Node {
	list := e.Nodes(sel...)
	if len(list) > 1 {
		e.Failf("the selection matches %d nodes, %s and %s among them: want one", len(list), list[0].label(), list[1].label())
	}
	if e.err != nil {
		return nil
	}
	return list[0]
}

// Nodes returns the nodes that all selectors accept, in topological order. The edit fails if there are none; see Select.
func (e *Edit) Nodes(sel ...Selector) []*Node {
	list := e.Select(sel...)
	if e.err == nil && len(list) == 0 {
		e.Failf("the selection matches no node of %d", len(e.g.nodes()))
	}
	return list
}

// Select is Nodes, but may return no nodes.
func (e *Edit) Select(sel ...Selector) []*Node {
	if e.sortNodes(); e.err != nil {
		return nil
	}
	var list []*Node
	for _, n := range e.g.nodes() {
		ok, err := accepted(sel, n)
		if err != nil {
			e.Fail(err)
			return nil
		}
		if ok {
			list = append(list, n)
		}
	}
	return list
}
