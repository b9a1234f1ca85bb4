package onnxio

import (
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
)

// Information in a file that a graph does not represent is kept in the graph's Origin fields, and is
// written again when the graph is saved. Messages kept here are shared and must not be changed.

// graphOrigin is the Origin of a graph or subgraph.
type graphOrigin struct {
	model *onnxpb.ModelProto // without its graph; nil for a subgraph
	graph *onnxpb.GraphProto // without nodes, tensors and value infos
	// The values in the order of the file's lists. inputs includes the initializers that are listed there.
	inputs, initializers, sparse, infos, outputs []*valueOrigin

	training []*trainingOrigin
}

// valueOrigin is the Origin of a value. A graph has one for each name, which the value keeps through
// edits, including renaming.
type valueOrigin struct {
	name      string
	input     *onnxpb.ValueInfoProto
	output    *onnxpb.ValueInfoProto
	info      *onnxpb.ValueInfoProto
	header    *onnxpb.TensorProto // an initializer without its elements
	typed     bool                // the elements were in the field for their type rather than in raw_data
	sparse    *onnxpb.SparseTensorProto
	stripped  *onnxpb.TensorProto // an initializer whose elements were stripped
	constant  *nodeOrigin         // the node that stored a weight instead of an initializer, without the elements
	loaded    string              // type of the value when it was loaded
	home      *graphOrigin        // the graph or subgraph whose initializer or Constant node it was
	lifted    string              // name of the parameter that an initializer or Constant node of a subgraph became
	undefined bool                // value_info of a name that the graph does not define
}

// nodeOrigin is the Origin of a node.
type nodeOrigin struct {
	proto  *onnxpb.NodeProto // without the subgraphs of its attributes
	bodies map[int]*nn.Body  // subgraphs by attribute number
	extra  map[int]bool      // attributes that are unknown to the operator: annotations
	index  int               // index in the file's list of nodes
}

// WithBodies returns a copy for a node that is copied together with its subgraphs.
func (o *nodeOrigin) WithBodies(of func(*nn.Body) *nn.Body) any {
	c := *o
	c.bodies = make(map[int]*nn.Body, len(o.bodies))
	for i, b := range o.bodies {
		c.bodies[i] = of(b)
	}
	return &c
}

var _ nn.BodyOrigin = (*nodeOrigin)(nil)
