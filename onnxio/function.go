package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
)

// A model may define its own operators as functions of nodes (FunctionProto). A node that calls one
// becomes a node with a body: the function's nodes, with the attributes of the call. The call in the
// file is kept in its Origin, and is what Save writes.

type functionKey struct{ domain, name, overload string }

func keyOf(domain, name, overload string) functionKey {
	if domain == "ai.onnx" {
		domain = ""
	}
	return functionKey{domain, name, overload}
}

// callConfig is the configuration of a call.
type callConfig struct {
	Body op.Subgraph `onnx:"body"`
}

// Operator returns the name of the function that the body was expanded from.
func (c callConfig) Operator() op.Name {
	if b, ok := c.Body.(*nn.Body); ok {
		if o, ok := b.Graph.Origin().(*functionOrigin); ok {
			return o.name
		}
	}
	return op.Name{}
}

// functionOrigin is the Origin of the graph of a call's body.
type functionOrigin struct {
	*graphOrigin
	name op.Name
}

// functionOp makes an operator for a function that the model defines.
func functionOp(domain, name string) *op.Op {
	return &op.Op{
		Domain: domain, Name: name, Since: []int{1}, Doc: "A function that the model defines.",
		In: "inputs* any", Out: "outputs* any", Attrs: callConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return c.Config.(callConfig).Body.Infer(c.Context(), c.In, c.Known, c.Train)
		},
		Lower:  nn.LowerCall,
		Pinned: "a function of the model",
		Traits: op.Traits{Call: true},
	}
}

// addInternal extends the set of operators by the model's functions and the placeholder for
// initializers whose data were stripped.
func (r *reader) addInternal() error {
	ops := []*op.Op{strippedOp()}
	for _, f := range r.proto.Functions {
		if f.GetName() == "" {
			return fmt.Errorf("a function has no name")
		}
		key := keyOf(f.GetDomain(), f.GetName(), f.GetOverload())
		if r.functions[key] != nil {
			return fmt.Errorf("function %s.%s is defined twice", f.GetDomain(), f.GetName())
		}
		r.functions[key] = f
		if r.ops.Find(f.GetDomain(), f.GetName()) == nil {
			k := keyOf(f.GetDomain(), f.GetName(), "")
			r.local[k] = functionOp(k.domain, k.name)
		}
	}
	for _, o := range r.local {
		ops = append(ops, o)
	}
	set, err := r.ops.With(ops...)
	r.ops = set
	return err
}

// call describes a node that calls a function.
func (s *assembly) call(spec nn.NodeSpec, n *onnxpb.NodeProto, f *onnxpb.FunctionProto, key functionKey) (nn.NodeSpec, error) {
	if slices.Contains(s.calls, key) {
		return spec, fmt.Errorf("function %s.%s calls itself", f.GetDomain(), f.GetName())
	}
	if len(n.Input) > len(f.Input) || len(n.Output) > len(f.Output) {
		return spec, fmt.Errorf("function %s.%s has %d inputs and %d outputs, the call %d and %d",
			f.GetDomain(), f.GetName(), len(f.Input), len(f.Output), len(n.Input), len(n.Output))
	}
	if err := s.expand(1 + len(f.Node)); err != nil {
		return spec, err
	}
	size := int64(proto.Size(f)) // of the attributes, names and declarations that each call has again
	if size > s.memory {
		return spec, fmt.Errorf("function %s.%s: %w", f.GetDomain(), f.GetName(), s.full(size))
	}
	s.memory -= size
	attrs := map[string]*onnxpb.AttributeProto{}
	for _, a := range f.AttributeProto {
		attrs[a.GetName()] = a
	}
	given := map[string]bool{}
	for _, a := range n.Attribute {
		if given[a.GetName()] {
			return spec, fmt.Errorf("attribute %s is given twice", a.GetName())
		}
		given[a.GetName()] = true
		if a.RefAttrName != nil {
			if a = s.referred(a); a == nil {
				continue
			}
		}
		attrs[a.GetName()] = a
	}
	opsets, err := opsetsOf(f.OpsetImport, s.ops)
	if err != nil {
		return spec, fmt.Errorf("function %s.%s: %w", f.GetDomain(), f.GetName(), err)
	}
	body := &onnxpb.GraphProto{Name: f.Name, DocString: f.DocString, Node: f.Node, ValueInfo: f.ValueInfo}
	for _, name := range f.Input {
		body.Input = append(body.Input, &onnxpb.ValueInfoProto{Name: proto.String(name)})
	}
	for _, name := range f.Output {
		body.Output = append(body.Output, &onnxpb.ValueInfoProto{Name: proto.String(name)})
	}
	s.calls = append(s.calls, key)
	defer func() { s.calls = s.calls[:len(s.calls)-1] }()
	b, err := s.bodyOf(nn.NewGraph(f.GetName(), s.ops, opsets), body, attrs)
	if err != nil {
		return spec, err
	}
	if c := b.Captured(); len(c) > 0 {
		return spec, fmt.Errorf("function %s.%s reads %q, which nothing computes", f.GetDomain(), f.GetName(), c[0])
	}
	b.Graph.SetOrigin(&functionOrigin{b.Graph.Origin().(*graphOrigin), s.local[keyOf(key.domain, key.name, "")].Operator()})
	spec.Attrs["body"] = b
	return spec, nil
}

// expand counts nodes of functions, those in their subgraphs included.
func (r *reader) expand(nodes int) error {
	if r.expanded += nodes; r.expanded > maxExpanded {
		return fmt.Errorf("functions expand to more than %d nodes", maxExpanded)
	}
	return nil
}

// maxExpanded bounds the nodes that a small file of functions calling functions can be expanded to,
// some three kilobytes each.
const maxExpanded = 1 << 17

// strippedConfig is the type of an initializer whose data were stripped.
type strippedConfig struct {
	DType op.DType `onnx:"dtype"`
	Shape []int    `onnx:"shape"`
	Why   string   `onnx:"why"`
}

// Operator makes strippedConfig a Config.
func (strippedConfig) Operator() op.Name { return strippedOp().Operator() }

const strippedName = "Stripped"

// strippedOp is the placeholder for an initializer without data: its type is known, but running it is an error.
func strippedOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: strippedName, Since: []int{1}, Doc: "An initializer whose data were stripped.",
		Out: "output any", Attrs: strippedConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(strippedConfig)
			return []op.Type{op.Shaped(cfg.DType, cfg.Shape...)}, nil
		},
		Func: func(c *op.Call, _ []dtype.Value) ([]dtype.Value, error) {
			return nil, errors.New(c.Config.(strippedConfig).Why)
		},
		NoGrad: "has no data", Pinned: "has no data",
	}
}

// CheckData returns an error if the data of an initializer of g, or of a subgraph, were stripped. Call it before using
// the numbers of a model.
func CheckData(g *nn.Graph) error {
	for n := range g.Nodes() {
		if c, ok := n.Config().(strippedConfig); ok {
			return fmt.Errorf("%s: %s", n.Label(), c.Why)
		}
		for _, b := range n.Bodies() {
			if err := CheckData(b.Graph); err != nil {
				return err
			}
		}
	}
	return nil
}

func strippedNode(v *valueOrigin, gone *StrippedError) nn.NodeSpec {
	shape := make([]int64, len(gone.Shape))
	for i, n := range gone.Shape {
		shape[i] = int64(n)
	}
	return nn.NodeSpec{
		Name: v.name, Domain: op.Internal, Type: strippedName, Out: []string{v.name}, Origin: v,
		Attrs: map[string]any{"dtype": int64(gone.DType), "shape": shape, "why": gone.Error()},
	}
}
