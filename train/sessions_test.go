package train_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// recording is a device that notes what it is asked for; gradients are none of its business.
type recording struct {
	device
	numbers []int
	weights []float64
	moves   []bool
	scales  []float64
	rates   []float64
	shares  []float64
	norm    float64
	failing error // of Read, Close and Forward
}

type recordingSession struct {
	*deviceSession
	r *recording
}

func (d *recording) Begin(j train.Job) (train.Session, error) {
	s, err := d.device.Begin(j)
	return recordingSession{s.(*deviceSession), d}, err
}

func (s recordingSession) Backward(ctx context.Context, batch nn.Feed, number int, weight float64, moves bool) (float64, error) {
	s.r.numbers, s.r.weights, s.r.moves = append(s.r.numbers, number), append(s.r.weights, weight), append(s.r.moves, moves)
	return 1, nil
}

func (s recordingSession) Update(_ context.Context, scale, rate, share float64) (float64, error) {
	s.updates++
	s.r.scales, s.r.rates, s.r.shares = append(s.r.scales, scale), append(s.r.rates, rate), append(s.r.shares, share)
	return s.r.norm, nil
}

func (s recordingSession) Read() error { return errors.Join(s.r.failing, s.deviceSession.Read()) }

func (s recordingSession) Close() error { return errors.Join(s.r.failing, s.deviceSession.Close()) }

func (s recordingSession) Forward(ctx context.Context, batch nn.Feed) ([]dtype.Value, float64, error) {
	if s.r.failing != nil {
		return nil, 0, s.r.failing
	}
	return s.deviceSession.Forward(ctx, batch)
}

