package train

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// SampleLosses records the loss of each sample, in the order of the evaluation, to find those that a model is most
// wrong about. For classes, with scores or probabilities [N, C] or one score of a binary classifier, it is −log of the
// probability of the true class (the mean over positions, if there are several); for numbers the mean squared error;
// with Each the binary cross-entropy. Result is empty.
type SampleLosses struct {
	Logits bool // the single score of a binary classifier is a logit, not a probability
	Each   bool // targets are multi-label: each element, 0 to 1, belongs to the same element of the output

	Loss []float64 // loss of each sample, in order
	Said []int     // predicted class; -1 for several positions and for numbers
	Is   []int     // true class; -1 for numbers
	Sure []float64 // probability of the predicted class; for numbers, the first prediction
	Want []float64 // for numbers: the first target
	Has  [][]int   // with Each and [N, C]: true labels of each sample
	Gets [][]int   // with Each: predicted labels of each sample
}

// Add implements Metric.
func (m *SampleLosses) Add(out, want []*tensor.Dense) error {
	x, y, err := pair("losses", out, want)
	if err != nil {
		return err
	}
	if m.Each {
		return m.each(out, want)
	}
	if dtype.Of(y.Dtype()).IsInteger() && x.Shape().TotalSize() >= 2*y.Shape().TotalSize() {
		return m.classes(out, want)
	}
	if dtype.Of(y.Dtype()).IsInteger() && y.Shape().TotalSize() == batchOf(x) {
		return m.yes(out, want)
	}
	return m.numbers(out, want)
}

// yes adds samples with a single score, for class 1.
func (m *SampleLosses) yes(out, want []*tensor.Dense) error {
	x, y, err := elements("losses", out, want)
	if err != nil {
		return err
	}
	for i, p := range x {
		if m.Logits {
			p = 1 / (1 + math.Exp(-p))
		}
		said, is, right := 0, int(y[i]), p
		if p > 0.5 {
			said = 1
		}
		if is != 1 {
			right = 1 - p
		}
		m.Loss = append(m.Loss, -math.Log(max(right, math.SmallestNonzeroFloat64)))
		m.Said, m.Is = append(m.Said, said), append(m.Is, is)
		m.Sure, m.Want = append(m.Sure, max(p, 1-p)), append(m.Want, 0)
	}
	return nil
}

func (m *SampleLosses) classes(out, want []*tensor.Dense) error {
	s, err := classes("losses", 1, nil, out, want)
	if err != nil {
		return err
	}
	for n := range s.n {
		sum, counted := 0.0, 0.0
		said, is, sure := -1, -1, 0.0
		for i := n * s.in; i < (n+1)*s.in; i++ {
			y := s.label[i]
			if y == ignored {
				continue
			}
			row := make([]float64, s.c)
			for k := range row {
				row[k] = s.at(i, k)
			}
			p, c := softmax(row), s.top(i)
			sum -= math.Log(max(p[y], math.SmallestNonzeroFloat64))
			if counted++; s.in == 1 {
				said, is, sure = c, y, p[c]
			}
		}
		m.Loss = append(m.Loss, ratio(sum, counted))
		m.Said, m.Is = append(m.Said, said), append(m.Is, is)
		m.Sure, m.Want = append(m.Sure, sure), append(m.Want, 0)
	}
	return nil
}

// each adds samples with a binary target for each element.
func (m *SampleLosses) each(out, want []*tensor.Dense) error {
	x, y, err := elements("losses", out, want)
	if err != nil {
		return err
	}
	n := batchOf(out[0])
	if n == 0 {
		return nil
	}
	k := len(x) / n
	labels := out[0].Dims() == 2
	for i := range n {
		sum := 0.0
		var has, gets []int
		for j := range k {
			p, t := x[i*k+j], y[i*k+j]
			if m.Logits {
				p = 1 / (1 + math.Exp(-p))
			}
			sum -= t*math.Log(max(p, math.SmallestNonzeroFloat64)) + (1-t)*math.Log(max(1-p, math.SmallestNonzeroFloat64))
			if labels && t > 0.5 {
				has = append(has, j)
			}
			if labels && p > 0.5 {
				gets = append(gets, j)
			}
		}
		m.Loss = append(m.Loss, ratio(sum, float64(k)))
		m.Said, m.Is = append(m.Said, -1), append(m.Is, -1)
		m.Sure, m.Want = append(m.Sure, 0), append(m.Want, 0)
		m.Has, m.Gets = append(m.Has, has), append(m.Gets, gets)
	}
	return nil
}

func (m *SampleLosses) numbers(out, want []*tensor.Dense) error {
	x, y, err := elements("losses", out, want)
	if err != nil {
		return err
	}
	n := batchOf(out[0])
	if n == 0 {
		return nil
	}
	k := len(x) / n
	for i := range n {
		sum := 0.0
		for j := i * k; j < (i+1)*k; j++ {
			sum += (x[j] - y[j]) * (x[j] - y[j])
		}
		m.Loss = append(m.Loss, ratio(sum, float64(k)))
		m.Said, m.Is = append(m.Said, -1), append(m.Is, -1)
		m.Sure, m.Want = append(m.Sure, x[i*k]), append(m.Want, y[i*k])
	}
	return nil
}

// Result implements Metric.
func (m *SampleLosses) Result() map[string]float64 { return nil }

// Worst returns the k samples with the largest losses, largest first; NaN counts as larger than all.
func (m *SampleLosses) Worst(k int) []int {
	order := make([]int, len(m.Loss))
	for i := range order {
		order[i] = i
	}
	size := func(i int) float64 {
		if x := m.Loss[i]; !math.IsNaN(x) {
			return x
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := size(a), size(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return order[:min(max(k, 0), len(order))]
}
