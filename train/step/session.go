package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// session is a training session on a device.
type session struct {
	device Device
	job    train.Job
	x      *parts
	ctx    context.Context

	backward, update, forward Program
	inputs                    map[*nn.Param]string // of forward
	outputs                   []string

	values   map[*nn.Param]*held // parameters and statistics
	states   map[string]*held    // state and averages, by input of update
	averages map[*nn.Param]*held
	grads    map[*nn.Param]DeviceTensor // since the last update, nil: there are none
	zeros    map[*nn.Param]DeviceTensor // of accumulation
	count    int                        // updates of each parameter at least
}

// held is a value on the device, and the tensor that it is read into.
type held struct {
	data   *tensor.Dense
	value  DeviceTensor
	before DeviceTensor // value after the last update; differs from value for statistics of later batches
}

// set replaces the value.
func (h *held) set(v DeviceTensor) {
	if h.value != nil && h.value != h.before {
		h.value.Release()
	}
	h.value = v
}

// settle makes the current value the one to return to.
func (h *held) settle() {
	if h.before != nil && h.before != h.value {
		h.before.Release()
	}
	h.before = h.value
}

func (s *session) begin() error {
	s.x = newParts(s.job)
	ctx := cmp.Or(s.job.Config.Context, context.Background())
	first, err := s.x.gradients(ctx)
	if err != nil {
		return err
	}
	if len(s.x.params) == 0 {
		return errors.New("the loss depends on no parameter that is trained")
	}
	second, err := s.x.update(ctx)
	if err != nil {
		return err
	}
	s.count = s.x.base()
	if s.backward, err = s.device.Load(first); err != nil {
		return err
	}
	if s.update, err = s.device.Load(second); err != nil {
		return err
	}
	s.values, s.states, s.averages = map[*nn.Param]*held{}, map[string]*held{}, map[*nn.Param]*held{}
	for _, p := range append(s.x.params[:len(s.x.params):len(s.x.params)], s.x.stats...) {
		s.values[p] = &held{data: direct.Data(p)}
	}
	for _, c := range s.x.changes {
		switch {
		case c.kind == Parameter:
			continue
		case c.average:
			s.averages[c.of] = &held{data: c.data}
			s.states[c.input] = s.averages[c.of]
		default:
			s.states[c.input] = &held{data: c.data}
		}
	}
	return nil
}

// all calls f for the values that training changes.
func (s *session) all(f func(h *held) error) error {
	for _, h := range s.values {
		if err := f(h); err != nil {
			return err
		}
	}
	for _, h := range s.states {
		if err := f(h); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) Write() error {
	return s.all(func(h *held) error {
		v, err := s.device.Put(h.data)
		if err != nil {
			return err
		}
		moved := h.value != h.before // in the middle of a group of batches
		h.set(v)
		if !moved {
			h.settle()
		}
		return nil
	})
}

func (s *session) Read() error {
	var copies [][2]*tensor.Dense // copied after all reads have succeeded
	err := s.all(func(h *held) error {
		if h.value == nil {
			return nil
		}
		d, err := s.device.Get(h.value)
		if err == nil && len(dtype.Bytes(d)) != len(dtype.Bytes(h.data)) {
			err = fmt.Errorf("the device returned shape %v for a tensor of shape %v", d.Shape(), h.data.Shape())
		}
		copies = append(copies, [2]*tensor.Dense{h.data, d})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range copies {
		copy(dtype.Bytes(c[0]), dtype.Bytes(c[1]))
	}
	return nil
}

func (s *session) Trains(p *nn.Param) bool { return s.x.grads[p] != "" }

func (s *session) Backward(ctx context.Context, batch nn.Feed, number int, weight float64, moves bool) (float64, error) {
	given, has := s.x.batch(batch), map[string]DeviceTensor{}
	if s.x.seeded {
		given[StepInput], given[SeedInput] = dtype.Scalar(int64(number)), dtype.Scalar(int64(s.job.Config.Seed))
	}
	for p, name := range s.x.inputs {
		has[name] = s.values[p].value
	}
	if s.x.accumulates() {
		given[weightInput] = dtype.Scalar(float32(weight))
		sums, err := s.sums()
		if err != nil {
			return 0, err
		}
		for p, v := range sums {
			has[s.x.sums[p]] = v
		}
	}
	back, on, err := s.backward.Run(ctx, given, has, func(name string) bool { return name != s.x.loss && name != checkName })
	if err != nil {
		return 0, err
	}
	loss, err := number64(back, s.x.loss)
	if err == nil && math.IsNaN(loss) || math.IsInf(loss, 0) {
		release(on)
		return loss, nil
	}
	if err == nil && len(s.x.next) > 0 {
		err = s.checked(back, on)
	}
	if err != nil {
		release(on)
		return loss, err
	}
	for p, name := range s.x.next {
		if moves {
			s.values[p].set(on[name])
		} else {
			on[name].Release()
		}
	}
	s.forget()
	s.grads = map[*nn.Param]DeviceTensor{}
	for p, name := range s.x.grads {
		s.grads[p] = on[name]
	}
	return loss, nil
}

// checked returns an error if statistics are not finite.
func (s *session) checked(back nn.Feed, on map[string]DeviceTensor) error {
	sum, err := number64(back, checkName)
	if err != nil || !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		return err
	}
	for p, name := range s.x.next {
		d, err := s.device.Get(on[name])
		if err != nil {
			return err
		}
		list, err := dtype.Float64s(d)
		if err != nil {
			return err
		}
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("the statistic %s is not finite; nothing was changed by it", p.Name())
			}
		}
	}
	return nil // the squares overflowed, not the values
}

