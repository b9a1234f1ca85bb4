package train

import (
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// Confusion is a confusion matrix. Its results are unweighted means over the classes that occur, as targets or predictions: "precision", "recall",
// "f1" and "iou"; NaN if a score was NaN.
type Confusion struct {
	Axis  int     // axis of the classes, -1 for the last; 0: 1
	Count [][]int // [true class][predicted class], of the last Result

	IgnoreIndex *int // class that is ignored, besides −100; nil: none

	now [][]int
	nan bool
}

// Add implements Metric. Targets of −100 are ignored.
func (m *Confusion) Add(out, want []*tensor.Dense) error {
	s, err := classes("confusion", m.Axis, m.IgnoreIndex, out, want)
	if err != nil {
		return err
	}
	if len(m.now) < s.c {
		m.now = make([][]int, s.c)
		for i := range m.now {
			m.now[i] = make([]int, s.c)
		}
	}
	for i, y := range s.label {
		if y == ignored {
			continue
		}
		m.now[y][s.top(i)]++
		for c := range s.c {
			m.nan = m.nan || math.IsNaN(s.at(i, c))
		}
	}
	return nil
}

// Result implements Metric.
func (m *Confusion) Result() map[string]float64 {
	if m.nan {
		defer func() { m.nan = false }()
		m.Count, m.now = m.now, nil
		return map[string]float64{"precision": math.NaN(), "recall": math.NaN(), "f1": math.NaN(), "iou": math.NaN()}
	}
	m.Count, m.now = m.now, nil
	var precision, recall, f1, iou, seen float64
	for c, row := range m.Count {
		hit, is, said := float64(row[c]), 0.0, 0.0
		for k := range m.Count {
			is += float64(row[k])
			said += float64(m.Count[k][c])
		}
		if is+said == 0 {
			continue
		}
		seen++
		precision += ratio(hit, said)
		recall += ratio(hit, is)
		f1 += ratio(2*hit, is+said)
		iou += ratio(hit, is+said-hit)
	}
	return map[string]float64{"precision": ratio(precision, seen), "recall": ratio(recall, seen), "f1": ratio(f1, seen), "iou": ratio(iou, seen)}
}

// AUROC is the area under the receiver operating characteristic of a binary classifier, "auroc": the probability that a
// positive sample scores higher than a negative one; ties count one half. Outputs have one element per sample, or two
// classes, of which the second is the positive one; targets are 0 or 1, numbers between them are rounded, and −100 is ignored. It stores all scores. Without a sample
// of each kind, or with a score that is NaN, the result is NaN.
type AUROC struct {
	score []float64
	yes   []bool
}

// Add implements Metric.
func (a *AUROC) Add(out, want []*tensor.Dense) error {
	if len(out) > 0 && len(out[0].Shape()) == 2 && out[0].Shape()[1] == 2 {
		s, err := classes("auroc", 1, nil, out, want)
		if err != nil {
			return err
		}
		for i, y := range s.label {
			if y != ignored {
				a.score, a.yes = append(a.score, s.at(i, 1)-s.at(i, 0)), append(a.yes, y == 1)
			}
		}
		return nil
	}
	x, y, err := elements("auroc", out, want)
	if err == nil {
		err = yesNo("auroc", y)
	}
	if err != nil {
		return err
	}
	for i, v := range x {
		if y[i] != ignored {
			a.score, a.yes = append(a.score, v), append(a.yes, y[i] > 0.5)
		}
	}
	return nil
}

// Result implements Metric.
func (a *AUROC) Result() map[string]float64 {
	if slices.ContainsFunc(a.score, math.IsNaN) || !slices.Contains(a.yes, true) || !slices.Contains(a.yes, false) {
		*a = AUROC{}
		return map[string]float64{"auroc": math.NaN()}
	}
	order := make([]int, len(a.score))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case a.score[i] < a.score[j]:
			return -1
		case a.score[i] > a.score[j]:
			return 1
		}
		return 0
	})
	ranks, yes := 0.0, 0.0
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && a.score[order[to]] == a.score[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			if a.yes[i] {
				yes++
				ranks += float64(from+to+1) / 2
			}
		}
		from = to
	}
	no := float64(len(order)) - yes
	*a = AUROC{}
	return map[string]float64{"auroc": ratio(ranks-yes*(yes+1)/2, yes*no)}
}
