package train

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
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
	t := taught{from: s, see: see, known: &answers{of: map[int][]float32{}}}
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
// cached
// while half of the memory limit is unused.
type taught struct {
	from  data.Dataset[data.Sample]
	g     *nn.Graph
	name  string
	see   func([]*tensor.Dense) ([]*tensor.Dense, error)
	known *answers
}

func (t taught) Len() int { return t.from.Len() }

func (t taught) At(i int, r *rand.Rand) (data.Sample, error) {
	s, err := t.from.At(i, r)
	if err != nil {
		return s, err
	}
	var says []float32
	if r == nil {
		says = t.known.get(i)
	}
	if says == nil {
		if says, err = t.ask(s.X); err != nil {
			return s, fmt.Errorf("train: the teacher: %w", err)
		}
		if r == nil {
			t.known.keep(i, says)
		}
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

// answers are a teacher's results by the index of the sample.
type answers struct {
	mu    sync.Mutex
	of    map[int][]float32
	bytes int64
}

// perAnswer is about how many bytes an answer takes besides its numbers.
const perAnswer = 96

func (a *answers) get(i int) []float32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[i]
}

// keep keeps an answer, charged, if it takes less than half of the memory that is left.
func (a *answers) keep(i int, says []float32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[i] != nil { // of another worker
		return
	}
	n := a.bytes + perAnswer + 4*int64(cap(says))
	if more := n - budget.Held(a); more > 0 {
		more = max(more, n/8, 1<<16)
		if budget.Left() < 2*more || budget.Keep(a, more) != nil {
			return
		}
	}
	a.of[i], a.bytes = says, n
}
