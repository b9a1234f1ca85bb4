package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Epochs trains on fit for Config.Epochs epochs and validates on val, which may be nil, after each. In the loop body
// the graph may be read, saved and edited, and break stops the training. After an error, that of the context included,
// the sequence ends; with Config.Dir a canceled run leaves a checkpoint from which it can be resumed.
func (t *Trainer) Epochs(ctx context.Context, fit, val data.Dataset[data.Sample]) iter.Seq2[Epoch, error] {
	return func(yield func(Epoch, error) bool) {
		leave, err := t.user.enter()
		if err != nil {
			yield(Epoch{}, err)
			return
		}
		defer func() { leave() }()
		done := t.listen()
		defer done()
		over := false
		err = t.run(ctx, fit, val, func(ep Epoch) (bool, error) {
			leave() // in the loop body any goroutine may use the trainer
			over = !yield(ep, nil)
			var err error
			leave, err = t.user.enter()
			return !over, err
		})
		if e := t.Close(); err == nil {
			err = e
		}
		if err != nil && !over {
			yield(Epoch{}, err)
		}
	}
}

// Fit trains as Epochs does and returns the history, including epochs before a resume.
func (t *Trainer) Fit(ctx context.Context, fit, val data.Dataset[data.Sample]) (History, error) {
	for _, err := range t.Epochs(ctx, fit, val) {
		if err != nil {
			return t.history, err
		}
	}
	return t.history, nil
}

// run runs the epochs. An interrupted run is continued from its checkpoint; otherwise a new one starts.
func (t *Trainer) run(ctx context.Context, fit, val data.Dataset[data.Sample], yield func(Epoch) (bool, error)) error {
	done := false
	defer t.ranks.guard(&done)
	release, err := t.ranks.occupy(t.c.Dir)
	if err == nil {
		defer release()
		err = t.runAll(ctx, fit, val, yield)
	}
	done = true
	return err
}

// batches prepares a run through fit.
func (t *Trainer) batches(fit data.Dataset[data.Sample]) (loader data.BatchLoader, count int, err error) {
	if fit == nil || fit.Len() == 0 {
		return loader, 0, errors.New("train: there are no samples to train on")
	}
	if loader, err = t.loader(); err != nil {
		return loader, 0, err
	}
	if count = loader.Count(fit.Len()); count == 0 {
		return loader, 0, fmt.Errorf("train: %d samples do not fill a batch of %d, which the model fixes", fit.Len(), loader.Unit)
	}
	return loader, count, nil
}

func (t *Trainer) runAll(ctx context.Context, fit, val data.Dataset[data.Sample], yield func(Epoch) (bool, error)) error {
	loader, batches, err := t.batches(fit)
	if err := t.sameData(fit, val, err); err != nil {
		return err
	}
	if err := t.sameLength(fit.Len()); err != nil {
		return err
	}
	if t.ended {
		t.Start, t.Origin, t.Stopped, t.ended = t.Epoch, t.progress.Step, false, false
	}
	k := t.c.accumulate()
	total := t.c.epochs() * ((batches + k - 1) / k)
	for t.Epoch < t.Start+t.c.epochs() && !t.Stopped {
		ep, err := t.epoch(ctx, loader, fit, val, total)
		if err != nil {
			if t.interrupted(ctx, err) && t.c.Dir != "" {
				err = errors.Join(err, t.save(ctx))
			}
			return err
		}
		if err := t.finish(ctx, ep); err != nil {
			return err
		}
		more, err := yield(t.history.Last())
		if err == nil {
			more, err = t.all(more)
		}
		if err != nil {
			return err
		}
		if !more {
			t.ended = true
			t.restoreBest()
			return nil
		}
	}
	t.ended = true
	t.hold(true)
	t.restoreBest()
	return nil
}

// sameLength reports that the training set has another number of samples than before, which is an error in the middle of an epoch: the rest of it would
// be other samples.
func (t *Trainer) sameLength(n int) error {
	if was := t.Length; was != n && was != 0 {
		if t.Batch > 0 {
			return &op.Error{Stage: "train", Err: fmt.Errorf("an epoch of %d samples ended in its middle, at batch %d: it cannot go on with %d samples, whose order is another", was, t.Batch, n)}
		}
		t.say(Event{Kind: Note, Text: fmt.Sprintf("the training set has %d samples, %d before", n, was)})
	}
	t.Length = n
	return nil
}

// interrupted reports whether an error left something to resume: ctx, OnStep, a sample or a refused step has ended the run, on any rank, in the middle of
// an epoch; at its beginning the last checkpoint says it all.
func (t *Trainer) interrupted(ctx context.Context, err error) bool {
	if t.ranks == nil {
		return t.Batch > 0 && (ctx.Err() != nil || errors.As(err, new(halted)))
	}
	e, told := errors.AsType[*RankError](err)
	return t.Batch > 0 && told && e.kind != failed
}

