package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// config trains against the squared distance of the first output to numbers drawn between its least and its largest.
var config = train.Config{Loss: train.MSE{}, Rule: optim.Adam{LR: 1e-3}, Seed: 1, Log: train.Quiet}

// batch returns the inputs of the data set, and targets.
func (t *trial) batch() (data.Sample, error) {
	var s data.Sample
	if t.out == nil {
		return s, errors.New("the model did not run")
	}
	if t.g.Summary().Total.Trainable == 0 {
		return s, errors.New("the model has no parameter that can be trained")
	}
	first := t.g.Outputs()[0]
	out, ok := t.out[first.Name()].(*tensor.Dense)
	if !ok || !dtype.Of(out.Dtype()).IsFloat() {
		return s, fmt.Errorf("%s, the first output, is not a tensor of floating-point numbers", first.Name())
	}
	x, err := dtype.Float64s(out)
	if err != nil {
		return s, err
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	if high-low < 1e-3 {
		low, high = low-0.5, high+0.5
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = low + (high-low)*r.Float64()
	}
	y, err := dtype.FromFloats(dtype.Of(out.Dtype()), x, out.Shape()...)
	if err != nil {
		return s, err
	}
	for _, v := range t.g.Inputs() {
		s.X = append(s.X, t.in[v.Name()])
	}
	s.Y = []*tensor.Dense{y}
	return s, nil
}

// trained returns the loss after ten steps as a fraction of the first.
func trained(ctx context.Context, t *trial) (string, error) {
	batch, err := t.batch()
	if err != nil {
		return "", err
	}
	g, err := t.g.Clone()
	if err != nil {
		return "", err
	}
	trainer, err := train.New(g, config)
	if err != nil {
		return "", err
	}
	defer trainer.Close()
	var last float64
	for i := range 11 {
		info, err := trainer.Step(ctx, batch)
		if err != nil {
			return "", err
		}
		if last = info.Loss; i == 0 {
			t.loss = last
		}
	}
	if !(last < t.loss) {
		return "", fmt.Errorf("the loss went from %.4g to %.4g", t.loss, last)
	}
	return fmt.Sprintf("%.6f", last/t.loss), nil
}

// exported lets ONNX Runtime take the first step, whose loss must be the trainer's.
func exported(ctx context.Context, t *trial) (string, error) {
	batch, err := t.batch()
	if err != nil {
		return "", err
	}
	var open error // why the model's own types do not do
	s, err := step.Exporter{Config: config}.Export(t.g)
	if err != nil && len(t.types) > 0 {
		open = err
		g, err := onnxio.Loader{Inputs: t.types}.Load(t.file)
		if err != nil {
			return "", err
		}
		fixed := strings.Join(t.types, ", ")
		if s, err = (step.Exporter{Config: config}).Export(g); err != nil {
			return "", fmt.Errorf("%w; with the types %s: %w", open, fixed, err)
		}
		open = fmt.Errorf("with the types %s; as they are: %w", fixed, open)
	} else if err != nil {
		return "", err
	}
	start, err := s.Start.Eval(ctx, nn.Feed{})
	if err != nil {
		return "", err
	}
	in := map[string]oracle.Tensor{}
	for _, v := range s.Variables {
		d, ok := start[v.Name].(*tensor.Dense)
		if !ok {
			return "", fmt.Errorf("the first values have no tensor %s", v.Name)
		}
		in[v.Name] = pack(d)
	}
	for i, d := range append(batch.X, batch.Y...) {
		in[s.Batch[i]] = pack(d)
	}
	for _, p := range s.Inputs() {
		switch p.Name {
		case step.StepInput, step.SeedInput:
			in[p.Name] = pack(dtype.Scalar(int64(0)))
		case step.RateInput:
			in[p.Name] = pack(dtype.Scalar(float32(1)))
		}
	}
	file, err := written(s.Graph)
	if err != nil {
		return "", err
	}
	out, err := t.ort.Run(file, in)
	if err != nil {
		return "", err
	}
	loss, err := out[step.LossName].Float64s()
	if err != nil {
		return "", err
	}
	if !(math.Abs(loss[0]-t.loss) <= tolerance*t.loss) {
		return "", fmt.Errorf("the exported step's loss is %.6g in ONNX Runtime, the trainer's %.6g", loss[0], t.loss)
	}
	return fmt.Sprint(s.Nodes()), open
}
