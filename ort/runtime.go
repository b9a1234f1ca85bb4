package ort

import (
	"context"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/step"
)

// Runtime is ONNX Runtime on a device. The zero value is the library in the usual places, on the CPU.
type Runtime struct {
	Library  string            // file of the library, or a folder that contains it; "": GRAFT_ORT, or the usual places
	Provider string            // execution provider, one of Providers; "": cpu
	Device   int               // device number, for providers with several
	Threads  int               // CPU threads of an operator; 0: all cores
	Options  map[string]string // options of the provider, with ONNX Runtime's names
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

// Load prepares a model to run on the device.
func (r Runtime) Load(g *nn.Graph) (step.Program, error) {
	d, err := r.Open()
	if err != nil {
		return nil, err
	}
	return d.Load(g)
}

// Run computes the outputs of a model once; use Load for many runs.
func (r Runtime) Run(ctx context.Context, g *nn.Graph, feed nn.Feed) (nn.Feed, error) {
	p, err := r.Load(g)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out, _, err := p.Run(ctx, feed, nil, nil)
	return out, err
}
