package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

func list(d ...*tensor.Dense) []*tensor.Dense { return d }

// TestSampleFigures checks what SampleLosses keeps of each sample.
func TestSampleFigures(t *testing.T) {
	third := 1 / (1 + math.Exp(-1)) // of a score that is larger by 1
	for _, c := range []struct {
		name string
		m    SampleLosses
		x, y *tensor.Dense
		loss []float64
		said []int
		is   []int
		sure []float64
		want []float64
	}{
		{"scores", SampleLosses{}, of(t, []float32{2, 1, 1, 2, 0, 0}, 3, 2), of(t, []int64{0, 0, 1}, 3),
			[]float64{-math.Log(third), -math.Log(1 - third), math.Ln2}, []int{0, 1, 0}, []int{0, 0, 1}, []float64{third, third, 0.5}, []float64{0, 0, 0}},
		{"no target", SampleLosses{}, of(t, []float32{2, 1, 1, 2}, 2, 2), of(t, []int64{-100, 1}, 2), []float64{0, -math.Log(third)}, []int{-1, 1}, []int{-1, 1}, []float64{0, third}, []float64{0, 0}},
		{"positions", SampleLosses{}, of(t, []float32{2, 0, 1, 0 /* */, 0, 1, 0, 2}, 2, 2, 2), of(t, []int64{0, 0, -100, 1}, 2, 2),
			[]float64{(-math.Log(third) + math.Ln2) / 2, -math.Log(third)}, []int{-1, -1}, []int{-1, -1}, []float64{0, 0}, []float64{0, 0}},
		{"probability of yes", SampleLosses{}, of(t, []float32{0.75, 0.5, 0.25}, 3), of(t, []int64{1, 1, 1}, 3),
			[]float64{-math.Log(0.75), math.Ln2, -math.Log(0.25)}, []int{1, 0, 0}, []int{1, 1, 1}, []float64{0.75, 0.5, 0.75}, []float64{0, 0, 0}},
		{"logit of yes", SampleLosses{Logits: true}, of(t, []float32{1, -1}, 2, 1), of(t, []int64{0, 0}, 2),
			[]float64{-math.Log(1 - third), -math.Log(third)}, []int{1, 0}, []int{0, 0}, []float64{third, third}, []float64{0, 0}},
		{"numbers", SampleLosses{}, of(t, []float32{1, 2, 5, 5}, 2, 2), of(t, []float32{4, 2, 5, 7}, 2, 2),
			[]float64{4.5, 2}, []int{-1, -1}, []int{-1, -1}, []float64{1, 5}, []float64{4, 5}},
		{"none", SampleLosses{}, dtype.New(dtype.Float32, 0, 2), dtype.New(dtype.Float32, 0, 2), nil, nil, nil, nil, nil},
	} {
		m := c.m
		if err := m.Add(list(c.x), list(c.y)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
		if !slices.EqualFunc(m.Loss, c.loss, near) || !slices.Equal(m.Said, c.said) || !slices.Equal(m.Is, c.is) || !slices.EqualFunc(m.Sure, c.sure, near) || !slices.EqualFunc(m.Want, c.want, near) {
			t.Errorf("%s: %+v, want loss %v, said %v, is %v, sure %v, want %v", c.name, m, c.loss, c.said, c.is, c.sure, c.want)
		}
	}
	for _, y := range [][]int64{{0, 2}, {-1, 0}} {
		if err := (&SampleLosses{}).Add(list(of(t, []float32{2, 1, 1, 2}, 2, 2)), list(of(t, y, 2))); err == nil || !strings.Contains(err.Error(), "the output has 2 classes") {
			t.Errorf("%v: %v", y, err)
		}
	}
	if err := (&SampleLosses{}).Add(list(of(t, []float32{2, 1, 1}, 3)), list(of(t, []float32{1, 2}, 2))); err == nil || err.Error() != "train: losses: the output is (3), the target (2)" {
		t.Error(err)
	}
	if err := (&SampleLosses{}).Add(nil, nil); err == nil {
		t.Error("no output is no error")
	}
	if got := (&SampleLosses{Loss: []float64{1, 2}}).Worst(-1); len(got) != 0 {
		t.Errorf("the %v worst", got)
	}
}

// TestAUROC checks AUROC computed by hand: the fraction of pairs of a positive and a negative in which
// the positive has the higher score, ties counting one half.
func TestAUROC(t *testing.T) {
	for _, c := range []struct {
		x, y *tensor.Dense
		want float64
	}{
		{of(t, []float32{0.1, 0.4, 0.35, 0.8}, 4), of(t, []int64{0, 0, 1, 1}, 4), 0.75},         // scikit-learn's example
		{of(t, []float32{0.1, 0.4, 0.4, 0.8}, 4, 1), of(t, []float32{0, 0, 1, 1}, 4, 1), 0.875}, // 3 of 4 and a half
		{of(t, []float32{3, 3, 3, 3}, 4), of(t, []int64{0, 1, 0, 1}, 4), 0.5},
		{of(t, []float32{0, 1, 0, 4, 5, 8, 0, 2}, 4, 2), of(t, []int64{0, 1, 1, 0}, 4), 1}, // differences 1, 4, 3, 2
		{of(t, []float32{0, 4, 0, 1, 5, 8, 0, 2}, 4, 2), of(t, []int64{0, 1, 1, 0}, 4), 0.25},
		{of(t, []float32{1, 2}, 2), of(t, []int64{1, 1}, 2), math.NaN()},
		{of(t, []float32{1, 2}, 2), of(t, []int64{0, -100}, 2), math.NaN()},
		{of(t, []float32{1, float32(math.NaN()), 2}, 3), of(t, []int64{1, 0, 0}, 3), math.NaN()},
		{of(t, []float32{1, 9, 2}, 3), of(t, []int64{0, -100, 1}, 3), 1},
		{of(t, []float32{0, 1, 0, 9, 0, 2}, 3, 2), of(t, []int64{0, -100, 1}, 3), 1},
		{of(t, []float32{5, 4, 3, 2, 1, 2}, 6), of(t, []float32{1, 1, 0, 0.4, 0.6, 1}, 6), 4.5 / 8},
	} {
		m := &AUROC{}
		if err := m.Add(list(c.x), list(c.y)); err != nil {
			t.Fatal(err)
		}
		if got := m.Result()["auroc"]; math.IsNaN(got) != math.IsNaN(c.want) || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v for %v: %v, want %v", c.x, c.y, got, c.want)
		}
		if m.score != nil || m.yes != nil {
			t.Error("the scores are kept")
		}
	}
	for _, x := range []*tensor.Dense{dtype.New(dtype.Float32, 4, 3), dtype.New(dtype.Float32, 3, 2)} {
		if err := (&AUROC{}).Add(list(x), list(dtype.New(dtype.Int64, 4))); err == nil || !strings.HasPrefix(err.Error(), "train: auroc: ") {
			t.Errorf("%v: %v", x.Shape(), err)
		}
	}
}

