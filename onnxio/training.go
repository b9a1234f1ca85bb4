package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"google.golang.org/protobuf/proto"
)

// Training is an entry of a model's training_info, by which a file says how it is trained. One iteration of training runs
// the algorithms of all entries in order and, after each, assigns the initializers in Update.
type Training struct {
	// Initialization has no inputs; its outputs are initial values. nil: there is none.
	Initialization *nn.Graph
	// Algorithm is one step: a graph that contains the model's graph and the algorithm's. Its inputs are those of the model,
	// followed by those of the algorithm, such as targets; its parameters are the initializers of both.
	Algorithm *nn.Graph
	First     []Binding // to outputs of Initialization
	Update    []Binding // to outputs of Algorithm
}

// Binding is an initializer and the output that is assigned to it.
type Binding struct{ Initializer, Output string }

// TrainingInfo returns the training_info that the graph was loaded with or given, adapted to later edits: it uses the
// names that the graph has now. Weights are copied. The list is empty if there is no training_info.
func TrainingInfo(g *nn.Graph) ([]Training, error) {
	var list []Training
	keys := map[string]bool{}
	for i := 0; ; i++ {
		m, err := Saver{}.encode(g) // again for each entry: reading consumes the message
		if err != nil {
			return nil, loadError(err)
		}
		if i == len(m.TrainingInfo) {
			return list, nil
		}
		t, err := readTraining(g, m.ModelProto, i)
		if err != nil {
			return nil, loadError(fmt.Errorf("training_info, entry %d: %w", i, err))
		}
		for _, b := range t.Update {
			if keys[b.Initializer] {
				return nil, loadError(fmt.Errorf("training_info, entry %d: initializer %q is updated twice", i, b.Initializer))
			}
			keys[b.Initializer] = true
		}
		list = append(list, t)
	}
}

func readTraining(g *nn.Graph, m *onnxpb.ModelProto, i int) (Training, error) {
	p := m.TrainingInfo[i]
	var t Training
	var err error
	if len(p.GetInitialization().GetOutput()) > 0 {
		if n := len(p.Initialization.Input); n > 0 {
			return t, fmt.Errorf("the initialization has %d inputs, want none", n)
		}
		if t.Initialization, err = readPart(g, m, p.Initialization); err != nil {
			return t, fmt.Errorf("initialization: %w", err)
		}
	}
	if t.Algorithm, err = readPart(g, m, trainingGraph(m.Graph, p.Algorithm)); err != nil {
		return t, fmt.Errorf("algorithm: %w", err)
	}
	if t.First, err = bindingsOf("initialization_binding", p.InitializationBinding, t.Algorithm, t.Initialization); err != nil {
		return t, err
	}
	t.Update, err = bindingsOf("update_binding", p.UpdateBinding, t.Algorithm, t.Algorithm)
	return t, err
}

// readPart returns p as a graph, with the operators and functions of a model.
func readPart(g *nn.Graph, m *onnxpb.ModelProto, p *onnxpb.GraphProto) (*nn.Graph, error) {
	c := &onnxpb.ModelProto{}
	copyFields(c, m)
	c.TrainingInfo, c.Graph = nil, p
	return newReader(g.Ops(), c, nil).model()
}

// trainingGraph returns the graph of one step: the lists of the model's graph followed by those of the algorithm.
func trainingGraph(g, a *onnxpb.GraphProto) *onnxpb.GraphProto {
	j := &onnxpb.GraphProto{}
	copyFields(j, g)
	if a == nil {
		return j
	}
	a = proto.Clone(a).(*onnxpb.GraphProto)
	j.Node = append(j.Node, a.Node...)
	j.Initializer = append(j.Initializer, a.Initializer...)
	j.SparseInitializer = append(j.SparseInitializer, a.SparseInitializer...)
	j.Input = append(j.Input, a.Input...)
	j.Output = append(j.Output, a.Output...)
	j.ValueInfo = append(j.ValueInfo, a.ValueInfo...)
	return j
}

// bindingsOf returns bindings of initializers of to, to outputs of from.
func bindingsOf(what string, list []*onnxpb.StringStringEntryProto, to, from *nn.Graph) ([]Binding, error) {
	var out []Binding
	for _, kv := range list {
		b := Binding{kv.GetKey(), kv.GetValue()}
		v, err := to.Value(b.Initializer)
		if err != nil || v.Param() == nil {
			return nil, fmt.Errorf("%s: %q is not an initializer of the model or of the algorithm", what, b.Initializer)
		}
		if from == nil || !slices.ContainsFunc(from.Outputs(), func(v *nn.Value) bool { return v.Name() == b.Output }) {
			return nil, fmt.Errorf("%s: initializer %q is bound to %q, which is not an output", what, b.Initializer, b.Output)
		}
		if slices.ContainsFunc(out, func(x Binding) bool { return x.Initializer == b.Initializer }) {
			return nil, fmt.Errorf("%s: initializer %q is bound twice", what, b.Initializer)
		}
		out = append(out, b)
	}
	return out, nil
}

