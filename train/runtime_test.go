package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// device is a runtime that keeps all values beside the graph and computes plain SGD on them, with the engine. It counts calls.
type device struct {
	rate                           float64
	begun, closed, writes, reads   int
	backward, updates, dropped     int
	failBegin, failStep, failWrite error
	infinite                       bool // gradients
	job                            train.Job
}

func (d *device) Begin(j train.Job) (train.Session, error) {
	if d.failBegin != nil {
		return nil, d.failBegin
	}
	d.begun++
	s := &deviceSession{device: d, job: j, values: map[*nn.Param][]byte{}, averages: map[*nn.Param][]byte{}, grads: map[*nn.Param]*tensor.Dense{}, before: map[*nn.Param][]byte{}}
	d.job = j
	return s, nil
}

type deviceSession struct {
	*device
	job              train.Job
	values, averages map[*nn.Param][]byte
	before           map[*nn.Param][]byte // statistics before a group
	grads            map[*nn.Param]*tensor.Dense
}

// all calls f for what training changes.
func (s *deviceSession) all(f func(p *nn.Param, x train.ParamState)) {
	for p := range s.job.Graph.Params() {
		if x := s.job.State(p); x.Follows {
			f(p, x)
		}
	}
}

// within runs f while the graph's tensors have the device's values.
func (s *deviceSession) within(values map[*nn.Param][]byte, f func() error) error {
	kept := map[*nn.Param][]byte{}
	s.all(func(p *nn.Param, _ train.ParamState) {
		b := dtype.Bytes(p.Data())
		kept[p] = append([]byte(nil), b...)
		copy(b, values[p])
		p.Changed()
	})
	defer s.all(func(p *nn.Param, _ train.ParamState) {
		copy(dtype.Bytes(p.Data()), kept[p])
		p.Changed()
	})
	return f()
}

func (s *deviceSession) Backward(ctx context.Context, batch nn.Feed, number int, weight float64, moves bool) (loss float64, err error) {
	if s.backward++; s.failStep != nil {
		return 0, s.failStep
	}
	err = s.within(s.values, func() error {
		st, err := s.job.Graph.Step(ctx, batch, nn.StepOptions{Loss: s.job.Loss, Params: s.job.Params, Train: true, Seed: s.job.Config.Seed, Count: uint64(number)})
		if err != nil {
			return err
		}
		defer st.Release()
		loss = st.Loss
		for p, g := range st.Grads {
			if s.grads[p] == nil {
				s.grads[p] = dtype.New(dtype.Float32, g.Shape()...)
			}
			for i, v := range dtype.Slice[float32](g) {
				if s.infinite {
					v = float32(math.Inf(1))
				}
				dtype.Slice[float32](s.grads[p])[i] += float32(weight) * v
			}
		}
		for p, x := range st.States {
			if s.before[p] == nil {
				s.before[p] = s.values[p]
			}
			if moves {
				s.values[p] = append([]byte(nil), dtype.Bytes(x)...)
			}
		}
		return nil
	})
	return loss, err
}

