package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// widen prepares a model for training: half precision becomes float32, training mode in the file is removed, and parameters that the
// file stores once are separated, each with a message.
func (t *training) widen(g *nn.Graph) error {
	for _, change := range []func(*nn.Graph) (string, error){widened, inference, separated} {
		note, err := change(g)
		if err != nil {
			return err
		}
		if note != "" {
			t.notes = append(t.notes, note)
		}
	}
	return nil
}

// prepare adds the new head, freezes parameters and stores metadata about the data.
func (t *training) prepare(g *nn.Graph, fit data.Dataset[data.Sample]) error {
	var classes, measures int
	if t.classes == nil {
		var err error
		if measures, err = measured(fit); err != nil {
			return err
		}
		switch t.config.Loss.(type) {
		case nil, train.MSE, train.L1, train.Huber:
			t.measurements = measures > 1
		}
	}
	if t.head {
		var err error
		if classes, err = t.count(fit); err != nil {
			return fmt.Errorf("--head: %w", err)
		}
	} else if n, ok := scores(g.Outputs()); t.agree(g) != nil {
		classes = len(t.classes)
		t.newClassifier(classes, n)
	} else if ok && n > 1 && t.classes == nil {
		if found, err := t.count(fit); err == nil && found > n {
			classes = found
			t.newClassifier(classes, n)
		}
		if measures > 0 && measures != n && len(g.Outputs()[0].Type().Shape) == 2 {
			t.notes = append(t.notes, fmt.Sprintf("the targets are numbers: the last layer is replaced by one with %d outputs instead of %d scores", measures, n))
			classes = measures
		}
	}
	return t.reshape(g, classes)
}

// newClassifier notes that the model gets a classifier for other classes than its n.
func (t *training) newClassifier(classes, n int) {
	if t.columnar() || n == classes {
		return
	}
	t.notes = append(t.notes, fmt.Sprintf("the data have %d classes, the model gives %d scores: it gets a new classifier", classes, n))
}

// measured returns how many numbers each target is; 0: targets are classes, or probabilities of classes.
func measured(s data.Dataset[data.Sample]) (n int, err error) {
	distributions := true
	for i := range min(s.Len(), 16) {
		x, err := s.At(i, data.Rand(0, 0, 0))
		if err != nil {
			return 0, err
		}
		if len(x.Y) != 1 || !dtype.Of(x.Y[0].Dtype()).IsFloat() || x.Y[0].Dims() > 1 {
			return 0, nil
		}
		y, err := dtype.Float64s(x.Y[0])
		if err != nil {
			return 0, err
		}
		n = len(y)
		sum := 0.0
		for _, v := range y {
			distributions = distributions && v >= 0
			sum += v
		}
		distributions = distributions && math.Abs(sum-1) < 1e-3
	}
	if n > 1 && distributions {
		return 0, nil
	}
	return n, nil
}

// reshape adds a new head if classes is above 0, freezes what --freeze names, and stores the metadata.
func (t *training) reshape(g *nn.Graph, classes int) error {
	t.newHead = classes > 0
	what := "--head"
	if slices.Equal(t.freeze, []string{"none"}) {
		t.freeze = nil
		if err := thaw(g); err != nil {
			return err
		}
	} else if names, err := frozenNames(g); err != nil {
		return err
	} else if len(names) > 0 {
		t.notes = append(t.notes, fmt.Sprintf("frozen, as the model's metadata say: %s; --freeze none unfreezes them", brief(names)))
	}
	for _, pattern := range t.freeze {
		if err := matched(g, "freeze", pattern); err != nil {
			return err
		}
	}
	err := g.Edit(func(e *nn.Edit) {
		if classes > 0 {
			head := e.Head(nn.Head{Labels: t.classes, Classes: classes})
			if t.headOnly && t.policy == "manual" {
				e.Freeze(nn.Before(head))
			}
		}
		for _, pattern := range t.freeze {
			if e.Err() == nil {
				what = "--freeze " + pattern
				e.Freeze(nn.Glob(pattern))
			}
		}
		if len(t.freeze) > 0 && e.Err() == nil {
			keepFrozen(e)
		}
		t.describe(e)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
