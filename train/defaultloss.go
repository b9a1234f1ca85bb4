package train

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// defaultLoss chooses the loss by the targets: classes, distributions over classes (as from MixUp)
// or numbers.
func defaultLoss(want []*tensor.Dense, out []*nn.Value) Loss {
	if len(want) > 1 {
		var j Joint
		for i := range want {
			j.Losses = append(j.Losses, defaultLoss(want[i:i+1], out[min(i, len(out)):]))
		}
		return j
	}
	if len(want) == 0 {
		return CrossEntropy{}
	}
	var to *nn.Value
	if len(out) > 0 {
		to = out[0]
	}
	return lossFor(want[0], dtype.Of(want[0].Dtype()).IsFloat() && !shares(want[0]), to)
}

// lossFor chooses the loss of an output, which may be nil, by a batch of targets and whether they are numbers.
func lossFor(want *tensor.Dense, numbers bool, out *nn.Value) Loss {
	switch {
	case numbers:
		return MSE{}
	case ClassesLast(out, want):
		return CrossEntropy{Axis: -1}
	}
	return CrossEntropy{}
}

// ClassesLast reports whether the classes of scores [N, d…, C], for targets [N, d…] that are classes, are on the last
// axis. If the sizes do not decide, a symbolic size is taken for the length of a sequence.
func ClassesLast(out *nn.Value, want *tensor.Dense) bool {
	if out == nil || want == nil {
		return false
	}
	t, y := out.Type(), want.Shape()
	last := t.Rank() - 1
	if last < 2 || len(y) != last || !dtype.Of(want.Dtype()).IsInteger() {
		return false
	}
	without := func(axis int) bool {
		for k, d := range slices.Delete(slices.Clone(t.Shape), axis, axis+1) {
			if k > 0 && d.Known() && d.Size != y[k] {
				return false
			}
		}
		return true
	}
	if !without(last) || !t.Shape[last].Known() {
		return false
	}
	return !without(1) || !t.Shape[1].Known()
}

// shares reports whether each row of y, of at least two numbers, is a distribution over classes.
func shares(y *tensor.Dense) bool {
	if y.Dims() != 2 || y.Shape()[1] < 2 || y.Shape()[0] == 0 {
		return false
	}
	v, err := dtype.Float64s(y)
	if err != nil {
		return false
	}
	for row := range slices.Chunk(v, y.Shape()[1]) {
		sum := 0.0
		for _, x := range row {
			if !(x >= 0) {
				return false
			}
			sum += x
		}
		if math.Abs(sum-1) > 1e-3 {
			return false
		}
	}
	return true
}
