package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
)

// StepInfo is the result of one batch.
type StepInfo struct {
	Step    int     // number of updates so far, including this one
	Loss    float64 // loss of the batch, before the update
	Norm    float64 // global norm of the gradients before clipping; 0 while accumulating
	Rate    float64 // factor on the rule's rate
	Samples int     // samples in the batch
	Updated bool    // false: gradients were accumulated for a later update
}

// String returns one line.
func (s StepInfo) String() string {
	if !s.Updated {
		return fmt.Sprintf("step %d: loss %.4g of %d samples, no update yet", s.Step, s.Loss, s.Samples)
	}
	return fmt.Sprintf("step %d: loss %.4g of %d samples, gradient norm %.3g, rate %.3g", s.Step, s.Loss, s.Samples, s.Norm, s.Rate)
}

// MarshalJSON writes the fields in lower case; NaN and infinities are null.
func (s StepInfo) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"step": s.Step, "loss": number(s.Loss), "norm": number(s.Norm), "rate": s.Rate, "samples": s.Samples, "updated": s.Updated})
}

// Step trains on one batch, in a training loop of your own: tensors with a batch axis, in the order of the model's
// inputs and of the loss's targets. With Config.Accumulate every k-th call makes an update; Flush makes one of the
// rest. The schedule counts updates, up to Config.Steps; a schedule over the whole run needs Config.Steps. If the computation of a batch fails, the batches
// that were accumulated before it are discarded, too.
func (t *Trainer) Step(ctx context.Context, batch data.Sample) (StepInfo, error) {
	leave, err := t.user.enter()
	if err != nil {
		return StepInfo{}, err
	}
	defer leave()
	total, err := t.whole()
	if err == nil && ctx == nil {
		err = errNoContext
	}
	if err != nil {
		return StepInfo{}, err
	}
	t.hold(false)
	done := false
	defer t.ranks.guard(&done)
	t.look()
	info, err := t.step(ctx, batch, total, t.c.accumulate())
	if err == nil {
		err = t.stepped(info)
	}
	done = true
	return info, err
}

var errNoContext = &op.Error{Stage: "train", Err: errors.New("the context is nil: context.Background() never ends")}

// Flush makes an update of the gradients that Step has accumulated, if there are any.
func (t *Trainer) Flush() error {
	leave, err := t.user.enter()
	if err != nil {
		return err
	}
	defer leave()
	t.hold(false)
	total, err := t.whole()
	if err != nil || t.group.count == 0 {
		return err
	}
	info := StepInfo{Rate: t.rate(total)}
	if info.Norm, err = t.update(total); err != nil {
		return err
	}
	info.Step, info.Updated = t.progress.Step, true
	return t.stepped(info)
}

// Average copies the running averages (Config.EMA) to the graph's parameters, for exporting in a training loop of your
// own; the next step continues with the weights themselves. Epochs does that automatically.
func (t *Trainer) Average() {
	leave, err := t.user.enter()
	if err == nil {
		defer leave()
		err = t.Sync()
	}
	if err != nil {
		t.say(Event{Kind: Note, Text: err.Error()}) // the graph is unchanged
		return
	}
	t.hold(true)
}

// step runs one batch, and the update if it is the last of its group.
func (t *Trainer) step(ctx context.Context, batch data.Sample, total, accumulate int) (StepInfo, error) {
	d, err := t.bind(ctx, batch)
	var parts []data.Sample
	if err == nil {
		parts, err = t.split(batch)
	}
	if err != nil {
		err = halted{err}
	}
	if err != nil && t.ranks == nil {
		return StepInfo{}, err
	}
	info := StepInfo{Step: t.progress.Step, Rate: t.rate(total), Samples: samplesIn(batch)}
	switch {
	case err != nil:
		err = t.endMicro(err)
	case t.ranks == nil:
		info.Loss, err = t.compute(ctx, d, parts, info.Rate, accumulate)
	default:
		info.Loss, err = t.computeJoined(ctx, parts, accumulate)
	}
	if err != nil || t.group.batches < accumulate {
		return info, err
	}
	norm, err := t.update(total)
	info.Step, info.Norm, info.Updated = t.progress.Step, norm, err == nil
	if t.ranks != nil && err == nil {
		info.Loss, info.Samples = t.joint.mean(), t.joint.Samples
	}
	return info, err
}

func samplesIn(b data.Sample) int {
	if len(b.X) == 0 {
		return 0
	}
	return batchOf(b.X[0])
}

// group is the micro-batches since the last update.
type group struct {
	count   int
	batches int     // number of batches computed
	whole   bool    // the group is a single micro-batch, whose gradients are not weighted
	weight  float64 // Σ of the micro-batches' weights
	sum     bool    // gradients are summed, not averaged
	first   int     // number of the first micro-batch
	arrived bool    // the parameters are updated already
	carried bool    // gradients of an earlier session are in the parameters' states
	order   []*nn.Param
	own     contribution // of this rank; at the end of the group, of all ranks
}

