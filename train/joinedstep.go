package train

import (
	"cmp"
	"context"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// shared returns the gradient reduction for the current parameters.
func (t *Trainer) shared() *reduction {
	if t.reduced != nil {
		return t.reduced
	}
	params := t.trainable()
	var order []int
	number := map[string]int{}
	for i, p := range params {
		number[p.Name()] = i
	}
	for _, name := range t.order {
		order = append(order, number[name]) // the order of removed names does not matter
	}
	if !isOrder(order, len(params)) {
		order = nil
	}
	t.reduced = newReduction(t.ranks, t.c, params, t.params, order)
	return t.reduced
}

// microJoined runs this rank's shard of a batch and adds its gradients, times its weight, to those of its group. Communication of the
// gradients of the last part of a group overlaps with the backward pass. A rank without samples only counts the batch.
func (t *Trainer) microJoined(ctx context.Context, d *binding, batch data.Sample, m microBatch) (loss float64, err error) {
	if t.group.count == 0 {
		if err := t.beginJoined(); err != nil {
			return 0, err
		}
	}
	if t.group.batches == m.accumulate-1 && m.part == m.parts-1 {
		t.shared().last()
	}
	draw := t.Micro + (t.group.batches*t.ranks.size+t.ranks.rank)*m.parts + m.part
	t.group.count++
	if samplesIn(batch) == 0 {
		return 0, nil
	}
	weight, err := lossWeight(d.lossBy, batch)
	if err != nil {
		return 0, &op.Error{Stage: "train", Err: err}
	}
	own := &t.group.own
	own.Batches++
	if weight == 0 {
		return 0, nil // all samples are ignored
	}
	if weight < 0 {
		own.Sums++
		weight = 1
	}
	own.Weight += weight
	if t.sync != nil {
		t.sync.weight = weight
	}
	next := map[*state]*tensor.Dense{}
	s, err := d.fork.Step(ctx, d.feed, nn.StepOptions{
		Loss: d.loss, Params: d.params, Train: true, Seed: t.c.Seed, Count: uint64(draw),
		Begin: func(x float64) error {
			if loss = x; !finite(x) {
				return t.diverged("the loss is %v", x)
			}
			return nil
		},
		Take: func(p *nn.Param, x *tensor.Dense) error {
			o := d.origin[p]
			if t.params[o] != nil {
				t.shared().add(o, x, weight)
			}
			if s := t.stats[o]; s != nil && m.part == 0 {
				if !finite(squares(x, &t.blocks)) {
					return t.diverged("the statistic %s is not finite", o.Name())
				}
				c, err := snapshot.Clone(context.Background(), x)
				if err != nil {
					return &op.Error{Stage: "train", Param: o.Name(), Err: err}
				}
				next[s] = c
			}
			return nil
		},
	})
	if err != nil {
		return loss, err
	}
	s.Release()
	for p, s := range t.stats {
		if x := next[s]; x != nil {
			assign(direct.Data(p), x)
			p.Changed()
		}
	}
	_, err = own.Tally.take(d.lossBy, batch, StepInfo{Loss: loss, Samples: samplesIn(batch)})
	return loss, err
}

// beginJoined opens a group that all ranks take part in.
func (t *Trainer) beginJoined() error {
	err := t.begin(nil)
	x := t.shared()
	t.group.order = append(t.group.order, x.params...)
	return cmp.Or(err, x.lack)
}

// join ends a group on all ranks; err is the error of this rank, if any. If a rank has one, all return it and discard the group.
func (t *Trainer) join(err error) error {
	if t.group.count == 0 {
		err = cmp.Or(err, t.beginJoined())
		t.group.count = 1
	}
	x := t.shared()
	if x.lack != nil {
		t.reduced = nil // for the next step, when there may be more memory
	}
	t.group.own.Chosen = t.choice()
	err = x.finish(&t.group.own, err)
	if err == nil && !t.group.own.Chosen.same() {
		err = t.ranks.everywhere(errChoices)
	}
	if err != nil {
		t.abandon()
		return err
	}
	t.group.weight, t.group.sum = t.group.own.Weight, t.group.own.Sums > 0
	if t.group.sum {
		t.group.own.Tally.Weight = float64(t.group.batches) // the loss of a batch is the sum over its parts
	}
	return nil
}

// withdraw ends a step that failed before its gradients were reduced; it returns the error that all ranks return.
func (t *Trainer) withdraw(err error) error {
	if t.ranks != nil {
		return t.endMicro(err)
	}
	t.abandon()
	return err
}
