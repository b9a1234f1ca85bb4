package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Blend combines a trained Network with a linear model of the same features: ridge or logistic regression with a
// cross-validated weight decay, which is hard to beat if there are nearly as many columns as rows. The network's output
// is linear in its last layers, so that the weighted mean of both is a network of the same size.
type Blend struct {
	Classes int           // 0: regression, with the target scaled by Unit
	Unit    train.Scaling // scaling of the target
	Loss    train.Loss    // loss for Blended's metrics; nil: chosen by the targets
	Refit   bool          // fit the linear model once more, to training and validation rows, after its weight is chosen
	Seed    uint64        // seed of the folds
	// Anew trains the network again on the given rows and without validation, in one of several ways (settings; way 0 is that of the
	// given network), as one of several members: member 0 from its initial weights, others from other ones. If Anew and Refit are set
	// and there are few rows, at most 1000 with at most 50,000 features in all, the way and the weight of the linear model are chosen by
	// cross-validation, and the network finally becomes the mean of four members trained on all rows. nil: the network is not trained
	// again.
	Anew func(ctx context.Context, fit data.Dataset[data.Sample], way, member int) error
	Ways int // ways of training; 0: one
}

// Blended is the result of a Blend.
type Blended struct {
	Linear float64            `json:"linear"`          // weight of the linear model, 0 … 1
	Decay  float64            `json:"decay,omitempty"` // weight decay of the linear model
	Val    map[string]float64 `json:"val"`             // validation metrics of the blend, before Refit
	Folds  int                `json:"folds,omitempty"` // folds of the cross-validation that chose Linear and Way; 0: chosen on the validation rows
	Way    int                `json:"way,omitempty"`   // way in which the network was trained
}

// String returns a sentence that describes the result.
func (b Blended) String() string {
	figures := strings.TrimPrefix(train.Epoch{Val: b.Val}.String(), "epoch 0: loss 0, ")
	figures = strings.TrimSuffix(figures, ", 0 s")
	if b.Linear == 0 {
		return "a linear model beside the network does not help: " + figures
	}
	return fmt.Sprintf("blended with a linear model (weight decay %.2g, cross-validated), whose share is %.0f %%: %s", b.Decay, 100*b.Linear, figures)
}

// shares are the weights of the linear model that are tried.
var shares = []float64{0, 0.25, 0.5, 0.75, 0.9, 1}

// mostFitted limits rows times features times scores of the linear model; beyond it, the network has enough rows.
const mostFitted = 4e7

// Apply fits the linear model to fit, chooses its weight by the losses of the samples of val, which must not be empty,
// and writes the weights of the blend to t.Rest. Since few samples decide little, the weight is the largest one whose
// loss is within one standard error of the minimum; with more than ten rows per feature, within a proportional part of
// it. It is 1 if the network is not better than a constant. The network must be one made by Network.New.
func (b Blend) Apply(ctx context.Context, t *Trunk, fit, val data.Dataset[data.Sample]) (out Blended, err error) {
	if t == nil || t.Rest == nil {
		return out, errors.New("table: the network is nil: Cut makes one")
	}
	last, err := findLastLayers(t.Rest)
	if err != nil {
		return out, err
	}
	c := train.Config{Loss: b.Loss, Seed: b.Seed, Log: train.Quiet}
	if b.Classes == 0 {
		c.Metrics = []train.Metric{&train.Deviation{}}
	}
	evaluator, err := train.New(t.Rest, c)
	if err != nil {
		return out, err
	}
	if fit.Len()*last.features*last.scores > mostFitted {
		out.Val, err = evaluator.Evaluate(ctx, val)
		return out, err
	}
	if n := fit.Len() + val.Len(); b.Anew != nil && b.Refit && n <= fewRows && n*last.features <= fewCells {
		return b.crossed(ctx, t, evaluator, fit, val)
	}
	got, err := b.try(ctx, t, fit, val)
	if err != nil {
		return out, err
	}
	l := got.linear
	out.Linear, out.Decay = shares[choose(got.each, got.constant, slack(last.features, fit.Len()))], l.Decay
	last.set(l, out.Linear)
	if out.Val, err = evaluator.Evaluate(ctx, val); err != nil {
		return out, err
	}
	if out.Linear == 0 {
		out.Decay = 0
	} else if b.Refit {
		if l, _, err = b.linear(ctx, t, data.Concat(fit, val)); err != nil {
			return out, err
		}
		out.Decay = l.Decay
	}
	last.set(l, out.Linear)
	return out, nil
}

// slack returns by how many standard errors a weight of the linear model may be worse than the best one: one with up to ten rows per
// feature; with more rows, which make overfitting less likely, proportionally less.
func slack(features, rows int) float64 { return min(1, 10*float64(features)/float64(max(1, rows))) }

// choose returns the index of the largest share whose losses, row by row, are within slack standard errors of the minimum. It returns
// the last index, the linear model alone, if the first, the network alone, is not better than a constant.
func choose(each [][]float64, constant []float64, slack float64) int {
	best := 0
	for i := range each {
		if least := mean(each[best]); mean(each[i]) < least || math.IsNaN(least) {
			best = i
		}
	}
	for i := len(each) - 1; i > best; i-- {
		if d, e := difference(each[i], each[best]); d <= slack*e {
			best = i
		}
	}
	if d, _ := difference(each[0], constant); !(d < 0) {
		return len(each) - 1 // the network has learned nothing; the decay of the linear model was chosen on more rows
	}
	return best
}

