package train

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// A classifier that alone was trained is fitted once more where that is wanted, there is a validation, and it was fitted.
func TestRefit(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ wanted, validated, fitted, want bool }{
		{true, true, true, true}, {false, true, true, false}, {true, false, true, false}, {true, true, false, false}, {false, false, true, false}, {false, true, false, false}, {true, false, false, false},
	} {
		g := layered(t)
		cut, err := divide(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		tu := &tuning{FineTuner: FineTuner{Refit: c.wanted}, g: g, fit: points(t, 30), say: func(s string) { said += s }}
		if c.validated {
			tu.val = points(t, 9)
		}
		if c.fitted {
			tu.views = 2
			if tu.seen, err = cut.look(ctx, tu.fit, 2, 0, true); err != nil {
				t.Fatal(err)
			}
		}
		before := nntest.Weights(t, g)
		if err := tu.refit(ctx); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		changed := false
		for p, d := range before {
			changed = changed || !slices.Equal(p.Data().Float32s(), d.Float32s())
		}
		want := ""
		if c.want {
			want = "head: fitted once more, to all 39 samples"
		}
		if changed != c.want || said != want {
			t.Errorf("%+v: fitted %v, said %q", c, changed, said)
		}
	}
}

// TestRefitResumed: a run that is resumed while all layers are trained fits the classifier once more as one that was not interrupted does.
func TestRefitResumed(t *testing.T) {
	ctx := context.Background()
	for name, loss := range map[string]Loss{"by regression": CrossEntropy{}, "by descent": CrossEntropy{ClassWeights: []float64{1, 2, 1}}} {
		dir := t.TempDir()
		made := func(g *nn.Graph, resume bool) *tuning {
			return &tuning{
				FineTuner: FineTuner{Refit: true, New: true, Config: Config{Dir: dir, Resume: resume, Loss: loss}},
				g:         g, fit: points(t, 30), val: points(t, 9), say: func(string) {},
			}
		}
		whole := made(layered(t), false)
		if err := whole.headFirst(ctx); err != nil {
			t.Fatal(err)
		}
		if err := whole.writePlan(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, lastState), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		g, err := onnxio.Load(filepath.Join(dir, headModel))
		if err != nil {
			t.Fatal(err)
		}
		resumed := made(g, true)
		if ok, err := resumed.resumed(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		before := weightSum(g, nil)
		for _, tu := range []*tuning{whole, resumed} {
			if err := tu.refit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := weightSum(g, nil), weightSum(whole.g, nil); got != want || got == before {
			t.Errorf("%s: the weights have the checksum %s, want %s; before %s", name, got, want, before)
		}
	}
}

// TestSingleClasses checks the targets to which a classifier is fitted: one class per sample, a scalar integer.
func TestSingleClasses(t *testing.T) {
	scalar := tensor.New(tensor.FromScalar(int64(2)))
	for name, c := range map[string]struct {
		set  data.Dataset[data.Sample]
		want bool
	}{
		"a class": {data.Of(data.Sample{Y: []*tensor.Dense{scalar}}), true}, "two": {data.Of(data.Sample{Y: []*tensor.Dense{scalar, scalar}}), false}, "none": {data.Of(data.Sample{}), false},
		"a list": {data.Of(data.Sample{Y: []*tensor.Dense{dtype.New(dtype.Int64, 1)}}), false}, "a number": {data.Of(data.Sample{Y: []*tensor.Dense{tensor.New(tensor.FromScalar(float32(2)))}}), false},
		"unreadable": {unreadable{os.ErrNotExist}, false},
	} {
		if got := singleClasses(c.set); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestHeadFirstSkips checks that without a classifier or class targets all layers are trained, or
// nothing if only the classifier was requested.
func TestHeadFirstSkips(t *testing.T) {
	ctx := context.Background()
	numbersOnly := data.Map(points(t, 12), func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
		s.Y = []*tensor.Dense{numbered(t, 1, 2, 3)}
		return s, nil
	})
	for name, c := range map[string]struct {
		policy Policy
		fit    data.Dataset[data.Sample]
		fitted bool
		want   string
	}{
		"classes": {Auto, points(t, 12), true, ""}, "many": {Auto, points(t, 401), true, ""}, "more": {Auto, points(t, 1201), true, ""}, "from scratch": {FromScratch, points(t, 12), false, ""}, "numbers": {Auto, numbersOnly, false, ""}, "numbers in full": {Full, numbersOnly, false, ""},
		"the classifier alone": {HeadOnly, points(t, 12), true, ""}, "numbers alone": {HeadOnly, numbersOnly, false, "train: the policy head-only is for classifiers with one class for each sample: freeze parameters instead"},
	} {
		tu := &tuning{FineTuner: FineTuner{Policy: c.policy, New: true}, g: layered(t), fit: c.fit, say: func(string) {}}
		err := tu.headFirst(ctx)
		if (tu.seen != nil) != c.fitted || (tu.began != nil) != c.fitted || (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: fitted %v, %v", name, tu.seen != nil, err)
		}
		if want := map[int]int{12: 4, 401: 2, 1201: 1}[c.fit.Len()]; c.fitted && tu.views != want {
			t.Errorf("%s: %d views, want %d", name, tu.views, want)
		}
	}
}

// TestTuningSays checks who receives events: Log and Observe of the first of several processes.
func TestTuningSays(t *testing.T) {
	var log, seen []string
	note := func(list *[]string) func(Event) {
		return func(e Event) {
			if e.Kind == Note {
				*list = append(*list, e.Text)
			}
		}
	}
	c := Config{Log: note(&log), Observe: note(&seen), Epochs: 1, Rule: optim.SGD{LR: 0.01}}
	if _, err := (FineTuner{Policy: HeadOnly, New: true, Config: c}).FineTune(context.Background(), layered(t), points(t, 30), points(t, 6)); err != nil {
		t.Fatal(err)
	}
	if len(log) != 1 || !strings.HasPrefix(log[0], "head: fitted to the features of 30 samples, accuracy ") || !slices.Equal(log, seen) {
		t.Errorf("%q\n%q", log, seen)
	}
	clear(log)
	log, seen = nil, nil
	onRanks(2, func(r *ranks) {
		own := c
		own.Communicator = r.comm
		if r.rank > 0 {
			own.Log, own.Observe = func(e Event) { t.Errorf("rank 1 says %q", e.Text) }, nil
		}
		if _, err := (FineTuner{Policy: HeadOnly, New: true, Config: own}).FineTune(context.Background(), layered(t), points(t, 30), nil); err != nil {
			t.Error(err)
		}
	})
	if len(log) != 1 {
		t.Errorf("two ranks say %q", log)
	}
}

// TestTryPlans checks that of several plans the one with the least loss on held-out samples is
// chosen, wherever it is listed, if all are tried because training is cheap; otherwise those after the first that is better than the
// classifier alone are not tried. The others leave no trace.
func TestTryPlans(t *testing.T) {
	good, wild, still := recipe{Rate: 0.02, Spread: 1, Epochs: 20, Batch: 16, EMA: 0.5}, recipe{Rate: 1e6, Spread: 1, Epochs: 20, Batch: 16, EMA: 0.5}, recipe{Rate: 1e-9, Spread: 1, Epochs: 20, Batch: 16, EMA: 0.5}
	for _, c := range []struct {
		name    string
		plans   []recipe
		isCheap bool
		tried   int
	}{
		{"first", []recipe{good, wild, still}, true, 3}, {"last", []recipe{still, wild, good}, true, 3}, {"in the middle", []recipe{wild, good, still}, true, 3},
		{"alone", []recipe{good}, true, 1}, {"expensive, first", []recipe{good, wild}, false, 1}, {"expensive, last", []recipe{wild, good}, false, 2},
	} {
		name, g := c.name, layered(t)
		tu := &tuning{FineTuner: FineTuner{Config: Config{Log: Quiet}}, g: g, fit: points(t, 60), val: points(t, 30), isCheap: c.isCheap}
		before := nntest.Weights(t, g)
		if err := tu.tryPlans(context.Background(), c.plans); err != nil {
			t.Fatal(name, err)
		}
		if tu.plan.Rate != good.Rate || !tu.plan.BetterThanHead || tu.tried != c.tried {
			t.Errorf("%s: %+v of %d", name, tu.plan, tu.tried)
		}
		for p, d := range before {
			if !slices.Equal(p.Data().Float32s(), d.Float32s()) || p.Frozen() {
				t.Errorf("%s: %s has changed", name, p.Name())
			}
		}
	}
}

// TestBeginsAnew checks that all layers start from the weights before the classifier was fitted if the
// plan requires it, otherwise from the current ones.
func TestBeginsAnew(t *testing.T) {
	for _, anew := range []bool{true, false} {
		g := layered(t)
		now, began := nntest.Weights(t, g), nntest.Weights(t, g)
		for _, d := range began {
			for i := range d.Float32s() {
				d.Float32s()[i] += 0.5
			}
		}
		want := now
		if anew {
			want = began
		}
		tu := &tuning{FineTuner: FineTuner{Config: Config{Log: Quiet, Rule: optim.SGD{LR: 1e-12}}}, g: g, fit: points(t, 30), began: began, plan: recipe{Epochs: 1, Batch: 16, EMA: 0.5, Spread: 1, HoldStatistics: true, Anew: anew}, say: func(string) {}}
		if err := tu.allLayers(context.Background()); err != nil || !tu.out.AllKept || len(tu.out.History) != 1 || tu.out.Policy != tu.plan.String() {
			t.Fatalf("%+v, %v", tu.out, err)
		}
		for p, d := range want {
			if !slices.EqualFunc(p.Data().Float32s(), d.Float32s(), func(a, b float32) bool { return a-b < 1e-6 && b-a < 1e-6 }) {
				t.Errorf("anew %v: %s is %v, want %v", anew, p.Name(), p.Data(), d)
			}
		}
	}
}
