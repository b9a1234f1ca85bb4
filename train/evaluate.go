package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Evaluator is Evaluate with settings.
type Evaluator struct {
	// Run computes the outputs of the model, by name, in place of graft's engine; nil: the engine does.
	Run func(ctx context.Context, in nn.Feed) (nn.Feed, error)
}

// Evaluate runs the model over a set and returns the results of the metrics by name. Without metrics it uses those that
// fit the targets: Accuracy for classes, Deviation for numbers.
func Evaluate(ctx context.Context, g *nn.Graph, s data.Dataset[data.Sample], m ...Metric) (map[string]float64, error) {
	return Evaluator{}.Evaluate(ctx, g, s, m...)
}

// Evaluate runs the model over a set, as the function Evaluate does.
func (x Evaluator) Evaluate(ctx context.Context, g *nn.Graph, s data.Dataset[data.Sample], m ...Metric) (map[string]float64, error) {
	if s == nil || s.Len() == 0 {
		return nil, errors.New("train: there are no samples to evaluate")
	}
	l := data.BatchLoader{}
	if n, ok := fixedBatch(g); ok {
		if s.Len()%n != 0 {
			return nil, &op.Error{Stage: "evaluate", Input: g.Inputs()[0].Name(), Err: fmt.Errorf("the model fixes the batch to %d, which %d samples do not divide into: free it with Edit.Input or Loader.Inputs", n, s.Len())}
		}
		l.Batch = n
	}
	return x.EvaluateBatches(ctx, g, func(yield func(Batch, error) bool) {
		for b, err := range l.Batches(ctx, s, 0) {
			if err == nil && len(b.X) != len(g.Inputs()) {
				err = &op.Error{Stage: "evaluate", Want: fmt.Sprintf("%d inputs", len(g.Inputs())), Got: len(b.X)}
			}
			feed := nn.Feed{}
			for i, v := range g.Inputs() {
				if err == nil {
					feed[v.Name()] = b.X[i]
				}
			}
			if !yield(Batch{feed, b.Y}, err) || err != nil {
				return
			}
		}
	}, m...)
}

// Batch has inputs by name, of any element type, and targets in the order of the loss.
type Batch struct {
	Feed nn.Feed         // inputs by name
	Y    []*tensor.Dense // targets
}

// EvaluateBatches is Evaluate for batches, for example from a stream.
func EvaluateBatches(ctx context.Context, g *nn.Graph, batches iter.Seq2[Batch, error], m ...Metric) (map[string]float64, error) {
	return Evaluator{}.EvaluateBatches(ctx, g, batches, m...)
}

// EvaluateBatches is Evaluate for batches, like the function EvaluateBatches.
func (x Evaluator) EvaluateBatches(ctx context.Context, g *nn.Graph, batches iter.Seq2[Batch, error], m ...Metric) (map[string]float64, error) {
	if batches == nil {
		return nil, errors.New("evaluate: there are no batches: the sequence is nil")
	}
	outputs := g.Outputs()
	for b, err := range batches {
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = defaultMetrics(defaultLoss(b.Y, outputs), outputs)
		}
		values, release, err := x.outputs(ctx, g, b.Feed)
		if err != nil {
			return nil, err
		}
		out, err := tensorsOf(values)
		if err == nil {
			err = addAll(m, out, b.Y)
		}
		release()
		if err != nil {
			return nil, err
		}
	}
	return results(m), nil
}

// outputs returns the model's outputs for a batch, valid until release is called.
func (x Evaluator) outputs(ctx context.Context, g *nn.Graph, in nn.Feed) (values []dtype.Value, release func(), err error) {
	if x.Run == nil {
		st, err := g.Step(ctx, in, nn.StepOptions{Want: g.Outputs()})
		if err != nil {
			return nil, nil, err
		}
		return st.Values, st.Release, nil
	}
	out, err := x.Run(ctx, in)
	for _, v := range g.Outputs() {
		values = append(values, out[v.Name()])
	}
	return values, func() {}, err
}

func addAll(m []Metric, out, want []*tensor.Dense) error {
	for _, x := range m {
		if err := x.Add(out, want); err != nil {
			return err
		}
	}
	return nil
}

// tensorsOf converts outputs to the tensors that metrics read.
func tensorsOf(values []dtype.Value) ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(values))
	for i, v := range values {
		d, ok := v.(*tensor.Dense)
		if !ok {
			return nil, fmt.Errorf("train: output %d is a %T: metrics need tensors of numbers", i, v)
		}
		out[i] = d
	}
	return out, nil
}

func results(m []Metric) map[string]float64 {
	all := map[string]float64{}
	for _, x := range m {
		maps.Copy(all, x.Result())
	}
	return all
}

