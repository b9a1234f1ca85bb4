package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// trunk is the part of a model before its classifier, and tail the classifier and everything after it: copies of
// parts of a graph. The input of the tail is the output of the trunk.
type trunk struct {
	body, tail *nn.Graph
}

// divide splits a copy of g before its classifier.
func divide(ctx context.Context, g *nn.Graph) (t trunk, err error) {
	var from string
	_, err = g.PlanUntil(ctx, func(e *nn.Edit) {
		if _, v := e.Classifier(); v != nil {
			from = v.Name()
		}
	})
	if err != nil {
		return t, err
	}
	if t.body, err = g.ExtractUntil(ctx, nil, []string{from}); err != nil {
		return t, err
	}
	t.tail, err = g.ExtractUntil(ctx, []string{from}, []string{g.Outputs()[0].Name()})
	return t, err
}

// features are the outputs of the trunk for samples, with their targets. peak is the largest magnitude in each channel (axis 1).
type features struct {
	rows   []data.Sample
	pooled [][]float32 // by sample, the means of the channels over all other axes
	peak   []float32
	class  []int // by sample
}

// mostKept limits the number of elements of features that are kept unpooled.
const mostKept = 1 << 28

// look computes the features of a set. Each view except the first is augmented, as in an epoch of training. With whole the
// features are also kept unpooled, for tails that need them. The targets must be classes.
func (t trunk) look(ctx context.Context, s data.Dataset[data.Sample], views int, seed uint64, whole bool) (*features, error) {
	f := &features{}
	out := t.body.Outputs()
	feed := nn.Feed{}
	for view := range views {
		set := s
		if view == 0 {
			set = plain{s}
		}
		l := data.BatchLoader{Batch: 16, Seed: seed}
		for b, err := range l.Batches(ctx, set, view) {
			if err != nil {
				return nil, err
			}
			if len(b.X) != len(t.body.Inputs()) {
				return nil, &op.Error{Stage: "train", Want: fmt.Sprintf("%d inputs", len(t.body.Inputs())), Got: len(b.X)}
			}
			for i, v := range t.body.Inputs() {
				feed[v.Name()] = b.X[i]
			}
			st, err := t.body.Step(ctx, feed, nn.StepOptions{Want: out})
			if err != nil {
				return nil, err
			}
			err = f.add(st.Values[0], b, whole)
			st.Release()
			if err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// add adds the features of a batch.
func (f *features) add(v dtype.Value, b data.Sample, whole bool) error {
	d, ok := v.(*tensor.Dense)
	if !ok || dtype.Of(d.Dtype()) != dtype.Float32 || len(d.Shape()) < 2 || len(b.Y) != 1 {
		return fmt.Errorf("train: features are %v, want float32 [N, channels, …]", op.TypeOf(v))
	}
	x, shape := dtype.Slice[float32](d), d.Shape()
	n, channels := shape[0], shape[1]
	inner := len(x) / max(1, n*channels)
	if f.peak == nil {
		f.peak = make([]float32, channels)
	}
	if len(f.peak) != channels || inner == 0 {
		return fmt.Errorf("train: features are %v, want %d channels", shape, len(f.peak))
	}
	err := eachLabel(b.Y[0], func(_, c int) error { f.class = append(f.class, c); return nil })
	if err == nil && len(f.class) != len(f.pooled)+n {
		err = fmt.Errorf("train: targets of shape %v, want a class for each sample", b.Y[0].Shape())
	}
	if err != nil {
		return err
	}
	means, err := budget.Slice[float32](n * channels)
	if err != nil {
		return fmt.Errorf("train: features of %d samples: %w", len(f.pooled)+n, err)
	}
	for i := range n {
		row := means[i*channels:][:channels:channels]
		for c := range channels {
			sum := float32(0)
			for _, v := range x[(i*channels+c)*inner:][:inner] {
				sum += v
				f.peak[c] = max(f.peak[c], v, -v)
			}
			row[c] = sum / float32(inner)
		}
		f.pooled = append(f.pooled, row)
		if whole && len(f.pooled)*channels*inner <= mostKept || len(f.rows) < 32 {
			s, err := f.sample(d, i)
			if err != nil {
				return fmt.Errorf("train: features of %d samples: %w", len(f.pooled), err)
			}
			f.rows = append(f.rows, s)
		}
	}
	return nil
}

// sample copies row i of a batch of features.
func (f *features) sample(d *tensor.Dense, i int) (data.Sample, error) {
	x := dtype.Slice[float32](d)
	size := len(x) / d.Shape()[0]
	row, err := budget.Slice[float32](size)
	if err != nil {
		return data.Sample{}, err
	}
	copy(row, x[i*size:])
	return data.Sample{
		X: []*tensor.Dense{tensor.New(tensor.WithShape(d.Shape()[1:]...), tensor.WithBacking(row))},
		Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(f.class[len(f.pooled)-1])))},
	}, nil
}

// of returns the features of the samples with the given indices, view by view.
func (f *features) of(index []int, views int) *features {
	n := len(f.pooled) / views
	part := &features{peak: f.peak}
	for v := range views {
		for _, i := range index {
			at := v*n + i
			part.pooled, part.class = append(part.pooled, f.pooled[at]), append(part.class, f.class[at])
			if at < len(f.rows) {
				part.rows = append(part.rows, f.rows[at])
			}
		}
	}
	return part
}

// with returns the features of f and of further samples, whose single view is used for every view.
func (f *features) with(more *features, views int) *features {
	n := len(f.pooled) / views
	all := &features{peak: slices.Clone(f.peak)}
	for i, v := range more.peak {
		all.peak[i] = max(all.peak[i], v)
	}
	for v := range views {
		all.pooled = append(append(all.pooled, f.pooled[v*n:][:n]...), more.pooled...)
		all.class = append(append(all.class, f.class[v*n:][:n]...), more.class...)
		if len(f.rows) == len(f.pooled) {
			all.rows = append(append(all.rows, f.rows[v*n:][:n]...), more.rows...)
		}
	}
	if all.rows == nil {
		all.rows = f.rows
	}
	return all
}

// plain is a set without randomness.
type plain struct{ from data.Dataset[data.Sample] }

func (p plain) Len() int { return p.from.Len() }

func (p plain) At(i int, _ *rand.Rand) (data.Sample, error) { return p.from.At(i, nil) }
