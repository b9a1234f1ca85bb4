package train

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Accuracy is the fraction of samples whose class is among the K highest scores: "accuracy", or "top5" for K 5. Scores
// are [N, C, …], as logits or probabilities. Among equal scores the lower class ranks first; a NaN score is never
// right. Targets of −100 are ignored.
type Accuracy struct {
	K    int // 0: 1
	Axis int // axis of the classes, -1 for the last; 0: 1

	IgnoreIndex *int // class that is ignored, besides −100; nil: none

	right, all float64
}

// Add implements Metric.
func (a *Accuracy) Add(out, want []*tensor.Dense) error {
	s, err := classes("accuracy", a.Axis, a.IgnoreIndex, out, want)
	if err != nil {
		return err
	}
	for i, y := range s.label {
		if y == ignored {
			continue
		}
		a.all++
		mine := s.at(i, y)
		higher := 0
		for c := range s.c {
			if v := s.at(i, c); v > mine || v == mine && c < y {
				higher++
			}
		}
		if higher < max(a.K, 1) && !math.IsNaN(mine) {
			a.right++
		}
	}
	return nil
}

// Result implements Metric.
func (a *Accuracy) Result() map[string]float64 {
	name := "accuracy"
	if a.K > 1 {
		name = fmt.Sprintf("top%d", a.K)
	}
	r := map[string]float64{name: ratio(a.right, a.all)}
	a.right, a.all = 0, 0
	return r
}

// BinaryAccuracy is the fraction of elements on the right side of a threshold: "accuracy". Targets are 0 or 1, numbers between them are rounded, and
// −100 is ignored.
type BinaryAccuracy struct {
	Threshold float64 // on probabilities; 0: 0.5
	Logits    bool    // outputs are logits; the threshold applies to their sigmoid

	right, all float64
}

// Add implements Metric.
func (b *BinaryAccuracy) Add(out, want []*tensor.Dense) error {
	x, y, err := elements("accuracy", out, want)
	if err == nil {
		err = yesNo("accuracy", y)
	}
	if err != nil {
		return err
	}
	limit := b.Threshold
	if limit == 0 {
		limit = 0.5
	}
	if b.Logits {
		limit = math.Log(limit / (1 - limit))
	}
	for i, v := range x {
		if y[i] == ignored {
			continue
		}
		b.all++
		if v > limit == (y[i] > 0.5) && !math.IsNaN(v) {
			b.right++
		}
	}
	return nil
}

// Result implements Metric.
func (b *BinaryAccuracy) Result() map[string]float64 {
	r := map[string]float64{"accuracy": ratio(b.right, b.all)}
	b.right, b.all = 0, 0
	return r
}

// yesNo returns an error for a target that is neither from 0 to 1 nor ignored.
func yesNo(metric string, y []float64) error {
	for i, v := range y {
		if v != ignored && !(v >= 0 && v <= 1) {
			return fmt.Errorf("train: %s: element %d of the targets is %v: want 0 or 1", metric, i, v)
		}
	}
	return nil
}

// elements returns the elements of the first output and target, which must have equally many.
func elements(metric string, out, want []*tensor.Dense) (x, y []float64, err error) {
	a, b, err := pair(metric, out, want)
	if err != nil {
		return nil, nil, err
	}
	if x, err = dtype.Float64s(a); err != nil {
		return nil, nil, err
	}
	if y, err = dtype.Float64s(b); err != nil {
		return nil, nil, err
	}
	if len(x) != len(y) {
		return nil, nil, fmt.Errorf("train: %s: the output is %v, the target %v", metric, a.Shape(), b.Shape())
	}
	return x, y, nil
}
