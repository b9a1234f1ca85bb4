package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// taught adds the outputs of the --teacher model to the samples, and sets the loss for distillation.
func (t *training) taught(g *nn.Graph, fit, val data.Dataset[data.Sample]) (data.Dataset[data.Sample], data.Dataset[data.Sample], error) {
	teacher, err := onnxio.Load(t.teacher)
	if err != nil {
		return nil, nil, fmt.Errorf("--teacher: %w", err)
	}
	_ = freeBatch(teacher, 1)
	a, _ := scores(g.Outputs())
	b, _ := scores(teacher.Outputs())
	if a != b || a < 2 {
		return nil, nil, fmt.Errorf("--teacher %s gives %d scores, the model %d: want as many classes, and two or more", t.teacher, b, a)
	}
	known, err := labelsOf(teacher)
	if err != nil {
		return nil, nil, fmt.Errorf("--teacher: %w", err)
	}
	if known != nil && t.classes != nil && !slices.Equal(known, t.classes) {
		return nil, nil, fmt.Errorf("--teacher %s knows the classes %s, the data have %s", t.teacher, brief(known), brief(t.classes))
	}
	see, err := t.eyes(teacher)
	if err != nil {
		return nil, nil, fmt.Errorf("--teacher %s: %w", t.teacher, err)
	}
	hard, ok := t.config.Loss.(train.CrossEntropy)
	if t.config.Loss != nil && !ok {
		return nil, nil, fmt.Errorf("--teacher goes with the loss cross-entropy, not %s", t.loss)
	}
	if !(t.alpha > 0 && t.alpha <= 1) || !(t.temperature > 0) || math.IsInf(t.temperature, 1) {
		return nil, nil, fmt.Errorf("--teacher-share %v --temperature %v: want a fraction above 0, up to 1, and a temperature above 0", t.alpha, t.temperature)
	}
	t.config.Loss = train.Distill{Alpha: t.alpha, Temperature: t.temperature, Hard: hard}
	if t.config.Metrics == nil {
		t.config.Metrics = []train.Metric{&train.Accuracy{}}
	}
	if fit, err = train.Taught(fit, teacher, see); err != nil {
		return nil, nil, err
	}
	if val.Len() == 0 {
		return fit, val, nil
	}
	val, err = train.Taught(val, teacher, see)
	return fit, val, err
}

// eyes converts preprocessed images to the preprocessing of the teacher; nil if they are equal.
func (t *training) eyes(teacher *nn.Graph) (func([]*tensor.Dense) ([]*tensor.Dense, error), error) {
	if t.prepared == nil {
		return nil, nil
	}
	mine := t.prepared.Preprocess
	its, ok, err := data.ReadMeta(teacher.Meta())
	if err != nil || !ok {
		return nil, err
	}
	if its, err = its.For(teacher.Inputs()[0].Type().Sizes()); err != nil {
		return nil, err
	}
	if !slices.Equal(its.Shape(), mine.Shape()) || its.BGR != mine.BGR {
		return nil, fmt.Errorf("takes images of %v, the model of %v: want the same size, channels and their order", its, mine)
	}
	convert, err := data.Converted(mine, its)
	if err != nil {
		return nil, err
	}
	return func(x []*tensor.Dense) ([]*tensor.Dense, error) {
		y, err := convert(x[0])
		return []*tensor.Dense{y}, err
	}, nil
}
