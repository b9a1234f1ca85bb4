package onnxio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// reader converts one model to a graph.
type reader struct {
	ctx       context.Context // ends reading
	ops       op.Set
	proto     *onnxpb.ModelProto
	ext       *externalFiles
	raw       sections // raw data of initializers that are still in the file
	functions map[functionKey]*onnxpb.FunctionProto
	local     map[functionKey]*op.Op // operators for the model's functions
	calls     []functionKey          // functions being expanded, to detect recursion
	expanded  int                    // number of nodes expanded from functions
	memory    int64                  // bytes left for tensors and nodes
	own       int64                  // the limit of memory, if it is not the budget's
	kept      budget.Tally           // what the graph takes besides the elements of tensors
}

func newReader(ops op.Set, m *onnxpb.ModelProto, ext *externalFiles) *reader {
	r := &reader{ctx: context.Background(), ops: ops, proto: m, ext: ext, functions: map[functionKey]*onnxpb.FunctionProto{}, local: map[functionKey]*op.Op{}, memory: budget.LeftCollected()}
	return r
}

func (r *reader) model() (*nn.Graph, error) {
	opsets, err := opsetsOf(r.proto.OpsetImport, r.ops)
	if err != nil {
		return nil, err
	}
	if len(opsets) == 0 {
		if format := r.proto.GetIrVersion(); format >= 3 {
			return nil, fmt.Errorf("the model imports no operator set, as files of format %d must", format)
		}
		opsets[""] = 1 // as the oldest models, which import none
	}
	if err := r.addInternal(); err != nil {
		return nil, err
	}
	p := r.proto.Graph
	g := nn.NewGraph(p.GetName(), r.ops, opsets)
	defer r.kept.Free()
	if err := r.kept.Add(entryMemory * int64(len(r.proto.MetadataProps))); err != nil {
		return nil, fmt.Errorf("%d entries of metadata: %w", len(r.proto.MetadataProps), err)
	}
	meta := make(map[string]string, len(r.proto.MetadataProps))
	for _, kv := range r.proto.MetadataProps {
		meta[kv.GetKey()] = kv.GetValue()
	}
	a := nn.Assemble(g)
	a.Context = r.ctx
	a.Describe(p.GetDocString(), meta)
	o, err := r.assemble(a, g, p, nil, 0)
	if err != nil {
		return nil, err
	}
	if err := weights(a); err != nil {
		return nil, err
	}
	noteLifted(g)
	o.model = r.proto
	o.model.Graph = nil
	o.training = trainingOrigins(o.model.TrainingInfo, g)
	o.model.TrainingInfo = nil
	g.SetOrigin(o)
	budget.Transfer(&r.kept, g)
	return g, nil
}

// opsetsOf returns the operator-set version of each domain. Standard ones must be known to ONNX or to ops.
func opsetsOf(list []*onnxpb.OperatorSetIdProto, ops op.Set) (map[string]int, error) {
	opsets := map[string]int{}
	for _, o := range list {
		domain, version := o.GetDomain(), o.GetVersion()
		if domain == "ai.onnx" {
			domain = ""
		}
		newest := newestOpsets()[domain] // 0: not a standard domain
		if version < 0 || version == 0 && newest > 0 || version > 1<<30 {
			return nil, fmt.Errorf("operator set %q has version %d, which is out of range", domain, version)
		}
		if newest > 0 && int(version) > newest && int(version) > ops.Newest(domain) { // what that changes is not known
			return nil, fmt.Errorf("operator set %q has version %d, which is newer than %d, the newest that is known", domain, version, newest)
		}
		if other, ok := opsets[domain]; ok && other != int(version) {
			return nil, fmt.Errorf("operator set %q is imported twice, with versions %d and %d", domain, other, version)
		}
		opsets[domain] = int(version)
	}
	return opsets, nil
}

// newestOpsets returns the newest version of each standard domain.
var newestOpsets = sync.OnceValue(func() map[string]int {
	newest := map[string]int{}
	for _, o := range standardOps().List() {
		newest[o.Domain] = max(newest[o.Domain], o.Latest())
	}
	return newest
})

// assembly fills one graph or subgraph.
type assembly struct {
	*reader
	a       *nn.Assembler
	g       *nn.Graph
	origin  *graphOrigin
	values  map[string]*valueOrigin
	attrs   map[string]*onnxpb.AttributeProto // of the call, inside a function
	depth   int
	outputs map[string]bool // names that nodes define
}

// value returns the origin of the value with a name.
func (s *assembly) value(name string) *valueOrigin {
	v := s.values[name]
	if v == nil {
		v = &valueOrigin{name: name}
		s.values[name] = v
	}
	return v
}

