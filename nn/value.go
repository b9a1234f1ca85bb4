package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Value is an edge of a graph: a graph input, a parameter, or what a node computes.
type Value struct {
	name     string
	typ      op.Type
	known    op.Known
	producer *Node
	index    int // index among the outputs of the producer
	param    *Param
	input    bool
	users    []*Node       // each once, in no particular order
	places   map[*Node]int // where in users, if they are many and one was removed
	graph    *Graph
	origin   any
	untyped  bool // placeholder in a subgraph for a value of unknown type; an untyped value is otherwise omitted
}

// Name returns the value's name, which is unique in its graph.
func (v *Value) Name() string {
	defer v.locked().unlock()
	return v.id()
}

func (v *Value) id() string {
	if v == nil {
		return ""
	}
	return v.name
}

// String returns the name and the type: "scores float32[N,10]".
func (v *Value) String() string {
	defer v.locked().unlock()
	return v.describe()
}

func (v *Value) describe() string {
	if v == nil {
		return "<nil>"
	}
	return fmt.Sprintf("%s %v", v.name, v.typ)
}

// Type returns the value's type and shape, as far as they are known.
func (v *Value) Type() op.Type {
	defer v.locked().unlock()
	return v.typed()
}

func (v *Value) typed() op.Type {
	if v == nil {
		return op.Type{}
	}
	return v.typ
}

// Known returns what is known of the value before the graph runs, mainly of shapes.
func (v *Value) Known() op.Known {
	if v == nil {
		return op.Known{}
	}
	defer v.locked().unlock()
	if v.param != nil {
		v.param.kept.Lend()
	}
	return v.known
}

// Producer returns the node that computes the value, nil for inputs and parameters.
func (v *Value) Producer() *Node {
	defer v.locked().unlock()
	return v.source()
}

func (v *Value) source() *Node {
	if v == nil {
		return nil
	}
	return v.producer
}

// Param returns the parameter that holds the value, nil if it is computed or an input.
func (v *Value) Param() *Param {
	defer v.locked().unlock()
	return v.held()
}

func (v *Value) held() *Param {
	if v == nil {
		return nil
	}
	return v.param
}

// IsInput reports whether the value is an input of its graph.
func (v *Value) IsInput() bool {
	defer v.locked().unlock()
	return v != nil && v.input
}

// Users returns the nodes that read the value, in topological order.
func (v *Value) Users() []*Node {
	defer v.locked().unlock()
	return v.readers()
}

func (v *Value) readers() []*Node {
	if v == nil {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(v.users), func(n *Node) bool { return !v.graph.lists(n) })
	inOrder(list)
	return list
}

// Origin returns what the package that loaded the file keeps of the value.
func (v *Value) Origin() any {
	defer v.locked().unlock()
	return there(v).origin
}

// SetOrigin is for packages that load and write files, see Origin. The graph must not be in use by others yet.
func (v *Value) SetOrigin(o any) { there(v).origin = o }

// Graph returns the graph that the value belongs to.
func (v *Value) Graph() *Graph {
	if v == nil {
		return nil
	}
	return v.graph
}

// Layout returns which axis of the value holds the channels, as declared by the nearest operator before it. It is
// trait.AnyLayout if there is none up to the inputs, and for values of fewer than three axes.
func (v *Value) Layout() trait.Layout {
	defer v.locked().unlock()
	v = there(v)
	for x := v; v.typ.Rank() > 2 && x != nil && x.producer != nil; x = x.producer.data() {
		if c := x.producer.traits().Layout; c != trait.AnyLayout {
			return c
		}
	}
	return trait.AnyLayout
}
