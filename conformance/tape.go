package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TapeMachine runs models on Gorgonia's TapeMachine: the same operators, but scheduled and stored by Gorgonia. A model
// with a shape that depends on computed values is an error, since it cannot be lowered as a whole.
type TapeMachine struct {
	Loader onnxio.Loader // its FS is replaced by the case's folder
}

// Load loads the model as a graph.
func (b TapeMachine) Load(_ context.Context, fsys fs.FS, name string) (Session, error) {
	b.Loader.FS = fsys
	g, err := b.Loader.Load(name)
	if err != nil {
		return nil, err
	}
	return tapeSession{g}, nil
}

type tapeSession struct{ g *nn.Graph }

func (s tapeSession) graph() *nn.Graph { return s.g }

func (s tapeSession) Run(_ context.Context, in nn.Feed) (nn.Feed, error) {
	l, err := s.g.Lower(nn.LowerOptions{Feed: in})
	if err != nil {
		return nil, err
	}
	values := make([]gorgonia.Value, len(l.Outputs))
	for i, n := range l.Outputs {
		gorgonia.Read(n, &values[i])
	}
	m := gorgonia.NewTapeMachine(l.ExprGraph)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		return nil, err
	}
	out := nn.Feed{}
	for i, v := range s.g.Outputs() {
		if values[i] == nil {
			return nil, fmt.Errorf("output %s has no value", v.Name())
		}
		if out[v.Name()], err = plainValue(values[i]); err != nil {
			return nil, fmt.Errorf("output %s: %w", v.Name(), err)
		}
	}
	return out, nil
}

// plainValue converts Gorgonia's scalars to tensors of rank 0.
func plainValue(v gorgonia.Value) (dtype.Value, error) {
	if d, ok := v.(tensor.Tensor); ok {
		if d, ok := d.(*tensor.Dense); ok {
			return d, nil
		}
		return nil, errors.New("is not a dense tensor")
	}
	if s, ok := v.(gorgonia.Scalar); ok {
		return tensor.New(tensor.FromScalar(s.Data())), nil
	}
	if d, ok := v.(dtype.Value); ok {
		return d, nil
	}
	return nil, fmt.Errorf("a %T cannot be compared", v)
}
