package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Runtime computes training steps instead of graft's engine, on a device. The module github.com/graft-ml/graft/ort has
// one for ONNX Runtime; package step makes one of anything that runs ONNX models.
type Runtime interface {
	Begin(Job) (Session, error) // starts a session; Job.Config.Context ends it
}

// Job is what a Session trains.
type Job struct {
	Attached
	Outputs []*nn.Value                  // outputs of the model, for metrics
	Config  Config                       // configuration of the trainer, with the context of the step that needs the session; Accumulate is more than 1 if gradients are accumulated
	State   func(p *nn.Param) ParamState // state of a parameter or running statistic of Attached.Graph
}

// ParamState is the state of a parameter in training. A session reads and writes the tensors.
type ParamState struct {
	Follows bool          // whether training changes it: a parameter or running statistic that is not frozen
	Slots   []optim.Slot  // state of its update rule
	Updates int           // updates of the parameter so far
	Average *tensor.Dense // moving average, with Config.EMA
}

// Session is training on a device, which holds parameters, running statistics, averages and optimizer state between the
// steps. It is for one goroutine at a time.
type Session interface {
	// Backward runs a batch forward and backward, adds its gradients, times weight, to those since the last update, and returns the
	// loss. number is the number of the batch, for random operators. Running statistics are updated if moves is set: for batches
	// computed in parts, by the first part only.
	Backward(ctx context.Context, batch nn.Feed, number int, weight float64, moves bool) (loss float64, err error)
	// Gradients calls f for each gradient times scale, in the order of Job.Params. f may change the gradient in place.
	Gradients(scale float64, f func(p *nn.Param, gradient *tensor.Dense) error) error
	// Update applies the rules to the gradients times scale, with rate as the factor on their rates, and moves the averages by the
	// fraction share towards the results. It returns the norm of the gradients before clipping. If that is not finite, it changes
	// nothing.
	Update(ctx context.Context, scale, rate, share float64) (norm float64, err error)
	// Drop discards gradients, and restores statistics to their values after the last update.
	Drop()
	// Trains reports whether the loss depends on a parameter.
	Trains(p *nn.Param) bool
	// Forward computes the model's outputs and the loss for evaluation, with the averages if there are any.
	Forward(ctx context.Context, batch nn.Feed) (outputs []dtype.Value, loss float64, err error)
	// Read copies all values that training changes from the device to the tensors, Write copies them to the device.
	Read() error
	Write() error
	Close() error // ends the session
}

// remote is the state of a trainer with Config.Runtime.
type remote struct {
	session Session
	of      *binding // binding of the session
	ahead   bool     // whether the device has newer values than the graph
	level   bool     // whether the device has the values of the graph
	filled  bool     // whether there are gradients since the last update
}

// errAhead is the error for an edit between Steps without Sync.
var errAhead = errors.New("the graph was edited while the runtime had its parameters: call Trainer.Sync before an edit, between the steps of a loop of your own")

// Sync brings the graph's parameters, and the trainer's other state, up to date with Config.Runtime; without a Runtime
// it does nothing. Epochs does so at the end of each epoch; call it before reading or editing the graph between calls
// of Step, or in OnStep.
func (t *Trainer) Sync() error {
	leave, err := t.user.enter()
	if err != nil {
		return err
	}
	defer leave()
	if !t.remote.ahead {
		return nil
	}
	t.hold(false)
	if err := t.remote.session.Read(); err != nil {
		return runtimeError(err)
	}
	t.remote.ahead, t.remote.level = false, false
	for _, m := range []map[*nn.Param]*state{t.params, t.stats} {
		for p := range m {
			p.Changed()
		}
	}
	return nil
}

// Close brings the graph up to date and releases the resources of Config.Runtime, in a training loop of your own; Epochs
// does so when it ends. Accumulated gradients that have not been flushed are discarded. The trainer remains usable.
func (t *Trainer) Close() error {
	leave, err := t.user.enter()
	if err != nil {
		return err
	}
	defer leave()
	if t.remote.session != nil {
		t.abandon()
	}
	return errors.Join(t.Sync(), t.quit())
}

// leave ends the session to replace it by another: gradients of an open group are kept for the update.
func (t *Trainer) leave() error {
	if t.remote.filled {
		of := t.remote.of.origin
		err := t.remote.session.Gradients(1, func(p *nn.Param, g *tensor.Dense) error {
			s := t.params[of[p]]
			if err := s.gather(of[p]); err != nil {
				return err
			}
			add(s.grad, g, 1, !s.has)
			s.has = true
			return nil
		})
		if err != nil {
			return runtimeError(err)
		}
		t.group.carried = true
	}
	return errors.Join(t.Sync(), t.quit())
}

// quit ends the session without copying anything back.
func (t *Trainer) quit() error {
	s := t.remote.session
	t.remote = remote{}
	if s == nil {
		return nil
	}
	return runtimeError(s.Close())
}

// look records that the graph's values may have changed since they were copied to the device.
func (t *Trainer) look() { t.remote.level = t.remote.level && t.remote.ahead }

// attend returns the session for a binding, with the graph's values; it starts one if necessary.
func (t *Trainer) attend(ctx context.Context, d *binding) (Session, error) {
	r := &t.remote
	if r.session == nil || r.of != d {
		if err := t.leave(); err != nil {
			return nil, err
		}
		s, err := t.c.Runtime.Begin(t.job(ctx, d))
		if err != nil {
			return nil, runtimeError(err)
		}
		*r = remote{session: s, of: d}
	}
	if !r.level { // a device that is ahead is level, too
		t.hold(false)
		if err := r.session.Write(); err != nil {
			return nil, runtimeError(err)
		}
		r.level = true
	}
	return r.session, nil
}

