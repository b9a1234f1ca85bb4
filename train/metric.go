package train

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Metric is a figure of merit that is accumulated batch by batch, from the model's outputs and the targets.
type Metric interface {
	// Add takes a batch. The tensors are valid during the call only.
	Add(out, want []*tensor.Dense) error
	// Result returns the results by name and resets the metric.
	Result() map[string]float64
}

// defaultMetrics returns the metrics that fit a loss.
func defaultMetrics(l Loss, out []*nn.Value) []Metric {
	switch l := l.(type) {
	case Joint:
		return l.metrics(out)
	case NLL:
		return defaultMetrics(CrossEntropy{IgnoreIndex: l.IgnoreIndex}, out)
	case CrossEntropy:
		m := []Metric{&Accuracy{Axis: l.Axis, IgnoreIndex: l.IgnoreIndex}}
		if len(out) > 0 && out[0].Type().Rank() == 2 && out[0].Type().Shape[1].Size > 10 {
			m = append(m, &Accuracy{K: 5, IgnoreIndex: l.IgnoreIndex})
		}
		return m
	case BCEWithLogits:
		logits := len(out) > 0 && !EndsInEach(out[0])
		return []Metric{&BinaryAccuracy{Logits: logits}}
	case MSE, L1, Huber:
		return []Metric{&Deviation{}}
	}
	return []Metric{}
}

// pair returns the first output and the first target.
func pair(metric string, out, want []*tensor.Dense) (x, y *tensor.Dense, err error) {
	if len(out) == 0 || len(want) == 0 {
		return nil, nil, fmt.Errorf("train: %s: %d outputs and %d targets: want one of each", metric, len(out), len(want))
	}
	return out[0], want[0], nil
}

// scores are class scores, viewed as [N, classes, inner], and the true class of each position.
type scores struct {
	x        []float64
	n, c, in int
	label    []int
}

// classes reads scores [N, C, d…], with the classes on the given axis (0: 1), and targets: classes [N, d…], or probabilities in the
// shape of the scores, of which the class with the largest is taken. Axes of size 1 after the classes are ignored. Labels of −100 and of the class to
// ignore are −100; others without a score are an error.
func classes(metric string, axis int, ignore *int, out, want []*tensor.Dense) (s scores, err error) {
	x, y, err := pair(metric, out, want)
	if err != nil {
		return s, err
	}
	shape := x.Shape()
	if axis == 0 {
		axis = 1
	}
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 1 || axis >= len(shape) {
		return s, fmt.Errorf("train: %s: the output is %v: want [N, classes, …]", metric, shape)
	}
	s.n, s.c, s.in = 1, shape[axis], 1
	for _, d := range shape[:axis] {
		s.n *= d
	}
	for _, d := range shape[axis+1:] {
		s.in *= d
	}
	if s.x, err = dtype.Float64s(x); err != nil {
		return s, err
	}
	if dtype.Of(y.Dtype()).IsFloat() {
		p, err := dtype.Float64s(y)
		if err != nil {
			return s, err
		}
		if len(p) != len(s.x) {
			return s, fmt.Errorf("train: %s: the output is %v, the target %v", metric, shape, y.Shape())
		}
		t := scores{x: p, n: s.n, c: s.c, in: s.in}
		for i := range s.n * s.in {
			s.label = append(s.label, t.top(i))
		}
		return s, nil
	}
	if n := y.Shape().TotalSize(); n != s.n*s.in {
		return s, fmt.Errorf("train: %s: the output is %v, the target %v", metric, shape, y.Shape())
	}
	err = eachLabel(y, func(i, c int) error {
		switch {
		case ignore != nil && c == *ignore:
			c = ignored
		case c != ignored && (c < 0 || c >= s.c):
			return errTarget(i, s.n*s.in, s.n, "class %d, the output has %d classes", c, s.c)
		}
		s.label = append(s.label, c)
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("train: %s: %w", metric, err)
	}
	return s, nil
}

// at returns the score of class c at position i.
func (s scores) at(i, c int) float64 { return s.x[(i/s.in*s.c+c)*s.in+i%s.in] }

// top returns the class with the highest score, the first of equal ones.
func (s scores) top(i int) int {
	best := 0
	for c := 1; c < s.c; c++ {
		if s.at(i, c) > s.at(i, best) {
			best = c
		}
	}
	return best
}

// ratio returns a/b, 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
