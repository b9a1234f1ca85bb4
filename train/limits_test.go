package train

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func numbered(t *testing.T, x ...float32) *tensor.Dense {
	t.Helper()
	d, err := dtype.FromSlice(x, len(x))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRectangular checks data that no linear model fits, and the maximum number of features of a regression.
func TestRectangular(t *testing.T) {
	for _, rows := range [][][]float32{nil, {}, {{}}, {{1, 2}, {3}}, {{1}, {2}, {3}}} {
		if err := rectangular(rows, 2); err == nil {
			t.Errorf("%v for 2 targets", rows)
		}
	}
	if err := rectangular([][]float32{{1, 2}, {3, 4}}, 2); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		rows, width, classes int
		want                 bool
	}{{20000, 1000, 2, true}, {20001, 1000, 2, false}, {20000, 1001, 2, false}, {20000, 1000, 3, false}, {40000, 1000, 1, true}} {
		f := &features{pooled: make([][]float32, c.rows), peak: make([]float32, c.width)}
		if got := f.regressed(c.classes); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A metric of an output that is not there, or has no target.
func TestOutputMetricLimits(t *testing.T) {
	one := []*tensor.Dense{numbered(t, 1)}
	two := append(one, numbered(t, 2))
	for _, c := range []struct {
		at        int
		out, want []*tensor.Dense
		ok        bool
	}{{-1, two, two, false}, {1, one, two, false}, {1, two, one, false}, {1, two, two, true}, {0, one, one, true}} {
		m := &OutputMetric{Output: c.at, Metric: &Deviation{}}
		if err := m.Add(c.out, c.want); (err == nil) != c.ok {
			t.Errorf("output %d of %d and %d: %v", c.at, len(c.out), len(c.want), err)
		}
	}
}

// stopping fails at the second batch.
type stopping struct{ n int }

func (s *stopping) Add(out, want []*tensor.Dense) error {
	if s.n++; s.n == 2 {
		return errors.New("stopped")
	}
	return nil
}

func (s *stopping) Result() map[string]float64 { return nil }

func (s *stopping) Reset() { s.n = 0 }

// An evaluation ends at the error of a metric, and at that of a sample.
func TestEvaluateStops(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", "float32[1,1]")).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	s := data.Sample{X: []*tensor.Dense{numbered(t, 1)}, Y: []*tensor.Dense{numbered(t, 1)}}
	m := &stopping{}
	if _, err := Evaluate(t.Context(), g, data.Of(s, s, s, s), m); err == nil || m.n != 2 {
		t.Errorf("%v after %d batches", err, m.n)
	}
}

// The average of channels that are copied, kept and new: kept ones keep theirs, also where others are copies.
func TestAverageOfCopies(t *testing.T) {
	of := func(c nn.Change) []float32 {
		s := &state{ema: numbered(t, 10, 20, 30), typ: dtype.Float32}
		d, err := s.averageOf(c)
		if err != nil {
			t.Fatal(err)
		}
		return dtype.Slice[float32](d)
	}
	nan := float32(math.NaN())
	for _, c := range []struct {
		change nn.Change
		want   []float32
	}{
		{nn.Change{Keep: []int{0, 1, -1}, Like: []int{2, 2, 1}}, []float32{10, 20, 20}},
		{nn.Change{Keep: []int{2, -1}}, []float32{30, nan}},
		{nn.Change{Keep: []int{0, -1}, Like: []int{-1, 0}, Scale: []float64{0.5, 0.5}}, []float32{5, 5}},
		{nn.Change{Keep: []int{1, -1}, Like: []int{-1, -1}}, []float32{20, nan}},
	} {
		if got := of(c.change); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v: %v, want %v", c.change, got, c.want)
		}
	}
}

// A session is asked to add gradients up where a batch comes in parts, and only there.
func TestJobAccumulates(t *testing.T) {
	for _, c := range []struct{ micro, accumulate, want int }{{0, 0, 0}, {0, 1, 1}, {4, 0, 2}, {4, 3, 3}} {
		tr := &Trainer{c: Config{MicroBatch: c.micro, Accumulate: c.accumulate}}
		if got := tr.job(t.Context(), &binding{}).Config.Accumulate; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestClassesLast checks outputs whose classes are the last axis: [N, d…, C] for classes [N, d…].
func TestClassesLast(t *testing.T) {
	integers := func(dims ...int) *tensor.Dense { return dtype.New(dtype.Int64, dims...) }
	for _, c := range []struct {
		out  string
		want *tensor.Dense
		last bool
	}{
		{"float32[N,5,3]", integers(2, 5), true}, {"float32[N,S,3]", integers(2, 5), true}, {"float32[N,3]", integers(2), false}, {"float32[N,5,3]", integers(2), false}, {"float32[N,5,3]", integers(2, 5, 3), false},
		{"float32[N,5,3]", dtype.New(dtype.Float32, 2, 5), false}, {"float32[N,3,5]", integers(2, 5), false}, {"float32[N,5,S]", integers(2, 5), false}, {"float32[N,5,6,3]", integers(2, 5, 6), true},
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			if v := e.Input("x", c.out); ClassesLast(v, c.want) != c.last {
				t.Errorf("%s for classes %v: %v", c.out, c.want.Shape(), !c.last)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if ClassesLast(nil, integers(2, 5)) {
		t.Error("no output")
	}
}