// TestLabelsOfMetrics: labels that a metric has no place for are errors, not samples that count for something, and the class that a loss ignores is not counted.
func TestLabelsOfMetrics(t *testing.T) {
	x := of(t, []float32{2, 1, 0, 1, 2, 0, 0, 1, 2}, 3, 3)
	one := of(t, []float32{1, 2, 3}, 3)
	void := 255
	many := of(t, make([]float32, 3*11), 3, 11)
	wide := nn.New("wide")
	if err := wide.Edit(func(e *nn.Edit) { e.Output("y", e.Input("x", "float32[N,11]")) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m       Metric
		x, y    *tensor.Dense
		result  string
		want    float64
		refused string
	}{
		{&Accuracy{}, x, of(t, []int64{0, 1, 255}, 3), "", 0, "train: accuracy: target 2 of the batch is class 255, the output has 3 classes"},
		{&Confusion{}, x, of(t, []int64{0, -1, 2}, 3), "", 0, "train: confusion: target 1 of the batch is class -1, the output has 3 classes"},
		{&Calibration{}, x, of(t, []int64{0, 3, 2}, 3), "", 0, "train: calibration: target 1 of the batch is class 3, the output has 3 classes"},
		{&AUROC{}, one, of(t, []int64{0, 1, 2}, 3), "", 0, "train: auroc: element 2 of the targets is 2: want 0 or 1"},
		{&BinaryAccuracy{}, one, of(t, []float32{-1, 1, 1}, 3), "", 0, "train: accuracy: element 0 of the targets is -1: want 0 or 1"},
		{&Accuracy{IgnoreIndex: &void}, x, of(t, []int64{0, 0, 255}, 3), "accuracy", 0.5, ""},
		{&Confusion{IgnoreIndex: &void}, x, of(t, []int64{0, 255, 255}, 3), "recall", 1, ""},
		{&Calibration{IgnoreIndex: &void}, x, of(t, []int64{255, 255, 255}, 3), "ece", 0, ""},
		{&BinaryAccuracy{}, one, of(t, []float32{1, 0, -100}, 3), "accuracy", 0.5, ""},
		{defaultMetrics(CrossEntropy{IgnoreIndex: &void}, nil)[0], x, of(t, []int64{0, 0, 255}, 3), "accuracy", 0.5, ""},
		{defaultMetrics(CrossEntropy{IgnoreIndex: &void}, wide.Outputs())[1], many, of(t, []int64{0, 9, 255}, 3), "top5", 0.5, ""},
		{defaultMetrics(NLL{IgnoreIndex: &void}, nil)[0], x, of(t, []int64{0, 0, 255}, 3), "accuracy", 0.5, ""},
		{&Confusion{}, of(t, []float32{0, float32(math.NaN())}, 1, 2), of(t, []int64{0}, 1), "f1", math.NaN(), ""},
	} {
		err := c.m.Add(list(c.x), list(c.y))
		if c.refused != "" || err != nil {
			if err == nil || err.Error() != c.refused {
				t.Errorf("%T of %v: %v, want %s", c.m, c.y, err, c.refused)
			}
			continue
		}
		if got := c.m.Result()[c.result]; math.IsNaN(got) != math.IsNaN(c.want) || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%T of %v: %s %v, want %v", c.m, c.y, c.result, got, c.want)
		}
		if m, ok := c.m.(*Confusion); ok { // a score that was NaN is of one epoch
			if err := m.Add(list(x), list(of(t, []int64{0, 1, 2}, 3))); err != nil {
				t.Fatal(err)
			}
			if got := m.Result()["f1"]; got != 1 {
				t.Errorf("the epoch after %v: f1 %v", c.y, got)
			}
		}
	}
}

