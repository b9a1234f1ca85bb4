package train

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Joint is the loss of a model with several outputs: Σ wᵢ·lossᵢ(outputᵢ, targetᵢ), with outputs and targets in their
// order. It is the default for samples with several targets.
type Joint struct {
	Losses  []Loss    // one per output; nil, or a nil element: CrossEntropy for integer targets, MSE for floating-point targets
	Weights []float64 // one per output; nil: all 1
}

// Build implements Loss.
func (j Joint) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	switch n := len(want); {
	case n == 0 || len(out) != n:
		e.Failf("Joint: the model has %d outputs, the samples have %d targets: want as many", len(out), n)
		return nil
	case j.Losses != nil && len(j.Losses) != n || j.Weights != nil && len(j.Weights) != n:
		e.Failf("Joint: %d losses and %d weights for %d outputs: want one for each", len(j.Losses), len(j.Weights), n)
		return nil
	}
	p := lossBuilder{e}
	var total *nn.Value
	for i := range out {
		l := j.of(i, want[i].Type().DType.IsFloat()).Build(e, out[i:i+1], want[i:i+1])
		if e.Err() != nil {
			return nil
		}
		if j.Weights != nil {
			l = p.times(l, j.Weights[i])
		}
		if total == nil {
			total = l
			continue
		}
		if a, b := total.Type().DType, l.Type().DType; a != b {
			l = p.cast(l, a)
		}
		total = p.do("Add", total, l)
	}
	return total
}

// of returns the loss of an output.
func (j Joint) of(i int, float bool) Loss {
	switch {
	case i < len(j.Losses) && j.Losses[i] != nil:
		return j.Losses[i]
	case float:
		return MSE{}
	}
	return CrossEntropy{}
}

// filled returns j with the default losses for the targets in place of nil; metrics are chosen by them, too.
func (j Joint) filled(want []*tensor.Dense) Joint {
	if j.Losses != nil && len(j.Losses) != len(want) {
		return j // Build reports the error
	}
	losses := make([]Loss, len(want))
	for i, y := range want {
		losses[i] = j.of(i, y != nil && dtype.Of(y.Dtype()).IsFloat())
	}
	j.Losses = losses
	return j
}

// check checks each target before a step.
func (j Joint) check(out []*nn.Value, want []*tensor.Dense) error {
	for i := range min(len(out), len(want)) {
		c, ok := j.of(i, dtype.Of(want[i].Dtype()).IsFloat()).(checker)
		if !ok {
			continue
		}
		if err := c.check(out[i:i+1], want[i:i+1]); err != nil {
			return about{"output " + out[i].Name(), err}
		}
	}
	return nil
}

// metrics returns the default metrics of each output's loss, with the output's name as prefix.
func (j Joint) metrics(out []*nn.Value) (list []Metric) {
	for i, v := range out {
		for _, m := range defaultMetrics(j.of(i, false), out[i:i+1]) {
			list = append(list, &OutputMetric{Output: i, Name: v.Name(), Metric: m})
		}
	}
	return list
}

// OutputMetric applies a metric to one of several outputs and its target.
type OutputMetric struct {
	Output int    // counted from 0
	Name   string // prefix of the names of results, followed by a slash; "": none
	Metric Metric // metric to apply
}

// Add implements Metric.
func (m *OutputMetric) Add(out, want []*tensor.Dense) error {
	if m.Output < 0 || m.Output >= len(out) || m.Output >= len(want) {
		return fmt.Errorf("train: a metric of output %d: there are %d outputs and %d targets", m.Output, len(out), len(want))
	}
	return m.Metric.Add(out[m.Output:m.Output+1], want[m.Output:m.Output+1])
}

// Result implements Metric.
func (m *OutputMetric) Result() map[string]float64 {
	all := map[string]float64{}
	if m.Metric == nil {
		return all
	}
	for name, x := range m.Metric.Result() {
		if m.Name != "" {
			name = m.Name + "/" + name
		}
		all[name] = x
	}
	return all
}