func (t *Trainer) job(ctx context.Context, d *binding) Job {
	c := t.c.until(ctx)
	if c.MicroBatch > 0 {
		c.Accumulate = max(2, c.Accumulate) // for the session, each part is a batch
	}
	a := Attached{Graph: d.fork, Loss: d.loss, Targets: d.targets, Params: d.params, Origin: d.origin, config: c, groups: *c.grouping()}
	return Job{a, d.outputs, c, func(p *nn.Param) ParamState {
		o := d.origin[p]
		if s := t.params[o]; s != nil {
			return ParamState{true, s.slots, s.n, s.ema}
		}
		if s := t.stats[o]; s != nil {
			return ParamState{Follows: true, Average: s.ema}
		}
		return ParamState{}
	}}
}

// runtimeError reports an error of the runtime.
func runtimeError(err error) error {
	var e *op.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &op.Error{Stage: "train", Err: err}
}

// remoteMicro is micro with a runtime.
func (t *Trainer) remoteMicro(ctx context.Context, d *binding, batch data.Sample, m microBatch) (loss float64, err error) {
	s, err := t.attend(ctx, d)
	if err != nil {
		return 0, err
	}
	weight, err := lossWeight(d.lossBy, batch)
	if err != nil {
		return 0, &op.Error{Stage: "train", Err: err}
	}
	if t.group.count == 0 {
		t.group = group{first: t.Micro}
	}
	number := t.Micro
	t.Micro++
	t.group.count++
	t.group.whole = m.alone()
	if weight == 0 {
		return 0, nil // all samples are ignored
	}
	factor := weight
	if weight < 0 {
		factor, t.group.sum = 1, true
	}
	if m.alone() {
		factor = 1
	}
	t.group.weight += factor
	if loss, err = s.Backward(ctx, d.feed, number, factor, m.part == 0); err != nil {
		err = runtimeError(err)
	} else if !finite(loss) {
		err = t.diverged("the loss is %v", loss)
	}
	if err != nil {
		t.abandon()
		return loss, err
	}
	t.remote.filled, t.remote.ahead = true, true
	return loss, nil
}

// remoteUpdate is update with a runtime.
func (t *Trainer) remoteUpdate(total int) (norm float64, err error) {
	s := t.remote.session
	defer func() {
		if err != nil {
			t.abandon()
		}
	}()
	if t.remote.filled {
		scale := 1.0
		if !t.group.whole && !t.group.sum {
			scale = 1 / t.group.weight
		}
		if t.c.OnGradient != nil || t.group.carried {
			if err := s.Gradients(scale, func(p *nn.Param, g *tensor.Dense) error { return t.onGradient(p, g, scale) }); err != nil {
				return 0, runtimeError(err)
			}
			scale = 1
		}
		var params []*nn.Param
		for _, p := range t.remote.of.params {
			if o := t.remote.of.origin[p]; t.params[o] != nil && s.Trains(p) {
				params = append(params, o)
			}
		}
		rate := t.rate(total)
		if err := t.usable(rate, params); err != nil {
			return 0, err
		}
		n := float64(t.progress.Step + 1)
		share := 1 - min(t.c.EMA, (1+n)/(10+n))
		if norm, err = s.Update(context.Background(), scale, rate, share); err != nil {
			return norm, runtimeError(err)
		}
		if !finite(norm) {
			return norm, t.culprit(s, norm)
		}
		for _, p := range params {
			t.params[p].n++
		}
	}
	t.remote.filled = false
	t.progress.Step++
	t.group = group{}
	return norm, nil
}

// onGradient adds the gradient from an earlier session, times scale, to g, and calls Config.OnGradient with the sum.
func (t *Trainer) onGradient(p *nn.Param, g *tensor.Dense, scale float64) error {
	p = t.remote.of.origin[p]
	if s := t.params[p]; s.has {
		add(g, s.grad, scale, false)
		s.has = false
	}
	if t.c.OnGradient == nil {
		return nil
	}
	if err := t.c.OnGradient(p, g); err != nil {
		return &op.Error{Stage: "train", Param: p.Name(), Err: fmt.Errorf("step %d: %w", t.progress.Step+1, err)}
	}
	return nil
}

// culprit returns an error that names the gradient that is not finite.
func (t *Trainer) culprit(s Session, norm float64) error {
	found := t.diverged("the gradient has norm %v", norm)
	err := s.Gradients(1, func(p *nn.Param, g *tensor.Dense) error {
		if !finite(squares(g, &t.blocks)) {
			return t.diverged("the gradient of %s is not finite", t.remote.of.origin[p].Name())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return found
}

// forward evaluates a batch on the runtime if there is one, otherwise on the engine. release frees the values' memory.
func (t *Trainer) forward(ctx context.Context, d *binding) (outputs []dtype.Value, loss float64, release func(), err error) {
	release = func() {}
	if t.c.Runtime != nil {
		s, err := t.attend(ctx, d)
		if err == nil {
			outputs, loss, err = s.Forward(ctx, d.feed)
		}
		return outputs, loss, release, runtimeError(err)
	}
	st, err := d.fork.Step(ctx, d.feed, nn.StepOptions{Want: append(d.outputs[:len(d.outputs):len(d.outputs)], d.loss)})
	if err != nil {
		return nil, 0, release, err
	}
	last := len(st.Values) - 1
	if loss, err = scalarOf(st.Values[last]); err != nil {
		st.Release()
		return nil, 0, release, err
	}
	return st.Values[:last], loss, st.Release, nil
}
