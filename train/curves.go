package train

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// curve is the curve of one figure over the epochs.
type curve struct {
	name string
	of   func(Epoch) (float64, bool)
}

// chart is a set of curves with a common axis.
type chart struct {
	title  string
	curves []curve
	log    bool
}

// WriteCurves draws learning curves as a PNG: the losses, the other validation metrics, with an axis for each kind, and
// the learning rate. The best epoch is marked.
func (h History) WriteCurves(w io.Writer) error {
	if w == nil {
		return errNoWriter
	}
	charts := h.charts()
	rows := make([][]*plot.Plot, len(charts))
	for i, c := range charts {
		p, err := h.plot(c)
		if err != nil {
			return err
		}
		if i == 0 {
			p.Title.Text, p.Title.Padding = h.title(), vg.Points(6)
		}
		rows[i] = []*plot.Plot{p}
	}
	img := vgimg.New(18*vg.Centimeter, vg.Length(len(rows))*7*vg.Centimeter)
	tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: vg.Centimeter / 2}
	canvases := plot.Align(rows, tiles, draw.New(img))
	for i := range rows {
		rows[i][0].Draw(canvases[i][0])
	}
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}

// title describes the length of the training and the best epoch.
func (h History) title() string {
	s := fmt.Sprintf("%d epochs", len(h))
	if len(h) == 1 {
		s = "1 epoch"
	}
	if best := h.Best(); best.Epoch > 0 {
		s += fmt.Sprintf(", the best is %d", best.Epoch)
		if v, ok := best.Val["loss"]; ok {
			s += fmt.Sprintf(" with a validation loss of %.4g", v)
		}
	}
	return s
}

// charts returns a chart for each kind of figure in the history.
func (h History) charts() []chart {
	val := func(name string) func(Epoch) (float64, bool) {
		return func(e Epoch) (float64, bool) { v, ok := e.Val[name]; return v, ok }
	}
	list := []chart{{title: "loss", curves: []curve{
		{"training", func(e Epoch) (float64, bool) { return e.Loss, true }}, {"validation", val("loss")},
	}}}
	list[0].log = list[0].wide(h)
	at := map[string]int{"loss": 0}
	for _, n := range h.figures() {
		if n == "loss" {
			continue
		}
		k := kind(n)
		if _, ok := at[k]; !ok {
			at[k] = len(list)
			list = append(list, chart{title: k})
		}
		c := &list[at[k]]
		c.curves = append(c.curves, curve{n, val(n)})
	}
	rate := curve{"learning rate", func(e Epoch) (float64, bool) { return e.LR, e.LR > 0 }}
	if slices.ContainsFunc(h, func(e Epoch) bool { return e.LR > 0 }) {
		c := chart{title: "learning rate", curves: []curve{rate}}
		c.log = c.wide(h)
		list = append(list, c)
	}
	return list
}

// wide reports whether the figures, all positive, span so many orders of magnitude that they need a logarithmic axis.
func (c chart) wide(h History) bool {
	least, most := math.Inf(1), 0.0
	for _, x := range c.curves {
		for _, e := range h {
			if v, ok := x.of(e); ok && finite(v) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	return least > 0 && most > 20*least
}

// kind returns the kind of a figure; figures of one kind share an axis: fractions from 0 to 1, errors in the target's unit, or the
// figure alone.
func kind(name string) string {
	switch {
	case name == "r2":
		return name
	case higher(name):
		return "fraction"
	case slices.Contains([]string{"mae", "rmse"}, name):
		return "error"
	}
	return name
}

// plot draws one chart.
func (h History) plot(c chart) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "epoch", c.title
	p.X.Tick.Marker = wholeTicks{h.Last().Epoch}
	p.Legend.Top = true
	if c.log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	}
	p.Add(plotter.NewGrid())
	low, high := math.Inf(1), math.Inf(-1)
	for i, x := range c.curves {
		var xy plotter.XYs
		for _, e := range h {
			if v, ok := x.of(e); ok && finite(v) {
				xy = append(xy, plotter.XY{X: float64(e.Epoch), Y: v})
				low, high = min(low, v), max(high, v)
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, fmt.Errorf("train: curve of %s: %w", x.name, err)
		}
		line.Color, points.Color = plotutil.Color(i), plotutil.Color(i)
		if len(xy) > 40 { // markers would overlap
			p.Add(line)
			p.Legend.Add(x.name, line)
			continue
		}
		p.Add(line, points)
		p.Legend.Add(x.name, line, points)
	}
	if low == high {
		p.Y.Min, p.Y.Max = min(0, 2*low), max(0, 2*low)
		if low == 0 {
			p.Y.Max = 1
		}
		low, high = p.Y.Min, p.Y.Max
	}
	if best := h.Best(); best.Epoch > 0 && low <= high {
		mark, err := plotter.NewLine(plotter.XYs{{X: float64(best.Epoch), Y: low}, {X: float64(best.Epoch), Y: high}})
		if err != nil {
			return nil, err
		}
		mark.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(mark)
		p.Legend.Add("best", mark)
	}
	p.X.Min = min(p.X.Min, float64(h.Last().Epoch))
	p.X.Max += 0.2 * max(1, p.X.Max-p.X.Min) // room for the legend
	return p, nil
}

// wholeTicks places at most ten ticks, at integers, for epochs.
type wholeTicks struct{ last int }

func (w wholeTicks) Ticks(low, _ float64) []plot.Tick {
	step := 1
	for i := 0; w.last/step > 10; i++ {
		step = []int{2, 5, 10}[i%3] * int(math.Pow10(i/3))
	}
	var list []plot.Tick
	for e := max(1, int(low)); e <= w.last; e++ {
		if e%step == 0 {
			list = append(list, plot.Tick{Value: float64(e), Label: strconv.Itoa(e)})
		}
	}
	return list
}
