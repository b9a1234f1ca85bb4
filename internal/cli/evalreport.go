package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
)

// findings are the results of an evaluation.
type findings struct {
	Model       string
	Samples     int
	Figures     map[string]float64
	asked       bool // for the confusion, as a metric
	confusion   *train.Confusion
	calibration *train.Calibration
	losses      *train.SampleLosses
	worst       []mistake
}

// mistake is a misclassified sample.
type mistake struct {
	Sample string   `json:"sample"`
	Index  int      `json:"index"`
	Loss   *float64 `json:"loss"` // nil: not a number
	Is     string   `json:"is"`
	Said   string   `json:"said"`
	Sure   *float64 `json:"probability,omitempty"`
}

// extra adds the metrics that other flags than --metric need; classes reports whether the targets are classes.
func (v *evaluation) extra(list []train.Metric, g *nn.Graph, classes func() (bool, error)) ([]train.Metric, error) {
	if !v.perClass && v.page == "" && v.confusion == "" && v.calibration == "" && v.worst == 0 {
		return list, nil
	}
	is, err := classes()
	if err != nil {
		return nil, err
	}
	n, _ := scores(g.Outputs())
	if v.last {
		n = g.Outputs()[0].Type().Shape[g.Outputs()[0].Type().Rank()-1].Size
		if v.calibration != "" || v.worst > 0 {
			return nil, errors.New("--calibration and --worst are for one class for each sample; for sequences, --per-class and --confusion count the positions")
		}
	}
	for flag, on := range map[string]bool{"per-class": v.perClass, "confusion": v.confusion != "", "calibration": v.calibration != ""} {
		if on && (!is || n < 2) {
			return nil, fmt.Errorf("--%s is for classes, with a score for each", flag)
		}
	}
	if list == nil { // as the targets are
		switch {
		case is && n >= 2:
			list = append(list, &train.Accuracy{Axis: v.axis()})
			if n > 10 {
				list = append(list, &train.Accuracy{K: 5, Axis: v.axis()})
			}
		case is:
			list = append(list, &train.BinaryAccuracy{})
		default:
			list = append(list, &train.Deviation{})
		}
		readLogits(list, g)
	}
	add := func(m train.Metric) { list = append(list, m) }
	if is && n >= 2 {
		if (v.perClass || v.confusion != "" || v.page != "") && !slices.ContainsFunc(list, func(m train.Metric) bool { _, ok := m.(*train.Confusion); return ok }) {
			add(quiet{&train.Confusion{Axis: v.axis()}})
		}
		if (v.calibration != "" || v.page != "" && !v.last) && !slices.ContainsFunc(list, func(m train.Metric) bool { _, ok := m.(*train.Calibration); return ok }) {
			add(&train.Calibration{})
		}
	}
	if v.worst > 0 {
		add(&train.SampleLosses{Logits: !yesOrNo(g), Each: v.tagged || v.blackWhite})
	}
	return list, nil
}

// quiet is a confusion matrix whose metrics were not requested.
type quiet struct{ *train.Confusion }

func (q quiet) Result() map[string]float64 { q.Confusion.Result(); return nil }

// found collects the results of the metrics.
func (v evaluation) found(n int, figures map[string]float64, list []train.Metric) *findings {
	r := &findings{Samples: n, Figures: figures}
	for _, m := range list {
		switch m := m.(type) {
		case *train.Confusion:
			r.confusion, r.asked = m, true
		case quiet:
			r.confusion = m.Confusion
		case *train.Calibration:
			r.calibration = m
		case *train.SampleLosses:
			r.losses = m
		}
	}
	if r.losses == nil {
		return r
	}
	number := func(x float64) *float64 {
		if x != x || x-x != 0 {
			return nil
		}
		return &x
	}
	for _, i := range r.losses.Worst(v.worst) {
		m := mistake{Sample: v.sample(i), Index: i, Loss: number(r.losses.Loss[i]), Sure: number(r.losses.Sure[i])}
		if c := r.losses.Is[i]; c >= 0 {
			m.Is, m.Said = v.class(c), v.class(r.losses.Said[i])
		} else if v.tagged {
			m.Is, m.Said, m.Sure = v.tagNames(r.losses.Has[i]), v.tagNames(r.losses.Gets[i]), nil
		} else if v.segmented > 0 {
			m.Is, m.Said, m.Sure = "mask", "", nil
		} else if v.opened.pairs != nil {
			m.Is, m.Said, m.Sure = "image", "", nil
		} else {
			m.Is, m.Said, m.Sure = fmt.Sprintf("%.6g", r.losses.Want[i]), fmt.Sprintf("%.6g", r.losses.Sure[i]), nil
		}
		r.worst = append(r.worst, m)
	}
	return r
}

