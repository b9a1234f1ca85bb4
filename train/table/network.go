package table

import (
	"errors"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// Network describes a network for tables: fully connected layers, and beside them a linear layer from the features to
// the output.
type Network struct {
	Hidden  []int   // units of the hidden layers; nil: 128 and 64
	Dropout float64 // dropout probability after each hidden layer
	Seed    uint64  // seed of the initial weights
}

// Scaling is the mean and standard deviation of a regression target.
type Scaling struct{ Mean, Deviation float64 }

// TargetScaling computes the mean and deviation of the target in the given rows.
func TargetScaling(t *Table, rows []int) Scaling {
	m := newMoments(1, false, len(rows))
	for _, r := range rows {
		m.add([]float64{t.Target.Number[r]})
	}
	s := Scaling{m.mean[0], math.Sqrt(m.squares[0] / m.n[0])}
	if !(s.Deviation > 0) {
		s.Deviation = 1
	}
	return s
}

// New makes a model of the raw columns: the encoding, the network, and as output probabilities of the classes or, with
// the target's name, a number in the target's unit.
func (n Network) New(p *Encoder, classes []string, unit Scaling) (*nn.Graph, error) {
	if p == nil {
		return nil, errors.New("table: the preparation is nil: Fit makes one")
	}
	g := nn.New("table")
	err := g.Edit(func(e *nn.Edit) {
		e.Seed(n.Seed)
		x := p.Build(e)
		if e.Err() != nil {
			return
		}
		hidden := n.Hidden
		if hidden == nil {
			hidden = []int{128, 64}
		}
		var stack nn.Sequential
		for i, size := range hidden {
			stack = append(stack, layers.Linear{Out: size, Name: hiddenName(i)}, layers.ReLU{})
			if n.Dropout > 0 {
				stack = append(stack, layers.Dropout{P: n.Dropout})
			}
		}
		out := max(1, len(classes))
		b := builder{e}
		y := b.do("Add", e.Apply(append(stack, layers.Linear{Out: out, Name: "deep", Init: initial.Normal{Std: 0.01}}), x), e.Apply(layers.Linear{Out: out, NoBias: true, Name: "wide", Init: initial.Zeros{}}, x))
		if e.Err() != nil {
			return
		}
		if classes != nil {
			e.Output(e.New("probabilities"), b.put("", "Softmax", map[string]any{"axis": int64(1)}, y))
			e.SetLabels(classes...)
		} else {
			e.Output(e.New(p.Target), unit.restore(b, y))
		}
		key, value, err := p.Meta()
		e.Fail(err)
		e.SetMeta(key, value)
	})
	return g, err
}

// restore converts a network's output to the unit of the target.
func (s Scaling) restore(b builder, y *nn.Value) *nn.Value {
	y = b.do("Mul", y, b.scalar("target_deviation", dtype.Float32, s.Deviation))
	return b.do("Add", y, b.scalar("target_mean", dtype.Float32, s.Mean))
}

// Loss is l of targets and outputs divided by the deviation, so that it does not depend on the unit.
func (s Scaling) Loss(l train.Loss) train.Loss {
	return train.LossFunc(func(e *nn.Edit, out, want []*nn.Value) *nn.Value {
		if e.Err() != nil || len(out) == 0 || len(want) == 0 {
			return nil
		}
		b := builder{e}
		divide := func(v *nn.Value) *nn.Value { return b.do("Mul", v, e.Scalar("unit", v, 1/s.Deviation)) }
		return l.Build(e, []*nn.Value{divide(out[0])}, []*nn.Value{divide(want[0])})
	})
}

// Divide divides the rows with a target randomly: the given fraction for validation, the rest for training.
func (t *Table) Divide(share float64, seed uint64) (fit, held []int) {
	rows := t.Complete()
	f, h := data.Split(data.Of(rows...), share, seed)
	return indices(f), indices(h)
}

func indices(s data.Dataset[int]) []int {
	list := make([]int, s.Len())
	for i := range list {
		list[i], _ = s.At(i, nil)
	}
	return list
}

// Layer converts a network's output to the unit of the target.
func (s Scaling) Layer() nn.Layer {
	return nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{s.restore(builder{e}, in[0])} })
}