func (s *deviceSession) Gradients(scale float64, f func(p *nn.Param, g *tensor.Dense) error) error {
	for _, p := range s.job.Params {
		if g := s.grads[p]; g != nil {
			for i := range dtype.Slice[float32](g) {
				dtype.Slice[float32](g)[i] *= float32(scale)
			}
			if err := f(p, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *deviceSession) Update(_ context.Context, scale, rate, share float64) (float64, error) {
	if s.updates++; s.failStep != nil {
		return 0, s.failStep
	}
	square := 0.0
	for _, g := range s.grads {
		for _, v := range dtype.Slice[float32](g) {
			square += float64(v) * float64(v) * scale * scale
		}
	}
	if math.IsInf(square, 0) {
		return math.Sqrt(square), nil
	}
	for p, g := range s.grads {
		w := dtype.New(dtype.Float32, g.Shape()...)
		copy(dtype.Bytes(w), s.values[p])
		for i, v := range dtype.Slice[float32](g) {
			dtype.Slice[float32](w)[i] -= float32(s.rate*rate) * float32(scale) * v
		}
		s.values[p] = dtype.Bytes(w)
	}
	for p, b := range s.averages {
		x, w := dtype.New(dtype.Float32, len(b)/4), dtype.New(dtype.Float32, len(b)/4)
		copy(dtype.Bytes(x), b)
		copy(dtype.Bytes(w), s.values[p])
		for i, v := range dtype.Slice[float32](w) {
			dtype.Slice[float32](x)[i] += float32(share) * (v - dtype.Slice[float32](x)[i])
		}
		s.averages[p] = dtype.Bytes(x)
	}
	clear(s.grads)
	clear(s.before)
	return math.Sqrt(square), nil
}

func (s *deviceSession) Drop() {
	s.dropped++
	clear(s.grads)
	for p, b := range s.before {
		s.values[p] = b
	}
	clear(s.before)
}

func (s *deviceSession) Trains(p *nn.Param) bool { return s.job.State(p).Updates >= 0 }

func (s *deviceSession) Forward(ctx context.Context, batch nn.Feed) (outputs []dtype.Value, loss float64, err error) {
	values := map[*nn.Param][]byte{}
	for p, b := range s.values {
		if values[p] = b; s.averages[p] != nil {
			values[p] = s.averages[p]
		}
	}
	err = s.within(values, func() error {
		st, err := s.job.Graph.Step(ctx, batch, nn.StepOptions{Want: append(append([]*nn.Value{}, s.job.Outputs...), s.job.Loss)})
		if err != nil {
			return err
		}
		defer st.Release()
		for _, v := range st.Values[:len(s.job.Outputs)] {
			outputs = append(outputs, dtype.Clone(v.(*tensor.Dense)))
		}
		loss = float64(dtype.Slice[float32](st.Values[len(s.job.Outputs)].(*tensor.Dense))[0])
		return nil
	})
	return outputs, loss, err
}

func (s *deviceSession) Read() error {
	s.reads++
	s.all(func(p *nn.Param, x train.ParamState) {
		copy(dtype.Bytes(p.Data()), s.values[p])
		if x.Average != nil {
			copy(dtype.Bytes(x.Average), s.averages[p])
		}
	})
	return nil
}

func (s *deviceSession) Write() error {
	if s.writes++; s.failWrite != nil {
		return s.failWrite
	}
	s.all(func(p *nn.Param, x train.ParamState) {
		s.values[p] = append([]byte(nil), dtype.Bytes(p.Data())...)
		if x.Average != nil {
			s.averages[p] = append([]byte(nil), dtype.Bytes(x.Average)...)
		}
	})
	return nil
}

func (s *deviceSession) Close() error { s.closed++; return nil }

// TestRuntimeTrains checks that training with a runtime gives the engine's weights, statistics, averages and history.
func TestRuntimeTrains(t *testing.T) {
	fit, val := blobs(45, 1), blobs(20, 2)
	for name, c := range map[string]train.Config{
		"plain": {}, "accumulate": {Accumulate: 2}, "parts": {MicroBatch: 3}, "average": {EMA: 0.9}, "schedule": {Schedule: optim.LinearLR{From: 1, To: 0.1}}, "whole batches": {Batch: 45},
		"weights":  {Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 0.5}}, Accumulate: 2},
		"sum":      {Loss: train.CrossEntropy{Sum: true}, Accumulate: 3},
		"callback": {OnGradient: func(p *nn.Param, g *tensor.Dense) error { dtype.Slice[float32](g)[0] /= 2; return nil }, Accumulate: 2},
	} {
		lr := 0.1
		if name == "sum" {
			lr = 0.005
		}
		c.Epochs, c.Seed, c.Rule = 3, 3, optim.SGD{LR: lr}
		if c.Batch == 0 {
			c.Batch = 8
		}
		a, b := small(t), small(t)
		want, err := train.Fit(context.Background(), a, quiet(c), fit, val)
		if err != nil {
			t.Fatal(err)
		}
		d := &device{rate: lr}
		c.Runtime = d
		got, err := train.Fit(context.Background(), b, quiet(c), fit, val)
		if err != nil {
			t.Fatal(name, err)
		}
		if x := apart(t, weights(a), weights(b)); x > 1e-5 {
			t.Errorf("%s: the weights are %.2g apart", name, x)
		}
		for i := range want {
			w, g := want[i], got[i]
			if math.Abs(w.Loss-g.Loss) > 1e-5*w.Loss || math.Abs(w.Norm-g.Norm) > 1e-4*w.Norm || math.Abs(w.Val["loss"]-g.Val["loss"]) > 1e-4 || w.Val["accuracy"] != g.Val["accuracy"] || w.Steps != g.Steps || w.Samples != g.Samples || w.Rate != g.Rate {
				t.Errorf("%s: %v\nthe engine: %v", name, g, w)
			}
		}
		if d.begun != 1 || d.closed != 1 || d.updates != want[2].Steps {
			t.Errorf("%s: %d sessions, %d ended, %d updates of %d", name, d.begun, d.closed, d.updates, want[2].Steps)
		}
		if p := d.job.State(d.job.Params[0]); p.Updates != want[2].Steps {
			t.Errorf("%s: a parameter had %d updates of %d", name, p.Updates, want[2].Steps)
		}
	}
}

// TestRuntimeValues checks that values are uploaded when the device lacks them and downloaded when
// they are read; changes in between are applied or refused.
func TestRuntimeValues(t *testing.T) {
	g, fit := small(t), blobs(16, 1)
	d := &device{rate: 0.1}
	tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Runtime: d}))
	if err != nil {
		t.Fatal(err)
	}
	step := func() error { _, err := tr.Step(context.Background(), batch(t, fit)); return err }
	evaluate := func() float64 {
		f, err := tr.Evaluate(context.Background(), fit)
		if err != nil {
			t.Fatal(err)
		}
		return f["loss"]
	}
	expect := func(when string, writes, reads int) {
		t.Helper()
		if d.writes != writes || d.reads != reads || d.begun != 1 {
			t.Errorf("%s: values went to the device %d times, want %d, and came back %d times, want %d; %d sessions", when, d.writes, writes, d.reads, reads, d.begun)
		}
	}
	before := weights(g)
	for range 3 {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	expect("three steps", 1, 0)
	same(t, "before Sync", before, weights(g))
	loss := evaluate()
	expect("an evaluation while the device is ahead", 1, 0)
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	expect("Sync", 1, 1)
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	expect("Sync again", 1, 1)
	if again := evaluate(); again != loss {
		t.Errorf("loss %v after Sync, %v before", again, loss)
	}
	expect("an evaluation", 2, 1)
	for i := range dtype.Slice[float32](param(t, g, "w1").Data()) {
		dtype.Slice[float32](param(t, g, "w1").Data())[i] = 0
	}
	param(t, g, "w1").Changed()
	if evaluate() == loss {
		t.Error("the evaluation does not see what the program changed")
	}
	if err := step(); err != nil {
		t.Fatal(err)
	}
	edit := func() error { return g.Edit(func(e *nn.Edit) { e.SetFrozen(e.Value("w1").Param(), true) }) }
	if err := edit(); err != nil {
		t.Fatal(err)
	}
	if err := step(); err == nil || !strings.Contains(err.Error(), "call Trainer.Sync before an edit") {
		t.Errorf("after an edit: %v", err)
	}
}