// sums returns the accumulated gradients of a group so far.
func (s *session) sums() (map[*nn.Param]DeviceTensor, error) {
	if s.grads != nil {
		return s.grads, nil
	}
	if s.zeros == nil {
		s.zeros = map[*nn.Param]DeviceTensor{}
	}
	for _, p := range s.x.params {
		if s.zeros[p] != nil {
			continue
		}
		v, err := s.device.Put(dtype.New(dtype.Of(direct.Data(p).Dtype()), direct.Data(p).Shape()...))
		if err != nil {
			return nil, err
		}
		s.zeros[p] = v
	}
	return s.zeros, nil
}

func (s *session) Gradients(scale float64, f func(p *nn.Param, gradient *tensor.Dense) error) error {
	for _, p := range s.x.params {
		if s.grads[p] == nil {
			continue
		}
		g, err := s.device.Get(s.grads[p])
		if err != nil {
			return err
		}
		multiply(g, scale)
		if err := f(p, g); err != nil {
			return err
		}
		v, err := s.device.Put(g)
		if err != nil {
			return err
		}
		s.grads[p].Release()
		s.grads[p] = v
	}
	return nil
}

func (s *session) Update(ctx context.Context, scale, rate, share float64) (float64, error) {
	if s.grads == nil {
		return 0, errors.New("there are no gradients to update by")
	}
	given := nn.Feed{updatesInput: dtype.Scalar(int64(s.count)), RateInput: dtype.Scalar(rate)}
	if s.x.accumulates() {
		given[scaleInput] = dtype.Scalar(scale)
	}
	if s.x.averages {
		given[shareInput] = dtype.Scalar(share)
	}
	has := map[string]DeviceTensor{}
	for p, name := range s.x.fed {
		has[name] = s.values[p].value
	}
	for p, name := range s.x.slopes {
		has[name] = s.grads[p]
	}
	for name, h := range s.states {
		has[name] = h.value
	}
	back, on, err := s.update.Run(ctx, given, has, func(name string) bool { return name != normName })
	if err != nil {
		return 0, err
	}
	norm, err := number64(back, normName)
	if err != nil || math.IsNaN(norm) || math.IsInf(norm, 0) {
		release(on)
		return norm, err
	}
	for _, c := range s.x.changes {
		h := s.states[c.input]
		if c.kind == Parameter {
			h = s.values[c.of]
		}
		h.set(on[c.next])
	}
	s.forget()
	s.count++
	return norm, s.all(func(h *held) error { h.settle(); return nil })
}

func (s *session) Forward(ctx context.Context, batch nn.Feed) ([]dtype.Value, float64, error) {
	if s.forward == nil {
		g, inputs, outputs, err := s.x.evaluation(ctx)
		if err != nil {
			return nil, 0, err
		}
		if s.forward, err = s.device.Load(g); err != nil {
			return nil, 0, err
		}
		s.inputs, s.outputs = inputs, outputs
	}
	has := map[string]DeviceTensor{}
	for p, name := range s.inputs {
		if h := s.averages[p]; h != nil {
			has[name] = h.value
		} else {
			has[name] = s.values[p].value
		}
	}
	back, _, err := s.forward.Run(ctx, s.x.batch(batch), has, func(string) bool { return false })
	if err != nil {
		return nil, 0, err
	}
	var outputs []dtype.Value
	for _, name := range s.outputs {
		outputs = append(outputs, back[name])
	}
	loss, err := number64(back, s.job.Loss.Name())
	return outputs, loss, err
}

// batch returns the inputs of the model and of the loss.
func (x *parts) batch(feed nn.Feed) nn.Feed {
	given := nn.Feed{}
	for _, v := range x.job.Graph.Inputs() {
		given[v.Name()] = feed[v.Name()]
	}
	return given
}

func (s *session) Drop() {
	s.forget()
	for _, h := range s.values {
		if h.value != h.before {
			h.set(h.before)
		}
	}
}

// forget releases the gradients.
func (s *session) forget() {
	for _, v := range s.grads {
		v.Release()
	}
	s.grads = nil
}

func (s *session) Close() error {
	s.forget()
	for _, v := range s.zeros {
		v.Release()
	}
	_ = s.all(func(h *held) error {
		h.settle()
		h.before = nil
		h.set(nil)
		return nil
	})
	var errs []error
	for _, p := range []Program{s.backward, s.update, s.forward} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

func release(values map[string]DeviceTensor) {
	for _, v := range values {
		v.Release()
	}
}

// number64 returns a float64 output of one element.
func number64(out nn.Feed, name string) (float64, error) {
	d, ok := out[name].(*tensor.Dense)
	if !ok {
		return 0, fmt.Errorf("the device returned no tensor %s", name)
	}
	x, err := dtype.Float64s(d)
	if err != nil || len(x) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%s has %d elements", name, len(x)))
	}
	return x[0], nil
}

// multiply scales a tensor.
func multiply(d *tensor.Dense, by float64) {
	if dtype.Of(d.Dtype()) == dtype.Float32 {
		for i := range dtype.Slice[float32](d) {
			dtype.Slice[float32](d)[i] *= float32(by)
		}
		return
	}
	for i := range dtype.Slice[float64](d) {
		dtype.Slice[float64](d)[i] *= by
	}
}
