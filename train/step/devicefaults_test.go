package step_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

// shaky is a device of which one call fails, or which changes what a program gives back.
type shaky struct {
	beside
	left  *int
	alter func(back nn.Feed, on map[string]step.DeviceTensor)
	read  func(d *tensor.Dense) *tensor.Dense
}

var errLost = errors.New("the device is lost")

func (s shaky) fails() bool { *s.left--; return *s.left == -1 }

func (s shaky) Begin(job train.Job) (train.Session, error) { return step.Begin(s, job) }

func (s shaky) Load(g *nn.Graph) (step.Program, error) {
	if s.fails() {
		return nil, errLost
	}
	return shakyProgram{loaded{s.beside, g}, s}, nil
}

func (s shaky) Put(d *tensor.Dense) (step.DeviceTensor, error) {
	if s.fails() {
		return nil, errLost
	}
	return s.beside.Put(d)
}

func (s shaky) Get(v step.DeviceTensor) (*tensor.Dense, error) {
	if s.fails() {
		return nil, errLost
	}
	d, err := s.beside.Get(v)
	if s.read != nil && err == nil {
		d = s.read(d)
	}
	return d, err
}

type shakyProgram struct {
	loaded
	s shaky
}

func (p shakyProgram) Run(ctx context.Context, given nn.Feed, has map[string]step.DeviceTensor, stay func(string) bool) (nn.Feed, map[string]step.DeviceTensor, error) {
	if p.s.fails() {
		return nil, nil, errLost
	}
	back, on, err := p.loaded.Run(ctx, given, has, stay)
	if p.s.alter != nil && err == nil {
		p.s.alter(back, on)
	}
	return back, on, err
}

// A device that fails at any of its calls ends a run with its error; nothing is left on it, and the model has the parameters after a whole step.
func TestDeviceFails(t *testing.T) {
	for name, c := range map[string]train.Config{
		"accumulated": {Accumulate: 2, EMA: 0.9, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, OnGradient: func(*nn.Param, *tensor.Dense) error { return nil }}, "plain": {Rule: optim.SGD{LR: 0.1}},
	} {
		c.Batch, c.Log, c.Workers = 4, train.Quiet, 1
		stop := errors.New("stop")
		run := func(calls, steps int) (left, alive int, g *nn.Graph, err error) {
			g, left = small(t), calls
			c := c
			c.OnStep = func(s train.StepInfo) error {
				if s.Step == steps {
					return stop
				}
				return nil
			}
			c.Runtime = shaky{beside: beside{&alive}, left: &left}
			_, err = train.Fit(t.Context(), g, c, points(t, 8), points(t, 4))
			return left, alive, g, err
		}
		const many = 1 << 20
		left, alive, end, err := run(many, -1)
		if err != nil || alive != 0 {
			t.Fatal(name, alive, err)
		}
		whole := []*nn.Graph{small(t), end}
		for k := range 2 {
			_, alive, g, err := run(many, k+1)
			if err != nil && !errors.Is(err, stop) || alive != 0 {
				t.Fatal(name, alive, err)
			}
			whole = append(whole, g)
		}
		for n := range many - left {
			_, alive, g, err := run(n, -1)
			if !errors.Is(err, errLost) || alive != 0 {
				t.Errorf("%s, call %d of %d: %v, %d values are left", name, n+1, many-left, err, alive)
			}
			if !slices.ContainsFunc(whole, func(w *nn.Graph) bool { return equal(g, w) }) {
				t.Errorf("%s, call %d of %d: the parameters are not those after a step", name, n+1, many-left)
			}
		}
	}
}

// equal reports whether two models have the same parameters.
func equal(a, b *nn.Graph) bool {
	for p := range a.Params() {
		v, err := b.Value(p.Name())
		if err != nil {
			return false
		}
		if _, err := (dtype.Tolerance{}).Compare(p.Data(), v.Param().Data()); err != nil {
			return false
		}
	}
	return true
}

