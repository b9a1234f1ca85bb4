package train

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func classLabels(t *testing.T, v ...int64) data.Sample {
	t.Helper()
	return data.Sample{Y: []*tensor.Dense{of(t, v, len(v))}}
}

// TestFeaturesCharged: features are charged while they are kept, and those that do not fit are an error.
func TestFeaturesCharged(t *testing.T) {
	const channels, size = 1 << 12, 4
	used := func() int64 { return budget.Default() - budget.LeftCollected() }
	before := used()
	f := &features{}
	x := dtype.New(dtype.Float32, 2, channels, size)
	for range 3 {
		if err := f.add(x, classLabels(t, 1, 0), true); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := used()-before, int64(6*channels*(1+size)*4); got < want || got > want*5/4 {
		t.Errorf("%d bytes are charged, want %d", got, want)
	}
	defer budget.Limit(0)
	budget.Limit(used() + channels*size*4)
	if err := f.add(x, classLabels(t, 1, 0), true); err == nil || !strings.Contains(err.Error(), "train: features of 7 samples: takes 65536 bytes of memory") {
		t.Error(err)
	}
	runtime.KeepAlive(f)
}

// TestFeatures checks what is kept of features: means of channels, the largest magnitudes, and the first samples whole.
func TestFeatures(t *testing.T) {
	f := &features{}
	if err := f.add(of(t, []float32{1, 3, -8, 0, 2, 2, 5, 7}, 2, 2, 2), classLabels(t, 1, 0), false); err != nil {
		t.Fatal(err)
	}
	if err := f.add(of(t, []float32{-4, 0, 6, 6}, 1, 2, 2), classLabels(t, 2), false); err != nil {
		t.Fatal(err)
	}
	if want := [][]float32{{2, -4}, {2, 6}, {-2, 6}}; !slices.EqualFunc(f.pooled, want, slices.Equal[[]float32]) || !slices.Equal(f.peak, []float32{4, 8}) || !slices.Equal(f.class, []int{1, 0, 2}) {
		t.Errorf("pooled %v, peak %v, classes %v", f.pooled, f.peak, f.class)
	}
	if len(f.rows) != 3 || !slices.Equal(f.rows[1].X[0].Float32s(), []float32{2, 2, 5, 7}) || !f.rows[1].X[0].Shape().Eq(tensor.Shape{2, 2}) || f.rows[1].Y[0].Data() != int64(0) || f.rows[2].Y[0].Data() != int64(2) {
		t.Errorf("rows %v", f.rows)
	}
	for _, c := range []struct {
		x    *tensor.Dense
		y    data.Sample
		want string
	}{
		{dtype.New(dtype.Float64, 2, 2), classLabels(t, 1, 0), "features are float64[2,2], want float32 [N, channels, …]"},
		{dtype.New(dtype.Float32, 2), classLabels(t, 1, 0), "features are float32[2], want"},
		{dtype.New(dtype.Float32, 2, 2), data.Sample{}, "want float32 [N, channels, …]"},
		{dtype.New(dtype.Float32, 2, 3), classLabels(t, 1, 0), "features are (2, 3), want 2 channels"},
		{dtype.New(dtype.Float32, 2, 2, 0), classLabels(t, 1, 0), "want 2 channels"},
		{dtype.New(dtype.Float32, 2, 2), data.Sample{Y: []*tensor.Dense{dtype.New(dtype.Float32, 2)}}, "classes are float32"},
	} {
		if err := f.add(c.x, c.y, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.x.Shape(), err, c.want)
		}
	}
	if err := (&features{}).add(dtype.New(dtype.Float32, 2, 2), classLabels(t, 1, 0, 1), false); err == nil || err.Error() != "train: targets of shape (3), want a class for each sample" {
		t.Error(err)
	}
	for whole, want := range map[bool]int{false: 32, true: 40} {
		f := &features{}
		for range 4 {
			if err := f.add(dtype.New(dtype.Float32, 10, 2), classLabels(t, make([]int64, 10)...), whole); err != nil {
				t.Fatal(err)
			}
		}
		if len(f.rows) != want || len(f.pooled) != 40 {
			t.Errorf("whole is %v: %d rows of %d", whole, len(f.rows), len(f.pooled))
		}
	}
}