// micro runs one batch forward and backward and adds its gradients to those of its group, or
// updates the parameters immediately. If it fails, the whole group is discarded.
func (t *Trainer) micro(ctx context.Context, d *binding, batch data.Sample, rate float64, m microBatch) (loss float64, err error) {
	if t.c.Runtime != nil {
		return t.remoteMicro(ctx, d, batch, m)
	}
	if t.group.count == 0 {
		if err := t.begin(d); err != nil {
			return 0, err
		}
	}
	defer func() {
		if err != nil {
			t.abandon()
		}
	}()
	weight, err := lossWeight(d.lossBy, batch)
	if err != nil {
		return 0, &op.Error{Stage: "train", Err: err}
	}
	o := nn.StepOptions{Loss: d.loss, Params: d.params, Train: true, Seed: t.c.Seed, Count: uint64(t.Micro)}
	a := streamedUpdate{t: t, d: d, counts: weight != 0, rate: rate}
	if t.streamUpdate(d, m) {
		o.Begin, o.Check, o.Take, t.group.arrived = a.begin, a.check, a.take, true
	}
	s, err := d.fork.Step(ctx, d.feed, o)
	if err != nil {
		return a.loss, a.failed(err)
	}
	alone := !t.group.arrived && m.alone() // if so, the gradients are used without a copy
	defer func() {
		if alone {
			t.borrowed = s
		} else {
			s.Release()
		}
	}()
	t.Micro++
	t.group.count++
	t.group.whole = m.alone()
	if weight == 0 {
		return 0, nil // all samples are ignored
	}
	if !finite(s.Loss) {
		return s.Loss, t.diverged("the loss is %v", s.Loss)
	}
	if t.group.arrived {
		return s.Loss, nil
	}
	for p, x := range s.States {
		if o := d.origin[p]; t.stats[o] != nil && !finite(squares(x, &t.blocks)) {
			return s.Loss, t.diverged("the statistic %s is not finite", o.Name())
		}
	}
	factor := weight
	if weight < 0 {
		factor, t.group.sum = 1, true
	}
	t.group.weight += factor
	var shared map[*nn.Param]bool
	if alone { // updates overwrite gradients
		shared = overlapping(s.Grads)
	}
	for _, p := range d.params {
		if g := s.Grads[p]; g != nil {
			st := t.params[d.origin[p]]
			switch {
			case alone && !shared[p]:
				st.grad = g
			default:
				if err := st.gather(d.origin[p]); err != nil {
					return s.Loss, err
				}
				if alone {
					factor = 1
				}
				add(st.grad, g, factor, !st.has)
			}
			st.has = true
		}
	}
	for p, x := range s.States {
		if o := d.origin[p]; t.stats[o] != nil && m.part == 0 {
			assign(direct.Data(o), x)
			o.Changed()
		}
	}
	return s.Loss, nil
}

// handBack returns the memory of gradients that were used in place to the engine.
func (t *Trainer) handBack() {
	if t.borrowed == nil {
		return
	}
	for _, p := range t.group.order {
		s := t.params[p]
		s.grad, s.has = nil, false
	}
	t.borrowed.Release()
	t.borrowed = nil
}

// diverged returns the error of a step with results that are not finite.
func (t *Trainer) diverged(format string, args ...any) error {
	return &op.Error{Stage: "train", Err: halted{fmt.Errorf("step %d: %s; nothing was changed by it: try a lower rate or ClipNorm, and check the data", t.progress.Step+1, fmt.Sprintf(format, args...))}}
}

// begin starts a group and copies the values that it may change before its update.
func (t *Trainer) begin(d *binding) error {
	t.group = group{first: t.Micro, order: t.group.order[:0]}
	if d != nil {
		for _, p := range d.params {
			t.group.order = append(t.group.order, d.origin[p])
		}
	}
	for p, s := range t.stats {
		if s.safe != nil {
			assign(s.safe, direct.Data(p))
			continue
		}
		var err error
		if s.safe, err = copyOf(context.Background(), p); err != nil {
			for _, s := range t.stats {
				s.safe = nil
			}
			return err
		}
	}
	return nil
}

// abandon discards an open group and restores the statistics from before it.
func (t *Trainer) abandon() {
	if t.group.count == 0 && !t.group.arrived {
		return
	}
	t.handBack()
	if s := t.remote.session; s != nil {
		s.Drop()
		t.remote.filled = false
		// The device restores statistics, but Sync may have read them in the middle of the group.
		t.remote.ahead = t.remote.ahead || t.remote.level && t.group.count > 1
	}
	for p, s := range t.stats {
		if s.safe != nil && s.fits(p) {
			assign(direct.Data(p), s.safe)
			p.Changed()
		}
	}
	for _, s := range t.params {
		s.has = false
	}
	t.Micro = t.group.first
	t.group = group{}
}

// lossWeight returns the weight of a batch in the mean of a group, see Weighted.
func lossWeight(l Loss, b data.Sample) (float64, error) {
	if w, ok := l.(Weighted); ok {
		return w.Weight(b.Y)
	}
	return float64(samplesIn(b)), nil
}
