package onnxio

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"google.golang.org/protobuf/proto"
)

// trainingOrigin is an entry of training_info with the values of the model that it refers to.
type trainingOrigin struct {
	proto  *onnxpb.TrainingInfoProto // never changed
	refs   map[string]*valueOrigin   // of the model, by the name in proto
	types  map[string]string         // types of the values when it was read
	opsets map[string]int            // opsets of proto
	wrong  map[string]bool           // names that both the entry and the model define; reading the entry reports the error
}

// trainingOrigins finds the values of g that entries refer to.
func trainingOrigins(list []*onnxpb.TrainingInfoProto, g *nn.Graph) []*trainingOrigin {
	var out []*trainingOrigin
	for _, p := range list {
		t := &trainingOrigin{proto: p, refs: map[string]*valueOrigin{}, types: map[string]string{}, opsets: g.Opsets(), wrong: map[string]bool{}}
		for name := range defined(p.Algorithm) {
			if g.Lookup(name) != nil {
				t.wrong[name] = true
			}
		}
		for name := range referred(p, g.Ops()) {
			v := g.Lookup(name)
			if v == nil {
				continue // the file is invalid; reading the entry reports the error
			}
			o, ok := v.Origin().(*valueOrigin)
			if !ok {
				o = &valueOrigin{name: name, loaded: v.Type().String()}
				v.SetOrigin(o)
			}
			t.refs[name], t.types[name] = o, v.Type().String()
		}
		out = append(out, t)
	}
	return out
}

// referred returns the names in an entry that its algorithm does not define, which refer to the model.
func referred(t *onnxpb.TrainingInfoProto, ops op.Set) map[string]bool {
	free := map[string]bool{}
	note := func(name string) string { free[name] = true; return name }
	p := proto.Clone(headless(t.Algorithm)).(*onnxpb.GraphProto)
	rename(p, ops, nil, note)
	for _, v := range p.Output {
		note(v.GetName())
	}
	for _, list := range [][]*onnxpb.StringStringEntryProto{t.InitializationBinding, t.UpdateBinding} {
		for _, kv := range list {
			note(kv.GetKey())
		}
	}
	for _, kv := range t.UpdateBinding {
		note(kv.GetValue())
	}
	for name := range defined(t.Algorithm) {
		delete(free, name)
	}
	delete(free, "")
	return free
}

// headless returns a graph without the elements of its tensors.
func headless(p *onnxpb.GraphProto) *onnxpb.GraphProto {
	h := &onnxpb.GraphProto{}
	if p == nil {
		return h
	}
	h.Node, h.Output, h.Input, h.ValueInfo, h.SparseInitializer = p.Node, p.Output, p.Input, p.ValueInfo, p.SparseInitializer
	for _, t := range p.Initializer {
		h.Initializer = append(h.Initializer, &onnxpb.TensorProto{Name: t.Name})
	}
	return h
}

// defined returns the names that a graph defines itself.
func defined(p *onnxpb.GraphProto) map[string]bool {
	own := map[string]bool{}
	for _, v := range p.GetInput() {
		own[v.GetName()] = true
	}
	for _, t := range p.GetInitializer() {
		own[t.GetName()] = true
	}
	for _, t := range p.GetSparseInitializer() {
		own[t.GetValues().GetName()] = true
	}
	for _, n := range p.GetNode() {
		for _, name := range n.Output {
			own[name] = true
		}
	}
	return own
}

// rename renames the inputs and outputs of the nodes of p, and in subgraphs the outer values that they read; inner are the
// names that enclosing subgraphs define.
func rename(p *onnxpb.GraphProto, ops op.Set, inner map[string]bool, to func(string) string) {
	all := func(names []string) {
		for i, name := range names {
			if name != "" && !inner[name] {
				names[i] = to(name)
			}
		}
	}
	for _, n := range p.Node {
		all(n.Input)
		all(n.Output)
		refers := false
		if o := ops.Find(n.GetDomain(), n.GetOpType()); o != nil {
			_, refers = o.Attrs.(std.Referrer)
		}
		for _, a := range n.Attribute {
			if refers {
				one := []string{string(a.S)}
				if all(one); len(a.S) > 0 {
					a.S = []byte(one[0])
				}
				for i, s := range a.Strings {
					one[0] = string(s)
					all(one)
					a.Strings[i] = []byte(one[0])
				}
			}
			for _, b := range append(a.Graphs, a.G) {
				if b == nil {
					continue
				}
				below := defined(b)
				maps.Copy(below, inner)
				rename(b, ops, below, to)
				for _, v := range b.Output {
					if name := v.GetName(); !below[name] {
						v.Name = proto.String(to(name))
					}
				}
			}
		}
	}
}