// Evaluate runs the model over a set and returns the loss, as "loss", and the results of Config.Metrics. Of a loss
// that is a sum, it is the mean over batches. With Config.EMA it evaluates the averages.
func (t *Trainer) Evaluate(ctx context.Context, s data.Dataset[data.Sample]) (map[string]float64, error) {
	leave, err := t.user.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if s == nil || s.Len() == 0 {
		return nil, errors.New("train: there are no samples to evaluate")
	}
	if err := t.oneStatistics(); err != nil {
		return nil, err
	}
	t.look()
	t.hold(t.c.Runtime == nil) // a runtime has the averages in addition to the weights
	l, err := t.loader()
	if err != nil {
		return nil, err
	}
	l.Shuffle, l.Sampler = false, nil
	var sum tally
	var metrics []Metric
	sums := false
	n, count := 0, l.Count(s.Len())
	at := &place{loader: l, n: s.Len()}
	defer t.readFrom(at)()
	for b, err := range l.Batches(ctx, s, 0) {
		micro := []data.Sample{b}
		if err == nil {
			if micro, err = t.split(b); err != nil {
				micro = []data.Sample{b}
			}
		}
		var whole tally
		at.batch, at.first = n, 0
		for _, b := range micro {
			if t.ranks == nil && err == nil && samplesIn(b) == 0 {
				continue
			}
			part, release, err := t.score(ctx, b, err)
			at.first += samplesIn(b)
			parts, err := t.ranks.together(part, err)
			if err == nil && metrics == nil {
				metrics, err = t.metrics(ctx, parts)
			}
			for _, p := range parts {
				if err == nil {
					err = addAll(metrics, p.out, p.want)
				}
				whole.add(p.sum)
				sums = sums || p.sums
			}
			release()
			if err != nil {
				return nil, err
			}
		}
		if sums {
			whole.Weight = 1 // the loss of a batch is the sum over its parts
		}
		sum.add(whole)
		n++
		t.say(Event{Kind: Tested, Epoch: t.Epoch + 1, Epochs: t.Start + t.c.epochs(), Batch: n, Count: count})
	}
	if n == 0 {
		return nil, fmt.Errorf("train: %d samples do not fill a batch of %d, which the model fixes", s.Len(), l.Unit)
	}
	if rest := s.Len() - sum.Samples; rest > 0 {
		t.say(Event{Kind: Note, Text: fmt.Sprintf("the model fixes the batch to %d: the last %d samples of %d were not validated", l.Unit, rest, s.Len())})
	}
	all := results(metrics)
	all["loss"] = sum.mean()
	return all, nil
}

// score runs a batch of an evaluation; err is an error in loading it. The tensors are valid until release is called. If all samples
// of the batch are on other ranks, the part is empty.
func (t *Trainer) score(ctx context.Context, b data.Sample, err error) (part scoredPart, release func(), _ error) {
	release = func() {}
	if err != nil {
		return part, release, err
	}
	d, err := t.bind(ctx, b)
	if err != nil || d == nil {
		return part, release, err
	}
	values, x, release, err := t.forward(ctx, d)
	if err != nil {
		return part, release, err
	}
	part.want = b.Y
	if part.out, err = tensorsOf(values); err == nil {
		part.sums, err = part.sum.take(d.lossBy, b, StepInfo{Loss: x, Samples: samplesIn(b)})
	}
	return part, release, err
}

// metrics returns the metrics of the configuration, or those that fit the loss.
func (t *Trainer) metrics(ctx context.Context, parts []scoredPart) (m []Metric, err error) {
	if t.c.Metrics != nil || len(parts) == 0 {
		return t.c.Metrics, nil
	}
	if t.bound == nil { // this rank has seen no samples yet
		if t.bound, err = t.attach(ctx, parts[0].want, nil); err != nil {
			return nil, err
		}
	}
	return defaultMetrics(t.bound.lossBy, t.bound.outputs), nil
}

func scalarOf(v dtype.Value) (float64, error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return 0, fmt.Errorf("train: the loss is a %T, want a tensor of one number", v)
	}
	x, err := dtype.Float64s(d)
	if err != nil || len(x) != 1 {
		return 0, errors.Join(err, fmt.Errorf("train: the loss has %d elements, want one", len(x)))
	}
	return x[0], nil
}

// Gradients yields, for each batch, the gradient of the loss with respect to every weight, frozen ones included, in
// evaluation mode and without changing anything: the input of pruning by Taylor expansion. Config.MicroBatch limits the
// batch size. The tensors are valid until the next batch.
func (t *Trainer) Gradients(ctx context.Context, s data.Dataset[data.Sample]) iter.Seq2[nn.Grads, error] {
	return func(yield func(nn.Grads, error) bool) {
		if s == nil || s.Len() == 0 {
			yield(nil, errors.New("train: there are no samples"))
			return
		}
		leave, err := t.user.enter()
		if err != nil {
			yield(nil, err)
			return
		}
		defer leave()
		if err := t.Sync(); err != nil {
			yield(nil, err)
			return
		}
		l, err := t.loader()
		if err != nil {
			yield(nil, err)
			return
		}
		l.Shuffle, l.Sampler, l.Rank, l.Ranks = false, nil, 0, 0
		if m := t.c.MicroBatch; m > 0 {
			l.Batch = min(l.Batch, m)
		}
		at := &place{loader: l, n: s.Len(), batch: -1}
		defer t.readFrom(at)()
		for b, err := range l.Batches(ctx, s, 0) {
			if err != nil {
				yield(nil, err)
				return
			}
			at.batch++
			st, grads, err := t.gradients(ctx, b)
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(grads, nil)
			st.Release()
			if !more {
				return
			}
		}
	}
}

func (t *Trainer) gradients(ctx context.Context, b data.Sample) (*nn.StepResult, nn.Grads, error) {
	d, err := t.bind(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	var weights []*nn.Param
	for _, w := range d.watch {
		if w.param.Role() == nn.Weight {
			weights = append(weights, w.copy)
		}
	}
	st, err := d.fork.Step(ctx, d.feed, nn.StepOptions{Loss: d.loss, Params: weights})
	if err != nil {
		return nil, nil, err
	}
	grads := nn.Grads{}
	for p, g := range st.Grads {
		grads[d.origin[p]] = g
	}
	return st, grads, nil
}
