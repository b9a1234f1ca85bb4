package train

import (
	"fmt"
	"math"
	"strings"

	"github.com/graft-ml/graft/optim"
)

// tracker compares epochs: which is best, and whether to stop.
type tracker struct {
	monitor  string
	higher   bool
	minDelta float64
	patience int
	rule     *optim.Plateau

	best    float64
	hasBest bool
	bad     int // number of epochs since the best one
	plateau optim.PlateauState
}

func newTracker(c Config) tracker {
	t := tracker{monitor: c.Monitor, minDelta: c.MinDelta, patience: c.Patience, rule: c.Plateau}
	switch c.Mode {
	case "":
		t.higher = higher(c.Monitor)
	default:
		t.higher = c.Mode == "max"
	}
	return t
}

// higher reports, by its name, whether larger values of a metric are better.
func higher(name string) bool {
	for _, s := range []string{"accuracy", "top", "precision", "recall", "f1", "r2", "auroc", "iou"} {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// figure returns the metric by which epochs are compared.
func (t *tracker) figure(e Epoch) (float64, error) {
	if t.monitor == "" {
		if v, ok := e.Val["loss"]; ok {
			return v, nil
		}
		return e.Loss, nil
	}
	if v, ok := e.Val[t.monitor]; ok {
		return v, nil
	}
	if t.monitor == "loss" {
		return e.Loss, nil
	}
	return 0, fmt.Errorf("train: Monitor is %q, the validation has %v", t.monitor, History{e}.figures())
}

// update records one more epoch. stop reports whether patience is exhausted.
func (t *tracker) update(e Epoch) (best, stop bool, err error) {
	v, err := t.figure(e)
	if err != nil {
		return false, false, err
	}
	gain := t.best - v
	if t.higher {
		gain = -gain
	}
	best = finite(v) && (!t.hasBest || gain > t.minDelta)
	if best {
		t.best, t.hasBest, t.bad = v, true, 0
	} else {
		t.bad++
	}
	if t.rule != nil {
		p := *t.rule
		p.Higher = t.higher
		if !finite(v) {
			v = math.NaN() // neither an improvement nor a new best value
		}
		t.plateau = p.Next(t.plateau, v)
	}
	return best, t.patience > 0 && t.bad >= t.patience, nil
}
