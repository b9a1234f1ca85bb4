package onnxio

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// writer encodes a graph as the message of a model.
type writer struct {
	look          // ends writing
	ops    op.Set // of the graph
	opsets map[string]int
	dtype  op.DType             // type in which weights are stored; Undefined: their own
	whole  *nn.Graph            // the graph that is not a subgraph
	alias  map[*nn.Value]string // outer names of the placeholders in subgraphs
	ir     int64

	homes map[*nn.Value]*nn.Value // placeholders in subgraphs that hold a parameter in the file, to the parameter
	away  map[*nn.Value]bool      // the parameters that they hold

	inOtherType  conversions // weights of the whole graph that are stored in another type
	inOtherField fields      // initializers of the whole graph whose raw data belong into another field

	inNodes bool // whether weights are written in nodes, see weightsInNodes

	annotationMode AnnotationMode
	warn           func(error)
	unfit          error // why entries of training_info could not be converted to the graph's operator set
}

// params iterates over the parameters of g until the context ends, with its error. Finding them takes long if there are many nodes.
func (w *writer) params(g *nn.Graph) iter.Seq2[*nn.Param, error] {
	return func(yield func(*nn.Param, error) bool) {
		if err := w.ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		for p := range g.Params() {
			if err := w.turn(); !yield(p, err) || err != nil {
				return
			}
		}
		if err := w.ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func (w *writer) model(g *nn.Graph) (*onnxpb.ModelProto, error) {
	m := &onnxpb.ModelProto{}
	if o := originOf(g); o != nil && o.model != nil {
		copyFields(m, o.model)
	} else {
		m.IrVersion = proto.Int64(irVersion(w.opsets[""]))
		m.ProducerName = proto.String("graft")
	}
	if w.converted(m.OpsetImport) {
		m.IrVersion = proto.Int64(max(m.GetIrVersion(), irVersion(w.opsets[""])))
	}
	if w.dtype != dtype.Undefined {
		m.IrVersion = proto.Int64(max(m.GetIrVersion(), 4)) // in earlier versions, initializers must be inputs
	}
	w.ir = m.GetIrVersion()
	var err error
	if w.inNodes, err = w.weightsInNodes(g); err != nil {
		return nil, err
	}
	if err := w.settle(g); err != nil {
		return nil, err
	}
	m.OpsetImport = w.opsetImport(m.OpsetImport)
	m.MetadataProps = metadata(m.MetadataProps, g.Meta())
	m.Graph, err = w.graph(g)
	if err == nil {
		err = w.training(m, g)
	}
	if w.ir > m.GetIrVersion() {
		m.IrVersion = proto.Int64(w.ir) // required by the content
	}
	return m, err
}

// converted reports whether the file imports another version of the standard operator set.
func (w *writer) converted(old []*onnxpb.OperatorSetIdProto) bool {
	return slices.ContainsFunc(old, func(o *onnxpb.OperatorSetIdProto) bool {
		return keyOf(o.GetDomain(), "", "").domain == "" && int(o.GetVersion()) != w.opsets[""]
	})
}

// irVersion returns the version of the file format that was released with an operator set.
func irVersion(opset int) int64 {
	switch {
	case opset <= 8:
		return 3
	case opset <= 9:
		return 4
	case opset <= 10:
		return 5
	case opset <= 11:
		return 6
	case opset <= 14:
		return 7
	case opset <= 18:
		return 8
	case opset <= 20:
		return 9
	case opset <= 22:
		return 10
	case opset == 23:
		return 11
	}
	return 12
}

// copyFields sets the fields of to to those of from, including unknown ones, without copying their content.
func copyFields(to, from proto.Message) {
	f, t := from.ProtoReflect(), to.ProtoReflect()
	f.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if d.IsList() { // a separate list, since both may grow
			list := t.NewField(d).List()
			for i := range v.List().Len() {
				list.Append(v.List().Get(i))
			}
			v = protoreflect.ValueOfList(list)
		}
		t.Set(d, v)
		return true
	})
	t.SetUnknown(f.GetUnknown())
}

// opsetImport keeps the file's entries that are still correct and adds missing ones.
func (w *writer) opsetImport(old []*onnxpb.OperatorSetIdProto) []*onnxpb.OperatorSetIdProto {
	var list []*onnxpb.OperatorSetIdProto
	done := map[string]bool{}
	for _, o := range old {
		domain := keyOf(o.GetDomain(), "", "").domain
		version, ok := w.opsets[domain]
		if !ok || done[domain] && int64(version) != o.GetVersion() {
			continue
		}
		done[domain] = true
		if int64(version) != o.GetVersion() {
			o = &onnxpb.OperatorSetIdProto{Domain: o.Domain, Version: proto.Int64(int64(version))}
		}
		list = append(list, o)
	}
	for _, domain := range slices.Sorted(maps.Keys(w.opsets)) {
		if !done[domain] && !(len(old) == 0 && w.ir > 0 && w.ir < 3) { // files of IR versions 1 and 2 have no operator sets
			list = append(list, &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(int64(w.opsets[domain]))})
		}
	}
	return list
}

