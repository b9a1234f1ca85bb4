package nn

import (
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Ops is the set of operators that the graph knows.
func (e *Edit) Ops() op.Set {
	e.made()
	return e.g.ops
}

// Opset is the operator-set version of the standard domain.
func (e *Edit) Opset() int {
	e.made()
	return e.g.opset("")
}

// Meta is a copy of the model's metadata.
func (e *Edit) Meta() map[string]string {
	e.made()
	return maps.Clone(e.g.meta)
}

// Value finds a value by name. That there is none is an error of the edit.
func (e *Edit) Value(name string) *Value {
	e.made()
	if e.err != nil {
		return nil
	}
	v, err := e.g.value(name)
	e.fail(err)
	return v
}

// Lookup is the value of that name, nil if there is none.
func (e *Edit) Lookup(name string) *Value {
	e.made()
	return e.g.values[name]
}

// Inputs are the graph's inputs.
func (e *Edit) Inputs() []*Value {
	e.made()
	return slices.Clone(e.g.inputs)
}

// Outputs are the graph's outputs.
func (e *Edit) Outputs() []*Value {
	e.made()
	return slices.Clone(e.g.outputs)
}

// Params are the parameters in the order of the nodes that read them first; unread ones follow.
func (e *Edit) Params() []*Param {
	e.sortNodes()
	return e.g.params()
}

// Find is the one node that all selectors accept. That there is none, or more than one, is an error of the edit.
func (e *Edit) Find(sel ...Selector) *Node {
	list := e.Nodes(sel...)
	if len(list) > 1 {
		e.Failf("the selection matches %d nodes, %s and %s among them: want one", len(list), list[0].Label(), list[1].Label())
	}
	if e.err != nil {
		return nil
	}
	return list[0]
}

// Nodes are the nodes that all selectors accept, in topological order. To match none is an error of the edit; see Select.
func (e *Edit) Nodes(sel ...Selector) []*Node {
	list := e.Select(sel...)
	if e.err == nil && len(list) == 0 {
		e.Failf("the selection matches no node of %d", len(e.g.nodes))
	}
	return list
}

// Select is Nodes where it may be that no node matches.
func (e *Edit) Select(sel ...Selector) []*Node {
	if e.sortNodes(); e.err != nil {
		return nil
	}
	var list []*Node
	for _, n := range e.g.nodes {
		if all(sel, n) {
			list = append(list, n)
		}
	}
	return list
}
