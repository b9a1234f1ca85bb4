package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Node is one use of an operator.
type Node struct {
	name     string
	domain   string
	opType   string
	doc      string
	op       *op.Op    // nil: unknown, kept as it is
	config   op.Config // nil when op is
	in       []*Value  // nil where an optional input is absent
	captured []*Value  // outer values read by subgraph attributes, see Body
	out      []*Value  // nil where an output has no name
	graph    *Graph
	origin   any

	annotations Annotations
	fresh       bool // made or changed by an edit: its attributes come from config, not from origin
}

// Name is the node's name, a hint: it may be empty or not unique.
func (n *Node) Name() string {
	if n == nil {
		return ""
	}
	return n.name
}

// Label is the node's name, or that of its first output if it has none.
func (n *Node) Label() string {
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

// Type is the operator's name: Conv.
func (n *Node) Type() string {
	if n == nil {
		return ""
	}
	return n.opType
}

// Domain is the operator's domain, "" for the standard one.
func (n *Node) Domain() string {
	if n == nil {
		return ""
	}
	return n.domain
}

// Op is the operator, nil when graft does not know it.
func (n *Node) Op() *op.Op {
	if n == nil {
		return nil
	}
	return n.op
}

// Config is the operator with its attributes, nil when graft does not know it.
func (n *Node) Config() op.Config {
	if n == nil {
		return nil
	}
	return n.config
}

// Inputs are the values the node reads; nil where an optional one is absent.
func (n *Node) Inputs() []*Value {
	if n == nil {
		return nil
	}
	return slices.Clone(n.in)
}

// In is input i, nil when absent.
func (n *Node) In(i int) *Value {
	if n == nil || i < 0 || i >= len(n.in) {
		return nil
	}
	return n.in[i]
}

// Captured are the outer values that the node's subgraphs read.
func (n *Node) Captured() []*Value {
	if n == nil {
		return nil
	}
	return slices.Clone(n.captured)
}

// Outputs are the values the node computes; nil where it has no name.
func (n *Node) Outputs() []*Value {
	if n == nil {
		return nil
	}
	return slices.Clone(n.out)
}

// Out is output i, nil when absent.
func (n *Node) Out(i int) *Value {
	if n == nil || i < 0 || i >= len(n.out) {
		return nil
	}
	return n.out[i]
}

// Origin is what a file said about the node; Fresh says that an edit made or changed it since.
func (n *Node) Origin() any { return n.origin }

// Fresh reports whether the node's attributes are those of Config rather than those of Origin.
func (n *Node) Fresh() bool { return n.fresh }

// Doc is the node's documentation in the file.
func (n *Node) Doc() string { return n.doc }
