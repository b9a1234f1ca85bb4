package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Taught returns s with the logits of a teacher as second target of each sample, float32 [classes]: the data of
// Distill. The teacher is a classifier of the samples' inputs with a symbolic batch or a batch of 1; if it ends in
// Softmax, the scores before it are used. see, if not nil, converts a sample's inputs to the teacher's, without batch
// axis.
func Taught(s data.Dataset[data.Sample], teacher *nn.Graph, see func([]*tensor.Dense) ([]*tensor.Dense, error)) (data.Dataset[data.Sample], error) {
	if teacher == nil || len(teacher.Outputs()) == 0 {
		return nil, errors.New("train: the teacher has no output")
	}
	t := taught{from: s, see: see, known: &sync.Map{}}
	g, _ := teacher.Fork()
	err := g.Edit(func(e *nn.Edit) {
		x := logits(e, "teacher", e.Outputs()[0], 1)
		if e.Err() == nil {
			t.name = e.New("teacher_logits")
			e.Output(t.name, x)
		}
	})
	if err != nil {
		return nil, trainError(err)
	}
	t.g = g
	return t, nil
}

// taught runs the teacher on one sample at a time, in the workers. The result for a sample without augmentation is
// cached.
type taught struct {
	from  data.Dataset[data.Sample]
	g     *nn.Graph
	name  string
	see   func([]*tensor.Dense) ([]*tensor.Dense, error)
	known *sync.Map // from index to []float32
}

func (t taught) Len() int { return t.from.Len() }

func (t taught) At(i int, r *rand.Rand) (data.Sample, error) {
	s, err := t.from.At(i, r)
	if err != nil {
		return s, err
	}
	var says []float32
	if v, ok := t.known.Load(i); ok && r == nil {
		says = v.([]float32)
	} else if says, err = t.ask(s.X); err != nil {
		return s, fmt.Errorf("train: the teacher: %w", err)
	}
	if r == nil {
		t.known.Store(i, says)
	}
	y := tensor.New(tensor.WithShape(len(says)), tensor.WithBacking(says))
	s.Y = append(s.Y[:len(s.Y):len(s.Y)], y)
	return s, nil
}

// ask runs the teacher on one sample.
func (t taught) ask(x []*tensor.Dense) ([]float32, error) {
	if t.see != nil {
		var err error
		if x, err = t.see(x); err != nil {
			return nil, err
		}
	}
	in := t.g.Inputs()
	if len(x) != len(in) {
		return nil, fmt.Errorf("has %d inputs, a sample %d", len(in), len(x))
	}
	feed := nn.Feed{}
	for i, v := range in {
		one, err := dtype.View(x[i], append([]int{1}, x[i].Shape()...)...)
		if err != nil {
			return nil, err
		}
		feed[v.Name()] = one
	}
	out, err := t.g.Eval(context.Background(), feed, t.name)
	if err != nil {
		return nil, err
	}
	d, ok := out[t.name].(*tensor.Dense)
	if !ok {
		return nil, fmt.Errorf("gives a %T", out[t.name])
	}
	d, err = dtype.ConvertTo(dtype.Float32, d)
	if err != nil {
		return nil, err
	}
	return append([]float32(nil), dtype.Slice[float32](d)...), nil
}
