package train

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// text is what an image has written somewhere, and whether that is white.
type text struct {
	s     string
	white bool
	at    vg.Point
}

// drawn is what a plot draws: texts, and how many lines.
func drawn(p *plot.Plot) (list []text, lines int) {
	c := &recorder.Canvas{}
	p.Draw(draw.NewCanvas(c, 12*vg.Centimeter, 12*vg.Centimeter))
	now := color.Color(color.Black)
	for _, a := range c.Actions {
		switch a := a.(type) {
		case *recorder.SetColor:
			now = a.Color
		case *recorder.FillString:
			list = append(list, text{a.String, now == color.White, a.Point})
		case *recorder.Stroke:
			lines++
		}
	}
	return list, lines
}

func words(list []text) map[string]int {
	m := map[string]int{}
	for _, x := range list {
		m[x.s]++
	}
	return m
}

// The image of a confusion: counts in the squares, white on dark ones, the first class uppermost.
func TestConfusionImage(t *testing.T) {
	name := func(c int) string { return fmt.Sprint("class ", c) }
	m := &Confusion{Count: [][]int{{30, 10, 0}, {0, 51, 49}, {7, 0, 7}}}
	p, side, err := m.plot(name)
	if err != nil || side != 12 {
		t.Fatalf("%v, a side of %v cm", err, side)
	}
	list, _ := drawn(p)
	at := map[string]text{}
	for _, x := range list {
		at[x.s] = x
	}
	for _, c := range []struct {
		s     string
		white bool
	}{{"30", true}, {"10", false}, {"51", true}, {"49", false}} {
		if x, ok := at[c.s]; !ok || x.white != c.white {
			t.Errorf("%s is written %v, white %v, want white %v", c.s, ok, x.white, c.white)
		}
	}
	if w := words(list); w["7"] != 2 || w["0"] != 0 || w["class 0"] != 2 || w["class 2"] != 2 {
		t.Errorf("written: %v", w)
	}
	if !(at["30"].at.Y > at["51"].at.Y) || !(at["10"].at.X > at["30"].at.X) || math.Abs(float64(at["10"].at.Y-at["30"].at.Y)) > 1e-6 || !(at["49"].at.X > at["51"].at.X) {
		t.Errorf("places: %v", at)
	}
	grid := rowShares{m.Count}
	if c, r := grid.Dims(); c != 3 || r != 3 || grid.X(2) != 2 || grid.Y(1) != 1 {
		t.Errorf("a grid of %d by %d", c, r)
	}
	for i, want := range [][]float64{{0.5, 0, 0.5}, {0, 0.51, 0.49}, {0.75, 0.25, 0}} { // from below
		for k, z := range want {
			if got := grid.Z(k, i); got != z {
				t.Errorf("row %d from below, column %d: %v, want %v", i, k, got, z)
			}
		}
	}
	for n, want := range map[int]struct {
		side     float64
		numbers  bool
		rotation float64
	}{6: {12, true, 0}, 7: {12, true, 0.8}, 10: {15, true, 0.8}, 20: {26, true, 0.8}, 21: {27.1, false, 0.8}, 90: {60, false, 0.8}} {
		m := &Confusion{}
		for i := range n {
			m.Count = append(m.Count, make([]int, n))
			m.Count[i][i] = 1234
		}
		p, side, err := m.plot(name)
		if err != nil || math.Abs(side-want.side) > 1e-9 || p.X.Tick.Label.Rotation != want.rotation {
			t.Errorf("%d classes: a side of %v, names turned by %v, %v", n, side, p.X.Tick.Label.Rotation, err)
		}
		if n < 30 {
			if list, _ := drawn(p); words(list)["1234"] > 0 != want.numbers {
				t.Errorf("%d classes: counts are written: %v", n, !want.numbers)
			}
		}
	}
	shades := blues{}.Colors()
	for i, want := range map[int]color.RGBA{0: {255, 255, 255, 255}, 21: {178, 195, 218, 255}, 63: {25, 76, 145, 255}} {
		if shades[i] != want {
			t.Errorf("shade %d is %v, want %v", i, shades[i], want)
		}
	}
	if len(shades) != 64 {
		t.Errorf("%d shades", len(shades))
	}
	var b bytes.Buffer
	if err := writePlot(&b, p, 5, 2.5); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := img.Bounds().Dx(), img.Bounds().Dy(); x < 2*y-2 || x > 2*y+2 || x < 140 || x > 260 { // 72 to 130 points to an inch
		t.Errorf("5 by 2.5 centimetres are %d by %d points", x, y)
	}
}

// The image of a calibration has points for the bins that have samples.
func TestCalibrationImage(t *testing.T) {
	m := &Calibration{Count: []int{0, 2, 0, 3}, Sure: []float64{0, 0.4, 0, 0.9}, Right: []float64{0, 0.5, 0, 0.75}}
	p, err := m.plot()
	if err != nil {
		t.Fatal(err)
	}
	list, some := drawn(p)
	if w := words(list); w["model"] != 1 || w["perfectly calibrated"] != 1 || w["calibration"] != 1 {
		t.Errorf("written: %v", w)
	}
	if p.X.Min != 0 || p.X.Max != 1 || p.Y.Min != 0 || p.Y.Max != 1 {
		t.Errorf("axes from %v to %v and from %v to %v", p.X.Min, p.X.Max, p.Y.Min, p.Y.Max)
	}
	p, err = (&Calibration{Count: []int{0, 0}, Sure: []float64{0, 0}, Right: []float64{0, 0}}).plot()
	if err != nil {
		t.Fatal(err)
	}
	list, none := drawn(p)
	if words(list)["model"] != 0 || none >= some {
		t.Errorf("nothing was counted: %v, %d lines, want less than %d", words(list), none, some)
	}
}

