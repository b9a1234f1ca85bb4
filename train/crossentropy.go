package train

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// CrossEntropy is torch.nn.CrossEntropyLoss: −log of the softmax of the scores, [N, C] or [N, C, d…], at the true
// class. If the model ends in Softmax or LogSoftmax, the scores before it are used.
//
// Targets are classes, int64 or int32 [N] or [N, d…], or probabilities of the shape of the scores; their element type
// decides.
type CrossEntropy struct {
	LabelSmoothing float64   // from 0 to 1: the fraction of the target that is spread over all classes
	ClassWeights   []float64 // one per class; nil: all 1
	IgnoreIndex    *int      // class that is ignored; nil: -100
	Axis           int       // axis of the classes in the output, -1 for the last; 0: 1
	Sum            bool      // return the sum over samples instead of the weighted mean
}

const ignored = -100 // PyTorch's default

func (l CrossEntropy) ignore() int {
	if l.IgnoreIndex == nil {
		return ignored
	}
	return *l.IgnoreIndex
}

// Build implements Loss.
func (l CrossEntropy) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	x, y, ok := one(e, "cross-entropy", out, want)
	if !ok {
		return nil
	}
	if l.LabelSmoothing < 0 || l.LabelSmoothing > 1 || math.IsNaN(l.LabelSmoothing) {
		e.Failf("cross-entropy: label smoothing is %v: want 0 to 1", l.LabelSmoothing)
		return nil
	}
	soft := y.Type().DType.IsFloat()
	scores := logits(e, "cross-entropy", x, l.Axis)
	if axis, ok := classAxis(e, "cross-entropy", x, l.Axis); ok && soft {
		y = lossBuilder{e}.front(y, axis)
	}
	if e.Err() != nil {
		return nil
	}
	scores = classScores(e, "cross-entropy", scores, y, soft)
	if e.Err() != nil {
		return nil
	}
	classes := scores.Type().Shape[1].Size
	if l.ClassWeights != nil && len(l.ClassWeights) != classes {
		e.Failf("cross-entropy: %d class weights for %d classes", len(l.ClassWeights), classes)
		return nil
	}
	if soft {
		return l.soft(e, scores, y, classes)
	}
	if l.LabelSmoothing == 0 && e.Opset() >= 12 {
		return l.fused(e, "SoftmaxCrossEntropyLoss", scores, y)
	}
	return l.hard(e, scores, y, false, classes)
}

// fused uses ONNX's own operator.
func (l CrossEntropy) fused(e *nn.Edit, name string, x, y *nn.Value) *nn.Value {
	attrs := map[string]any{"ignore_index": int64(l.ignore()), "reduction": "mean"}
	if l.Sum {
		attrs["reduction"] = "sum"
	}
	in := []*nn.Value{x, y}
	p := lossBuilder{e}
	if l.ClassWeights != nil {
		in = append(in, p.vector("class_weights", x, l.ClassWeights))
	}
	return p.node(name, attrs, in...)
}

// hard writes the loss for class targets in basic operators: −Σ q·log p, divided by Σ of the weights of the true classes.
func (l CrossEntropy) hard(e *nn.Edit, x, y *nn.Value, normalized bool, classes int) *nn.Value {
	p := lossBuilder{e}
	logp := l.logp(p, x, normalized)
	y = p.unsqueeze(y, y.Type().Rank())
	numbers := make([]float64, classes)
	for c := range numbers {
		if numbers[c] = float64(c); c == l.ignore() {
			numbers[c] = math.MinInt32 // never a target
		}
	}
	hot := p.cast(p.do("Equal", y, p.vector("classes", y, numbers)), x.Type().DType)
	weights := p.vector("class_weights", x, l.weights(classes))
	right := p.do("Mul", hot, weights) // the weight of the true class, 0 elsewhere
	q := right
	if s := l.LabelSmoothing; s > 0 {
		counts := p.cast(p.do("Not", p.do("Equal", y, p.scalar("ignored", y, l.ignore()))), x.Type().DType)
		q = p.do("Add", p.times(right, 1-s), p.times(p.do("Mul", counts, weights), s/float64(classes)))
	}
	total := p.do("Neg", p.reduce(p.do("Mul", q, logp), true))
	if l.Sum {
		return total
	}
	return p.do("Div", total, p.reduce(right, true))
}

// soft returns the loss for targets that are probabilities, a mean over samples.
func (l CrossEntropy) soft(e *nn.Edit, x, y *nn.Value, classes int) *nn.Value {
	p := lossBuilder{e}
	logp := l.logp(p, x, false)
	if y.Type().DType != x.Type().DType {
		y = p.cast(y, x.Type().DType)
	}
	y = p.last(y)
	if s := l.LabelSmoothing; s > 0 && e.Err() == nil {
		y = p.do("Add", p.times(y, 1-s), e.Scalar("smooth", x, s/float64(classes)))
	}
	if l.ClassWeights != nil {
		y = p.do("Mul", y, p.vector("class_weights", x, l.ClassWeights))
	}
	total := p.do("Neg", p.reduce(p.do("Mul", y, logp), l.Sum))
	if l.Sum {
		return total
	}
	return p.times(total, float64(classes)) // the mean above included the classes
}

