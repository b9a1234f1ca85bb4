package train

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gorgonia.org/tensor"
)

// Calibration compares the confidence of a classifier with its accuracy. Its result is "ece", the expected calibration
// error (Guo et al., 2017): the mean over samples of the difference between the two in the sample's bin of confidence.
// Outputs are scores or probabilities [N, C].
type Calibration struct {
	Bins int // of equal width; 0: 15

	IgnoreIndex *int // class that is ignored, besides −100; nil: none

	Count       []int     // samples in each bin; set by Result, as the others are
	Sure, Right []float64 // mean confidence of the predictions, and their accuracy, in each bin

	n           []int
	sure, right []float64
}

// Add implements Metric. Targets of −100 are ignored.
func (m *Calibration) Add(out, want []*tensor.Dense) error {
	s, err := classes("calibration", 1, m.IgnoreIndex, out, want)
	if err != nil {
		return err
	}
	bins := m.Bins
	if bins <= 0 {
		bins = 15
	}
	if m.n == nil {
		m.n, m.sure, m.right = make([]int, bins), make([]float64, bins), make([]float64, bins)
	}
	for i, y := range s.label {
		if y == ignored {
			continue
		}
		c := s.top(i)
		row := make([]float64, s.c)
		for k := range row {
			row[k] = s.at(i, k)
		}
		p := softmax(row)[c]
		if math.IsNaN(p) {
			return fmt.Errorf("train: calibration: a score is not a number")
		}
		b := min(bins-1, max(0, int(math.Ceil(p*float64(bins)))-1)) // bins exclude their lower bound
		m.n[b]++
		m.sure[b] += p
		if c == y {
			m.right[b]++
		}
	}
	return nil
}

// Result implements Metric.
func (m *Calibration) Result() map[string]float64 {
	m.Count, m.Sure, m.Right = m.n, m.sure, m.right
	m.n, m.sure, m.right = nil, nil, nil
	all, gap := 0.0, 0.0
	for i, n := range m.Count {
		all += float64(n)
		gap += math.Abs(m.Right[i] - m.Sure[i])
		m.Sure[i], m.Right[i] = ratio(m.Sure[i], float64(n)), ratio(m.Right[i], float64(n))
	}
	return map[string]float64{"ece": ratio(gap, all)}
}

// WritePNG draws a reliability diagram, accuracy over confidence. Call Result before.
func (m *Calibration) WritePNG(w io.Writer) error {
	p, err := m.plot()
	if err != nil {
		return err
	}
	return writePlot(w, p, 12, 12)
}

func (m *Calibration) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "calibration"
	p.X.Label.Text, p.Y.Label.Text = "probability of the chosen class", "accuracy"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Add(plotter.NewGrid())
	ideal, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return nil, err
	}
	ideal.Color, ideal.Dashes = plotutil.Color(1), []vg.Length{vg.Points(4), vg.Points(3)}
	var xy plotter.XYs
	for i, n := range m.Count {
		if n > 0 {
			xy = append(xy, plotter.XY{X: m.Sure[i], Y: m.Right[i]})
		}
	}
	p.Add(ideal)
	p.Legend.Add("perfectly calibrated", ideal)
	if len(xy) > 0 {
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = plotutil.Color(0), plotutil.Color(0)
		p.Add(line, points)
		p.Legend.Add("model", line, points)
	}
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// writePlot writes a plot as a PNG of the given size in centimetres.
func writePlot(w io.Writer, p *plot.Plot, width, height float64) error {
	if w == nil {
		return errNoWriter
	}
	img, err := p.WriterTo(vg.Length(width)*vg.Centimeter, vg.Length(height)*vg.Centimeter, "png")
	if err != nil {
		return err
	}
	_, err = img.WriteTo(w)
	return err
}
