package train

import (
	"errors"
	"fmt"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
)

// looked calls Config.OnGradient with the gradients of a group, multiplied by scale, which makes them means.
func (t *Trainer) looked(scale float64) error {
	if t.c.OnGradient == nil {
		return nil
	}
	for _, p := range t.group.order {
		s := t.params[p]
		if !s.has {
			continue
		}
		if scale != 1 {
			add(s.grad, s.grad, scale, true)
		}
		if err := t.c.OnGradient(p, s.grad); err != nil {
			return &op.Error{Stage: "train", Param: p.Name(), Err: halted{fmt.Errorf("step %d: %w", t.progress.Step+1, err)}}
		}
	}
	return nil
}

// halted is an error after which a run can be resumed where it is: one of Config.OnStep, of a sample that cannot be read, or of a step that changed nothing.
type halted struct{ error }

func (h halted) Unwrap() error { return h.error }

// stepped calls Config.OnStep after an update.
func (t *Trainer) stepped(info StepInfo) error {
	if t.c.OnStep == nil || !info.Updated {
		return nil
	}
	err := t.c.OnStep(info)
	if err != nil {
		err = halted{err}
	}
	return t.ranks.agree(err)
}

// whole returns the total number of steps that schedules get in a user's own loop.
func (t *Trainer) whole() (int, error) {
	if t.c.Steps == 0 && t.c.Schedule != nil && needsTotal(t.c.Schedule) {
		return 0, &op.Error{Stage: "train", Err: errors.New("the schedule depends on the length of the run, which is unknown: set Config.Steps to the number of updates")}
	}
	return t.c.Steps, nil
}

// needsTotal reports whether a schedule depends on the length of the run.
func needsTotal(s optim.Schedule) bool {
	const total = 100
	for step := range total {
		if s.At(step, total) != s.At(step, 10*total) {
			return true
		}
	}
	return false
}