// SetTrainingInfo replaces the training_info of the graph; an empty list removes it. Values in an Algorithm that have the
// same name as a value of g are taken to be that value; the others belong to the algorithm. Later edits of g are
// followed: the model is saved with the names that values have then.
func SetTrainingInfo(g *nn.Graph, list []Training) error {
	var protos []*onnxpb.TrainingInfoProto
	for i, t := range list {
		if t.Algorithm == nil {
			return saveError(fmt.Errorf("training_info, entry %d: there is no algorithm", i))
		}
		p := &onnxpb.TrainingInfoProto{InitializationBinding: entries(t.First), UpdateBinding: entries(t.Update)}
		m, err := Saver{}.encode(t.Algorithm)
		if err == nil {
			p.Algorithm = beyond(g, m.Graph)
			if t.Initialization != nil {
				if m, err = (Saver{}).encode(t.Initialization); err == nil {
					p.Initialization = m.Graph
				}
			}
		}
		if err != nil {
			return saveError(fmt.Errorf("training_info, entry %d: %w", i, err))
		}
		protos = append(protos, p)
	}
	o := &graphOrigin{graph: &onnxpb.GraphProto{Name: proto.String(g.Name())}}
	if old := originOf(g); old != nil {
		c := *old
		o = &c
	}
	if o.model == nil {
		o.model = &onnxpb.ModelProto{IrVersion: proto.Int64(max(irVersion(g.Opsets()[""]), 7)), ProducerName: proto.String("graft")}
	}
	before := g.Origin()
	o.training = trainingOrigins(protos, g)
	for i, t := range list {
		o.training[i].opsets = t.Algorithm.Opsets()
	}
	g.SetOrigin(o)
	if _, err := TrainingInfo(g); err != nil {
		g.SetOrigin(before)
		var e *nn.Error
		if errors.As(err, &e) {
			c := *e
			c.Stage = "save"
			return &c
		}
		return err
	}
	return nil
}

func entries(list []Binding) []*onnxpb.StringStringEntryProto {
	var out []*onnxpb.StringStringEntryProto
	for _, b := range list {
		out = append(out, entry(b.Initializer, b.Output))
	}
	return out
}

// beyond returns the parts of p that the graph g does not have.
func beyond(g *nn.Graph, p *onnxpb.GraphProto) *onnxpb.GraphProto {
	has := func(name string) bool { return g.Lookup(name) != nil }
	p.Node = slices.DeleteFunc(p.Node, func(n *onnxpb.NodeProto) bool {
		return !slices.ContainsFunc(n.Output, func(name string) bool { return name != "" && !has(name) })
	})
	p.Initializer = slices.DeleteFunc(p.Initializer, func(t *onnxpb.TensorProto) bool { return has(t.GetName()) })
	p.SparseInitializer = slices.DeleteFunc(p.SparseInitializer, func(t *onnxpb.SparseTensorProto) bool { return has(t.GetValues().GetName()) })
	named := func(v *onnxpb.ValueInfoProto) bool { return has(v.GetName()) }
	p.Input, p.Output, p.ValueInfo = slices.DeleteFunc(p.Input, named), slices.DeleteFunc(p.Output, named), slices.DeleteFunc(p.ValueInfo, named)
	return p
}

// convertGraph converts a graph and its entries to another opset.
func convertGraph(g *nn.Graph, opset int) error {
	var list []Training
	if o := originOf(g); o != nil && len(o.training) > 0 {
		var err error
		if list, err = TrainingInfo(g); err != nil {
			return err
		}
	}
	if err := convertEntries(list, opset); err != nil {
		return err
	}
	if err := setOpset(g, opset); err != nil || len(list) == 0 {
		return err
	}
	return SetTrainingInfo(g, list)
}

func setOpset(g *nn.Graph, opset int) error {
	return g.Edit(func(e *nn.Edit) { e.SetOpset(opset) })
}

func convertEntries(list []Training, opset int) error {
	for i, t := range list {
		for _, g := range []*nn.Graph{t.Algorithm, t.Initialization} {
			if g == nil {
				continue
			}
			if err := setOpset(g, opset); err != nil {
				return fmt.Errorf("training_info, entry %d: %w", i, err)
			}
		}
	}
	return nil
}

// convertTraining converts the entries to the graph's operator set after an edit that changed that (Edit.SetOpset): they are
// read beside the graph in the operator set of before.
func convertTraining(g *nn.Graph) error {
	o, now := originOf(g), g.Opsets()[""]
	if o == nil {
		return nil
	}
	i := slices.IndexFunc(o.training, func(t *trainingOrigin) bool {
		was, ok := t.opsets[""]
		return ok && was != now
	})
	if i < 0 {
		return nil
	}
	before, _ := g.Fork()
	if err := setOpset(before, o.training[i].opsets[""]); err != nil {
		return err
	}
	list, err := TrainingInfo(before)
	if err != nil {
		return err
	}
	if err := convertEntries(list, now); err != nil {
		return err
	}
	return SetTrainingInfo(g, list)
}
