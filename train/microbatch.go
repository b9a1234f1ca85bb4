package train

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// microBatch is the position of a micro-batch in its group.
type microBatch struct {
	part, parts int // index and number of the parts of a batch
	accumulate  int // number of batches in a group
}

// alone reports whether the micro-batch is the whole group, so that its gradients need no weights.
func (m microBatch) alone() bool { return m.parts == 1 && m.accumulate == 1 }

// parts returns the number of parts, of at most MicroBatch samples each, in which each rank computes its shard of a batch.
func (c Config) parts(size, ranks int) int {
	if c.MicroBatch == 0 {
		return 1
	}
	share := (size + ranks - 1) / ranks
	return max(1, (share+c.MicroBatch-1)/c.MicroBatch)
}

// split returns the parts of a batch that are computed one after another. They have the samples of the shards of as many ranks, so
// that the last parts of a batch that is not full may be empty. All ranks have the same number of parts.
func (t *Trainer) split(b data.Sample) ([]data.Sample, error) {
	rank, ranks := 0, 1
	if t.ranks != nil {
		rank, ranks = t.ranks.rank, t.ranks.size
	}
	size := t.c.batch()
	if fixed, ok := fixedBatch(t.g); ok && t.c.Batch == 0 {
		size = fixed * ranks
	}
	n := samplesIn(b)
	if t.ranks == nil {
		size = max(size, n)
	}
	m := t.c.parts(size, ranks)
	if m == 1 {
		return []data.Sample{b}, nil
	}
	bound := func(k int) int { return (rank*m + k) * size / (ranks * m) }
	if most := bound(m) - bound(0); n > most {
		return nil, &op.Error{Stage: "train", Err: fmt.Errorf("a batch of %d samples: with MicroBatch a rank takes at most its part of Batch, %d here", n, most)}
	}
	parts := make([]data.Sample, m)
	for k := range parts {
		from, to := min(bound(k)-bound(0), n), min(bound(k+1)-bound(0), n)
		if from == to {
			continue
		}
		var err error
		if parts[k].X, err = rows(b.X, "input", from, to, n); err == nil {
			parts[k].Y, err = rows(b.Y, "target", from, to, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// rows returns views of the rows [from, to) of tensors with n rows each.
func rows(list []*tensor.Dense, what string, from, to, n int) ([]*tensor.Dense, error) {
	var out []*tensor.Dense
	for i, d := range list {
		if len(d.Shape()) == 0 || d.Shape()[0] != n {
			return nil, &op.Error{Stage: "train", Err: fmt.Errorf("%s %d has shape %v, the batch %d samples: MicroBatch divides the first axis of all tensors", what, i, d.Shape(), n)}
		}
		v, err := dtype.Rows(d, from, to)
		if err != nil {
			return nil, &op.Error{Stage: "train", Err: fmt.Errorf("%s %d: %w", what, i, err)}
		}
		out = append(out, v)
	}
	return out, nil
}

// compute runs a batch forward and backward, part by part, and returns its loss. Its gradients are added to those of the
// group. If it fails, the group is discarded.
func (t *Trainer) compute(ctx context.Context, d *binding, parts []data.Sample, rate float64, accumulate int) (float64, error) {
	var sum tally
	var loss float64
	for k, part := range parts {
		var err error
		if len(parts) > 1 {
			if samplesIn(part) == 0 {
				continue
			}
			if d, err = t.bind(ctx, part); err != nil {
				t.abandon()
				return 0, err
			}
		}
		if loss, err = t.micro(ctx, d, part, rate, microBatch{k, len(parts), accumulate}); err != nil {
			return loss, err
		}
		sums, err := sum.take(d.lossBy, part, StepInfo{Loss: loss, Samples: samplesIn(part)})
		if err != nil {
			t.abandon()
			return loss, err
		}
		if sums {
			sum.Weight = 1 // the loss of a batch is the sum over its parts
		}
	}
	t.group.batches++
	t.last = sum
	if len(parts) == 1 {
		return loss, nil
	}
	return sum.mean(), nil
}

// computeJoined is compute on one of several ranks. If one of them fails, all return its error.
func (t *Trainer) computeJoined(ctx context.Context, parts []data.Sample, accumulate int) (loss float64, err error) {
	for k, part := range parts {
		d, err := t.bind(ctx, part)
		if err == nil {
			loss, err = t.microJoined(ctx, d, part, microBatch{k, len(parts), accumulate})
		}
		if err != nil { // the parameters are as they were
			err = halted{err}
		}
		if err = t.endMicro(err); err != nil {
			return loss, err
		}
	}
	t.group.batches++
	return loss, nil
}
