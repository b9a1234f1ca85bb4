package step

import (
	"context"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// Device runs models of standard operators, and keeps values in its memory.
type Device interface {
	// Load makes a model ready to run.
	Load(g *nn.Graph) (Program, error)
	// Put copies a tensor to the device, Get a value from it.
	Put(d *tensor.Dense) (DeviceTensor, error)
	Get(v DeviceTensor) (*tensor.Dense, error)
}

// Program is a model on a device.
type Program interface {
	// Run computes the model's outputs from inputs in host memory (given) and inputs on the device (has). Outputs for which stay
	// returns true remain on the device (on), the others are copied to the host (back).
	Run(ctx context.Context, given nn.Feed, has map[string]DeviceTensor, stay func(output string) bool) (back nn.Feed, on map[string]DeviceTensor, err error)
	Close() error // ends the program
}

// DeviceTensor is a tensor on a device. Runs do not change it; Release frees its memory.
type DeviceTensor interface{ Release() }

// Begin starts a session on a device, for implementations of train.Runtime. The step is exported in two parts,
// gradients and update, so that batches can be accumulated, gradients are accessible in between, and a step whose
// gradients are not finite changes nothing. Update rules without a formula, and operators whose gradient cannot be
// exported, are refused by name.
func Begin(d Device, job train.Job) (train.Session, error) {
	s := &session{device: d, job: job, ctx: context.Background()}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}
