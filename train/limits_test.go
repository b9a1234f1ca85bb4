package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
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
func (s *stopping) Reset()                     { s.n = 0 }

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

// TestFactsAtLimits checks the facts that ranks compare when they are split, and settings with nil pointers.
func TestFactsAtLimits(t *testing.T) {
	sent := bytes.Repeat([]byte{1}, 64)
	sent[63] = 2
	if a, b := block(sent, 0), block(sent, 1); len(a) != 32 || len(b) != 32 || b[31] != 2 || len(block(sent, 2)) != 0 || len(block(sent[:40], 1)) != 8 {
		t.Error(a, b)
	}
	var b bytes.Buffer
	describe(&b, reflect.ValueOf(struct {
		P *nn.Param
		D *tensor.Dense
	}{}), 0)
	describe(&b, reflect.ValueOf(struct{ D *tensor.Dense }{numbered(t, 1, 2)}), 0)
	if !bytes.Contains(b.Bytes(), []byte("(2);")) {
		t.Errorf("%q", b.Bytes())
	}
}

// The average of channels that are copied, kept and new: kept ones keep theirs, also where others are copies.
func TestAverageOfCopies(t *testing.T) {
	of := func(c nn.Change) []float32 {
		s := &state{ema: numbered(t, 10, 20, 30), typ: dtype.Float32}
		return dtype.Slice[float32](s.averageOf(c))
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

// TestExchangeAndSums checks that values of any size are swapped, and that any number of squares is summed.
func TestExchangeAndSums(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 4097, 8193} {
		a, b := dtype.New(dtype.Uint8, n), dtype.New(dtype.Uint8, n)
		for i := range n {
			dtype.Slice[uint8](a)[i], dtype.Slice[uint8](b)[i] = uint8(i), uint8(i*3+1)
		}
		exchange(a, b)
		for i := range n {
			if dtype.Slice[uint8](a)[i] != uint8(i*3+1) || dtype.Slice[uint8](b)[i] != uint8(i) {
				t.Fatalf("%d bytes: byte %d", n, i)
			}
		}
	}
	for n := range 11 {
		x, want := make([]float32, n), 0.0
		for i := range x {
			x[i] = float32(i + 1)
			want += float64((i + 1) * (i + 1))
		}
		if got := sumSquares(x); got != want {
			t.Errorf("%d numbers: %v, want %v", n, got, want)
		}
	}
}

// A rank's parts of a batch that parts and ranks do not divide.
func TestSplitForRanks(t *testing.T) {
	for _, c := range []struct {
		rank, ranks, batch, micro, samples int
		want                               []int
	}{
		{0, 2, 7, 2, 3, []int{1, 2}}, {1, 2, 7, 2, 4, []int{2, 2}}, {0, 1, 5, 2, 5, []int{1, 2, 2}}, {2, 3, 10, 2, 4, []int{2, 2}}, {1, 2, 8, 2, 1, []int{1, 0}}, {0, 2, 8, 0, 4, []int{4}},
	} {
		x := make([]float32, c.samples)
		for i := range x {
			x[i] = float32(i)
		}
		tr := &Trainer{c: Config{Batch: c.batch, MicroBatch: c.micro}, g: nn.New("g")}
		if c.ranks > 1 {
			tr.ranks = &ranks{rank: c.rank, size: c.ranks}
		}
		d, err := dtype.FromSlice(x, len(x), 1)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := tr.split(data.Sample{X: []*tensor.Dense{d}})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var sizes []int
		next := float32(0)
		for _, p := range parts {
			n := 0
			if p.X != nil {
				n = p.X[0].Shape()[0]
				for _, v := range dtype.Slice[float32](p.X[0]) {
					if v != next {
						t.Errorf("%+v: sample %v, want %v", c, v, next)
					}
					next++
				}
			}
			sizes = append(sizes, n)
		}
		if !slices.Equal(sizes, c.want) {
			t.Errorf("%+v: parts of %v", c, sizes)
		}
	}
	tr := &Trainer{c: Config{Batch: 4, MicroBatch: 1}, g: nn.New("g"), ranks: &ranks{size: 2}}
	d, err := dtype.FromSlice(make([]float32, 3), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.split(data.Sample{X: []*tensor.Dense{d}}); err == nil {
		t.Error("three samples of a part of two")
	}
}

// TestOverlap checks that adjacent parameters in one block of memory do not overlap, and that those
// that share an element do.
func TestOverlap(t *testing.T) {
	block := make([]float32, 8)
	g := nn.New("g")
	var a, b *nn.Param
	if err := g.Edit(func(e *nn.Edit) {
		a, b = e.Param("a", initial.Ones{}, 4).Param(), e.Param("b", initial.Ones{}, 4).Param()
	}); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int]bool{4: false, 3: true} {
		x, err := dtype.FromSlice(block[:4:4], 4)
		if err != nil {
			t.Fatal(err)
		}
		y, err := dtype.FromSlice(block[from:from+4:from+4], 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Edit(func(e *nn.Edit) { e.SetData(e.Value("a"), x); e.SetData(e.Value("b"), y) }); err != nil {
			t.Fatal(err)
		}
		tr := &Trainer{params: map[*nn.Param]*state{a: {}, b: {}}}
		if got := tr.overlap(); got != want {
			t.Errorf("from %d: %v", from, got)
		}
	}
}

// A session is asked to add gradients up where a batch comes in parts, and only there.
func TestJobAccumulates(t *testing.T) {
	for _, c := range []struct{ micro, accumulate, want int }{{0, 0, 0}, {0, 1, 1}, {4, 0, 2}, {4, 3, 3}} {
		tr := &Trainer{c: Config{MicroBatch: c.micro, Accumulate: c.accumulate}}
		if got := tr.job(&binding{}).Config.Accumulate; got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestRaceSetsShare checks that if few samples validate, three tenths of the training set do so as
// well, and are not trained on.
func TestRaceSetsShare(t *testing.T) {
	var all []data.Sample
	for i := range 10 {
		all = append(all, data.Sample{X: []*tensor.Dense{numbered(t, float32(i))}})
	}
	tu := &tuning{fit: data.Of(all...), val: data.Of(all[0])}
	fit, held, err := tu.raceSets(context.Background())
	if err != nil || fit.Len() != 7 || held.Len() != 4 {
		t.Fatalf("%d to fit, %d held out, %v", fit.Len(), held.Len(), err)
	}
	seen := map[float32]int{}
	for _, s := range []data.Dataset[data.Sample]{fit, held} {
		for i := range s.Len() {
			v, err := s.At(i, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen[dtype.Slice[float32](v.X[0])[0]]++
		}
	}
	if len(seen) != 10 || seen[0] != 2 { // the sample of the validation comes twice
		t.Errorf("%v", seen)
	}
}

// TestAnswers checks the loss of each sample, and whether the prediction is right; an error of the set is returned.
func TestAnswers(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Node(op.Plain("Add"), e.Input("x", "float32[N,2]"), e.Param("b", initial.Zeros{}, 2)).Out(0)
		e.Output("y", e.Node(op.Plain("Softmax"), x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	sample := func(a, b float32, class int64) data.Sample {
		return data.Sample{X: []*tensor.Dense{numbered(t, a, b)}, Y: []*tensor.Dense{tensor.New(tensor.FromScalar(class))}}
	}
	set := data.Of(sample(0, 0, 1), sample(3, 1, 0), sample(3, 1, 1))
	tu := &tuning{g: g, fit: set}
	got, err := tu.answers(t.Context(), set)
	want := []answer{{math.Ln2, false}, {math.Log(1 + math.Exp(-2)), true}, {math.Log(1 + math.Exp(2)), false}}
	if err != nil || len(got) != len(want) {
		t.Fatal(got, err)
	}
	for i, a := range got {
		if math.Abs(a.loss-want[i].loss) > 1e-5 || a.right != want[i].right {
			t.Errorf("sample %d: %+v, want %+v", i, a, want[i])
		}
	}
	if v, err := tu.verdictOn(t.Context(), set); err != nil || !slices.Equal(v.answers, got) || v.samples != 3 || v.figures["accuracy"] != 1./3 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := tu.verdictOn(t.Context(), nil); err != nil || v.figures != nil || v.answers != nil || v.samples != 0 {
		t.Errorf("of nothing: %+v, %v", v, err)
	}
	if got, err := tu.answers(t.Context(), data.Of(sample(0, 0, 2), sample(0, 0, -100), sample(3, 1, 0))); err != nil || len(got) != 1 || !got[0].right {
		t.Errorf("of classes that the model does not have: %v, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := tu.answers(t.Context(), unreadable{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := tu.verdictOn(t.Context(), unreadable{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type unreadable struct{ err error }

func (u unreadable) Len() int { return 1 }

func (u unreadable) At(int, *rand.Rand) (data.Sample, error) { return data.Sample{}, u.err }

// TestKeepsAllLayers checks that training of all layers is undone only if there is a validation, a
// classifier to return to, and a choice.
func TestKeepsAllLayers(t *testing.T) {
	head := map[string]float64{"accuracy": 0.9}
	good, bad := verdict{figures: map[string]float64{"accuracy": 0.95, "loss": 0.1}}, verdict{figures: map[string]float64{"accuracy": 0.5, "loss": 2}}
	val := data.Of(make([]data.Sample, 1000)...)
	for name, c := range map[string]struct {
		t     *tuning
		after verdict
		want  bool
	}{
		"worse":             {&tuning{val: val, out: Outcome{Head: head}}, bad, false},
		"better":            {&tuning{val: val, out: Outcome{Head: head}}, good, true},
		"no validation":     {&tuning{out: Outcome{Head: head}}, bad, true},
		"no classifier":     {&tuning{val: val}, bad, true},
		"told to, all":      {&tuning{val: val, FineTuner: FineTuner{Policy: Full}, out: Outcome{Head: head}}, bad, true},
		"told to, from new": {&tuning{val: val, FineTuner: FineTuner{Policy: FromScratch}, out: Outcome{Head: head}}, bad, true},
	} {
		if got := c.t.keeps(verdict{figures: map[string]float64{"accuracy": 0.9, "loss": 0.3}}, c.after); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestArrivalChecks checks what is verified of gradients and statistics as they arrive.
func TestArrivalChecks(t *testing.T) {
	g := nn.New("g")
	var list [3]*nn.Param // trained, a statistic, neither
	if err := g.Edit(func(e *nn.Edit) {
		for i := range list {
			list[i] = e.Const(fmt.Sprint("p", i), numbered(t, 1, 2)).Param()
		}
	}); err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), math.Inf(1)
	for _, c := range []struct {
		p      int
		silent bool
		x      []float32
		bound  float64
		want   string
		square float64
		has    bool
	}{
		{p: 0, x: []float32{3, 4}, square: 25, has: true}, {p: 0, bound: 1e30, square: 1e30}, {p: 0, bound: 1.1e30, want: "the gradient of p0 may be as large as 1.1e+30"},
		{p: 0, bound: inf, want: "the gradient of p0 is not finite"}, {p: 0, x: []float32{nan, 0}, want: "the gradient of p0 is not finite"}, {p: 1, x: []float32{nan, 0}, want: "the statistic p1 is not finite"},
		{p: 1, x: []float32{1, 2}}, {p: 2, x: []float32{nan, 0}}, {p: 0, silent: true, x: []float32{nan, 0}}, {p: 1, silent: true, x: []float32{nan, 0}},
	} {
		s := &state{typ: dtype.Float32}
		tr := &Trainer{g: g, params: map[*nn.Param]*state{list[0]: s}, stats: map[*nn.Param]*state{list[1]: {}}}
		a := &arrival{t: tr, d: &binding{origin: map[*nn.Param]*nn.Param{list[0]: list[0], list[1]: list[1], list[2]: list[2]}}, counts: !c.silent}
		var x *tensor.Dense
		if c.x != nil {
			x = numbered(t, c.x...)
		}
		err := a.check(list[c.p], x, c.bound)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
		if s.square != c.square || s.has != c.has {
			t.Errorf("%+v: squares %v, there %v", c, s.square, s.has)
		}
	}
	a := &arrival{t: &Trainer{g: g}, counts: true}
	if a.begin(1) != nil || a.begin(math.NaN()) == nil || (&arrival{t: a.t}).begin(math.NaN()) != nil {
		t.Error("the loss of samples that count")
	}
	first := errors.New("first")
	if a.failed(first) != first {
		t.Error("nothing was updated by then")
	}
	a.taken, a.d = 1, &binding{params: list[:2]}
	if err := a.failed(first); !errors.Is(err, first) || !strings.Contains(err.Error(), "; 1 of 2 parameters were already updated") {
		t.Error(err)
	}
}

// TestArrivalTakes checks that arriving gradients update parameters and statistics at once, or not at
// all if no sample counts.
func TestArrivalTakes(t *testing.T) {
	for _, counts := range []bool{true, false} {
		g := nn.New("g")
		var list [3]*nn.Param // trained, checked before; trained; a statistic
		if err := g.Edit(func(e *nn.Edit) {
			for i := range list {
				list[i] = e.Const(fmt.Sprint("p", i), numbered(t, 1, 2)).Param()
			}
		}); err != nil {
			t.Fatal(err)
		}
		of := func(has bool) *state {
			return &state{typ: dtype.Float32, plan: plan{optim.SGD{LR: 0.5}, 2}, has: has, square: 7, n: 4}
		}
		tr := &Trainer{g: g, params: map[*nn.Param]*state{list[0]: of(true), list[1]: of(false)}, stats: map[*nn.Param]*state{list[2]: {}}}
		a := &arrival{t: tr, d: &binding{origin: map[*nn.Param]*nn.Param{list[0]: list[0], list[1]: list[1], list[2]: list[2]}}, counts: counts, rate: 0.5}
		for i, p := range list {
			if err := a.take(p, numbered(t, 3, 4)); err != nil {
				t.Fatal(i, err)
			}
		}
		want := [3][]float32{{-0.5, 0}, {-0.5, 0}, {3, 4}} // the rate is 0.5·0.5·2
		taken, updates, square := 2, 5, 25.0
		if !counts {
			want = [3][]float32{{1, 2}, {1, 2}, {1, 2}}
			taken, updates, square = 0, 4, 7
		}
		for i, p := range list {
			if !slices.Equal(p.Data().Float32s(), want[i]) {
				t.Errorf("counts %v: %v, want %v", counts, p.Data(), want[i])
			}
		}
		first, second := tr.params[list[0]], tr.params[list[1]]
		if a.taken != taken || first.n != updates || second.n != updates || first.square != 7 || second.square != square || second.has != counts {
			t.Errorf("counts %v: %d taken, %+v, %+v", counts, a.taken, first, second)
		}
	}
}

// TestVerdictSums checks that three predictions more and one less are within chance.
func TestVerdictSums(t *testing.T) {
	of := func(right ...bool) (v verdict) {
		for _, r := range right {
			v.answers = append(v.answers, answer{1, r})
		}
		return v
	}
	before := of(false, false, false, true, false, false)
	for _, c := range []struct {
		after verdict
		want  bool
	}{{of(true, true, true, false, false, false), false}, {of(true, true, true, true, false, false), true}, {of(true, true, true, true, true, true), true}, {of(true, false, false, true, false, false), false}, {of(true, true, false, true, false, false), true}} {
		if got := c.after.better(before); got != c.want {
			t.Errorf("%v: %v", c.after.answers, got)
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

// TestStanding checks that changes undone since the last synchronization are skipped; an undo of older
// ones is kept, and an undo of nothing.
func TestStanding(t *testing.T) {
	changes := []nn.Change{{Version: 1}, {Version: 2}, {Version: 3, Undoes: 2}, {Version: 4}}
	for since, want := range map[int][]int{0: {1, 4}, 1: {1, 4}, 2: {1, 2, 3, 4}} {
		var got []int
		for _, c := range standing(slices.Values(changes), since) {
			got = append(got, c.Version)
		}
		if !slices.Equal(got, want) {
			t.Errorf("since %d: versions %v, want %v", since, got, want)
		}
	}
}
