package train

import (
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

func TestSoftmax(t *testing.T) {
	e := math.E
	for _, c := range []struct{ x, want []float64 }{
		{[]float64{1, 2}, []float64{1 / (1 + e), e / (1 + e)}}, {[]float64{1001, 1000}, []float64{e / (1 + e), 1 / (1 + e)}}, {[]float64{3, 3, 3, 3}, []float64{.25, .25, .25, .25}},
		{[]float64{0.2, 0.8}, []float64{0.2, 0.8}}, {[]float64{0, 1, 0}, []float64{0, 1, 0}}, // probabilities already
		{[]float64{-1, 2}, []float64{1 / (1 + e*e*e), e * e * e / (1 + e*e*e)}}, {[]float64{0.5, 0.502}, []float64{1 / (1 + math.Exp(.002)), 1 / (1 + math.Exp(-.002))}},
	} {
		for i, p := range softmax(c.x) {
			near(t, "probability", p, c.want[i], 1e-12)
		}
	}
}

func TestProbabilities(t *testing.T) {
	scores := tensor.New(tensor.WithShape(2, 3, 1), tensor.WithBacking([]float32{0, 0, 0, 1, 0, 0}))
	got, err := probabilities(scores, 2)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	near(t, "probability", got[0][2], 1./3, 1e-9)
	near(t, "probability", got[1][0], 1, 1e-9)
	for name, v := range map[string]dtype.Value{
		"one class": dtype.New(dtype.Float32, 2, 1), "a map": dtype.New(dtype.Float32, 2, 3, 2), "another batch": dtype.New(dtype.Float32, 3, 2),
		"no batch": dtype.New(dtype.Float32, 2), "classes": dtype.New(dtype.Int64, 2, 3), "none": nil,
	} {
		if _, err := probabilities(v, 2); err == nil || !strings.Contains(err.Error(), "the model's output is not class scores") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMutual checks the mutual information of two views: log 2 for two certain and consistent classes,
// 0 for a single class or independent ones.
func TestMutual(t *testing.T) {
	for i, c := range []struct {
		one, two [][]float64
		want     float64
	}{
		{[][]float64{{1, 0}, {0, 1}}, [][]float64{{1, 0}, {0, 1}}, math.Ln2},
		{[][]float64{{1, 0}, {0, 1}}, [][]float64{{0, 1}, {1, 0}}, math.Ln2},
		{[][]float64{{1, 0}, {0, 1}}, [][]float64{{1, 0}, {1, 0}}, 0},
		{[][]float64{{.5, .5}, {.5, .5}}, [][]float64{{.5, .5}, {.5, .5}}, 0},
		{[][]float64{{.75, .25}, {.25, .75}}, [][]float64{{.75, .25}, {.25, .75}}, 2 * (.3125*math.Log(.3125/.25) + .1875*math.Log(.1875/.25))},
		// Probabilities below a thousandth are passed over, one of it is not.
		{[][]float64{{.999, .001}, {.001, .999}}, [][]float64{{.999, .001}, {.001, .999}}, 2 * (.499001*math.Log(.499001/.25) + .000999*math.Log(.000999/.25))},
		{[][]float64{{.9995, .0005}, {.0005, .9995}}, [][]float64{{.9995, .0005}, {.0005, .9995}}, 2 * .5 * .9995 * .9995 * math.Log(2*.9995*.9995)},
	} {
		near(t, "information", mutual([2][][]float64{c.one, c.two}), c.want, 1e-9)
		if t.Failed() {
			t.Fatalf("case %d", i)
		}
	}
}

// TestUnsaturated checks that scores further apart than those of trained classifiers count less.
func TestUnsaturated(t *testing.T) {
	gap := func(nats float64) []float64 { return []float64{math.Exp(-nats) / 2, 1, math.Exp(-nats)} }
	for _, c := range []struct {
		view [][]float64
		want float64
	}{
		{[][]float64{gap(3)}, 1}, {[][]float64{gap(48)}, 0.5}, {[][]float64{gap(24), gap(96)}, 0.5 * math.Sqrt(48/math.Sqrt(24*30*math.Ln10))},
		{[][]float64{{1, 0}}, math.Sqrt(12 / (30 * math.Ln10))}, {[][]float64{gap(24), gap(1)}, 1}, {[][]float64{{.5, .5}, gap(48)}, 1},
	} {
		near(t, "factor", unsaturated(c.view), c.want, 1e-6)
	}
}

// The divergence of activations from running statistics, by hand.
func TestDivergence(t *testing.T) {
	n := normalization{in: "a", mean: []float64{0, 1}, variance: []float64{1, 4}}
	x := []float64{1, 3, -1, 3, 3, 1, 3, -1} // [2, 2, 2]: the means are 2 and 1, the variances 1 and 4
	near(t, "divergence", n.divergence(x, 2), math.Log1p(0.5*4)/2, 1e-7)
	still := normalization{in: "b", mean: []float64{5}, variance: []float64{0}}
	near(t, "of what never changes", still.divergence([]float64{5, 5}, 2), 0, 1e-12)
	near(t, "of a constant", normalization{mean: []float64{5}, variance: []float64{1}}.divergence([]float64{5, 5}, 1), math.Log1p(0.5*(-1+9*math.Ln10)), 1e-6)
	d, err := disagreement(nn.Feed{
		"a": tensor.New(tensor.WithShape(2, 2, 2), tensor.WithBacking(x)), "b": tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{5, 5})),
	}, []normalization{n, n, still})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "disagreement", d, (1+.6)*math.Log1p(2)/2/(1+.6+.36), 1e-7)
	for name, v := range map[string]dtype.Value{"channels": dtype.New(dtype.Float32, 2, 3), "no channel": dtype.New(dtype.Float32, 2), "missing": nil} {
		if _, err := disagreement(nn.Feed{"a": v}, []normalization{n}); err == nil || err.Error() != `train: "a" is normalized, but does not have a channel for each of 2 statistics` {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An image is moved by a fourteenth of its height up and to the left.
func TestShifted(t *testing.T) {
	for h, by := range map[int]int{28: 2, 27: 1, 14: 1, 5: 1} {
		const w = 4
		x := dtype.New(dtype.Float32, 2, h, w)
		v := x.Float32s()
		for i := range v {
			v[i] = float32(i)
		}
		got := shifted(x)
		if !got.Shape().Eq(x.Shape()) {
			t.Fatalf("shape %v", got.Shape())
		}
		for k := range 2 {
			for i := range h {
				for j := range w {
					want := float32((k*h+min(h-1, i+by))*w + min(w-1, j+by))
					if got := got.Float32s()[(k*h+i)*w+j]; got != want {
						t.Fatalf("height %d: element %d,%d,%d is %v, want %v", h, k, i, j, got, want)
					}
				}
			}
		}
	}
}

func TestPreparationText(t *testing.T) {
	for want, p := range map[string]Preparation{
		"raw, measured by the statistics that the model's normalizations keep: fits 2.5 times better than unit": {Name: "raw", By: "statistics", Margin: 2.5, RunnerUp: "unit"},
		"raw, measured by the model's scores; a guess":                                                          {Name: "raw", By: "scores", Margin: 1.1, Guess: true},
		"unit, by the shape of the input alone":                                                                 {Name: "unit", By: "shape"}, "caffe, as is usual for the tool that made the model": {Name: "caffe", By: "producer"},
		"unit, by the user": {Name: "unit", By: "the user"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if key, s, err := (Preparation{Name: "raw", By: "scores", Margin: 2, RunnerUp: "unit", Guess: true}).Finding(); err != nil || key != "graft.preparation" || s != `{"name":"raw","by":"scores","margin":2,"runner_up":"unit","guess":true}` {
		t.Errorf("%s, %v", s, err)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A margin or a fit that is too small makes a guess of a measurement.
func TestGuessed(t *testing.T) {
	for _, c := range []struct {
		margin, fit float64
		want        bool
	}{{1.3, 1.5, false}, {1.29, 1.5, true}, {1.3, 1.49, true}, {1.29, 1.49, true}, {999, 1.49, true}, {1, 100, true}} {
		if got := guessed(c.margin, c.fit); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