// loader returns the loader of batches. A model with a fixed batch size gets full batches of that size only.
func (t *Trainer) loader() (data.BatchLoader, error) {
	l := data.BatchLoader{Batch: t.c.batch(), Shuffle: !t.c.NoShuffle, Sampler: t.c.Sampler, Seed: t.c.Seed, Workers: t.c.Workers}
	if t.ranks != nil {
		l.Rank, l.Ranks = t.ranks.rank, t.ranks.size
	}
	n, ok := fixedBatch(t.g)
	if !ok {
		if l.Batch < l.Ranks {
			return l, fmt.Errorf("train: a batch of %d samples for %d ranks: want one for each at least", l.Batch, l.Ranks)
		}
		return l, nil
	}
	l.DropLast, l.Unit = true, n
	if m := t.c.MicroBatch; m != 0 {
		err := t.fixedParts(&l, n)
		return l, err
	}
	if n *= max(1, l.Ranks); l.Ranks > 0 && t.c.Batch != 0 && t.c.Batch != n {
		return l, &op.Error{Stage: "train", Input: t.g.Inputs()[0].Name(), Err: fmt.Errorf("the model fixes the batch of each of %d ranks to %d, Batch is %d: want %d, or free it with Edit.Input or Loader.Inputs", l.Ranks, n/l.Ranks, t.c.Batch, n)}
	}
	if t.c.Batch != 0 && t.c.Batch != n {
		return l, &op.Error{Stage: "train", Input: t.g.Inputs()[0].Name(), Err: fmt.Errorf("the model fixes the batch to %d, Batch is %d: free it with Edit.Input or Loader.Inputs", n, t.c.Batch)}
	}
	l.Batch = n
	return l, nil
}

// fixedParts configures batches for a model with the fixed batch size n, which is then the size of the parts.
func (t *Trainer) fixedParts(l *data.BatchLoader, n int) error {
	in := t.g.Inputs()[0].Name()
	if m := t.c.MicroBatch; m != n {
		return &op.Error{Stage: "train", Input: in, Err: fmt.Errorf("the model fixes the batch to %d, MicroBatch is %d: want %d, or free it with Edit.Input or Loader.Inputs", n, m, n)}
	}
	n *= max(1, l.Ranks)
	switch {
	case t.c.Batch == 0:
		l.Batch = n
	case t.c.Batch%n != 0:
		return &op.Error{Stage: "train", Input: in, Err: fmt.Errorf("Batch is %d, MicroBatch %d on %d processes: want a multiple of %d", t.c.Batch, t.c.MicroBatch, max(1, l.Ranks), n)}
	}
	return nil
}

// fixedBatch returns the batch size of the first input; ok is false if it is symbolic.
func fixedBatch(g *nn.Graph) (int, bool) {
	in := g.Inputs()
	if len(in) == 0 || in[0].Type().Rank() < 1 {
		return 0, false
	}
	d := in[0].Type().Shape[0]
	return d.Size, d.Known() && d.Sym == ""
}

// tally accumulates the results of an epoch.
type tally struct {
	Loss    float64 // Σ of loss times weight over batches
	Weight  float64
	Samples int
	Norm    float64
	Rate    float64
}

func (s tally) mean() float64 {
	if s.Weight == 0 {
		return 0
	}
	return s.Loss / s.Weight
}