// TestFeatureParts checks features of subsets and of growing numbers of samples, in two views of each.
func TestFeatureParts(t *testing.T) {
	f := &features{peak: []float32{3}}
	for i := range 6 { // samples 0, 1, 2 and their second views
		f.pooled, f.class = append(f.pooled, []float32{float32(i)}), append(f.class, i%3)
		f.rows = append(f.rows, data.Sample{Y: []*tensor.Dense{of(t, []int64{int64(i)}, 1)}})
	}
	numbers := func(f *features) (pooled []float32, rows []int64) {
		for _, p := range f.pooled {
			pooled = append(pooled, p[0])
		}
		for _, r := range f.rows {
			rows = append(rows, r.Y[0].Data().([]int64)[0])
		}
		return pooled, rows
	}
	part := f.of([]int{2, 0}, 2)
	if pooled, rows := numbers(part); !slices.Equal(pooled, []float32{2, 0, 5, 3}) || !slices.Equal(rows, []int64{2, 0, 5, 3}) || !slices.Equal(part.class, []int{2, 0, 2, 0}) {
		t.Errorf("part: %v, %v, %v", pooled, rows, part.class)
	}
	few := &features{peak: f.peak, pooled: f.pooled, class: f.class, rows: f.rows[:4]}
	if _, rows := numbers(few.of([]int{2, 0}, 2)); !slices.Equal(rows, []int64{2, 0, 3}) {
		t.Errorf("part of the rows that were kept: %v", rows)
	}
	more := &features{peak: []float32{7}, pooled: [][]float32{{10}}, class: []int{1}, rows: []data.Sample{{Y: []*tensor.Dense{of(t, []int64{10}, 1)}}}}
	all := f.with(more, 2)
	if pooled, rows := numbers(all); !slices.Equal(pooled, []float32{0, 1, 2, 10, 3, 4, 5, 10}) || !slices.Equal(rows, []int64{0, 1, 2, 10, 3, 4, 5, 10}) || !slices.Equal(all.class, []int{0, 1, 2, 1, 0, 1, 2, 1}) || all.peak[0] != 7 || f.peak[0] != 3 {
		t.Errorf("together: %v, %v, %v, %v", pooled, rows, all.class, all.peak)
	}
	if _, rows := numbers(few.with(more, 2)); !slices.Equal(rows, []int64{0, 1, 2, 3}) {
		t.Errorf("together with rows of which some were not kept: %v", rows)
	}
}

// tailOf returns a classifier on features [N,2,2]: the means of the two channels, then what f makes of them.
func tailOf(t *testing.T, f func(e *nn.Edit, x *nn.Value) *nn.Value) trunk {
	t.Helper()
	g := nn.New("tail")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Node(std.ReduceMeanConfig{KeepDims: new(bool)}, e.Input("x", "float32[N,2,2]"), e.Ints("axes", 2)).Out(0)
		e.Output("y", f(e, x))
	}); err != nil {
		t.Fatal(err)
	}
	return trunk{tail: g}
}