// training writes the entries of g, with the current names of values.
func (w *writer) training(m *onnxpb.ModelProto, g *nn.Graph) error {
	o := originOf(g)
	if o == nil || len(o.training) == 0 {
		return nil
	}
	now := map[*valueOrigin]*nn.Value{}
	for name := range defined(m.Graph) {
		if v := g.Lookup(name); v != nil {
			if x, ok := v.Origin().(*valueOrigin); ok {
				now[x] = v
			}
		}
	}
	for i, t := range o.training {
		p, err := t.follow(w, m, g, now)
		if err == nil {
			m.TrainingInfo = append(m.TrainingInfo, p)
			w.importAll(m, t.opsets)
			continue
		}
		err = fmt.Errorf("training_info, entry %d, no longer fits the graph: %w", i, err)
		if w.warn == nil {
			return fmt.Errorf("%w: remove it with SetTrainingInfo, or set Saver.Warn", err)
		}
		w.warn(fmt.Errorf("%w; it is left out", err))
	}
	return nil
}

// importAll adds the operator sets of entries that the model does not import.
func (w *writer) importAll(m *onnxpb.ModelProto, opsets map[string]int) {
	for _, domain := range slices.Sorted(maps.Keys(opsets)) {
		if !slices.ContainsFunc(m.OpsetImport, func(o *onnxpb.OperatorSetIdProto) bool { return keyOf(o.GetDomain(), "", "").domain == domain }) {
			m.OpsetImport = append(m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(int64(opsets[domain]))})
		}
	}
}

// follow returns the entry with the current names of the graph's values.
func (t *trainingOrigin) follow(w *writer, m *onnxpb.ModelProto, g *nn.Graph, now map[*valueOrigin]*nn.Value) (*onnxpb.TrainingInfoProto, error) {
	names := map[string]string{}
	same := true
	for _, name := range slices.Sorted(maps.Keys(t.refs)) {
		v := now[t.refs[name]]
		if v == nil {
			return nil, fmt.Errorf("the value %q is gone", name)
		}
		same = same && v.Name() == name && v.Type().String() == t.types[name]
		names[name] = v.Name()
	}
	taken := defined(m.Graph)
	own := defined(t.proto.Algorithm)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !taken[name] || name == "" || t.wrong[name] {
			continue
		}
		free := name
		for i := 1; taken[free] || own[free]; i++ {
			free = fmt.Sprintf("%s_%d", name, i)
		}
		names[name], taken[free], same = free, true, false
	}
	for domain, v := range t.opsets {
		if is, ok := w.opsets[domain]; ok && is != v {
			err := fmt.Errorf("it is written for version %d of the operator set %q, the graph for version %d", v, domain, is)
			if w.unfit != nil {
				err = fmt.Errorf("%w, and cannot be converted: %w", err, w.unfit)
			}
			return nil, err
		}
	}
	if same {
		return t.proto, nil
	}
	p := proto.Clone(t.proto).(*onnxpb.TrainingInfoProto)
	to := func(name string) string {
		if other, ok := names[name]; ok {
			return other
		}
		return name
	}
	if p.Algorithm != nil {
		renameAll(p.Algorithm, g.Ops(), to)
	}
	for _, list := range [][]*onnxpb.StringStringEntryProto{p.InitializationBinding, p.UpdateBinding} {
		for _, kv := range list {
			kv.Key = proto.String(to(kv.GetKey()))
		}
	}
	for _, kv := range p.UpdateBinding {
		kv.Value = proto.String(to(kv.GetValue()))
	}
	check := &onnxpb.ModelProto{}
	copyFields(check, m)
	check.Graph = proto.Clone(headless(m.Graph)).(*onnxpb.GraphProto)
	check.Graph.Initializer, check.Graph.SparseInitializer = m.Graph.Initializer, m.Graph.SparseInitializer
	check.TrainingInfo = []*onnxpb.TrainingInfoProto{p}
	w.importAll(check, t.opsets)
	_, err := readTraining(g, check, 0)
	return p, err
}

// renameAll renames all values of an algorithm.
func renameAll(p *onnxpb.GraphProto, ops op.Set, to func(string) string) {
	rename(p, ops, nil, to)
	for _, list := range [][]*onnxpb.ValueInfoProto{p.Input, p.Output, p.ValueInfo} {
		for _, v := range list {
			v.Name = proto.String(to(v.GetName()))
		}
	}
	for _, t := range p.Initializer {
		t.Name = proto.String(to(t.GetName()))
	}
	for _, t := range p.SparseInitializer {
		if t.Values != nil {
			t.Values.Name = proto.String(to(t.Values.GetName()))
		}
	}
}
