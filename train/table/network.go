package table

import (
	"errors"
	"math"

	"github.com/graft-ml/graft/nn"
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

// TargetScaling computes the mean and deviation of the target in the given rows.
func TargetScaling(t *Table, rows []int) train.Scaling {
	m := newMoments(1, false, len(rows))
	for _, r := range rows {
		m.add([]float64{t.Target.Number[r]})
	}
	s := train.Scaling{Mean: m.mean[0], Deviation: math.Sqrt(m.squares[0] / m.n[0])}
	if !(s.Deviation > 0) {
		s.Deviation = 1
	}
	return s
}

// New makes a model of the raw columns: the encoding, the network, and as output probabilities of the classes or, with
// the target's name, a number in the target's unit.
func (n Network) New(p *Encoder, classes []string, unit train.Scaling) (*nn.Graph, error) {
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
			e.Output(e.New(p.Target), e.Apply(unit.Layer(), y))
		}
		key, value, err := p.Meta()
		e.Fail(err)
		e.SetMeta(key, value)
	})
	return g, err
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
