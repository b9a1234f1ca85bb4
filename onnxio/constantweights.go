package onnxio

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
)

// Some exporters store weights in Constant nodes instead of initializers. They become parameters, and are written as nodes
// again, at the same position, if all weights of the model are stored in this way.

// weights completes the parameters: those of subgraphs, and those of Constant nodes with weights.
func weights(a *nn.Assembler) error {
	held, err := a.Weights(func(n *nn.Node) bool {
		o, ok := n.Origin().(*nodeOrigin)
		return ok && o.tensor() != nil && markedRole(n.Doc()) != nn.Constant
	})
	for v, n := range held {
		o := n.Origin().(*nodeOrigin)
		t := o.tensor()
		w := v.Origin().(*valueOrigin)
		w.home = originOf(v.Graph())
		w.header, w.typed, w.constant = headerOfTensor(t), t.RawData == nil, &nodeOrigin{proto: withTensor(o.proto, nil), index: o.index}
	}
	return err
}

// tensor returns the tensor if it is the node's only attribute, otherwise nil.
func (o *nodeOrigin) tensor() *onnxpb.TensorProto {
	if len(o.proto.Attribute) != 1 || o.proto.Attribute[0].RefAttrName != nil {
		return nil
	}
	if t := o.proto.Attribute[0].GetT(); t.GetDataLocation() == onnxpb.TensorProto_DEFAULT {
		return t
	}
	return nil
}

// withTensor returns a copy of a node, with t as its only attribute.
func withTensor(n *onnxpb.NodeProto, t *onnxpb.TensorProto) *onnxpb.NodeProto {
	c, a := &onnxpb.NodeProto{}, &onnxpb.AttributeProto{}
	copyFields(c, n)
	copyFields(a, n.Attribute[0])
	a.T = t
	c.Attribute = []*onnxpb.AttributeProto{a}
	return c
}

// weightsInNodes reports whether all loaded weights and statistics were stored in Constant nodes. If so, new ones are stored
// in nodes as well, since a reader that finds one in an initializer does not look for others in nodes.
func (w *writer) weightsInNodes(g *nn.Graph) (bool, error) {
	found := false
	for p, err := range w.params(g) {
		if err != nil {
			return false, err
		}
		o, _ := p.Value().Origin().(*valueOrigin)
		switch {
		case o == nil || p.Role() == nn.Constant:
		case o.constant == nil:
			return false, nil
		default:
			found = true
		}
	}
	return found && w.dtype == dtype.Undefined, nil
}

// roleMark precedes a role in the documentation of a tensor or of a Constant node whose role differs from the one that follows
// from its use: files of earlier IR versions have no other field for it.
const roleMark = "graft.role="

// markOf returns the documentation of a tensor or node with a role of its own.
func markOf(r nn.Role) *string { return proto.String(roleMark + string(r)) }

// markedRole returns the role in the documentation of a tensor or node, "" if there is none.
func markedRole(doc string) nn.Role {
	r, ok := strings.CutPrefix(doc, roleMark)
	if r := nn.Role(r); ok && (r == nn.Weight || r == nn.Constant) {
		return r
	}
	return ""
}

// heldInNode reports whether a weight was stored in a node in the file, and is written in a node again.
func (s *graphWriter) heldInNode(v *nn.Value) bool {
	o := s.info[v]
	return s.inNodes && o != nil && o.constant != nil && s.param(v) != nil && v.Graph() == s.g
}

// weightNodes returns the weights that were stored in nodes, in the order of the file.
func (s *graphWriter) weightNodes() []*nn.Value {
	var list []*nn.Value
	for v := range s.info {
		if s.heldInNode(v) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *nn.Value) int { return s.info[a].constant.index - s.info[b].constant.index })
	return list
}

// before writes the weights in list that preceded n in the file, or that n reads, and returns the others.
func (s *graphWriter) before(n *nn.Node, list []*nn.Value) ([]*nn.Value, error) {
	if o, ok := n.Origin().(*nodeOrigin); ok {
		for ; len(list) > 0 && s.info[list[0]].constant.index < o.index; list = list[1:] {
			if err := s.weightNode(list[0]); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range slices.Concat(n.Inputs(), n.Captured()) {
		if v != nil && s.heldInNode(v) {
			if err := s.weightNode(v); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// weightNode writes the node of a weight, unless it was written before.
func (s *graphWriter) weightNode(v *nn.Value) error {
	if s.done[v] {
		return nil
	}
	s.done[v] = true
	o := s.info[v]
	t, err := encodeParam(o.header.GetName(), direct.Tensor(s.param(v)), o, o.typed)
	if err != nil {
		return &nn.Error{Input: v.Name(), Err: err}
	}
	n := withTensor(o.constant.proto, t)
	n.Output = []string{s.name(v)}
	if fixedByHand(s.param(v)) {
		n.DocString = markOf(nn.Constant)
	}
	s.p.Node = append(s.p.Node, n)
	return nil
}

// fixedByHand reports whether a parameter whose use makes it a weight was set to be a constant.
func fixedByHand(p *nn.Param) bool { return p.Role() == nn.Constant && p.Inferred() == nn.Weight }
