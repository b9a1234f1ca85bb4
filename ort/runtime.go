package ort

import (
	"context"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/step"
)

// Runtime is ONNX Runtime and the device that it computes on. The zero value is the library of the usual places, on the CPU.
type Runtime struct {
	Library  string            // file, or folder with the library; "": what GRAFT_ORT names, else the usual places
	Provider string            // execution provider, one of Providers; "": cpu
	Device   int               // number of the device, of providers that have several
	Threads  int               // of one operator on the CPU; 0: the cores of the machine
	Options  map[string]string // of the provider, by the names that ONNX Runtime has for them
}

var (
	_ train.Runtime = Runtime{}
	_ step.Device   = (*Device)(nil)
)

// Begin starts training on the device, see train.Config.Runtime.
func (r Runtime) Begin(job train.Job) (train.Session, error) {
	d, err := r.Open()
	if err != nil {
		return nil, err
	}
	return step.Begin(d, job)
}

// Load makes a model ready to run on the device.
func (r Runtime) Load(g *nn.Graph) (step.Program, error) {
	d, err := r.Open()
	if err != nil {
		return nil, err
	}
	return d.Load(g)
}

// Run computes the outputs of a model. To run one often, Load it.
func (r Runtime) Run(ctx context.Context, g *nn.Graph, feed nn.Feed) (nn.Feed, error) {
	p, err := r.Load(g)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out, _, err := p.Run(ctx, feed, nil, nil)
	return out, err
}