// assemble fills g with p and infers the types of a whole model. If p is the body of a function, attrs
// are the attributes of the call.
func (r *reader) assemble(a *nn.Assembler, g *nn.Graph, p *onnxpb.GraphProto, attrs map[string]*onnxpb.AttributeProto, depth int) (*graphOrigin, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("subgraphs are nested more than %d deep", maxNesting)
	}
	if err := r.chargeGraph(p, depth); err != nil {
		return nil, err
	}
	s := &assembly{
		reader: r, a: a, g: g, attrs: attrs, depth: depth,
		origin: &graphOrigin{}, values: map[string]*valueOrigin{}, outputs: map[string]bool{},
	}
	for _, n := range p.Node {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		for _, name := range n.Output {
			s.outputs[name] = true
		}
	}
	steps := []func(*onnxpb.GraphProto) error{s.describe, s.params, s.inputs, s.nodes, s.finish}
	for _, f := range steps {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := f(p); err != nil {
			return nil, err
		}
	}
	s.origin.graph = headerOfGraph(p)
	return s.origin, nil
}

// headerOfGraph returns the fields of p that are not kept elsewhere.
func headerOfGraph(p *onnxpb.GraphProto) *onnxpb.GraphProto {
	h := &onnxpb.GraphProto{Name: p.Name, DocString: p.DocString, QuantizationAnnotation: p.QuantizationAnnotation, MetadataProps: p.MetadataProps}
	h.ProtoReflect().SetUnknown(p.ProtoReflect().GetUnknown())
	return h
}

// describe records value_info and outputs, before the values are made.
func (s *assembly) describe(p *onnxpb.GraphProto) error {
	for _, info := range p.ValueInfo {
		v := s.value(info.GetName())
		if v.info != nil { // declared twice
			v = &valueOrigin{name: info.GetName(), undefined: true}
		}
		v.info = info
		s.origin.infos = append(s.origin.infos, v)
	}
	for _, info := range p.Output {
		v := s.value(info.GetName())
		v.output = info
		s.origin.outputs = append(s.origin.outputs, v)
	}
	return nil
}

func (s *assembly) params(p *onnxpb.GraphProto) error {
	for _, t := range p.Initializer {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		v := s.value(t.GetName())
		v.home = s.origin
		s.origin.initializers = append(s.origin.initializers, v)
		if err := s.param(v, t); err != nil {
			return err
		}
	}
	for _, t := range p.SparseInitializer {
		name := t.GetValues().GetName()
		err := s.charge(dtype.DType(t.GetValues().GetDataType()), t.Dims)
		var d *tensor.Dense
		if err == nil {
			d, err = decodeSparse(t, s.ext)
		}
		if err == nil {
			err = keep(d)
		}
		if err != nil {
			return &nn.Error{Input: name, Err: err}
		}
		v := s.value(name)
		v.sparse, v.home = t, s.origin
		s.origin.sparse = append(s.origin.sparse, v)
		s.a.Param(name, d, v)
	}
	return nil
}

// What a graph takes besides the elements of tensors, in bytes.
const (
	graphMemory = 1 << 10 // a subgraph
	nodeMemory  = 1 << 10 // a node and what is kept of it for saving
	valueMemory = 1 << 9  // a tensor, an input, an output, a declared type
	entryMemory = 1 << 7  // an entry of the metadata, besides its text
	edgeMemory  = 1 << 7  // an input, an output or an attribute of a node
)

// chargeGraph subtracts the memory of the nodes and values of a graph, without subgraphs, from the model's limit.
func (r *reader) chargeGraph(p *onnxpb.GraphProto, depth int) error {
	values := len(p.Initializer) + len(p.SparseInitializer) + len(p.Input) + len(p.Output) + len(p.ValueInfo)
	edges := 0
	for _, n := range p.Node {
		edges += len(n.Input) + len(n.Output) + len(n.Attribute)
	}
	size := int64(len(p.Node))*nodeMemory + int64(values)*valueMemory + int64(edges)*edgeMemory
	if depth > 0 {
		size += graphMemory
	}
	if size > r.memory {
		return fmt.Errorf("%d nodes with %d inputs, outputs and attributes, and %d values: %w", len(p.Node), edges, values, r.full(size))
	}
	r.memory -= size
	return r.kept.Add(size)
}

// charge subtracts the memory of a tensor from the model's limit.
func (r *reader) charge(dt dtype.DType, dims []int64) error {
	shape, err := intDims(dims)
	if err != nil || !dt.Valid() {
		return nil // decoding reports the error
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return nil
	}
	size := int64(max(dt.Size(), 1))
	if int64(n) > r.memory/size {
		err = r.full(int64(min(float64(n)*float64(size), math.MaxInt64/2)))
	} else if int64(n)*size >= chargeFrom {
		err = budget.Fits(int64(n) * size)
	}
	if err != nil {
		return fmt.Errorf("%v of shape %v: %w", dt, shape, err)
	}
	r.memory -= int64(n) * size
	return nil
}