// TestCurvesAxes checks axes of curves: room for the legend, a constant metric in the middle, whole epochs.
func TestCurvesAxes(t *testing.T) {
	figure := func(x ...float64) (h History) {
		for i, v := range x {
			h = append(h, Epoch{Epoch: i + 1, Loss: v})
		}
		return h
	}
	nan := math.NaN()
	for _, c := range []struct {
		h              History
		x0, x1, y0, y1 float64
	}{
		{figure(3, 1, 2), 1, 3.4, 1, 3}, {figure(2), 1, 1.2, 0, 4}, {figure(2, 2), 1, 2.2, 0, 4}, {figure(-2, -2), 1, 2.2, -4, 0},
		{figure(nan, 5, nan, 4), 2, 4.4, 4, 5}, {figure(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 1, 13, 1, 11},
	} {
		p, err := c.h.plot(c.h.charts()[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range []float64{p.X.Min - c.x0, p.X.Max - c.x1, p.Y.Min - c.y0, p.Y.Max - c.y1} {
			if !(math.Abs(d) < 1e-9) {
				t.Errorf("%v: axes %v to %v and %v to %v: number %d is off by %v", c.h, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max, i, d)
			}
		}
	}
	h := figure(3, 1, 2)
	h[1].Best = true
	with, err := h.plot(h.charts()[0])
	if err != nil {
		t.Fatal(err)
	}
	list, marked := drawn(with)
	if w := words(list); w["best"] != 1 || w["training"] != 1 || w["validation"] != 0 || w["epoch"] != 1 || w["2"] == 0 {
		t.Errorf("written: %v", w)
	}
	h[1].Best = false
	without, err := h.plot(h.charts()[0])
	if err != nil {
		t.Fatal(err)
	}
	if list, n := drawn(without); words(list)["best"] != 0 || n >= marked {
		t.Errorf("no epoch is best: %v, %d lines, %d with a best one", words(list), n, marked)
	}
	none := figure(nan)
	none[0].Best = true
	if p, err := none.plot(none.charts()[0]); err != nil || words(first(drawn(p)))["best"] != 0 {
		t.Errorf("a best epoch without a figure: %v", err)
	}
	for _, c := range []struct {
		last int
		low  float64
		want string
	}{
		{1, 1, "[1]"}, {2, 1, "[1 2]"}, {10, 1, "[1 2 3 4 5 6 7 8 9 10]"}, {10, 7.5, "[7 8 9 10]"}, {11, 0, "[2 4 6 8 10]"}, {20, 1, "[2 4 6 8 10 12 14 16 18 20]"},
		{25, 1, "[5 10 15 20 25]"}, {99, 1, "[10 20 30 40 50 60 70 80 90]"}, {150, 1, "[20 40 60 80 100 120 140]"}, {1000, 1, "[100 200 300 400 500 600 700 800 900 1000]"},
	} {
		var got []string
		for _, x := range (wholeTicks{c.last}).Ticks(c.low, float64(c.last)) {
			got = append(got, x.Label)
			if fmt.Sprint(x.Value) != x.Label {
				t.Errorf("%v is called %s", x.Value, x.Label)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d epochs from %v: marks %v, want %s", c.last, c.low, got, c.want)
		}
	}
	if got := []string{kind("r2"), kind("mae"), kind("rmse"), kind("accuracy"), kind("top5"), kind("ece")}; !slices.Equal(got, []string{"r2", "error", "error", "fraction", "fraction", "ece"}) {
		t.Errorf("kinds %v", got)
	}
	rates := func(x ...float64) (h History) {
		for i, v := range x {
			h = append(h, Epoch{Epoch: i + 1, Loss: 1, LR: v})
		}
		return h
	}
	for _, c := range []struct {
		h      History
		charts int
		log    bool
	}{{rates(0, 0), 1, false}, {rates(1, 20), 2, false}, {rates(1, 20.5), 2, true}, {rates(0, 1, 2), 2, false}} {
		list := c.h.charts()
		if len(list) != c.charts || list[len(list)-1].log != c.log {
			t.Errorf("%d charts, the last logarithmic %v: want %d, %v", len(list), list[len(list)-1].log, c.charts, c.log)
		}
	}
	small := rates(1e-6, 1e-5, 1e-3)
	if p, err := small.plot(small.charts()[1]); err != nil || words(first(drawn(p)))["1e-05"] != 1 || words(first(drawn(p)))["0.0001"] != 1 {
		t.Errorf("rates are called %v, %v", words(first(drawn(p))), err)
	}
	if s := (History{{Epoch: 1, Loss: 2}}).title(); s != "1 epoch" {
		t.Errorf("title %q", s)
	}
	if s := (History{{Epoch: 1, Best: true}}).title(); s != "1 epoch, the best is 1" {
		t.Errorf("title %q", s)
	}
}

func first(list []text, _ int) []text { return list }
