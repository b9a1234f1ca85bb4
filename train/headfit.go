package train

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
)

// errNotLinear reports that a tail is not a linear classifier on pooled features.
var errNotLinear = errors.New("train: the classifier is not linear in pooled features")

// mostRegressed limits rows times features times classes of a regression; larger problems are solved by stochastic gradient descent.
const mostRegressed = 4e7

// regressed reports whether the features are few enough for a regression.
func (f *features) regressed(classes int) bool {
	return len(f.pooled)*len(f.peak)*classes <= mostRegressed
}

// fitHead trains the classifier on features and stores the result in the model's parameters: by logistic regression if it is
// linear in the means of the features, otherwise by gradient descent. It returns the accuracy on held-out folds, −1 if there
// were none.
func (t trunk) fitHead(ctx context.Context, g *nn.Graph, f *features, views int, seed uint64, loss Loss) (accuracy float64, err error) {
	classes := classesOf(g)
	accuracy = -1
	if f.regressed(classes) && !weighted(loss) {
		var solved logistic
		if solved, accuracy, err = (problem{x: f.pooled, y: f.class, classes: classes, slack: 0.02}).regress(views, seed); err == nil {
			err = t.place(ctx, solved, f)
		}
	} else {
		err = errNotLinear
	}
	if errors.Is(err, errNotLinear) {
		accuracy, err = -1, t.descend(ctx, f, seed, loss)
	}
	if err != nil {
		return 0, err
	}
	return accuracy, t.handBack(g)
}

// weighted reports whether a loss has class weights, which the regression does not support.
func weighted(l Loss) bool {
	c, ok := l.(CrossEntropy)
	return ok && c.ClassWeights != nil
}

// classesOf returns the number of scores of the first output, 0 if it is not that of a classifier.
func classesOf(g *nn.Graph) int {
	if len(g.Outputs()) == 0 {
		return 0
	}
	t := g.Outputs()[0].Type()
	if t.Rank() < 2 || !t.Shape[1].Known() || t.Shape[1].Size < 2 || !t.DType.IsFloat() {
		return 0
	}
	for _, d := range t.Shape[2:] {
		if d.Size != 1 {
			return 0
		}
	}
	return t.Shape[1].Size
}

// place writes a linear classifier into the tail. It tries both orientations of the weight, and scores shifted above zero for
// a following activation: a constant added to all scores does not change their softmax.
func (t trunk) place(ctx context.Context, l logistic, f *features) error {
	k, d := len(l.bias), len(f.peak)
	var weight, bias *nn.Param
	for p := range t.tail.Params() {
		switch {
		case p.Role() != nn.Weight || dtype.Of(direct.Data(p).Dtype()) != dtype.Float32:
		case weight == nil && p.Size() == k*d && len(direct.Data(p).Shape()) >= 2:
			weight = p
		case bias == nil && p.Size() == k:
			bias = p
		default:
			return errNotLinear
		}
	}
	if weight == nil || bias == nil || len(f.rows) == 0 {
		return errNotLinear
	}
	lift := 0.0
	for c, row := range l.weight {
		s := math.Abs(l.bias[c])
		for i, w := range row {
			s += math.Abs(w) * float64(f.peak[i])
		}
		lift = max(lift, s)
	}
	before, err := snapshot.Of(ctx, t.tail)
	if err != nil {
		return err
	}
	w, b := dtype.Slice[float32](direct.Data(weight)), dtype.Slice[float32](direct.Data(bias))
	for _, up := range []float64{0, lift} {
		for _, rows := range []bool{true, false} {
			for c := range k {
				b[c] = float32(l.bias[c] + up)
				for i := range d {
					at := i*k + c
					if rows {
						at = c*d + i
					}
					w[at] = float32(l.weight[c][i])
				}
			}
			weight.Changed()
			bias.Changed()
			if ok, err := t.agrees(ctx, l, f); ok || err != nil {
				return err
			}
		}
	}
	before.Restore()
	return errNotLinear
}

// agrees reports whether the tail computes the probabilities of the linear classifier.
func (t trunk) agrees(ctx context.Context, l logistic, f *features) (bool, error) {
	n := min(len(f.rows), 32)
	b, err := data.Collate(f.rows[:n])
	if err != nil {
		return false, err
	}
	name := t.tail.Outputs()[0].Name()
	out, err := t.tail.Eval(ctx, nn.Feed{t.tail.Inputs()[0].Name(): b.X[0]}, name)
	if err != nil {
		return false, err
	}
	got, err := probabilities(out[name], n)
	if err != nil {
		return false, nil
	}
	for i, p := range got {
		want := slices.Clone(l.bias)
		for c, row := range l.weight {
			for k, v := range f.pooled[i] {
				want[c] += row[k] * float64(v)
			}
		}
		for c, v := range softmax(want) {
			if !(math.Abs(v-p[c]) < 5e-3) {
				return false, nil
			}
		}
	}
	return true, nil
}

// descend trains the tail on the unchanged features.
func (t trunk) descend(ctx context.Context, f *features, seed uint64, loss Loss) error {
	const updates = 400
	perEpoch := max(1, len(f.rows)/32)
	c := Config{
		Loss: loss, Rule: optim.AdamW{LR: 3e-3, WeightDecay: 0.05}, Schedule: optim.OneCycleLR{}, Epochs: min(100, max(5, updates/perEpoch)),
		Batch: 32, Seed: seed, ClipNorm: 5, Log: Quiet, Metrics: []Metric{},
	}
	_, err := Fit(ctx, t.tail, c, data.Of(f.rows...), nil)
	return err
}

// handBack copies the tail's parameters to the model.
func (t trunk) handBack(g *nn.Graph) error {
	for p := range t.tail.Params() {
		if direct.Data(p) == nil {
			continue
		}
		v, err := g.Value(p.Name())
		if err != nil {
			return err
		}
		if v.Param() != nil && direct.Data(v.Param()) != nil {
			assign(direct.Data(v.Param()), direct.Data(p))
			v.Param().Changed()
		}
	}
	return nil
}
