package cli

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// weightFigures are statistics of one parameter.
type weightFigures struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Trained   bool    `json:"trainable"`
	Elements  int     `json:"elements"`
	Least     float64 `json:"min"`
	Most      float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"std"`
	Zeros     float64 `json:"zeros"`      // share of elements that are 0
	Broken    int     `json:"not_finite"` // NaN and infinities; the other statistics ignore them
}

// weightTable returns the statistics of all weights and running statistics.
func weightTable(g *nn.Graph) ([]weightFigures, error) {
	list := []weightFigures{}
	for p := range g.Params() {
		d, ok := direct.Tensor(p).(*tensor.Dense)
		if !ok || p.Role() == nn.Constant || !dtype.Of(d.Dtype()).IsFloat() {
			continue
		}
		f := weightFigures{Name: p.Name(), Type: p.Value().Type().String(), Role: "weight", Trained: p.Trainable(), Elements: d.Shape().TotalSize()}
		if p.Role() == nn.Statistic {
			f.Role = "statistic"
		}
		if err := f.measure(d); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name(), err)
		}
		list = append(list, f)
	}
	return list, nil
}

// measure computes the statistics.
func (f *weightFigures) measure(d *tensor.Dense) error {
	n, sum := 0.0, 0.0
	least, most := math.Inf(1), math.Inf(-1)
	finite := func(do func(v float64)) error {
		return eachBlock(d, func(_ int, block []float64) {
			for _, v := range block {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					do(v)
				}
			}
		})
	}
	if err := finite(func(v float64) {
		n++
		sum += v
		least, most = min(least, v), max(most, v)
		if v == 0 {
			f.Zeros++
		}
	}); err != nil {
		return err
	}
	if f.Broken = f.Elements - int(n); n == 0 {
		return nil
	}
	f.Least, f.Most, f.Mean = least, most, sum/n
	err := finite(func(v float64) { f.Deviation += (v - f.Mean) * (v - f.Mean) })
	f.Deviation, f.Zeros = math.Sqrt(f.Deviation/n), f.Zeros/n
	return err
}

// weightText returns the table as text.
func weightText(list []weightFigures) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "parameter\ttype\ttrained\tmin\tmax\tmean\tstd\tzeros\t")
	for _, f := range list {
		trained, note := "no", ""
		switch {
		case f.Trained:
			trained = "yes"
		case f.Role == "statistic":
			trained = "statistic"
		}
		if f.Broken > 0 {
			note = fmt.Sprintf("%d are not finite", f.Broken)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.1f %%\t%s\n", f.Name, f.Type, trained, f.Least, f.Most, f.Mean, f.Deviation, 100*f.Zeros, note)
	}
	_ = t.Flush() // to a Builder
	return b.String()
}
