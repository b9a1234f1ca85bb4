package data

import (
	"fmt"
	"math"
	"sort"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Top returns the k most likely classes of one classification, best first, and their probabilities. t is float32 or
// float64 with only one axis that is not 1, such as [1000], [1, 1000] or [1, 1000, 1, 1]. Unless its elements are a
// distribution, which are from 0 to 1 and sum to 1, softmax is applied first. Among equal scores the lower class comes first;
// k is limited to the number of classes.
func Top(t *tensor.Dense, k int) ([]int, []float64, error) {
	if t == nil {
		return nil, nil, fmt.Errorf("data: top: no tensor")
	}
	if k < 1 {
		return nil, nil, fmt.Errorf("data: top: k is %d, want 1 or more", k)
	}
	long := 0
	for _, d := range t.Shape() {
		if d != 1 {
			long++
		}
	}
	if float := t.Dtype() == tensor.Float32 || t.Dtype() == tensor.Float64; !float || long > 1 || elements(t.Shape()) == 0 || !contiguous(t) {
		return nil, nil, fmt.Errorf("data: top: %v of shape %v, want the float scores of one sample", t.Dtype(), t.Shape())
	}
	p, err := dtype.Float64s(t)
	if err != nil {
		return nil, nil, fmt.Errorf("data: top: %w", err)
	}
	for i, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 1) {
			return nil, nil, fmt.Errorf("data: top: the score of class %d is %v", i, v)
		}
	}
	probabilities(p)
	class := make([]int, len(p))
	for i := range class {
		class[i] = i
	}
	sort.SliceStable(class, func(a, b int) bool { return p[class[a]] > p[class[b]] })
	class = class[:min(k, len(class))]
	scores := make([]float64, len(class))
	for i, c := range class {
		scores[i] = p[c]
	}
	return class, scores, nil
}

// probabilities applies a softmax to scores in place, unless they are a distribution: logits may be between 0 and 1, too. A single
// score between 0 and 1 is a probability.
func probabilities(p []float64) {
	const rounding = 2e-2 // rounding error of the sum of a softmax over thousands of classes in half precision
	least, most, sum := p[0], p[0], 0.0
	for _, v := range p {
		least, most, sum = min(least, v), max(most, v), sum+v
	}
	if least >= 0 && most <= 1+rounding && (len(p) == 1 || math.Abs(sum-1) <= rounding) || math.IsInf(most, -1) {
		return
	}
	sum = 0
	for i, v := range p {
		p[i] = math.Exp(v - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
}
