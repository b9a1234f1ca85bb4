package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// uneven is the ratio of the most to the least frequent class from which a warning is printed.
const uneven = 3

// unevenness warns if some classes are much rarer than others or missing, with a suggestion unless it is followed
// already (evened); "" if they are balanced or there are no classes.
func (d *dataset) unevenness(fit data.Dataset[data.Sample], evened bool) string {
	if len(d.classes) < 2 || fit.Len() == 0 {
		return ""
	}
	list, err := data.Classes(fit)
	if err != nil {
		return ""
	}
	counts := data.Counts(list)
	for len(counts) < len(d.classes) {
		counts = append(counts, 0)
	}
	most, least := 0, 0
	for c := range d.classes {
		if counts[c] > counts[most] {
			most = c
		}
		if counts[c] < counts[least] {
			least = c
		}
	}
	switch {
	case counts[least] == 0:
		return fmt.Sprintf("no sample of class %s to train on", d.classes[least])
	case counts[most] >= uneven*counts[least]:
		how := "; --class-weights auto or --balanced compensates for it"
		if evened {
			how = ""
		}
		return fmt.Sprintf("class imbalance: %d samples of %s, %d of %s%s", counts[most], d.classes[most], counts[least], d.classes[least], how)
	}
	return ""
}

// shape applies the flags about sampling and the loss: class weights, balancing, mixup, a teacher.
func (t *training) shape(g *nn.Graph, fit, val data.Dataset[data.Sample]) (data.Dataset[data.Sample], data.Dataset[data.Sample], error) {
	if err := t.weigh(g, fit); err != nil {
		return nil, nil, err
	}
	if t.balanced {
		classes, err := data.Classes(fit)
		if err != nil {
			return nil, nil, fmt.Errorf("--balanced is for classes: %s", strings.TrimPrefix(err.Error(), "data: "))
		}
		if fit, err = data.Balance(fit, classes); err != nil {
			return nil, nil, err
		}
	}
	var err error
	if t.config.Groups, err = t.rateGroups(g); err != nil {
		return nil, nil, err
	}
	if fit, err = t.mixed(g, fit); err != nil {
		return nil, nil, err
	}
	if t.teacher == "" {
		for _, f := range []string{"teacher-share", "temperature"} {
			if t.changed(f) {
				return nil, nil, fmt.Errorf("--%s is for --teacher", f)
			}
		}
		return fit, val, nil
	}
	return t.taught(g, fit, val)
}

// weigh applies --class-weights to the loss.
func (t *training) weigh(g *nn.Graph, fit data.Dataset[data.Sample]) error {
	if t.weights == "" || strings.EqualFold(t.weights, "none") {
		return nil
	}
	list, err := data.Classes(fit)
	if err != nil {
		return fmt.Errorf("--class-weights is for classes: %s", strings.TrimPrefix(err.Error(), "data: "))
	}
	n, _ := scores(g.Outputs())
	n = max(n, len(t.classes))
	var w []float64
	if strings.EqualFold(t.weights, "auto") {
		w = data.ClassWeights(data.Counts(list))
	} else if w, err = t.givenWeights(n); err != nil {
		return err
	}
	for len(w) < n {
		w = append(w, 1)
	}
	switch l := t.config.Loss.(type) {
	case nil:
		t.config.Loss = train.CrossEntropy{ClassWeights: w}
	case train.CrossEntropy:
		l.ClassWeights = w
		t.config.Loss = l
	case train.NLL:
		l.ClassWeights = w
		t.config.Loss = l
	case train.BCEWithLogits:
		if len(w) != 2 || w[0] == 0 {
			return fmt.Errorf("--class-weights with the loss bce: want two classes, got %d", len(w))
		}
		l.PosWeight = []float64{w[1] / w[0]}
		t.config.Loss = l
	default:
		return fmt.Errorf("--class-weights is for the losses cross-entropy, nll and bce, not %s", t.loss)
	}
	return nil
}

// givenWeights parses "2,1,1", a weight for each class, or "rose=2,tulip=0.5", with 1 for the others.
func (t *training) givenWeights(n int) ([]float64, error) {
	w := make([]float64, 0, n)
	named := strings.Contains(t.weights, "=")
	if named {
		for range n {
			w = append(w, 1)
		}
	}
	for item := range strings.SplitSeq(t.weights, ",") {
		name, number, _ := strings.Cut(item, "=")
		if !named {
			number = item
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x >= 0) {
			return nil, fmt.Errorf("--class-weights %s: %q is not a weight: want auto, a number for each class, or CLASS=NUMBER,…", t.weights, item)
		}
		if !named {
			w = append(w, x)
			continue
		}
		c := slices.Index(t.classes, strings.TrimSpace(name))
		if c < 0 {
			return nil, fmt.Errorf("--class-weights %s: no class is called %q; there are %s", t.weights, name, brief(t.classes))
		}
		w[c] = x
	}
	if len(w) != n {
		return nil, fmt.Errorf("--class-weights %s: %d weights for %d classes", t.weights, len(w), n)
	}
	return w, nil
}

// mixed applies --mixup or --cutmix.
func (t *training) mixed(g *nn.Graph, fit data.Dataset[data.Sample]) (data.Dataset[data.Sample], error) {
	flag, m := "mixup", data.MixUp{Alpha: t.mixup}
	if t.cutmix != 0 {
		flag, m = "cutmix", data.MixUp{Alpha: t.cutmix, CutMix: true}
	}
	switch {
	case t.mixup == 0 && t.cutmix == 0:
		return fit, nil
	case t.mixup != 0 && t.cutmix != 0:
		return nil, fmt.Errorf("--mixup and --cutmix exclude each other")
	case !(m.Alpha > 0):
		return nil, fmt.Errorf("--%s %v: want a number above 0, such as 0.2 for mixup and 1 for cutmix", flag, m.Alpha)
	}
	n, ok := scores(g.Outputs())
	if _, err := data.Classes(data.Subset(fit, []int{0})); err != nil || !ok || n < 2 {
		return nil, fmt.Errorf("--%s is for a class for each sample and a score for each class", flag)
	}
	if t.config.Loss == nil {
		t.config.Loss = train.CrossEntropy{}
	}
	if _, soft := t.config.Loss.(train.CrossEntropy); !soft {
		return nil, fmt.Errorf("--%s needs the loss cross-entropy, whose targets may be mixtures of classes; --loss is %s", flag, t.loss)
	}
	m.Classes = n
	return m.Of(fit), nil
}
