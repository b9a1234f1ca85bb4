package onnxio

import (
	"errors"
	"fmt"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
)

func (s *assembly) nodes(p *onnxpb.GraphProto) error {
	for i, n := range p.Node {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		spec, err := s.node(n, i)
		if err != nil {
			return nodeError(n, i, err)
		}
		s.a.Node(spec)
	}
	return nil
}

// nodeError adds the node to an error that does not name one.
func nodeError(n *onnxpb.NodeProto, i int, err error) error {
	var e *nn.Error
	if errors.As(err, &e) && error(e) == err && e.Node != "" {
		return err
	}
	name := n.GetName()
	for _, o := range n.Output {
		if name == "" {
			name = o
		}
	}
	if name == "" {
		name = fmt.Sprintf("#%d", i)
	}
	return &nn.Error{Op: n.GetOpType(), Node: name, Err: err}
}

func (s *assembly) node(n *onnxpb.NodeProto, index int) (nn.NodeSpec, error) {
	if n.GetOpType() == "" {
		return nn.NodeSpec{}, errors.New("a node has no operator")
	}
	o := &nodeOrigin{proto: n, bodies: map[int]*nn.Body{}, extra: map[int]bool{}, index: index}
	spec := nn.NodeSpec{
		Name: n.GetName(), Domain: n.GetDomain(), Type: n.GetOpType(), Doc: n.GetDocString(),
		In: n.Input, Out: n.Output, Attrs: map[string]any{}, Origin: o,
	}
	key := keyOf(n.GetDomain(), n.GetOpType(), n.GetOverload())
	if f := s.functions[key]; f != nil && s.local[keyOf(n.GetDomain(), n.GetOpType(), "")] != nil {
		return s.call(spec, n, f, key)
	}
	var known map[string]bool // nil: an operator that graft does not know
	if o := s.ops.Find(n.GetDomain(), n.GetOpType()); o != nil {
		known = o.AttrNames()
	}
	spec.Annotations = fromMetadata(n.MetadataProps)
	if s.local[keyOf(n.GetDomain(), n.GetOpType(), "")] != nil {
		return spec, fmt.Errorf("no overload %q of the function is defined", n.GetOverload())
	}
	for i, a := range n.Attribute {
		if a.GetName() == "" {
			return spec, fmt.Errorf("attribute #%d has no name", i)
		}
		if a.GetRefAttrName() != "" {
			if len(s.calls) == 0 {
				return spec, fmt.Errorf("attribute %s refers to attribute %s of a function, but the node is in none", a.GetName(), a.GetRefAttrName())
			}
			if a = s.referred(a); a == nil {
				continue // the call omits the attribute: use the default
			}
		}
		v, err := s.attribute(o, i, a, known)
		if err != nil {
			return spec, fmt.Errorf("attribute %s: %w", a.GetName(), err)
		}
		if v == nil {
			if o.extra[i] = known != nil; o.extra[i] {
				s.annotate(&spec, a)
			}
			continue
		}
		if spec.Attrs[a.GetName()] != nil {
			return spec, fmt.Errorf("attribute %s is given twice", a.GetName())
		}
		spec.Attrs[a.GetName()] = v
	}
	return spec, nil
}

// attribute returns the value of an attribute. It is nil for an attribute that is unknown to the operator, an
// annotation, which is kept for saving. Of an unknown operator only subgraphs are decoded.
func (s *assembly) attribute(o *nodeOrigin, i int, a *onnxpb.AttributeProto, known map[string]bool) (any, error) {
	if known[a.GetName()] {
		if err := checkFields(a); err != nil {
			return nil, err
		}
	}
	if attributeType(a) == onnxpb.AttributeProto_GRAPH && (known == nil || known[a.GetName()]) {
		b, err := s.body(a.GetG())
		if err != nil {
			return nil, err
		}
		o.bodies[i] = b
		if len(s.calls) == 0 { // inside a function the attribute may be read again
			a.G = nil // saving writes the body instead
		}
		return b, nil
	}
	if !known[a.GetName()] {
		return nil, nil
	}
	var err error
	switch attributeType(a) {
	case onnxpb.AttributeProto_TENSOR:
		if _, stripped := parseStripped(a.GetT()); !stripped {
			err = s.charge(dtype.DType(a.GetT().GetDataType()), a.GetT().GetDims())
		}
	case onnxpb.AttributeProto_SPARSE_TENSOR:
		t := a.GetSparseTensor()
		err = s.charge(dtype.DType(t.GetValues().GetDataType()), t.GetDims())
	}
	if err != nil {
		return nil, err
	}
	return decodeAttribute(a, s.ext)
}

func (s *assembly) body(p *onnxpb.GraphProto) (*nn.Body, error) {
	if p == nil {
		return nil, errors.New("the subgraph is missing")
	}
	if len(s.calls) > 0 {
		if err := s.expand(len(p.Node)); err != nil {
			return nil, err
		}
	}
	return s.bodyOf(s.g, p, s.attrs)
}

// bodyOf assembles p inside parent, with parent's opsets.
func (s *assembly) bodyOf(parent *nn.Graph, p *onnxpb.GraphProto, attrs map[string]*onnxpb.AttributeProto) (*nn.Body, error) {
	a := nn.AssembleBody(p.GetName(), parent)
	a.Context = s.ctx
	a.Describe(p.GetDocString(), nil)
	o, err := s.assemble(a, parent, p, attrs, s.depth+1)
	if err != nil {
		return nil, err
	}
	b, err := a.Body()
	if err != nil {
		return nil, err
	}
	b.Graph.SetOrigin(o)
	return b, nil
}

// referred returns the attribute of the call to which an attribute inside a function refers.
func (s *assembly) referred(a *onnxpb.AttributeProto) *onnxpb.AttributeProto {
	given := s.attrs[a.GetRefAttrName()]
	if given == nil {
		return nil
	}
	b := proto.Clone(given).(*onnxpb.AttributeProto)
	b.Name = a.Name
	return b
}
