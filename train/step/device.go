package step

import (
	"context"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// A Device runs models of standard operators, beside graft's engine, and keeps values where it computes.
type Device interface {
	// Load makes a model ready to run.
	Load(g *nn.Graph) (Program, error)
	// Put copies a tensor to the device, Get a value from it.
	Put(d *tensor.Dense) (Value, error)
	Get(v Value) (*tensor.Dense, error)
}

// A Program is a model on a device.
type Program interface {
	// Run computes the model's outputs from inputs that are given and inputs that the device has. Outputs of which stay is true
	// remain on the device, the others come back.
	Run(ctx context.Context, given nn.Feed, has map[string]Value, stay func(output string) bool) (back nn.Feed, on map[string]Value, err error)
	Close() error // ends the program
}

// A Value is a tensor on a device. A run leaves it as it is; Release gives its memory back.
type Value interface{ Release() }

// Begin trains on a device: what a train.Runtime returns. The step is exported in two parts, gradients and update, so that
// batches accumulate, gradients are seen in between, and a step whose gradients are not finite changes nothing. Rules without a
// formula and operators without a form in files are refused by name.
func Begin(d Device, job train.Job) (train.Session, error) {
	s := &session{device: d, job: job, ctx: context.Background()}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}