// TestRuntimeCalls checks the calls of a session: batches with scalars and weights, updates with the
// factors of their mean.
func TestRuntimeCalls(t *testing.T) {
	ctx, b := context.Background(), batch(t, blobs(6, 1))
	for name, c := range map[string]struct {
		c       train.Config
		steps   int
		weights []float64
		moves   []bool
		scales  []float64
		shares  []float64
	}{
		"one":         {train.Config{}, 2, []float64{1, 1}, []bool{true, true}, []float64{1, 1}, []float64{1, 1}},
		"accumulated": {train.Config{Accumulate: 2}, 4, []float64{6, 6, 6, 6}, []bool{true, true, true, true}, []float64{1. / 12, 1. / 12}, []float64{1, 1}},
		"parts":       {train.Config{MicroBatch: 4, Batch: 6}, 1, []float64{3, 3}, []bool{true, false}, []float64{1. / 6}, []float64{1}},
		"sums":        {train.Config{Accumulate: 2, Loss: train.CrossEntropy{Sum: true}}, 2, []float64{1, 1}, []bool{true, true}, []float64{1}, []float64{1}},
		"averages":    {train.Config{EMA: 0.2}, 3, []float64{1, 1, 1}, []bool{true, true, true}, []float64{1, 1, 1}, []float64{1 - 2./11, 0.8, 0.8}},
		"looked at":   {train.Config{Accumulate: 2, OnGradient: func(*nn.Param, *tensor.Dense) error { return nil }}, 2, []float64{6, 6}, []bool{true, true}, []float64{1}, []float64{1}},
	} {
		d := &recording{norm: 3}
		c.c.Runtime, c.c.Rule, c.c.Schedule = d, optim.SGD{LR: 0.1}, optim.StepLR{Every: 1, Gamma: 0.5}
		tr, err := train.New(small(t), quiet(c.c))
		if err != nil {
			t.Fatal(err)
		}
		for range c.steps {
			info, err := tr.Step(ctx, b)
			if err != nil {
				t.Fatal(name, err)
			}
			if info.Updated != (info.Norm == 3) || info.Samples != 6 || info.Updated && info.Step != d.updates {
				t.Errorf("%s: %+v", name, info)
			}
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
		if !slices.EqualFunc(d.weights, c.weights, near) || !slices.Equal(d.moves, c.moves) || !slices.EqualFunc(d.scales, c.scales, near) || !slices.EqualFunc(d.shares, c.shares, near) {
			t.Errorf("%s: weights %v, moves %v, scales %v, shares %v", name, d.weights, d.moves, d.scales, d.shares)
		}
		for i, n := range d.numbers {
			if n != i {
				t.Errorf("%s: batches %v", name, d.numbers)
			}
		}
		for i, r := range d.rates {
			if r != math.Pow(0.5, float64(i)) {
				t.Errorf("%s: rates %v", name, d.rates)
			}
		}
		for _, p := range d.job.Params {
			if u := d.job.State(p).Updates; u != len(c.scales) {
				t.Errorf("%s: %s had %d updates", name, p.Name(), u)
			}
		}
	}
}

// A session is of a graph and of the types of its targets; where one of these changes it ends and another begins.
func TestRuntimeSessions(t *testing.T) {
	ctx, b := context.Background(), batch(t, blobs(6, 1))
	d := &recording{}
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Runtime: d}))
	if err != nil {
		t.Fatal(err)
	}
	at := func(what string, begun, closed, params int) {
		t.Helper()
		if d.begun != begun || d.closed != closed || len(d.job.Params) != params {
			t.Errorf("%s: %d sessions, %d ended, %d parameters; want %d, %d, %d", what, d.begun, d.closed, len(d.job.Params), begun, closed, params)
		}
	}
	step := func() {
		t.Helper()
		if _, err := tr.Step(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	step()
	step()
	at("two steps", 1, 0, 5)
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	step()
	at("after Sync", 1, 0, 5)
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(func(e *nn.Edit) { e.SetFrozen(e.Value("w1").Param(), true) }); err != nil {
		t.Fatal(err)
	}
	step()
	at("after an edit", 2, 1, 4)
	shares := b
	y, err := dtype.FromSlice(make([]float32, 18), 6, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		y.Float32s()[3*i] = 1
	}
	shares.Y = []*tensor.Dense{y}
	if _, err := tr.Step(ctx, shares); err != nil {
		t.Fatal(err)
	}
	at("targets of another type", 3, 2, 4)
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	at("Close", 3, 3, 4)
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	at("Close again", 3, 3, 4)
	step()
	at("after Close", 4, 3, 4)
	lost := errors.New("the device is lost")
	d.failing = lost
	if err := tr.Sync(); !errors.Is(err, lost) || err.Error() != "train: the device is lost" {
		t.Error(err)
	}
	if err := tr.Close(); !errors.Is(err, lost) {
		t.Error(err)
	}
	d.failing = nil
	tr.Close()
	if _, err := tr.Evaluate(ctx, blobs(6, 1)); err != nil {
		t.Error(err)
	}
	d.failing = lost
	if _, err := tr.Evaluate(ctx, blobs(6, 1)); !errors.Is(err, lost) || err.Error() != "train: the device is lost" {
		t.Error(err)
	}
}

// A batch in which nothing counts is an update of nothing; one gradient that is not finite, of several, is named; so is the parameter that a program
// stops at.
func TestRuntimeGradients(t *testing.T) {
	ctx, b := context.Background(), batch(t, blobs(6, 1))
	d := &recording{norm: 2}
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Runtime: d, EMA: 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	none := b
	none.Y = []*tensor.Dense{dtype.New(dtype.Int64, 6)}
	for i := range 6 {
		dtype.Slice[int64](none.Y[0])[i] = -100
	}
	info, err := tr.Step(ctx, none)
	if err != nil || !info.Updated || info.Step != 1 || info.Norm != 0 || info.Loss != 0 || d.updates != 0 || len(d.numbers) != 0 {
		t.Errorf("%+v, %v, %d updates", info, err, d.updates)
	}
	if info, err = tr.Step(ctx, b); err != nil || info.Step != 2 || info.Norm != 2 || d.numbers[0] != 1 || d.shares[0] != 1-min(0.5, 3./12) {
		t.Errorf("%+v, %v, batches %v, shares %v", info, err, d.numbers, d.shares)
	}
	d.norm = math.Inf(1)
	if _, err = tr.Step(ctx, b); err == nil || err.Error() != "train: step 3: the gradient has norm +Inf; nothing was changed by it: try a lower rate or ClipNorm, and check the data" || d.dropped != 1 {
		t.Errorf("%v, dropped %d times", err, d.dropped)
	}
	stop := errors.New("stop")
	real := &device{rate: 0.1}
	tr, err = train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Runtime: real, OnGradient: func(p *nn.Param, _ *tensor.Dense) error {
		if p == param(t, g, "w2") {
			return stop
		}
		return nil
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(ctx, b); !errors.Is(err, stop) || err.Error() != "train: parameter w2: step 1: stop" || real.updates != 0 || real.dropped != 1 {
		t.Errorf("%v, %d updates, dropped %d times", err, real.updates, real.dropped)
	}
}
