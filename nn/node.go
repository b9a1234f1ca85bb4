package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Node is one use of an operator in a graph.
type Node struct {
	name     string
	domain   string
	opType   string
	doc      string
	op       *op.Op    // nil: unknown; the node is kept as it is
	config   op.Config // nil when op is
	in       []*Value  // nil where an optional input is absent
	captured []*Value  // outer values read by subgraph attributes, see Body
	out      []*Value  // nil where an output has no name
	graph    *Graph
	origin   any
	places   readPlaces // where it reads what, see index
	at       int        // index in the list of the graph
	removed  bool       // marked there

	annotations Annotations
	fresh       bool // made or changed by an edit: its attributes come from config, not from origin
}

// Name returns the node's name, which may be empty and need not be unique.
func (n *Node) Name() string {
	if n == nil {
		return ""
	}
	defer n.locked().unlock()
	return n.name
}

// Label returns the node's name, or that of its first output if it has none.
func (n *Node) Label() string {
	defer n.locked().unlock()
	return n.label()
}

func (n *Node) label() string {
	if n == nil {
		return ""
	}
	if n.name != "" {
		return n.name
	}
	for _, v := range n.out {
		if v != nil {
			return v.name
		}
	}
	return n.opType
}

// Type returns the name of the operator, such as "Conv".
func (n *Node) Type() string {
	if n == nil {
		return ""
	}
	defer n.locked().unlock()
	return n.opType
}

// String returns the operator and the label: "Conv conv1".
func (n *Node) String() string {
	if n == nil {
		return "<nil>"
	}
	defer n.locked().unlock()
	return n.describe()
}

// Domain returns the domain of the operator, "" for the standard one.
func (n *Node) Domain() string {
	if n == nil {
		return ""
	}
	defer n.locked().unlock()
	return n.domain
}

func (n *Node) operator() op.Name { return op.Name{Domain: n.domain, Name: n.opType} }

// Op returns the operator, nil if graft does not know it.
func (n *Node) Op() *op.Op {
	if n == nil {
		return nil
	}
	defer n.locked().unlock()
	return n.op
}

// Config returns the operator with its attributes, nil if graft does not know the operator.
func (n *Node) Config() op.Config {
	if n == nil {
		return nil
	}
	defer n.locked().unlock()
	return n.config
}

// Inputs returns the values that the node reads, nil for an optional one that is absent.
func (n *Node) Inputs() []*Value {
	if n == nil {
		return nil
	}
	defer n.locked().unlock()
	return slices.Clone(n.in)
}

// In returns input i, nil if it is absent.
func (n *Node) In(i int) *Value {
	defer n.locked().unlock()
	return n.input(i)
}

func (n *Node) input(i int) *Value {
	if n == nil || i < 0 || i >= len(n.in) {
		return nil
	}
	return n.in[i]
}

// Captured returns the outer values that the node's subgraphs read.
func (n *Node) Captured() []*Value {
	if n == nil {
		return nil
	}
	defer n.locked().unlock()
	return slices.Clone(n.captured)
}

// Outputs returns the values that the node computes, nil for an output without a name.
func (n *Node) Outputs() []*Value {
	if n == nil {
		return nil
	}
	defer n.locked().unlock()
	return slices.Clone(n.out)
}

// Out returns output i, nil if it is absent.
func (n *Node) Out(i int) *Value {
	defer n.locked().unlock()
	return n.output(i)
}

func (n *Node) output(i int) *Value {
	if n == nil || i < 0 || i >= len(n.out) {
		return nil
	}
	return n.out[i]
}

// Origin returns what the package that loaded the file keeps of the node.
func (n *Node) Origin() any {
	defer n.locked().unlock()
	return there(n).origin
}

// Fresh reports whether the attributes are those of Config because an edit created or changed the node; otherwise they
// are as in Origin.
func (n *Node) Fresh() bool {
	defer n.locked().unlock()
	return there(n).fresh
}

// Doc returns the node's documentation in the file.
func (n *Node) Doc() string {
	defer n.locked().unlock()
	return there(n).doc
}
