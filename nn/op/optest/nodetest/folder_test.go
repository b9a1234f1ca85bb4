// Package nodetest_test runs ONNX's node test folders on operators alone, without a graph: each node of model.onnx becomes a
// call. Subgraphs are left to package nn.
package nodetest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
)

// errUnsupported is returned if a folder needs an operator that does not exist, or a subgraph.
var errUnsupported = errors.New("not supported")

// folder is a test folder: a model and its data sets.
type folder struct {
	model *onnxpb.ModelProto
	sets  []*onnxio.DataSet
}

// openFolder reads the folder dir of fsys.
func openFolder(fsys fs.FS, dir string) (*folder, error) {
	b, err := fs.ReadFile(fsys, path.Join(dir, "model.onnx"))
	if err != nil {
		return nil, err
	}
	f := &folder{model: &onnxpb.ModelProto{}}
	if err := proto.Unmarshal(b, f.model); err != nil {
		return nil, err
	}
	names, err := onnxio.DataSets(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		set, err := onnxio.ReadDataSet(fsys, n, f.declared(f.model.Graph.GetInput()), f.declared(f.model.Graph.GetOutput()))
		if err != nil {
			return nil, err
		}
		f.sets = append(f.sets, set)
	}
	return f, nil
}

func (f *folder) declared(infos []*onnxpb.ValueInfoProto) []op.Type {
	types := make([]op.Type, len(infos))
	for i, info := range infos {
		switch t := info.GetType(); t.GetValue().(type) {
		case *onnxpb.TypeProto_SequenceType:
			types[i].Kind = op.Sequence
			types[i].DType = elemOf(t)
		case *onnxpb.TypeProto_OptionalType:
			types[i].Kind = op.Optional
			types[i].DType = elemOf(t)
		case *onnxpb.TypeProto_SparseTensorType:
			types[i].Kind = op.Sparse
		case *onnxpb.TypeProto_MapType:
			types[i].Kind = op.Map
		default:
			types[i].DType = elemOf(t)
		}
	}
	return types
}

func elemOf(t *onnxpb.TypeProto) dtype.DType {
	switch v := t.GetValue().(type) {
	case *onnxpb.TypeProto_SequenceType:
		return elemOf(v.SequenceType.GetElemType())
	case *onnxpb.TypeProto_OptionalType:
		return elemOf(v.OptionalType.GetElemType())
	}
	return dtype.DType(t.GetTensorType().GetElemType())
}

// Ops returns the operator types of the model's nodes.
func (f *folder) Ops() []string {
	var list []string
	for _, n := range f.model.Graph.GetNode() {
		list = append(list, n.GetOpType())
	}
	return list
}

// Run computes every data set and compares the outputs with relative and absolute tolerance tol.
func (f *folder) Run(tol float64) error {
	for k, s := range f.sets {
		if err := f.runSet(s, tol); err != nil {
			return fmt.Errorf("data set %d: %w", k, err)
		}
	}
	return nil
}

func (f *folder) runSet(s *onnxio.DataSet, tol float64) error {
	g := f.model.Graph
	env := map[string]dtype.Value{}
	for _, p := range g.GetInitializer() {
		v, err := value(p)
		if err != nil {
			return err
		}
		env[p.GetName()] = v
	}
	for i, v := range s.Inputs {
		if i < len(g.Input) && v.Value != nil {
			env[g.Input[i].GetName()] = v.Value
		}
	}
	for _, n := range g.GetNode() {
		if err := f.runNode(n, env); err != nil {
			return fmt.Errorf("%s: %w", n.GetOpType(), err)
		}
	}
	for i, want := range s.Outputs {
		if i >= len(g.Output) || want.Value == nil {
			continue
		}
		if err := optest.Compare(env[g.Output[i].GetName()], want.Value, tol); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// Case returns the call of a node on the values in env.
func (f *folder) Case(n *onnxpb.NodeProto, env map[string]dtype.Value) (optest.Case, error) {
	c := optest.Case{Name: n.GetOpType(), Outputs: len(n.GetOutput())}
	domain := n.GetDomain()
	if domain == "ai.onnx" {
		domain = ""
	}
	o := std.Operators().Find(domain, n.GetOpType())
	if o == nil {
		return c, fmt.Errorf("operator %s.%s: %w", domain, n.GetOpType(), errUnsupported)
	}
	for _, s := range f.model.GetOpsetImport() {
		if s.GetDomain() == domain || domain == "" && s.GetDomain() == "ai.onnx" {
			c.Opset = int(s.GetVersion())
			c.Version = o.Version(c.Opset)
		}
	}
	if c.Version == 0 {
		return c, fmt.Errorf("operator %s does not exist in operator set %d", o, c.Opset)
	}
	attrs := map[string]any{}
	for _, a := range n.GetAttribute() {
		v, err := attribute(a)
		if err != nil {
			return c, fmt.Errorf("attribute %s: %w", a.GetName(), err)
		}
		attrs[a.GetName()] = v
	}
	var err error
	if c.Config, err = o.Decode(c.Version, attrs); err != nil {
		return c, err
	}
	for i, name := range n.GetOutput() {
		if name == "" {
			c.Skip = append(c.Skip, i)
		}
	}
	for _, name := range n.GetInput() {
		c.In = append(c.In, env[name])
	}
	return c, nil
}

func (f *folder) runNode(n *onnxpb.NodeProto, env map[string]dtype.Value) error {
	c, err := f.Case(n, env)
	if err != nil {
		return err
	}
	out, err := optest.Forward(c)
	if err != nil {
		return err
	}
	for i, name := range n.GetOutput() {
		if name != "" && i < len(out) {
			env[name] = out[i]
		}
	}
	return nil
}

func value(p *onnxpb.TensorProto) (dtype.Value, error) {
	b, err := proto.Marshal(p)
	if err != nil {
		return nil, err
	}
	v, err := onnxio.ReadTensor(bytes.NewReader(b))
	return v.Value, err
}

// attribute returns what Op.Decode takes.
func attribute(a *onnxpb.AttributeProto) (any, error) {
	switch a.GetType() {
	case onnxpb.AttributeProto_FLOAT:
		return a.GetF(), nil
	case onnxpb.AttributeProto_INT:
		return a.GetI(), nil
	case onnxpb.AttributeProto_STRING:
		return string(a.GetS()), nil
	case onnxpb.AttributeProto_TENSOR:
		return value(a.GetT())
	case onnxpb.AttributeProto_FLOATS:
		return a.GetFloats(), nil
	case onnxpb.AttributeProto_INTS:
		return a.GetInts(), nil
	case onnxpb.AttributeProto_STRINGS:
		list := []string{}
		for _, s := range a.GetStrings() {
			list = append(list, string(s))
		}
		return list, nil
	}
	return nil, fmt.Errorf("type %v: %w", a.GetType(), errUnsupported)
}