// A linear classifier is written into a tail whichever way its weight is, and also after an activation; other tails stay as they were.
func TestPlace(t *testing.T) {
	f := &features{}
	if err := f.add(of(t, []float32{1, 3, -8, 0, 2, 2, 5, 7, 0, 1, 1, 0}, 3, 2, 2), classLabels(t, 1, 0, 2), false); err != nil {
		t.Fatal(err)
	}
	l := logistic{weight: [][]float64{{1, -2}, {0.5, 0.25}, {-1, 1}}, bias: []float64{0.5, -1, 2}}
	rows := func(e *nn.Edit, x *nn.Value) *nn.Value {
		return e.Node(std.GemmConfig{TransB: true}, x, e.Param("w", initial.FanIn{}, 3, 2), e.Param("b", initial.Zeros{}, 3)).Out(0)
	}
	for name, c := range map[string]struct {
		tail   func(e *nn.Edit, x *nn.Value) *nn.Value
		linear bool
		across bool // features by classes
	}{
		"rows": {rows, true, false},
		"columns": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Node(std.GemmConfig{}, x, e.Param("w", initial.FanIn{}, 2, 3), e.Param("b", initial.Zeros{}, 3)).Out(0)
		}, true, true},
		"relu":    {func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Node(op.Plain("Relu"), rows(e, x)).Out(0) }, true, false},
		"softmax": {func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Node(std.SoftmaxConfig{}, rows(e, x)).Out(0) }, true, false},
		"twice": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			y := rows(e, x)
			return e.Node(op.Plain("Add"), y, y).Out(0)
		}, false, false},
		"no bias": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Node(op.Plain("MatMul"), x, e.Param("w", initial.FanIn{}, 2, 3)).Out(0)
		}, false, false},
		"hidden": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			return rows(e, e.Node(op.Plain("Mul"), x, e.Param("scale", initial.Ones{}, 2)).Out(0))
		}, false, false},
	} {
		cut := tailOf(t, c.tail)
		before := nntest.Weights(t, cut.tail)
		err := cut.place(context.Background(), l, f)
		if c.linear != (err == nil) || err != nil && !errors.Is(err, errNotLinear) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for p, d := range before {
			if !c.linear && !slices.Equal(p.Data().Float32s(), d.Float32s()) {
				t.Errorf("%s: %s was changed", name, p.Name())
			}
			if w := p.Data().Float32s(); c.linear && p.Name() == "w" {
				want := []float32{1, -2, 0.5, 0.25, -1, 1}
				if c.across {
					want = []float32{1, 0.5, -1, -2, 0.25, 1}
				}
				if !slices.Equal(w, want) {
					t.Errorf("%s: weight %v, want %v", name, w, want)
				}
			}
			if b := p.Data().Float32s(); c.linear && p.Name() == "b" {
				lift := float32(0)
				if name == "relu" { // so that no score is below zero: peaks are 3 and 8, |0.5| + 1·3 + 2·8, |1| + …, 2 + 3 + 8
					lift = 19.5
				}
				if !slices.Equal(b, []float32{0.5 + lift, -1 + lift, 2 + lift}) {
					t.Errorf("%s: bias %v", name, b)
				}
			}
		}
	}
	if err := tailOf(t, rows).place(context.Background(), l, &features{peak: f.peak}); !errors.Is(err, errNotLinear) {
		t.Errorf("without a sample to try: %v", err)
	}
}

// The regression does not know weights of classes.
func TestWeighted(t *testing.T) {
	for _, c := range []struct {
		l    Loss
		want bool
	}{{nil, false}, {MSE{}, false}, {CrossEntropy{}, false}, {CrossEntropy{LabelSmoothing: 0.1}, false}, {CrossEntropy{ClassWeights: []float64{1, 2}}, true}} {
		if got := weighted(c.l); got != c.want {
			t.Errorf("%T: %v", c.l, got)
		}
	}
}

// TestStandards checks means and reciprocals of standard deviations, to each of which 0.1 of the typical one is added.
func TestStandards(t *testing.T) {
	mean, scale := standards([][]float32{{1, 5}, {3, 5}, {5, 5}, {7, 5}})
	deviation := math.Sqrt(5)
	typical := deviation / 2
	for k, want := range []float64{1 / (deviation + 0.1*typical), 1 / (0.1 * typical)} {
		if got := float64(scale[k]); math.Abs(got-want) > 1e-6*want {
			t.Errorf("scale %d is %v, want %v", k, got, want)
		}
	}
	if !slices.Equal(mean, []float32{4, 5}) {
		t.Errorf("means %v", mean)
	}
}

