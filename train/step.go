package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
)

// StepInfo is what one batch did.
type StepInfo struct {
	Step    int     `json:"step"`    // updates made so far, this one included
	Loss    float64 `json:"loss"`    // of the batch, before the update
	Norm    float64 `json:"norm"`    // global norm of the gradients before clipping; 0 while they accumulate
	Rate    float64 `json:"rate"`    // factor on the rule's rate
	Samples int     `json:"samples"` // in the batch
	Updated bool    `json:"updated"` // false: gradients were kept for a later update
}

// Step trains on one batch, for a loop of your own: tensors with a batch axis, in the order of
// the model's inputs and of the loss's targets. With Config.Accumulate every k-th call makes an
// update; Flush makes one of what is left. The schedule counts updates; its total is unknown.
func (t *Trainer) Step(ctx context.Context, batch data.Sample) (StepInfo, error) {
	t.hold(false)
	return t.step(ctx, batch, 0, t.c.accumulate())
}

// Flush makes an update of gradients that Step accumulated, if there are any.
func (t *Trainer) Flush() error {
	t.hold(false)
	_, err := t.update(0)
	return err
}

// Average puts the running averages (Config.EMA) in the graph's parameters, for exporting in a
// loop of your own; the next step goes on with the weights themselves. Epochs does so by itself.
func (t *Trainer) Average() { t.hold(true) }

// step runs one micro-batch, and the update when it is the last of its group.
func (t *Trainer) step(ctx context.Context, batch data.Sample, total, accumulate int) (StepInfo, error) {
	if err := t.follow2(); err != nil {
		return StepInfo{}, err
	}
	d, err := t.bind(batch)
	if err != nil {
		return StepInfo{}, err
	}
	info := StepInfo{Step: t.Step, Rate: t.rate(total), Samples: samplesIn(batch)}
	if info.Loss, err = t.micro(ctx, d, batch, accumulate); err != nil {
		return info, err
	}
	if t.group.count < accumulate {
		return info, nil
	}
	norm, err := t.update(total)
	info.Step, info.Norm, info.Updated = t.progress.Step, norm, err == nil
	return info, err
}

func samplesIn(b data.Sample) int {
	if len(b.X) == 0 {
		return 0
	}
	return batchOf(b.X[0])
}
