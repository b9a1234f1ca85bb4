package train_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

func list(t testing.TB, x []float64, dims ...int) []*tensor.Dense {
	t.Helper()
	d, err := dtype.FromFloats(dtype.Float32, x, dims...)
	if err != nil {
		t.Fatal(err)
	}
	return []*tensor.Dense{d}
}

func labels(t testing.TB, x []int, dims ...int) []*tensor.Dense {
	t.Helper()
	d, err := dtype.FromInts(dtype.Int64, x, dims...)
	if err != nil {
		t.Fatal(err)
	}
	return []*tensor.Dense{d}
}

// TestMetrics checks metrics of two batches against values computed by hand.
func TestMetrics(t *testing.T) {
	// The highest scores are at 2, 0, 1, 1 and at 0 (a tie).
	scores := [][]float64{{.1, .2, .7, .5, .3, .2}, {.3, .4, .3, .1, .8, .1, .4, .4, .2}}
	classes := [][]int{{2, 1}, {1, 0, 1}}
	multi := func(m train.Metric, dims ...int) train.Metric {
		for i := range scores {
			n := len(classes[i])
			if err := m.Add(list(t, scores[i], append([]int{n, 3}, dims...)...), labels(t, classes[i], append([]int{n}, dims...)...)); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	pairs := func(m train.Metric) train.Metric {
		for _, b := range [][2][]float64{{{.2, .6}, {0, 1}}, {{.7, .4, .6}, {0, 1, 1}}} {
			if err := m.Add(list(t, b[0], len(b[0]), 1), list(t, b[1], len(b[1]))); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	ignored := &train.Accuracy{}
	if err := ignored.Add(list(t, scores[0], 2, 3), labels(t, []int{2, -100}, 2)); err != nil {
		t.Fatal(err)
	}
	last := &train.Accuracy{Axis: -1}
	if err := last.Add(list(t, scores[0], 1, 2, 3), labels(t, classes[0], 1, 2)); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		m    train.Metric
		want map[string]float64
	}{
		{multi(&train.Accuracy{}), map[string]float64{"accuracy": 2. / 5}},
		{multi(&train.Accuracy{}, 1, 1), map[string]float64{"accuracy": 2. / 5}},
		{multi(&train.Accuracy{K: 2}), map[string]float64{"top2": 1}},
		{ignored, map[string]float64{"accuracy": 1}},
		{last, map[string]float64{"accuracy": 1. / 2}},
		// right 0: said 1; 1: said 0, 1, 0; 2: said 2
		{multi(&train.Confusion{}), map[string]float64{"precision": (0. + 1./2 + 1) / 3, "recall": (0. + 1./3 + 1) / 3, "f1": (0. + 2./5 + 1) / 3, "iou": (0. + 1./4 + 1) / 3}},
		{pairs(&train.BinaryAccuracy{}), map[string]float64{"accuracy": 3. / 5}},
		{pairs(&train.BinaryAccuracy{Threshold: 0.3}), map[string]float64{"accuracy": 4. / 5}},
		{pairs(&train.BinaryAccuracy{Logits: true}), map[string]float64{"accuracy": 3. / 5}},
		{pairs(&train.AUROC{}), map[string]float64{"auroc": 3. / 6}},
		{pairs(&train.Deviation{}), map[string]float64{"mae": 2.3 / 5, "rmse": math.Sqrt((.04 + .16 + .49 + .36 + .16) / 5), "r2": 1 - 1.21/1.2}},
	} {
		for range 2 {
			got := c.m.Result()
			if len(got) != len(c.want) {
				t.Errorf("%d: %v, want %v", i, got, c.want)
			}
			for k, v := range c.want {
				if math.Abs(got[k]-v) > 1e-6 {
					t.Errorf("%d: %s is %v, want %v", i, k, got[k], v)
				}
			}
			for k := range c.want { // and then anew
				c.want[k] = 0
			}
		}
	}
}

func TestMetricRefusals(t *testing.T) {
	for i, c := range []struct {
		m         train.Metric
		out, want []*tensor.Dense
		text      string
	}{
		{&train.Accuracy{}, list(t, []float64{1, 2}, 2), labels(t, []int{1, 2}, 2), "want [N, classes, …]"},
		{&train.Accuracy{}, list(t, []float64{1, 2}, 1, 2), labels(t, []int{1, 2}, 2), "the output is (1, 2), the target (2)"},
		{&train.Accuracy{}, nil, nil, "0 outputs and 0 targets"},
		{&train.Deviation{}, list(t, []float64{1, 2}, 2), list(t, []float64{1}, 1), "the output is (2), the target (1)"},
	} {
		if err := c.m.Add(c.out, c.want); err == nil || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%d: error %v, want %s", i, err, c.text)
		}
	}
}