// TestDeviceGivesBack checks the validation of a device's results: losses and norms are scalars, sizes
// are unchanged, statistics are finite.
func TestDeviceGivesBack(t *testing.T) {
	two := dtype.New(dtype.Float32, 2)
	each := func(f func(back nn.Feed, name string)) func(back nn.Feed, on map[string]step.DeviceTensor) {
		return func(back nn.Feed, _ map[string]step.DeviceTensor) {
			for name := range back {
				f(back, name)
			}
		}
	}
	replace := func(back nn.Feed, by *tensor.Dense) { // the norm
		if back["norm"] != nil {
			back["norm"] = by
		}
	}
	for want, c := range map[string]struct {
		alter func(back nn.Feed, on map[string]step.DeviceTensor)
		read  func(d *tensor.Dense) *tensor.Dense
	}{
		"the device returned no tensor loss": {alter: each(func(back nn.Feed, name string) { delete(back, name) })}, "loss_1 has 2 elements": {alter: each(func(back nn.Feed, name string) { back[name] = two })},
		"the loss is +Inf": {alter: each(func(back nn.Feed, name string) { back[name] = dtype.Scalar(float32(math.Inf(1))) })}, "the loss is NaN": {alter: each(func(back nn.Feed, name string) { back[name] = dtype.Scalar(float32(math.NaN())) })},
		"the device returned no tensor norm": {alter: func(back nn.Feed, _ map[string]step.DeviceTensor) { delete(back, "norm") }}, "norm has 2 elements": {alter: func(back nn.Feed, _ map[string]step.DeviceTensor) { replace(back, two) }},
		"the gradient has norm NaN; nothing was changed": {alter: func(back nn.Feed, _ map[string]step.DeviceTensor) { replace(back, dtype.Scalar(math.NaN())) }}, "the gradient has norm -Inf; nothing was changed": {alter: func(back nn.Feed, _ map[string]step.DeviceTensor) { replace(back, dtype.Scalar(math.Inf(-1))) }},
		"the device returned no tensor statistics": {alter: func(back nn.Feed, _ map[string]step.DeviceTensor) { delete(back, "statistics") }},
		"the statistic batchnorm1.running_": {alter: func(back nn.Feed, on map[string]step.DeviceTensor) {
			if back["statistics"] == nil {
				return
			}
			back["statistics"] = dtype.Scalar(math.NaN())
			for name, v := range on {
				if d := v.(*kept).d; strings.HasPrefix(name, "batchnorm1.running") {
					dtype.Slice[float32](d)[2] = float32(math.NaN())
				}
			}
		}},
		"the device returned shape (3) for a tensor of shape ": {read: func(*tensor.Dense) *tensor.Dense { return dtype.New(dtype.Float32, 3) }},
	} {
		alive, left := 0, 1<<20
		tr, err := train.New(small(t), train.Config{Rule: optim.SGD{LR: 0.1}, Log: train.Quiet, Runtime: shaky{beside{&alive}, &left, c.alter, c.read}})
		if err != nil {
			t.Fatal(err)
		}
		b := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 4, 4)}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 4)}}
		dtype.Slice[float32](b.X[0])[0] = 1
		if _, err = tr.Step(t.Context(), b); err == nil {
			err = tr.Sync()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		tr.Close()
		if alive != 0 {
			t.Errorf("%s: %d values are left", want, alive)
		}
	}
	// A sum of squares that is not finite, of statistics that are, is not an error.
	for _, sum := range []float64{math.Inf(1), math.NaN(), 1} {
		alive, left := 0, 1<<20
		alter := func(back nn.Feed, _ map[string]step.DeviceTensor) {
			if back["statistics"] != nil {
				back["statistics"] = dtype.Scalar(sum)
			}
		}
		tr, err := train.New(small(t), train.Config{Rule: optim.SGD{LR: 0.1}, Log: train.Quiet, Runtime: shaky{beside: beside{&alive}, left: &left, alter: alter}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(t.Context(), batchOf(0)); err != nil {
			t.Errorf("a sum of %v: %v", sum, err)
		}
		tr.Close()
	}
	// A statistic that leaves the numbers, while the loss does not; and a device that is lost as it is looked for.
	const many = 1 << 20
	calls, first := many, 0 // the first that reads a value
	for _, want := range []string{"is not finite; nothing was changed by it", errLost.Error()} {
		alive, left := 0, calls
		read := func(d *tensor.Dense) *tensor.Dense {
			if first == 0 {
				first = many - left
			}
			return d
		}
		tr, err := train.New(small(t), train.Config{Rule: optim.SGD{LR: 0.1}, Log: train.Quiet, Runtime: shaky{beside: beside{&alive}, left: &left, read: read}, Accumulate: 2})
		if err != nil {
			t.Fatal(err)
		}
		b := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 4, 4)}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 4)}}
		for i := range 4 {
			dtype.Slice[float32](b.X[0])[5*i] = 1e30
		}
		if _, err := tr.Step(t.Context(), b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a statistic: %v, want %s", err, want)
		}
		calls = first - 1
		tr.Close()
		if alive != 0 {
			t.Errorf("%d values are left", alive)
		}
	}
}