// metadata writes a map in the order of an old list, new keys last.
func metadata(old []*onnxpb.StringStringEntryProto, meta map[string]string) []*onnxpb.StringStringEntryProto {
	var list []*onnxpb.StringStringEntryProto
	done := map[string]bool{}
	for _, kv := range old {
		v, ok := meta[kv.GetKey()]
		if !ok || done[kv.GetKey()] {
			continue
		}
		done[kv.GetKey()] = true
		if v != kv.GetValue() {
			kv = entry(kv.GetKey(), v)
		}
		list = append(list, kv)
	}
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		if !done[k] {
			list = append(list, entry(k, meta[k]))
		}
	}
	return list
}

// originOf returns the origin of a graph, nil if it was not loaded from a file.
func originOf(g *nn.Graph) *graphOrigin {
	switch o := g.Origin().(type) {
	case *graphOrigin:
		return o
	case *functionOrigin:
		return o.graphOrigin
	}
	return nil
}

// name returns the name of a value in the file.
func (w *writer) name(v *nn.Value) string {
	if v == nil {
		return ""
	}
	if s, ok := w.alias[v]; ok {
		return s
	}
	return v.Name()
}

func (w *writer) names(values []*nn.Value) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = w.name(v)
	}
	return list
}

func (w *writer) node(n *nn.Node) (*onnxpb.NodeProto, error) {
	p := &onnxpb.NodeProto{}
	o, _ := n.Origin().(*nodeOrigin)
	if o != nil {
		copyFields(p, o.proto)
		p.Attribute = nil
		if p.GetName() != n.Name() {
			p.Name = proto.String(n.Name())
		}
		if keyOf(p.GetDomain(), p.GetOpType(), "") != keyOf(n.Domain(), n.Type(), "") {
			p.Domain, p.OpType, p.Overload = nil, nil, nil
		}
	} else if n.Name() != "" {
		p.Name = proto.String(n.Name())
	}
	if p.OpType == nil {
		p.OpType = proto.String(n.Type())
		if n.Domain() != "" {
			p.Domain = proto.String(n.Domain())
		}
	}
	if n.Domain() == op.Internal {
		return nil, &nn.Error{Kind: nn.ErrUnsupported, Op: n.Type(), Node: n.Label(), Err: fmt.Errorf("has no ONNX form")}
	}
	p.Input, p.Output = w.names(n.Inputs()), w.names(n.Outputs())
	left := n.Annotations()
	err := w.attributes(p, n, o, left)
	if err == nil {
		err = w.metadata(p, left)
	}
	if err != nil {
		return nil, &nn.Error{Op: n.Type(), Node: n.Label(), Err: err}
	}
	return p, nil
}

// attributes writes the attributes of the file if they are still correct, otherwise those of the configuration
// together with the file's attributes that are unknown to the operator.
func (w *writer) attributes(p *onnxpb.NodeProto, n *nn.Node, o *nodeOrigin, left nn.Annotations) error {
	config := n.Config()
	w.bindOuter(n, o)
	_, call := config.(callConfig)
	if o != nil && (!n.Fresh() || call) && !w.renamed(n) {
		for i, a := range o.proto.Attribute {
			if o.extra[i] {
				if err := w.extra(p, a, left); err != nil {
					return err
				}
				continue
			}
			if b := o.bodies[i]; b != nil {
				g, err := w.graph(b.Graph)
				if err != nil {
					return err
				}
				a = copyAttribute(a, g)
			}
			p.Attribute = append(p.Attribute, a)
		}
		return nil
	}
	if config == nil {
		return nil
	}
	if r, ok := config.(std.Referrer); ok {
		config = r.Referring(w.names(n.Captured()))
	}
	kind, err := w.ops.Of(config)
	if err != nil {
		return err
	}
	for _, a := range op.Encode(w.version(kind), config) {
		x, err := encodeAttribute(a.Name, a.Value, func(b *nn.Body) (*onnxpb.GraphProto, error) { return w.graph(b.Graph) })
		if err != nil {
			return err
		}
		p.Attribute = append(p.Attribute, x)
	}
	if o != nil {
		for i, a := range o.proto.Attribute {
			if o.extra[i] {
				if err := w.extra(p, a, left); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// renamed reports whether a value that the node's attributes refer to has been renamed.
func (w *writer) renamed(n *nn.Node) bool {
	r, ok := n.Config().(std.Referrer)
	return ok && !slices.Equal(r.Refers(), w.names(n.Captured()))
}

// version returns the since-version of an operator in the model.
func (w *writer) version(o *op.Op) int {
	opset, ok := w.opsets[o.Domain]
	if !ok {
		opset = 1
	}
	if v := o.Version(opset); v != 0 {
		return v
	}
	return o.Since[0]
}

// bindOuter gives the placeholders in the node's subgraphs the names of the outer values that they represent.
func (w *writer) bindOuter(n *nn.Node, o *nodeOrigin) {
	bodies := n.Bodies()
	if n.Op() == nil && o != nil { // in the order of assembly: by attribute name
		byName := slices.SortedFunc(maps.Keys(o.bodies), func(i, j int) int {
			if o.proto.Attribute[i].GetName() < o.proto.Attribute[j].GetName() {
				return -1
			}
			return 1
		})
		for _, i := range byName {
			bodies = append(bodies, o.bodies[i])
		}
	}
	captured := n.Captured()
	for _, b := range bodies {
		for _, v := range b.Outer() {
			if len(captured) == 0 {
				return
			}
			if w.homes[v] == nil {
				w.alias[v] = w.name(captured[0])
			}
			captured = captured[1:]
		}
	}
}