// TestScore checks losses of scores computed by hand, and the factor that minimizes the mean loss.
func TestScore(t *testing.T) {
	p := problem{y: []int{0, 1, 1}, classes: 2}
	scores := [][]float64{{2, 1}, {1, 3}, {5, 4}}
	soft := func(d, scale float64) float64 { return math.Log(1 + math.Exp(-d*scale)) } // of a right class that is ahead by d
	for _, scale := range []float64{1, 0.5} {
		loss, right := p.score(scores, []int{0, 1, 2}, scale)
		if want := soft(1, scale) + soft(2, scale) + soft(-1, scale); math.Abs(loss-want) > 1e-12 || right != 2 {
			t.Errorf("scale %v: loss %v, want %v, %d right", scale, loss, want, right)
		}
	}
	if loss, right := p.score(scores, []int{1}, 1); math.Abs(loss-soft(2, 1)) > 1e-12 || right != 1 {
		t.Errorf("one row: %v, %d", loss, right)
	}
	if loss, right := (problem{target: []float64{1, 5}}).score([][]float64{{2}, {2}}, []int{0, 1}, 7); loss != 10 || right != 0 {
		t.Errorf("measurements: %v, %d", loss, right)
	}
	// Two scores ahead by 1, three of four of them right: least at a probability of 3/4, a factor of log 3.
	four := problem{y: []int{0, 0, 0, 1}, classes: 2}
	by := four.bestScale([][]float64{{1, 0}, {1, 0}, {1, 0}, {1, 0}}, []int{0, 1, 2, 3})
	if math.Abs(math.Log(by/math.Log(3))) > 0.02 {
		t.Errorf("factor %v, want %v", by, math.Log(3))
	}
	if by := (problem{target: []float64{1}}).bestScale([][]float64{{3}}, []int{0}); by != 1 {
		t.Errorf("measurements are multiplied by %v", by)
	}
	q := problem{}
	q.take(problem{x: [][]float32{{1}, {2}}, y: []int{3, 4}}, 1)
	q.take(problem{x: [][]float32{{5}}, y: []int{6}}, 0)
	if len(q.x) != 2 || q.x[0][0] != 2 || !slices.Equal(q.y, []int{4, 6}) || q.target != nil {
		t.Errorf("%+v", q)
	}
	m := problem{}
	m.take(problem{x: [][]float32{{1}, {2}}, target: []float64{3, 4}}, 1)
	if !slices.Equal(m.target, []float64{4}) || m.y != nil {
		t.Errorf("%+v", m)
	}
	if d, s, a := (problem{x: [][]float32{{1}}, y: []int{0}, classes: 2}).choose(1, 1); d != 0.1 || s != 1 || a != 0 {
		t.Errorf("of one row: %v, %v, %v", d, s, a)
	}
	if len(decays) != 19 || decays[0] != 100 || math.Abs(decays[3]-10) > 1e-12 || math.Abs(decays[18]-1e-4) > 1e-12 {
		t.Errorf("decays %v", decays)
	}
}

// An improvement of a few samples, and whether all layers are kept, by the number of validation samples.
func TestGained(t *testing.T) {
	answers := func(right, all int, loss float64) (v evaluation) {
		v.figures, v.samples = map[string]float64{"loss": loss}, all
		for i := range all {
			v.answers = append(v.answers, answer{loss, i < right})
		}
		return v
	}
	for _, c := range []struct {
		difference, sum int
		want            bool
	}{{0, 0, false}, {1, 1, false}, {2, 2, true}, {2, 4, false}, {3, 4, true}, {-3, 4, false}, {3, 9, false}} {
		if got := exceeds(c.difference, c.sum); got != c.want {
			t.Errorf("%d of %d: %v", c.difference, c.sum, got)
		}
	}
	for _, c := range []struct {
		before, after        evaluation
		betterThanHead, want bool
	}{
		{answers(5, 10, 1), answers(8, 10, 1), false, true}, {answers(5, 10, 1), answers(5, 10, 1), false, false}, {answers(5, 10, 1), answers(5, 10, 1), true, true},
		{answers(5, 10, 1), answers(1, 10, 1), true, true}, {answers(5, 10, 1), answers(0, 10, 1), true, false}, {answers(5, 10, 1), answers(4, 10, 1), true, true},
		{answers(5, 10, 1), answers(5, 10, math.NaN()), true, false}, {answers(5, 10, 1), answers(5, 10, math.Inf(1)), true, false}, {answers(5, 10, 1), answers(4, 10, 0.5), false, false},
	} {
		tune := &tuning{}
		tune.plan.BetterThanHead = c.betterThanHead
		if got := tune.gained(c.before, c.after); got != c.want {
			t.Errorf("%d right before, %d after, betterThanHead %v: %v", c.before.right(), c.after.right(), c.betterThanHead, got)
		}
	}
}

func (v evaluation) right() (n int) {
	for _, a := range v.answers {
		if a.right {
			n++
		}
	}
	return n
}