// full returns the error for n bytes more than what is left of the model's limit.
func (r *reader) full(n int64) error {
	if r.own == 0 {
		return budget.Full(n, r.memory)
	}
	return &budget.Error{Wanted: n, Used: r.own - r.memory, Limit: r.own, Setting: "Loader.Memory"}
}

func (s *assembly) param(v *valueOrigin, t *onnxpb.TensorProto) error {
	d, err := s.tensor(t)
	var gone *StrippedError
	if errors.As(err, &gone) {
		v.stripped = t
		s.a.Node(strippedNode(v, gone))
		s.outputs[v.name] = true
		return nil
	}
	if err != nil {
		return &nn.Error{Input: t.GetName(), Err: err}
	}
	if err := keep(d); err != nil {
		return &nn.Error{Input: t.GetName(), Err: err}
	}
	v.header = headerOfTensor(t)
	v.typed = t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL && t.RawData == nil
	s.a.Param(t.GetName(), d, v)
	if markedRole(t.GetDocString()) == nn.Weight {
		s.a.Trained(t.GetName())
	}
	return nil
}

// keep charges the elements of an initializer for as long as they are reachable.
func keep(v dtype.Value) error {
	if d, ok := v.(*tensor.Dense); ok && len(d.Raw) >= chargeFrom {
		return budget.Keep(&d.Raw[0], int64(len(d.Raw)))
	}
	return nil
}

// headerOfTensor returns t without its elements.
func headerOfTensor(t *onnxpb.TensorProto) *onnxpb.TensorProto {
	h := &onnxpb.TensorProto{Dims: t.Dims, DataType: t.DataType, Name: t.Name, DocString: t.DocString, MetadataProps: t.MetadataProps}
	if t.GetDataLocation() == onnxpb.TensorProto_DEFAULT {
		h.DataLocation, h.ExternalData = t.DataLocation, t.ExternalData // some writers leave these fields set
	}
	h.ProtoReflect().SetUnknown(t.ProtoReflect().GetUnknown())
	return h
}

// inputs adds the inputs, except for initializers that old files list among them.
func (s *assembly) inputs(p *onnxpb.GraphProto) error {
	initializer := map[string]bool{}
	for _, list := range [][]*valueOrigin{s.origin.initializers, s.origin.sparse} {
		for _, v := range list {
			initializer[v.name] = true
		}
	}
	for _, info := range p.Input {
		v := s.value(info.GetName())
		v.input = info
		s.origin.inputs = append(s.origin.inputs, v)
		t, err := decodeType(info.Type)
		if err != nil {
			return &nn.Error{Input: v.name, Err: err}
		}
		if initializer[v.name] {
			if h := v.header; h != nil && contradicts(t, h) {
				return &nn.Error{Input: v.name, Err: fmt.Errorf("is declared as %v, but its initializer is %v of shape %v", t, dtype.DType(h.GetDataType()), h.Dims)}
			}
			continue
		}
		s.a.Input(v.name, t, v)
	}
	return nil
}

// contradicts reports whether a tensor does not have the declared type t.
func contradicts(t op.Type, p *onnxpb.TensorProto) bool {
	if t.Kind != op.Tensor || t.DType != dtype.Undefined && t.DType != dtype.DType(p.GetDataType()) {
		return true
	}
	if t.Unranked {
		return false
	}
	for i, d := range t.Shape {
		if i >= len(p.Dims) || d.Known() && d.Sym == "" && int64(d.Size) != p.Dims[i] {
			return true
		}
	}
	return len(t.Shape) != len(p.Dims)
}

func (s *assembly) finish(p *onnxpb.GraphProto) error {
	if err := s.a.Finish(); err != nil {
		return err
	}
	for _, v := range s.origin.infos {
		if !s.outputs[v.name] && v.input == nil && v.header == nil && v.sparse == nil {
			v.undefined = true
		}
	}
	// Every value gets an origin, which it keeps through edits; declared values also get a type.
	for name := range s.outputs {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if name == "" {
			continue
		}
		v := s.value(name)
		t, err := decodeType(v.info.GetType())
		if err != nil {
			return &nn.Error{Input: name, Err: err}
		}
		s.a.Type(name, t, v)
	}
	for _, info := range p.Output {
		t, err := decodeType(info.Type)
		if err != nil {
			return &nn.Error{Input: info.GetName(), Err: err}
		}
		s.a.Output(info.GetName(), t, s.value(info.GetName()))
	}
	if s.depth > 0 {
		return nil
	}
	if _, err := s.a.Graph(); err != nil {
		return err
	}
	for name, o := range s.values {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if v := s.g.Lookup(name); v != nil {
			o.loaded = v.Type().String()
		}
	}
	return nil
}
