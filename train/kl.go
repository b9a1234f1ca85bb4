package train

import (
	"math"

	"github.com/graft-ml/graft/nn"
	"gorgonia.org/tensor"
)

// KL is the Kullback-Leibler divergence from the target distribution q to the softmax p of the output, Σ q·(log q − log
// p), averaged over the batch: torch.nn.KLDivLoss with reduction "batchmean" after log_softmax. If the model ends in
// Softmax or LogSoftmax, the scores before it are used. Classes are on axis 1; the target has the shape of the output.
type KL struct {
	LogTarget bool // targets are log-probabilities
	Sum       bool // return the sum instead of the mean over the batch
}

// Build implements Loss.
func (l KL) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	x, y, ok := one(e, "KL", out, want)
	if !ok {
		return nil
	}
	x = logits(e, "KL", x, 0)
	y = paired(e, "KL", x, y)
	if e.Err() != nil {
		return nil
	}
	if x.Type().Rank() < 2 || x.Type().Shape[1].Size < 1 {
		e.Failf("KL: the output is %v: want [N, classes, …]", x.Type())
		return nil
	}
	elements := 1.0 // elements of one sample
	for _, d := range x.Type().Shape[1:] {
		elements *= float64(d.Size)
	}
	if elements < 1 && !l.Sum {
		e.Failf("KL: the size of a sample, %v, is not fixed", x.Type())
		return nil
	}
	p := lossBuilder{e}
	logp := CrossEntropy{}.logp(p, x, false)
	q, logq := p.last(y), p.last(y)
	if e.Err() != nil {
		return nil
	}
	if l.LogTarget {
		q = p.do("Exp", logq)
	} else { // 0·log 0 is 0, computed as 0 times the logarithm of a tiny number
		logq = p.do("Log", p.do("Max", q, e.Scalar("tiny", q, math.SmallestNonzeroFloat32*(1<<24))))
	}
	d := p.reduce(p.do("Mul", q, p.do("Sub", logq, logp)), l.Sum)
	if l.Sum {
		return d
	}
	return p.times(d, elements)
}

// Weight implements Weighted.
func (l KL) Weight(want []*tensor.Dense) (float64, error) { return samples(l.Sum, want), nil }