// logp returns log-probabilities with the classes on the last axis.
func (l CrossEntropy) logp(p lossBuilder, x *nn.Value, normalized bool) *nn.Value {
	x = p.last(x)
	if normalized || p.e.Err() != nil {
		return x
	}
	return p.node("LogSoftmax", map[string]any{"axis": int64(x.Type().Rank() - 1)}, x)
}

func (l CrossEntropy) weights(classes int) []float64 {
	if l.ClassWeights != nil {
		return l.ClassWeights
	}
	w := make([]float64, classes)
	for i := range w {
		w[i] = 1
	}
	return w
}

// classScores checks scores against targets and removes the spatial axes of size 1 after the
// classes in the output of a convolutional classifier.
func classScores(e *nn.Edit, loss string, x, y *nn.Value, soft bool) *nn.Value {
	if x.Type().Unranked || y.Type().Unranked {
		e.Failf("%s: the output is %v, the target %v: want known ranks", loss, x.Type(), y.Type())
		return nil
	}
	want := y.Type().Rank()
	if !soft {
		want++
	}
	p := lossBuilder{e}
	for e.Err() == nil && x.Type().Rank() > max(want, 2) && x.Type().Shape[x.Type().Rank()-1].Size == 1 {
		x = p.squeeze(x, x.Type().Rank()-1)
	}
	if e.Err() != nil {
		return nil
	}
	t := x.Type()
	if t.Rank() != want || t.Rank() < 2 {
		e.Failf("%s: the output is %v, the target %v: want scores [N, classes, …] and a class [N, …] for each, or probabilities of the scores' shape", loss, t, y.Type())
		return nil
	}
	if t.Shape[1].Size < 1 {
		e.Failf("%s: the number of classes, axis 1 of the output %v, is not fixed", loss, t)
		return nil
	}
	for i, d := range y.Type().Shape {
		k := i
		if !soft && i > 0 {
			k++
		}
		if d.Differ(t.Shape[k]) {
			e.Failf("%s: the output is %v, the target %v", loss, t, y.Type())
			return nil
		}
	}
	return x
}

// Weight implements Weighted: the sum of the class weights of the samples that are not ignored.
func (l CrossEntropy) Weight(want []*tensor.Dense) (float64, error) {
	if l.Sum || len(want) == 0 {
		return -1, nil
	}
	y := want[0]
	if dtype.Of(y.Dtype()).IsFloat() {
		return float64(batchOf(y)), nil
	}
	total := 0.0
	err := eachLabel(y, func(_, c int) error {
		switch {
		case c == l.ignore():
		case l.ClassWeights == nil:
			total++
		case c >= 0 && c < len(l.ClassWeights):
			total += l.ClassWeights[c]
		}
		return nil
	})
	return total, err
}

func (l CrossEntropy) check(out []*nn.Value, want []*tensor.Dense) error {
	return checkLabels(out, want, l.Axis, l.ignore())
}

// checkLabels returns an error for classes without a score in the first output.
func checkLabels(out []*nn.Value, want []*tensor.Dense, axis, ignore int) error {
	if len(out) == 0 || len(want) == 0 || dtype.Of(want[0].Dtype()).IsFloat() {
		return nil
	}
	t := out[0].Type()
	if axis == 0 {
		axis = 1
	}
	if axis < 0 {
		axis += t.Rank()
	}
	if t.Rank() <= axis || axis < 1 || !t.Shape[axis].Known() { // Build reports the error, or the size is not known
		return nil
	}
	classes := t.Shape[axis].Size
	return eachLabel(want[0], func(i, c int) error {
		if c != ignore && (c < 0 || c >= classes) {
			return errTarget(i, want[0].Shape().TotalSize(), batchOf(want[0]), "class %d, the output has %d classes", c, classes)
		}
		return nil
	})
}

// eachLabel calls f for the elements of an integer tensor.
func eachLabel(y *tensor.Dense, f func(i, c int) error) error {
	switch dtype.Of(y.Dtype()) {
	case dtype.Int64:
		return walkLabels(dtype.Slice[int64](y), f)
	case dtype.Int32:
		return walkLabels(dtype.Slice[int32](y), f)
	}
	return fmt.Errorf("classes are %v: want int64", dtype.Of(y.Dtype()))
}

func walkLabels[T int32 | int64](list []T, f func(i, c int) error) error {
	for i, c := range list {
		if err := f(i, int(c)); err != nil {
			return err
		}
	}
	return nil
}

// batchOf returns the size of the batch axis.
func batchOf(d *tensor.Dense) int {
	if d == nil || len(d.Shape()) == 0 {
		return 1
	}
	return d.Shape()[0]
}