// epoch trains on the set once, from the point of interruption if there was one, and validates.
func (t *Trainer) epoch(ctx context.Context, loader data.BatchLoader, fit, val data.Dataset[data.Sample], total int) (Epoch, error) {
	begin := time.Now()
	t.hold(false)
	t.look()
	loader.Skip = t.Batch
	sum, batch, k := t.tally, t.Batch, t.c.accumulate()
	first := sum.Samples
	at := &place{loader: loader, n: fit.Len(), epoch: t.Epoch}
	defer t.readFrom(at)()
	for b, err := range loader.Batches(ctx, fit, t.Epoch) {
		if err != nil {
			return Epoch{}, t.withdraw(halted{err})
		}
		at.batch = batch
		info, err := t.step(ctx, b, total, k)
		if err != nil {
			if t.ranks == nil {
				t.abandon()
			}
			return Epoch{}, err
		}
		if t.ranks == nil {
			sum.add(t.last)
		} else if info.Updated {
			sum.add(t.joint)
		}
		batch++
		if info.Updated {
			sum.Norm, sum.Rate = info.Norm, info.Rate
			t.tally, t.Batch = sum, batch // checkpoints are taken at updates
			if err := t.stepped(info); err != nil {
				return Epoch{}, err
			}
		}
		e := Event{Kind: Stepped, Epoch: t.Epoch + 1, Epochs: t.Start + t.c.epochs(), Batch: batch, Count: loader.Count(fit.Len()), Info: info, LR: t.learningRate(info.Rate), Loss: sum.mean()}
		e.Speed, e.Left = pace(time.Since(begin), sum.Samples-first, batch-loader.Skip, e.Count-batch)
		t.say(e)
	}
	if t.group.count > 0 {
		sum.Rate = t.rate(total)
		norm, err := t.update(total)
		if err != nil {
			return Epoch{}, err
		}
		sum.Norm = norm
		sum.add(t.joint)
		t.tally, t.Batch = sum, batch
		if err := t.stepped(StepInfo{Step: t.progress.Step, Loss: sum.mean(), Norm: norm, Rate: sum.Rate, Updated: true}); err != nil {
			return Epoch{}, err
		}
	}
	if err := t.oneModel(); err != nil {
		return Epoch{}, err
	}
	ep := Epoch{Epoch: t.Epoch + 1, Steps: t.progress.Step, Samples: sum.Samples, Loss: sum.mean(), Norm: sum.Norm, Rate: sum.Rate, LR: t.learningRate(sum.Rate)}
	if val != nil && val.Len() > 0 {
		var err error
		if ep.Val, err = t.Evaluate(ctx, val); err != nil { // the steps of the epoch are not lost: a resumed run begins with the validation
			if all, told := errors.AsType[*RankError](err); told {
				all.kind = stopped
			}
			if t.ranks == nil {
				err = halted{err}
			}
			return Epoch{}, err
		}
	}
	ep.Seconds = time.Since(begin).Seconds()
	return ep, nil
}

// pace returns the samples per second, and the estimated time for further batches.
func pace(elapsed time.Duration, samples, batches, further int) (speed float64, left time.Duration) {
	return float64(samples) / max(elapsed.Seconds(), 1e-9), elapsed * time.Duration(further) / time.Duration(batches)
}

// take adds a batch, and reports whether its loss is a sum.
func (s *tally) take(l Loss, b data.Sample, info StepInfo) (sums bool, err error) {
	w, err := lossWeight(l, b)
	if err != nil {
		return false, err
	}
	if sums = w < 0; sums {
		w = 1 // of sums, the mean over batches is reported
	}
	if w > 0 { // otherwise all samples are ignored
		s.Loss += w * info.Loss
	}
	s.Weight += w
	s.Samples += info.Samples
	return sums, nil
}

// add adds the tally of a group over all ranks.
func (s *tally) add(x tally) {
	s.Loss += x.Loss
	s.Weight += x.Weight
	s.Samples += x.Samples
}

// finish evaluates an epoch, records it and starts the next one.
func (t *Trainer) finish(ctx context.Context, ep Epoch) error {
	if err := t.Sync(); err != nil {
		return err
	}
	best, stop, err := t.decide(&ep)
	if err != nil {
		return err
	}
	ep.Best = best
	t.setHistory(append(slices.Clip(t.history), ep))
	t.Epoch, t.Batch, t.tally, t.Stopped = t.Epoch+1, 0, tally{}, stop
	t.hold(true)
	if best && t.c.RestoreBest {
		if err := t.remember(); err != nil {
			return err
		}
	}
	t.say(Event{Kind: Finished, Epoch: ep.Epoch, Epochs: t.Start + t.c.epochs(), Done: &t.history[len(t.history)-1]})
	if stop {
		t.say(Event{Kind: Note, Text: fmt.Sprintf("no improvement in %d epochs: stopped", t.c.Patience)})
	}
	if t.c.Dir != "" {
		return t.save(ctx)
	}
	return nil
}

// remember copies the parameters and statistics.
func (t *Trainer) remember() (err error) {
	if t.best == nil {
		t.best = map[*nn.Param]*tensor.Dense{}
	}
	for _, m := range []map[*nn.Param]*state{t.params, t.stats} {
		for p := range m {
			if d := t.best[p]; d != nil {
				assign(d, direct.Data(p))
			} else if t.best[p], err = copyOf(context.Background(), p); err != nil {
				delete(t.best, p)
				return err
			}
		}
	}
	return nil
}

// restoreBest restores them.
func (t *Trainer) restoreBest() {
	if t.g.Version() == t.seen {
		for p, d := range t.best {
			assign(direct.Data(p), d)
			p.Changed()
		}
	}
	t.best = nil
}
