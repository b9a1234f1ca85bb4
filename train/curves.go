package train

import (
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// WriteCurves draws the losses over the epochs, and below them the validation's other figures,
// as a PNG.
func (h History) WriteCurves(w io.Writer) error {
	losses := map[string]func(Epoch) (float64, bool){
		"training":   func(e Epoch) (float64, bool) { return e.Loss, true },
		"validation": func(e Epoch) (float64, bool) { v, ok := e.Val["loss"]; return v, ok },
	}
	charts := [][]*plot.Plot{}
	p, err := h.chart("loss", []string{"training", "validation"}, losses)
	if err != nil {
		return err
	}
	charts = append(charts, []*plot.Plot{p})
	figures := map[string]func(Epoch) (float64, bool){}
	var names []string
	for _, n := range h.figures() {
		if n != "loss" {
			names = append(names, n)
			figures[n] = func(e Epoch) (float64, bool) { v, ok := e.Val[n]; return v, ok }
		}
	}
	if len(names) > 0 {
		if p, err = h.chart(strings.Join(names, ", "), names, figures); err != nil {
			return err
		}
		charts = append(charts, []*plot.Plot{p})
	}
	img := vgimg.New(16*vg.Centimeter, vg.Length(len(charts))*9*vg.Centimeter)
	tiles := draw.Tiles{Rows: len(charts), Cols: 1, PadY: vg.Centimeter / 2}
	canvases := plot.Align(charts, tiles, draw.New(img))
	for i := range charts {
		charts[i][0].Draw(canvases[i][0])
	}
	_, err = vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}

func (h History) chart(title string, names []string, of map[string]func(Epoch) (float64, bool)) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "epoch", title
	p.Legend.Top = true
	for i, n := range names {
		var xy plotter.XYs
		for _, e := range h {
			if v, ok := of[n](e); ok && finite(v) {
				xy = append(xy, plotter.XY{X: float64(e.Epoch), Y: v})
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, fmt.Errorf("train: curve of %s: %w", n, err)
		}
		line.Color, points.Color = plotutil.Color(i), plotutil.Color(i)
		p.Add(line, points)
		p.Legend.Add(n, line, points)
	}
	return p, nil
}
