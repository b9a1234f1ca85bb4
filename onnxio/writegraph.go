package onnxio

import (
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// graphWriter writes one graph or subgraph.
type graphWriter struct {
	*writer
	g    *nn.Graph
	o    *graphOrigin               // never nil
	p    *onnxpb.GraphProto         // being written
	at   map[*valueOrigin]*nn.Value // the graph's values by those of the file
	done map[*nn.Value]bool         // initializers written
	info map[*nn.Value]*valueOrigin // the inverse of at

	// Nodes to write first: Casts of weights that are stored in another type, and constants that a reader would take for weights.
	first []*onnxpb.NodeProto
}

func (w *writer) graph(g *nn.Graph) (*onnxpb.GraphProto, error) {
	s := &graphWriter{
		writer: w, g: g, o: originOf(g), p: &onnxpb.GraphProto{},
		at: map[*valueOrigin]*nn.Value{}, done: map[*nn.Value]bool{}, info: map[*nn.Value]*valueOrigin{},
	}
	if s.o == nil {
		s.o = &graphOrigin{graph: &onnxpb.GraphProto{}}
	}
	copyFields(s.p, s.o.graph)
	if s.p.GetName() != g.Name() {
		s.p.Name = proto.String(g.Name())
	}
	if g.Origin() == nil && g.Name() == "" {
		s.p.Name = proto.String("graph") // the format requires a name
	}
	if s.p.GetDocString() != g.Doc() {
		s.p.DocString = proto.String(g.Doc())
	}
	if err := s.trace(); err != nil {
		return nil, err
	}
	if err := s.initializers(); err != nil {
		return nil, err
	}
	s.p.Node = append(s.p.Node, s.first...)
	weights := s.weightNodes()
	for n := range g.Nodes() {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if _, ok := n.Origin().(*valueOrigin); ok {
			continue // the placeholder of an initializer without data
		}
		var err error
		if weights, err = s.before(n, weights); err != nil {
			return nil, err
		}
		p, err := w.node(n)
		if err != nil {
			return nil, err
		}
		s.p.Node = append(s.p.Node, p)
	}
	for _, v := range weights {
		if err := s.weightNode(v); err != nil {
			return nil, err
		}
	}
	for _, f := range []func() error{s.inputs, s.withoutStored, s.outputs, s.infos, s.annotations} {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if err := f(); err != nil {
			return nil, err
		}
	}
	return s.p, nil
}

// trace maps the values of the file to those of the graph.
func (s *graphWriter) trace() error {
	note := func(v *nn.Value) {
		if v == nil {
			return
		}
		if o, ok := v.Origin().(*valueOrigin); ok && s.at[o] == nil {
			s.at[o], s.info[v] = v, o
		}
	}
	for _, v := range s.g.Inputs() {
		note(v)
	}
	for p, err := range s.params(s.g) {
		if err != nil {
			return err
		}
		if !s.away[p.Value()] {
			note(p.Value())
		}
	}
	for v := range s.homes {
		if v.Graph() == s.g {
			note(v)
		}
	}
	for n := range s.g.Nodes() {
		if err := s.turn(); err != nil {
			return err
		}
		for _, v := range n.Outputs() {
			note(v)
		}
	}
	return nil
}

// initializers writes the parameters: those of the file in its order, then new ones.
func (s *graphWriter) initializers() error {
	for _, o := range s.o.initializers {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		v := s.at[o]
		if v == nil {
			continue
		}
		s.done[v] = true
		if o.stripped != nil && s.param(v) == nil {
			t := o.stripped
			if t.GetName() != v.Name() {
				t = proto.Clone(t).(*onnxpb.TensorProto)
				t.Name = proto.String(v.Name())
			}
			s.p.Initializer = append(s.p.Initializer, t)
			continue
		}
		if err := s.initializer(v, o); err != nil {
			return err
		}
	}
	for _, o := range s.o.sparse {
		v := s.at[o]
		if v == nil || s.param(v) == nil {
			continue
		}
		t, err := encodeSparseAgain(s.name(v), direct.Data(s.param(v)), o)
		if err != nil {
			return &nn.Error{Input: v.Name(), Err: err}
		}
		s.done[v] = true
		s.p.SparseInitializer = append(s.p.SparseInitializer, t)
	}
	for p, err := range s.params(s.g) {
		if err != nil {
			return err
		}
		v := p.Value()
		if s.done[v] || v.Graph() != s.g || s.away[v] || s.heldInNode(v) {
			continue
		}
		s.done[v] = true
		if err := s.initializer(v, &valueOrigin{}); err != nil {
			return err
		}
		if s.ir > 0 && s.ir < 4 && !s.inNodes { // in these versions every initializer is an input
			s.p.Input = append(s.p.Input, newInfo(v))
		}
	}
	return nil
}

func (s *graphWriter) initializer(v *nn.Value, o *valueOrigin) error {
	p := s.param(v)
	if p == nil {
		return nil // an edit changed its kind
	}
	if done, err := s.stored(v); done || err != nil {
		if err != nil {
			err = &nn.Error{Input: v.Name(), Err: err}
		}
		return err
	}
	field := s.streamed(p, o)
	t, err := encodeParam(s.name(v), direct.Tensor(p), o, o.typed && field == 0)
	if err != nil {
		return &nn.Error{Input: v.Name(), Err: err}
	}
	if field != 0 {
		s.inOtherField[t] = field
	}
	switch {
	case p.Role() == nn.Weight && p.Inferred() == nn.Constant:
		t.DocString = markOf(nn.Weight)
	case markedRole(t.GetDocString()) == nn.Weight:
		t.DocString = nil
	}
	if fixed := fixedByHand(p); s.inNodes && (fixed || p.Role() != nn.Constant) || fixed && s.ir >= 4 && o.input == nil {
		s.first = append(s.first, constantNode(t, fixed))
		return nil
	}
	s.p.Initializer = append(s.p.Initializer, t)
	return nil
}

// streamed returns the field to which the elements of a large initializer are written without a copy, as they were in it, if that is
// float_data or double_data, which have the layout of raw_data; otherwise 0.
func (s *graphWriter) streamed(p *nn.Param, o *valueOrigin) protowire.Number {
	d := direct.Data(p)
	if !o.typed || s.g != s.whole || d == nil || len(d.Raw) < skimFrom || dtype.Of(d.Dtype()) != dtype.DType(o.header.GetDataType()) {
		return 0
	}
	switch dtype.Of(d.Dtype()) {
	case dtype.Float32, dtype.Complex64:
		return tensorFloatData
	case dtype.Float64, dtype.Complex128:
		return tensorDoubleData
	}
	return 0
}

// inputs writes the inputs, together with the initializers that the file lists among them.
func (s *graphWriter) inputs() error {
	added := s.p.Input
	s.p.Input = nil
	var listed, own []*nn.Value
	for _, o := range s.o.inputs {
		if err := s.turn(); err != nil {
			return err
		}
		if v := s.at[o]; v != nil {
			listed = append(listed, v)
			if v.IsInput() {
				own = append(own, v)
			}
		}
	}
	if !slices.Equal(own, s.g.Inputs()) {
		rest := slices.DeleteFunc(listed, (*nn.Value).IsInput)
		listed = append(s.g.Inputs(), rest...)
	}
	for _, v := range listed {
		if err := s.turn(); err != nil {
			return err
		}
		s.p.Input = append(s.p.Input, s.inputInfo(v))
	}
	s.p.Input = append(s.p.Input, added...)
	return nil
}

func (s *graphWriter) inputInfo(v *nn.Value) *onnxpb.ValueInfoProto {
	o := s.info[v]
	if o == nil || o.input == nil {
		return newInfo(v)
	}
	t := o.input.Type
	old, err := decodeType(t)
	if err == nil && v.Type().Present() && !sameDeclared(old, v.Type()) {
		t = encodeType(v.Type())
		if v.Param() != nil {
			t = refineType(o.input.Type, v.Type())
		}
	}
	return withNameAndType(o.input, v.Name(), t)
}

func sameDeclared(a, b op.Type) bool { return a.String() == b.String() }

func (s *graphWriter) outputs() error {
	for _, v := range s.g.Outputs() {
		if err := s.turn(); err != nil {
			return err
		}
		name := s.name(v)
		if o := s.info[v]; o != nil && o.output != nil {
			s.p.Output = append(s.p.Output, withNameAndType(o.output, name, o.declared(o.output.Type, v)))
			continue
		}
		if info := s.outputOf(v.Name()); info != nil {
			s.p.Output = append(s.p.Output, withNameAndType(info, name, refineType(info.Type, v.Type())))
			continue
		}
		info := newInfo(v)
		info.Name = proto.String(name)
		s.p.Output = append(s.p.Output, info)
	}
	return nil
}

// declared returns the parts of the file's declaration that are still correct after edits.
func (o *valueOrigin) declared(t *onnxpb.TypeProto, v *nn.Value) *onnxpb.TypeProto {
	if v.Type().String() == o.loaded {
		return t
	}
	return refineType(t, v.Type())
}

// outputOf returns the file's declaration of the output with a name. It is looked up by name because outputs of a
// subgraph may be outer values, and an edit may have given the name to another value.
func (s *graphWriter) outputOf(name string) *onnxpb.ValueInfoProto {
	for _, o := range s.o.outputs {
		if o.name == name {
			return o.output
		}
	}
	return nil
}

// infos writes the value_info of values that still exist.
func (s *graphWriter) infos() error {
	for _, o := range s.o.infos {
		if err := s.turn(); err != nil {
			return err
		}
		v := s.at[o]
		switch {
		case v != nil:
			s.p.ValueInfo = append(s.p.ValueInfo, withNameAndType(o.info, s.name(v), o.declared(o.info.Type, v)))
		case o.undefined:
			s.p.ValueInfo = append(s.p.ValueInfo, o.info)
		}
	}
	return nil
}

// annotations writes the quantization annotations with the current names of their values.
func (s *graphWriter) annotations() error {
	renamed := map[string]string{}
	for o, v := range s.at {
		if err := s.turn(); err != nil {
			return err
		}
		if o.name != s.name(v) {
			renamed[o.name] = s.name(v)
		}
	}
	if len(renamed) == 0 {
		return nil
	}
	for i, a := range s.p.QuantizationAnnotation {
		a = proto.Clone(a).(*onnxpb.TensorAnnotation)
		if to, ok := renamed[a.GetTensorName()]; ok {
			a.TensorName = proto.String(to)
		}
		for _, kv := range a.QuantParameterTensorNames {
			if to, ok := renamed[kv.GetValue()]; ok {
				kv.Value = proto.String(to)
			}
		}
		s.p.QuantizationAnnotation[i] = a
	}
	return nil
}

func newInfo(v *nn.Value) *onnxpb.ValueInfoProto {
	return &onnxpb.ValueInfoProto{Name: proto.String(v.Name()), Type: encodeType(v.Type())}
}

// withNameAndType returns info with the given name and type: info itself if they are equal, otherwise a copy.
func withNameAndType(info *onnxpb.ValueInfoProto, name string, t *onnxpb.TypeProto) *onnxpb.ValueInfoProto {
	if info.GetName() == name && info.Type == t {
		return info
	}
	c := &onnxpb.ValueInfoProto{}
	copyFields(c, info)
	c.Name, c.Type = proto.String(name), t
	return c
}