// sample returns the name of a sample, its number from 1 where it has none.
func (v evaluation) sample(i int) string {
	if v.names != nil {
		return v.names(i)
	}
	return ordinal(i)
}

// tagNames returns the names of tags, none where there are none.
func (v evaluation) tagNames(tags []int) string {
	if len(tags) == 0 {
		return "none"
	}
	var names []string
	for _, c := range tags {
		names = append(names, v.class(c))
	}
	return strings.Join(names, " ")
}

// class returns the name of a class, its number where it has none.
func (v evaluation) class(i int) string {
	if i < len(v.classes) {
		return v.classes[i]
	}
	return fmt.Sprint(i)
}

// object returns the JSON object.
func (r *findings) object(v evaluation) map[string]any {
	all := map[string]any{"samples": r.Samples, "metrics": orNull(r.Figures)}
	if r.confusion != nil {
		all["confusion"], all["classes"] = r.confusion.Count, v.classes
	}
	if v.perClass {
		all["per_class"] = r.confusion.PerClass()
	}
	if r.losses != nil {
		all["worst"] = r.worst
	}
	return all
}

// draw writes the figures and the HTML report.
func (v evaluation) draw(r *findings) error {
	if v.confusion != "" {
		if err := onnxio.WriteFile(v.confusion, func(w io.Writer) error { return r.confusion.WritePNG(w, v.class) }); err != nil {
			return err
		}
	}
	if v.calibration != "" {
		if err := onnxio.WriteFile(v.calibration, r.calibration.WritePNG); err != nil {
			return err
		}
	}
	if v.page == "" {
		return nil
	}
	return onnxio.WriteFile(v.page, func(w io.Writer) error { return v.html(w, r) })
}

// print prints the metrics and the requested tables.
func (v evaluation) print(w io.Writer, r *findings) error {
	for _, line := range v.odd {
		fmt.Fprintln(w, line)
	}
	_, err := fmt.Fprintf(w, "%d samples\n", r.Samples)
	for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
		_, e := fmt.Fprintf(w, "%-10s %.4g\n", name, r.Figures[name])
		err = errors.Join(err, e)
	}
	if err == nil && v.perClass {
		err = v.classTable(w, r.confusion)
	}
	if err == nil && r.asked {
		err = v.matrix(w, r.confusion.Count)
	}
	if err == nil && r.losses != nil {
		err = v.worstTable(w, r.worst)
	}
	return err
}

// classTable prints the metrics of each class.
func (v evaluation) classTable(w io.Writer, c *train.Confusion) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\nclass\tprecision\trecall\tf1\tsamples\tpredicted\t\n")
	for i, f := range c.PerClass() {
		if f.Samples+f.Said > 0 {
			fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.4f\t%d\t%d\t\n", v.class(i), f.Precision, f.Recall, f.F1, f.Samples, f.Said)
		}
	}
	return t.Flush()
}

// worstTable prints the samples with the largest losses.
func (v evaluation) worstTable(w io.Writer, worst []mistake) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nsample\tloss\tactual\tpredicted\tprobability\n")
	for _, m := range worst {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", m.Sample, cell(m.Loss), m.Is, m.Said, cell(m.Sure))
	}
	return t.Flush()
}

func cell(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *x)
}

// matrix prints the confusion matrix: actual classes are rows, predicted ones columns.
func (v evaluation) matrix(w io.Writer, count [][]int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\nactual, predicted\t")
	for i := range count {
		fmt.Fprintf(t, "%s\t", v.class(i))
	}
	fmt.Fprintln(t)
	for i, row := range count {
		fmt.Fprintf(t, "%s\t", v.class(i))
		for _, n := range row {
			fmt.Fprintf(t, "%d\t", n)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