// TestClassScores checks scores on another axis, and several kinds of targets.
func TestClassScores(t *testing.T) {
	x := of(t, []float32{1, 2, 6, 5, 4, 3}, 1, 2, 3)
	for _, c := range []struct {
		axis   int
		n, in  int
		y      *tensor.Dense
		labels []int
		tops   []int
	}{
		{0, 1, 3, of(t, []int64{1, 0, 1}, 1, 3), []int{1, 0, 1}, []int{1, 1, 0}},
		{1, 1, 3, of(t, []int32{1, 0, 1}, 1, 3), []int{1, 0, 1}, []int{1, 1, 0}},
		{-1, 2, 1, of(t, []int64{2, 0}, 1, 2), []int{2, 0}, []int{2, 0}},
		{2, 2, 1, of(t, []int64{2, 0}, 1, 2), []int{2, 0}, []int{2, 0}},
		{0, 1, 3, of(t, []float64{0, 0, 0.5, 0, 1, 0.5}, 1, 2, 3), []int{0, 1, 0}, []int{1, 1, 0}},
	} {
		s, err := classes("m", c.axis, nil, list(x), list(c.y))
		if err != nil || s.n != c.n || s.in != c.in || s.c*s.n*s.in != 6 || !slices.Equal(s.label, c.labels) {
			t.Errorf("axis %d: %+v, %v", c.axis, s, err)
			continue
		}
		for i, want := range c.tops {
			if got := s.top(i); got != want {
				t.Errorf("axis %d, position %d: class %d, want %d", c.axis, i, got, want)
			}
		}
	}
	for _, c := range []struct {
		axis int
		y    *tensor.Dense
		want string
	}{
		{3, dtype.New(dtype.Int64, 1), "the output is (1, 2, 3): want [N, classes, …]"}, {-3, dtype.New(dtype.Int64, 1), "want [N, classes, …]"}, {-4, dtype.New(dtype.Int64, 1), "want [N, classes, …]"},
		{0, dtype.New(dtype.Int64, 2), "the output is (1, 2, 3), the target (2)"}, {0, dtype.New(dtype.Float32, 2), "the output is (1, 2, 3), the target (2)"},
		{0, dtype.New(dtype.Int8, 3), "classes are int8: want int64"},
	} {
		if _, err := classes("m", c.axis, nil, list(x), list(c.y)); err == nil || !strings.HasPrefix(err.Error(), "train: m: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("axis %d: %v, want %s", c.axis, err, c.want)
		}
	}
}

