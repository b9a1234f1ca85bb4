package step

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// Stored trains a model by the algorithms in the training_info of its file: it runs them and assigns their outputs.
type Stored struct {
	g       *nn.Graph
	entries []entry
}

// entry is an algorithm with its inputs from a batch and its unbound outputs.
type entry struct {
	onnxio.Training
	inputs  []Port
	seen    []string
	targets map[string][]*nn.Param // by initializer: its parameter in the algorithm, then those in other entries if it is the model's
}

// NewStored returns a Stored for the training_info of a graph. It is an error if there is none.
func NewStored(g *nn.Graph) (*Stored, error) {
	list, err := onnxio.TrainingInfo(g)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &op.Error{Stage: "train", Err: errors.New("the model's file states no training: it has no training_info")}
	}
	s := &Stored{g: g}
	for i, t := range list {
		e := entry{Training: t}
		if len(t.Update) == 0 {
			return nil, &op.Error{Stage: "train", Err: fmt.Errorf("training_info, entry %d: update_binding is empty: the algorithm changes nothing", i)}
		}
		for _, v := range t.Algorithm.Inputs() {
			if len(v.Users()) > 0 {
				e.inputs = append(e.inputs, Port{v.Name(), v.Type().String()})
			}
		}
		for _, v := range t.Algorithm.Outputs() {
			bound := slices.ContainsFunc(t.Update, func(b onnxio.Binding) bool { return b.Output == v.Name() })
			ours := slices.ContainsFunc(g.Outputs(), func(o *nn.Value) bool { return o.Name() == v.Name() })
			if !bound && !ours {
				e.seen = append(e.seen, v.Name())
			}
		}
		s.entries = append(s.entries, e)
	}
	for i := range s.entries {
		s.aim(i)
	}
	return s, nil
}

// aim finds the parameters that the bindings of entry i assign to.
func (s *Stored) aim(i int) {
	e := &s.entries[i]
	e.targets = map[string][]*nn.Param{}
	for _, b := range slices.Concat(e.First, e.Update) {
		list := []*nn.Param{paramOf(e.Algorithm, b.Initializer)}
		for k, other := range s.entries {
			if k != i && paramOf(s.g, b.Initializer) != nil { // the model's parameters are part of each algorithm
				list = append(list, paramOf(other.Algorithm, b.Initializer))
			}
		}
		e.targets[b.Initializer] = list
	}
}

// Inputs returns the inputs of a step: those of the model that an algorithm reads, then those of the algorithms.
func (s *Stored) Inputs() []Port {
	var list []Port
	for _, e := range s.entries {
		for _, p := range e.inputs {
			if !slices.ContainsFunc(list, func(q Port) bool { return q.Name == p.Name }) {
				list = append(list, p)
			}
		}
	}
	return list
}

// Initialize runs the initializations, as if the model had never been trained. It reports whether there are any.
func (s *Stored) Initialize(ctx context.Context) (bool, error) {
	any := false
	for i, e := range s.entries {
		if len(e.First) == 0 {
			continue
		}
		any = true
		var want []string
		for _, b := range e.First {
			want = append(want, b.Output)
		}
		out, err := e.Initialization.Eval(ctx, nil, want...)
		if err == nil {
			err = s.assign(i, e.First, out)
		}
		if err != nil {
			return any, fmt.Errorf("training_info, entry %d, initialization: %w", i, err)
		}
	}
	return any, nil
}

// Step runs all algorithms on a batch and assigns their bound outputs. It returns the other outputs, usually the loss. If an
// algorithm fails, none of its outputs is assigned.
func (s *Stored) Step(ctx context.Context, batch nn.Feed) (nn.Feed, error) {
	return s.run(ctx, batch, true)
}

// Look is Step without the assignments.
func (s *Stored) Look(ctx context.Context, batch nn.Feed) (nn.Feed, error) {
	return s.run(ctx, batch, false)
}

func (s *Stored) run(ctx context.Context, batch nn.Feed, update bool) (nn.Feed, error) {
	seen := nn.Feed{}
	for i, e := range s.entries {
		want := slices.Clone(e.seen)
		if update {
			for _, b := range e.Update {
				if !slices.Contains(want, b.Output) {
					want = append(want, b.Output)
				}
			}
		}
		if len(want) == 0 {
			continue
		}
		feed := nn.Feed{}
		for _, p := range e.inputs {
			if x, ok := batch[p.Name]; ok {
				feed[p.Name] = x
			}
		}
		out, err := e.Algorithm.Eval(ctx, feed, want...)
		if err == nil && update {
			err = s.assign(i, e.Update, out)
		}
		if err != nil {
			return nil, fmt.Errorf("training_info, entry %d: %w", i, err)
		}
		for _, name := range e.seen {
			seen[name] = out[name]
		}
	}
	return seen, nil
}

// assign sets initializers of entry i, and those of the model in the other entries as well, to new values: all of them or none.
func (s *Stored) assign(i int, list []onnxio.Binding, out nn.Feed) error {
	for _, b := range list {
		p := s.entries[i].targets[b.Initializer][0]
		d, ok := out[b.Output].(*tensor.Dense)
		if !ok || direct.Data(p) == nil || d.Dtype() != direct.Data(p).Dtype() || !slices.Equal(d.Shape(), direct.Data(p).Shape()) {
			return fmt.Errorf("initializer %q takes %v, output %q is %v", b.Initializer, p.Value().Type(), b.Output, op.TypeOf(out[b.Output]))
		}
	}
	for _, b := range list {
		for _, p := range s.entries[i].targets[b.Initializer] {
			copy(dtype.Bytes(direct.Data(p)), dtype.Bytes(out[b.Output].(*tensor.Dense)))
			p.Changed()
		}
	}
	return nil
}

// paramOf returns the parameter with a name, nil if there is none.
func paramOf(g *nn.Graph, name string) *nn.Param {
	if v := g.Lookup(name); v != nil {
		return v.Param()
	}
	return nil
}

// Keep copies the weights and the algorithms' initializers to the graph from which the Stored was made. A file saved from it
// continues the training when it is loaded.
func (s *Stored) Keep() error {
	var list []onnxio.Training
	for _, e := range s.entries {
		list = append(list, e.Training)
		for _, b := range slices.Concat(e.First, e.Update) {
			if p := paramOf(s.g, b.Initializer); p != nil { // otherwise it belongs to the algorithm
				copy(dtype.Bytes(direct.Data(p)), dtype.Bytes(direct.Data(e.targets[b.Initializer][0])))
				p.Changed()
			}
		}
	}
	return onnxio.SetTrainingInfo(s.g, list)
}
