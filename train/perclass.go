package train

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ClassFigures are the metrics of one class.
type ClassFigures struct {
	Precision float64 `json:"precision"` // fraction of the predictions of the class that are right
	Recall    float64 `json:"recall"`    // fraction of the samples of the class that are predicted right
	F1        float64 `json:"f1"`        // their harmonic mean
	Samples   int     `json:"samples"`   // samples of the class
	Said      int     `json:"said"`      // predictions of the class
}

// PerClass returns the metrics of each class; quotients with denominator 0 are 0. Call Result before.
func (m *Confusion) PerClass() []ClassFigures {
	list := make([]ClassFigures, len(m.Count))
	for c, row := range m.Count {
		f := &list[c]
		for k := range m.Count {
			f.Samples += row[k]
			f.Said += m.Count[k][c]
		}
		hit := float64(row[c])
		f.Precision, f.Recall = ratio(hit, float64(f.Said)), ratio(hit, float64(f.Samples))
		f.F1 = ratio(2*hit, float64(f.Samples+f.Said))
	}
	return list
}

// WritePNG draws the matrix with a row for each true class; shades are fractions of the row. name returns the names of
// classes. Call Result before.
func (m *Confusion) WritePNG(w io.Writer, name func(class int) string) error {
	if len(m.Count) == 0 {
		return fmt.Errorf("train: confusion: nothing was counted")
	}
	p, side, err := m.plot(name)
	if err != nil {
		return err
	}
	return writePlot(w, p, side, side)
}

// plot returns the plot, and the length of its sides in centimetres.
func (m *Confusion) plot(name func(class int) string) (p *plot.Plot, side float64, err error) {
	n := len(m.Count)
	p = plot.New()
	p.Title.Text = "confusion matrix: fraction of each actual class by predicted class"
	p.X.Label.Text, p.Y.Label.Text = "predicted", "actual"
	grid := rowShares{m.Count}
	shades := plotter.NewHeatMap(grid, blues{})
	shades.Min, shades.Max = 0, 1
	p.Add(shades)
	ticks, rows := make([]plot.Tick, n), make([]plot.Tick, n)
	for i := range n {
		ticks[i] = plot.Tick{Value: float64(i), Label: name(i)}
		rows[i] = plot.Tick{Value: float64(n - 1 - i), Label: name(i)}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(ticks), plot.ConstantTicks(rows)
	if n > 6 {
		p.X.Tick.Label.Rotation = 0.8
		p.X.Tick.Label.XAlign = draw.XRight
	}
	if n <= 20 {
		err = m.numbers(p)
	}
	return p, min(60, max(12, 1.1*float64(n)+4)), err
}

// numbers draws the counts in the cells.
func (m *Confusion) numbers(p *plot.Plot) error {
	n := len(m.Count)
	var at plotter.XYs
	var text []string
	for i, row := range m.Count {
		for k, count := range row {
			if count > 0 {
				at, text = append(at, plotter.XY{X: float64(k), Y: float64(n - 1 - i)}), append(text, fmt.Sprint(count))
			}
		}
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: at, Labels: text})
	if err != nil {
		return err
	}
	grid := rowShares{m.Count}
	for i := range labels.TextStyle {
		s := &labels.TextStyle[i]
		s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
		s.Font.Size = vg.Points(9)
		if grid.Z(int(at[i].X), int(at[i].Y)) > 0.5 {
			s.Color = color.White
		}
	}
	p.Add(labels)
	return nil
}

// rowShares is a matrix of counts as a plotter.GridXYZ with fractions of each row, the first row at the top.
type rowShares struct{ count [][]int }

func (s rowShares) Dims() (c, r int) { return len(s.count), len(s.count) }
func (s rowShares) X(c int) float64  { return float64(c) }
func (s rowShares) Y(r int) float64  { return float64(r) }
func (s rowShares) Z(c, r int) float64 {
	row := s.count[len(s.count)-1-r]
	all := 0
	for _, n := range row {
		all += n
	}
	return ratio(float64(row[c]), float64(all))
}

// blues is a palette from white to dark blue.
type blues struct{}

func (blues) Colors() []color.Color {
	list := make([]color.Color, 64)
	for i := range list {
		t := float64(i) / 63
		list[i] = color.RGBA{uint8(255 * (1 - 0.9*t)), uint8(255 * (1 - 0.7*t)), uint8(255 - 110*t), 255}
	}
	return list
}

var _ palette.Palette = blues{}
