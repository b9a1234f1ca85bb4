package onnxio

import (
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
)

// What a file says beyond what a graph holds is kept beside it, in the Origin fields, and goes
// back into the file when it is saved. Messages kept here are shared and never changed.

// graphOrigin is kept by a graph and by the graph of a subgraph.
type graphOrigin struct {
	model *onnxpb.ModelProto // without its graph; nil for a subgraph
	graph *onnxpb.GraphProto // without nodes, tensors and value infos
	// The values in the order of the file's lists. Inputs has the initializers that are listed there too.
	inputs, initializers, sparse, infos, outputs []*valueOrigin

	training []*trainingOrigin
}

// valueOrigin is what a file says about one value. A graph has one for each name, which the
// value keeps through edits, renaming included.
type valueOrigin struct {
	name      string
	input     *onnxpb.ValueInfoProto
	output    *onnxpb.ValueInfoProto
	info      *onnxpb.ValueInfoProto
	header    *onnxpb.TensorProto // an initializer without its elements
	typed     bool                // the elements stood in the field for their type rather than in raw_data
	sparse    *onnxpb.SparseTensorProto
	stripped  *onnxpb.TensorProto // an initializer whose elements were stripped
	constant  *nodeOrigin         // the node that held the elements of a weight instead of an initializer, without them
	loaded    string              // the type that the value had when it was loaded
	undefined bool                // value_info of a name that the graph does not define
}

// nodeOrigin is kept by a node.
type nodeOrigin struct {
	proto  *onnxpb.NodeProto // without the subgraphs of its attributes
	bodies map[int]*nn.Body  // subgraphs by attribute number
	extra  map[int]bool      // attributes that are none of the operator's: annotations
	index  int               // in the file's list of nodes
}

// WithBodies is called when the node is copied together with its subgraphs.
func (o *nodeOrigin) WithBodies(of func(*nn.Body) *nn.Body) any {
	c := *o
	c.bodies = make(map[int]*nn.Body, len(o.bodies))
	for i, b := range o.bodies {
		c.bodies[i] = of(b)
	}
	return &c
}

var _ nn.BodyOrigin = (*nodeOrigin)(nil)