// TestConfusionFigures checks metrics of classes computed by hand: of three classes the last occurs
// once, and is predicted twice, never rightly.
func TestConfusionFigures(t *testing.T) {
	m := &Confusion{}
	if err := m.Add(list(of(t, []float32{1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0}, 6, 3)), list(of(t, []int64{0, 0, 0, 1, 1, 2}, 6))); err != nil {
		t.Fatal(err)
	}
	if err := m.Add(list(of(t, []float32{1, 0, 0, 0, 1, 0}, 2, 3)), list(of(t, []int64{-100, -100}, 2))); err != nil {
		t.Fatal(err)
	}
	got := m.Result()
	want := map[string]float64{"precision": (1 + 0.5 + 0) / 3, "recall": (2.0/3 + 0.5 + 0) / 3, "f1": (4.0/5 + 0.5 + 0) / 3, "iou": (2.0/3 + 1.0/3 + 0) / 3}
	for k, v := range want {
		if math.Abs(got[k]-v) > 1e-12 {
			t.Errorf("%s %v, want %v", k, got[k], v)
		}
	}
	if !slices.EqualFunc(m.Count, [][]int{{2, 0, 1}, {0, 1, 1}, {0, 1, 0}}, slices.Equal[[]int]) {
		t.Errorf("counts %v", m.Count)
	}
	four := &Confusion{} // a class that neither occurs nor is said does not count
	if err := four.Add(list(of(t, []float32{1, 0, 0, 0, 0, 1, 0, 0}, 2, 4)), list(of(t, []int64{0, 1}, 2))); err != nil {
		t.Fatal(err)
	}
	if got := four.Result()["recall"]; got != 1 {
		t.Errorf("recall %v, want 1", got)
	}
}

// TestAccuracyFigures checks accuracy by rank, by threshold and with ties.
func TestAccuracyFigures(t *testing.T) {
	x := of(t, []float32{3, 2, 1, 2, 2, 1, float32(math.NaN()), 0, 1, 1, 2, 3}, 4, 3)
	for _, c := range []struct {
		k    int
		y    []int64
		want map[string]float64
	}{
		{0, []int64{0, 1, 0, 2}, map[string]float64{"accuracy": 0.5}},
		{0, []int64{0, 0, -100, 1}, map[string]float64{"accuracy": 2.0 / 3}},
		{2, []int64{2, 1, 1, 1}, map[string]float64{"top2": 0.75}},
		{3, []int64{2, 1, 0, 1}, map[string]float64{"top3": 0.75}},
	} {
		m := &Accuracy{K: c.k}
		if err := m.Add(list(x), list(of(t, c.y, 4))); err != nil {
			t.Fatal(err)
		}
		for k, want := range c.want {
			if got, ok := m.Result()[k]; !ok || math.Abs(got-want) > 1e-12 {
				t.Errorf("top %d of %v: %v, want %v", c.k, c.y, got, c.want)
			}
		}
	}
	for _, c := range []struct {
		m    BinaryAccuracy
		want float64
	}{
		{BinaryAccuracy{}, 0.75}, {BinaryAccuracy{Threshold: 0.8}, 0.5}, {BinaryAccuracy{Logits: true}, 0.75}, {BinaryAccuracy{Logits: true, Threshold: 0.6}, 0.5},
	} {
		m := c.m
		if err := m.Add(list(of(t, []float32{0.9, 0.6, 0.5, 0.3}, 4)), list(of(t, []float32{1, 1, 0, 1}, 4))); err != nil {
			t.Fatal(err)
		}
		if got := m.Result()["accuracy"]; got != c.want {
			t.Errorf("%+v: %v, want %v", c.m, got, c.want)
		}
	}
}

// TestDeviationFigures checks errors of regression computed by hand, also for constant targets and for
// targets far from zero.
func TestDeviationFigures(t *testing.T) {
	for _, c := range []struct {
		x, y          []float64
		mae, rmse, r2 float64
	}{
		{[]float64{1, 2, 3}, []float64{1, 4, 7}, 2, math.Sqrt(20.0 / 3), 1 - 20.0/18},
		{[]float64{1e9 + 1, 1e9 + 2}, []float64{1e9, 1e9 + 2}, 0.5, math.Sqrt(0.5), 0.5},
		{[]float64{1, 2}, []float64{3, 3}, 1.5, math.Sqrt(2.5), 0},
	} {
		m := &Deviation{}
		if err := m.Add(list(of(t, c.x, len(c.x))), list(of(t, c.y, len(c.y)))); err != nil {
			t.Fatal(err)
		}
		if got := m.Result(); math.Abs(got["mae"]-c.mae) > 1e-12 || math.Abs(got["rmse"]-c.rmse) > 1e-12 || math.Abs(got["r2"]-c.r2) > 1e-12 {
			t.Errorf("%v for %v: %v", c.x, c.y, got)
		}
	}
}