// TestRuntimeFails checks that errors of a runtime become the trainer's, and that a failed step changes nothing.
func TestRuntimeFails(t *testing.T) {
	lost := errors.New("the device is lost")
	fit := blobs(16, 1)
	for name, c := range map[string]struct {
		set  func(d *device)
		want string
	}{
		"begin":     {func(d *device) { d.failBegin = lost }, "train: the device is lost"},
		"write":     {func(d *device) { d.failWrite = lost }, "train: the device is lost"},
		"step":      {func(d *device) { d.failStep = lost }, "train: the device is lost"},
		"gradients": {func(d *device) { d.infinite = true }, "the gradient of w1 is not finite; nothing was changed by it"},
		"its own":   {func(d *device) { d.failStep = &op.Error{Stage: "device", Err: lost} }, "device: the device is lost"},
	} {
		g := plainNet(t)
		d := &device{rate: 0.1}
		tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Runtime: d, Accumulate: 2}))
		if err != nil {
			t.Fatal(err)
		}
		before := weights(g)
		c.set(d)
		for range 2 {
			if _, err = tr.Step(context.Background(), batch(t, fit)); err != nil {
				break
			}
		}
		var e *op.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if d.begun == 1 && d.writes > 0 && d.failWrite == nil && d.dropped != 1 {
			t.Errorf("%s: gradients were dropped %d times", name, d.dropped)
		}
		*d = device{rate: 0.1, begun: d.begun}
		for range 2 {
			if _, err := tr.Step(context.Background(), batch(t, fit)); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
		same(t, name, before, weights(g))
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		engine := plainNet(t)
		other, err := train.New(engine, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Accumulate: 2}))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := other.Step(context.Background(), batch(t, fit)); err != nil {
				t.Fatal(err)
			}
		}
		if x := apart(t, weights(engine), weights(g)); x > 1e-6 {
			t.Errorf("%s: the weights are %.2g apart", name, x)
		}
		if fmt.Sprint(d.closed) != "1" {
			t.Errorf("%s: %d sessions were ended", name, d.closed)
		}
	}
}

// A rate that is not finite, or negative, is refused before the device updates anything.
func TestRuntimeRate(t *testing.T) {
	for _, factor := range []float64{math.Inf(1), -1} {
		g := plainNet(t)
		d := &device{rate: 0.1}
		tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Runtime: d, Schedule: rising(factor)}))
		if err != nil {
			t.Fatal(err)
		}
		before := weights(g)
		if _, err := tr.Step(context.Background(), batch(t, blobs(16, 1))); err == nil || !strings.Contains(err.Error(), "learning rate") || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("factor %v: %v", factor, err)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		if same(t, fmt.Sprint("factor ", factor), before, weights(g)); d.dropped != 1 {
			t.Errorf("factor %v: gradients were dropped %d times", factor, d.dropped)
		}
	}
}