// rowLosses returns the losses of the rows of a set.
func rowLosses(ctx context.Context, g *nn.Graph, s data.Dataset[data.Sample]) ([]float64, error) {
	var m train.SampleLosses
	_, err := train.Evaluator{}.Evaluate(ctx, g, s, &m)
	return m.Loss, err
}

// difference returns the mean of a − b, and its standard error.
func difference(a, b []float64) (d, e float64) {
	diff, square := make([]float64, len(a)), 0.0
	for i := range a {
		diff[i] = a[i] - b[i]
	}
	d = mean(diff)
	for _, x := range diff {
		square += (x - d) * (x - d)
	}
	return d, math.Sqrt(square) / float64(len(a))
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// constantFit returns a linear model with a constant output: 0, the mean of a scaled target, or the class frequencies.
func constantFit(like train.LinearFit, share []float64) train.LinearFit {
	c := train.LinearFit{Bias: make([]float64, len(like.Bias)), Weight: make([][]float64, len(like.Weight))}
	for i, w := range like.Weight {
		c.Weight[i] = make([]float64, len(w))
	}
	for i, p := range share {
		c.Bias[i] = math.Log(max(p, 1e-9))
	}
	return c
}

// linear fits a linear model to the features of a set. shares are the class frequencies, nil for regression.
func (b Blend) linear(ctx context.Context, t *Trunk, s data.Dataset[data.Sample]) (l train.LinearFit, shares []float64, err error) {
	x, y, err := t.features(ctx, s)
	if err != nil {
		return l, nil, err
	}
	if b.Classes == 0 {
		for i := range y {
			y[i] = (y[i] - b.Unit.Mean) / b.Unit.Deviation
		}
		l, err = train.FitMeasured(x, y, b.Seed)
		return l, nil, err
	}
	class, shares := make([]int, len(y)), make([]float64, b.Classes)
	for i, c := range y {
		if class[i] = int(c); class[i] >= 0 && class[i] < b.Classes {
			shares[class[i]] += 1 / float64(len(y))
		}
	}
	l, err = train.FitClasses(x, class, b.Classes, b.Seed)
	return l, shares, err
}

// features returns the inputs of the network's first layer for the samples, and their targets.
func (t *Trunk) features(ctx context.Context, s data.Dataset[data.Sample]) (x [][]float32, y []float64, err error) {
	const name = "features"
	for b, err := range (data.BatchLoader{Batch: 1024}).Batches(ctx, s, 0) {
		if err != nil {
			return nil, nil, err
		}
		feed := nn.Feed{}
		for i, v := range t.Rest.Inputs() {
			feed[v.Name()] = b.X[i]
		}
		out, err := t.Rest.Eval(ctx, feed, name)
		if err != nil {
			return nil, nil, err
		}
		d, ok := out[name].(*tensor.Dense)
		if !ok || d.Dims() != 2 || d.Dtype() != tensor.Float32 || len(b.Y) != 1 {
			return nil, nil, fmt.Errorf("table: the network's features are %v, with %d targets, want float32[N, features] with one", op.TypeOf(out[name]), len(b.Y))
		}
		flat, n := dtype.Slice[float32](d), d.Shape()[1]
		for i := range d.Shape()[0] {
			x = append(x, append([]float32(nil), flat[i*n:(i+1)*n]...))
		}
		targets, err := dtype.Float64s(b.Y[0])
		if err != nil {
			return nil, nil, err
		}
		y = append(y, targets...)
	}
	return x, y, nil
}

// lastLayers are the trained last layers of a Network: the wide one, and the deep one after the hidden layers.
type lastLayers struct {
	wide, deep, bias *nn.Param
	was              [3][]float32
	scores, features int
}

func findLastLayers(g *nn.Graph) (l lastLayers, err error) {
	for i, name := range []string{"wide.weight", "deep.weight", "deep.bias"} {
		v, err := g.Value(name)
		if err != nil || v.Param() == nil || direct.Data(v.Param()) == nil || direct.Data(v.Param()).Dtype() != tensor.Float32 {
			return l, fmt.Errorf("table: the network has no float32 parameter %s: want one that Network.New made", name)
		}
		p := v.Param()
		*[]**nn.Param{&l.wide, &l.deep, &l.bias}[i] = p
		l.was[i] = append([]float32(nil), dtype.Slice[float32](direct.Data(p))...)
	}
	l.scores, l.features = direct.Data(l.wide).Shape()[0], direct.Data(l.wide).Shape()[1]
	return l, nil
}

// set makes the network's output share times that of the linear model plus 1 − share times that of the trained network.
func (l lastLayers) set(m train.LinearFit, share float64) {
	wide, deep, bias := dtype.Slice[float32](direct.Data(l.wide)), dtype.Slice[float32](direct.Data(l.deep)), dtype.Slice[float32](direct.Data(l.bias))
	mix := func(was float32, fitted float64) float32 {
		return float32((1-share)*float64(was) + share*fitted)
	}
	for c := range l.scores {
		bias[c] = mix(l.was[2][c], m.Bias[c])
		for k := range l.features {
			wide[c*l.features+k] = mix(l.was[0][c*l.features+k], m.Weight[c][k])
		}
	}
	for i, w := range l.was[1] {
		deep[i] = mix(w, 0)
	}
	for _, p := range []*nn.Param{l.wide, l.deep, l.bias} {
		p.Changed()
	}
}
