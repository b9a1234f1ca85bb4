package train

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// defaultLoss chooses the loss by the targets: classes, distributions over classes (as from MixUp)
// or numbers.
func defaultLoss(want []*tensor.Dense, out []*nn.Value) Loss {
	return chosenLoss(want, out, func(i int) bool { return shares(want[i]) })
}

// chosenLoss is defaultLoss where spread states which targets of floating-point numbers are distributions.
func chosenLoss(want []*tensor.Dense, out []*nn.Value, spread func(i int) bool) Loss {
	if len(want) == 0 {
		return CrossEntropy{}
	}
	var j Joint
	for i, y := range want {
		var to *nn.Value
		if i < len(out) {
			to = out[i]
		}
		j.Losses = append(j.Losses, lossFor(y, dtype.Of(y.Dtype()).IsFloat() && !spread(i), to))
	}
	if len(want) == 1 {
		return j.Losses[0]
	}
	return j
}

// spread reports whether target i of floating-point numbers, of which a batch is given, is a distribution over classes in each sample. The first
// batch decides, so that the loss does not depend on which samples a later one has.
func (t *Trainer) spread(i int, want *tensor.Dense) bool {
	is, known := t.mixed[i]
	if !known {
		if is = shares(want); t.mixed == nil {
			t.mixed = map[int]bool{}
		}
		t.mixed[i] = is
	}
	return is
}

// choice is this rank's choice of the loss by its first batch, for up to 20 targets.
func (t *Trainer) choice() choice {
	if len(t.mixed) == 0 {
		return choice{}
	}
	x := 0.0
	for i := range 20 {
		if t.mixed[i] {
			x += float64(int(1) << i)
		}
	}
	return choice{1, x, x * x}
}

var errChoices = errors.New("train: the targets of the first batch are distributions over classes on some ranks and not on others: set Config.Loss")

// checkSpread returns an error for targets that are not distributions over classes as those of the first batch were, for which the loss was chosen.
func (t *Trainer) checkSpread(want []*tensor.Dense) error {
	if t.c.Loss != nil {
		return nil
	}
	for i, y := range want {
		if dtype.Of(y.Dtype()).IsFloat() && t.spread(i, y) && !shares(y) {
			return fmt.Errorf("target %d of each sample was a distribution over classes in the first batch, whence cross-entropy, and is not in this one: set Config.Loss", i)
		}
	}
	return nil
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
