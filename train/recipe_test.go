package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// layered is three linear layers, the first normalized, with the constant one in between.
func layered(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("layered")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(nn.Sequential{layers.Linear{Out: 4, Name: "a"}, layers.BatchNorm{Name: "n"}, layers.ReLU{}, layers.Linear{Out: 4, Name: "b"}, layers.ReLU{}, layers.Linear{Out: 3, Name: "c"}}, e.Input("x", "float32[N,2]"))
		e.Output("y", x)
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// A plan in words, as a configuration, and as groups of parameters by depth.
func TestRecipe(t *testing.T) {
	p := recipe{Rate: 0.001, Spread: 0.1, Decay: 0.05, Epochs: 8, Batch: 16, EMA: 0.99, Patience: 4}
	const words = "AdamW at 0.001, falling to 0.0001 at the first layer, one cycle of 8 epochs with batches of 16, weight decay 0.05 except on biases and scales, average of the weights 0.99"
	if s := p.String(); s != words {
		t.Error(s)
	}
	q := p
	q.Spread, q.Smoothing, q.HoldStatistics, q.Anew = 1, 0.1, true, true
	if s := q.String(); s != strings.Replace(words, ", falling to 0.0001 at the first layer", "", 1)+", label smoothing 0.1, running statistics held, from the weights before the classifier was fitted" {
		t.Error(s)
	}
	for share, want := range map[float64]string{0.5: words + ", 0.5 of the change kept", 1: words} {
		q := p
		if q.Interpolation = share; q.String() != want {
			t.Error(q)
		}
	}
	g := layered(t)
	c := p.config(g, Config{Seed: 3})
	if c.Loss != nil || c.Rule != (optim.AdamW{LR: 0.001, WeightDecay: 0.05}) || c.Schedule != (optim.OneCycleLR{Up: 0.25, Div: 10, FinalDiv: 50}) || c.ClipNorm != 5 || c.Patience != 4 || c.Epochs != 8 || c.Batch != 16 || c.EMA != 0.99 || !c.RestoreBest || c.Seed != 3 {
		t.Errorf("%+v", c)
	}
	own := Config{Loss: MSE{}, Rule: optim.SGD{LR: 1}, Schedule: optim.CosineLR{}, Groups: []ParamGroup{}, ClipNorm: 2, Patience: 9}
	q.Patience = 0
	if c := q.config(g, own); c.Loss != (MSE{}) || c.Rule != (optim.SGD{LR: 1}) || c.Schedule != (optim.CosineLR{}) || len(c.Groups) != 0 || c.ClipNorm != 2 || c.Patience != 9 || c.RestoreBest {
		t.Errorf("what is set stays: %+v", c)
	}
	if l, ok := q.config(g, Config{}).Loss.(CrossEntropy); !ok || l.LabelSmoothing != 0.1 {
		t.Error("label smoothing")
	}
	want := map[string][2]float64{"a": {0.1, 0}, "n": {math.Pow(0.1, 2.0/3), 1}, "b": {math.Pow(0.1, 1.0/3), 0}, "c": {1, 0}}
	if len(c.Groups) != 8 {
		t.Errorf("%d groups", len(c.Groups))
	}
	for _, r := range c.Groups {
		x := r.Params[0]
		w := want[x.Name()[:1]]
		off := x.Value().Type().Rank() <= 1
		if math.Abs(r.Rate-w[0]) > 1e-12 || (r.WeightDecay == optim.Off) != off || len(r.Params) != 1 {
			t.Errorf("%s: rate %v, want %v, decay %v", x.Name(), r.Rate, w[0], r.WeightDecay)
		}
	}
	p.HoldStatistics = true
	thaw := p.hold(g, 30)
	frozen := func() (n int) {
		for x := range g.Params() {
			if x.Frozen() {
				n++
			}
		}
		return n
	}
	if n := frozen(); n != 2 {
		t.Errorf("%d are frozen", n)
	}
	if thaw(); frozen() != 0 {
		t.Error("the statistics stay frozen")
	}
	p.HoldStatistics = false
	if p.hold(g, 30)(); frozen() != 0 {
		t.Error("nothing was to be held")
	}
}

// TestShortenMomentum checks the momentum of running statistics in runs of few updates, and that it is restored.
func TestShortenMomentum(t *testing.T) {
	for _, c := range []struct {
		momentum      float64 // 0: the default
		epochs, batch int
		want          float32
	}{
		{0, 100, 16, 0.9}, {0.99, 100, 16, 0.95}, {0.5, 1, 30, 0.5}, {0, 1, 30, 0.8}, {0.99, 2, 16, 0.8}, {0.97, 1000, 1, 0.97},
	} {
		g := nn.New("")
		err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Apply(nn.Sequential{layers.Conv{Out: 2, Kernel: []int{1}}, layers.BatchNorm{Momentum: c.momentum}}, e.Input("x", "float32[N,1,2,2]")))
		})
		if err != nil {
			t.Fatal(err)
		}
		momentum := func() float32 {
			for n := range g.Nodes() {
				if c, ok := n.Config().(std.BatchNormalizationConfig); ok {
					if c.Momentum == nil {
						return 0.9
					}
					return *c.Momentum
				}
			}
			return -1
		}
		before := momentum()
		restore := recipe{Epochs: c.epochs, Batch: c.batch}.hold(g, 30)
		if got := momentum(); math.Abs(float64(got-c.want)) > 1e-6 {
			t.Errorf("%+v: %v", c, got)
		}
		if restore(); momentum() != before {
			t.Errorf("%+v: %v afterwards, was %v", c, momentum(), before)
		}
	}
}

// A plan is kept with the model that it begins with, and read again by a run that goes on.
func TestPlanFile(t *testing.T) {
	g := layered(t)
	dir := filepath.Join(t.TempDir(), "run")
	kept := &tuning{FineTuner: FineTuner{Config: Config{Dir: dir, Resume: true}}, g: g, plan: recipe{Rate: 0.25, Spread: 0.5, Epochs: 7, Head: map[string]float64{"loss": 2}}}
	if resumed, err := kept.resumed(); resumed || err != nil {
		t.Error(resumed, err)
	}
	if floor, err := kept.floor(); floor != nil || err != nil {
		t.Error(floor, err)
	}
	if err := kept.keepPlan(); err != nil {
		t.Fatal(err)
	}
	began := nntest.Weights(t, g)
	for p := range g.Params() {
		for i := range p.Data().Float32s() {
			p.Data().Float32s()[i] += 1
		}
	}
	floor, err := kept.floor()
	if err != nil || len(floor) != len(began) {
		t.Fatal(len(floor), err)
	}
	for p, d := range began {
		if !slices.Equal(floor[p].Float32s(), d.Float32s()) {
			t.Errorf("%s is %v, was %v", p.Name(), floor[p], d)
		}
	}
	again := &tuning{FineTuner: kept.FineTuner, g: g}
	if resumed, err := again.resumed(); resumed || err != nil { // a plan without a checkpoint: all layers were not begun
		t.Error(resumed, err)
	}
	if err := os.WriteFile(filepath.Join(dir, lastState), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if resumed, err := again.resumed(); !resumed || err != nil || again.plan.Rate != 0.25 || again.plan.Epochs != 7 || again.out.Head["loss"] != 2 {
		t.Error(resumed, err, again.plan)
	}
	if off := (&tuning{FineTuner: FineTuner{Config: Config{Dir: dir}}, g: g}); true {
		if resumed, err := off.resumed(); resumed || err != nil {
			t.Error(resumed, err)
		}
		if floor, err := off.floor(); floor != nil || err != nil {
			t.Error(floor, err)
		}
	}
	for text, want := range map[string]string{"{": "plan.json: unexpected end of JSON input", "": ""} {
		path := filepath.Join(dir, planFile)
		if text == "" {
			want = "holds the checkpoint of a run with manual settings"
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := again.resumed(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, headModel), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.floor(); err == nil {
		t.Error("a damaged model is no error")
	}
	nowhere := &tuning{FineTuner: FineTuner{Config: Config{Dir: filepath.Join(dir, headModel, "below")}}, g: g}
	if err := nowhere.keepPlan(); err == nil || !strings.HasPrefix(err.Error(), "train: cannot create the folder for checkpoints: ") {
		t.Error(err)
	}
	if err := (&tuning{g: g}).keepPlan(); err != nil {
		t.Error(err)
	}
}

// TestBetterFigures checks which metrics are better, and how many samples make the loss decisive.
func TestBetterFigures(t *testing.T) {
	f := func(loss float64, accuracy ...float64) map[string]float64 {
		m := map[string]float64{"loss": loss}
		if len(accuracy) > 0 {
			m["accuracy"] = accuracy[0]
		}
		return m
	}
	for _, c := range []struct {
		a, b map[string]float64
		n    int
		want bool
	}{
		{f(1), f(2), 10, true}, {f(2), f(1), 10, false}, {f(1), f(1), 10, false}, {f(math.NaN(), 0.9), f(1, 0.5), 1000, false},
		{f(1, 0.5), f(2, 0.5), 10, true}, {f(2, 0.5), f(1, 0.5), 10, false}, {f(2, 0.9), f(1, 0.5), 99, false}, {f(2, 0.9), f(1, 0.5), 100, true},
		{f(1, 0.9), f(1, 0.5), 99, true}, {f(1, 0.5), f(2, 0.9), 1000, false}, {f(1, 0.5), f(2), 10, true}, {f(1), f(2, 0.9), 10, true},
	} {
		if got := better(c.a, c.b, c.n); got != c.want {
			t.Errorf("%v than %v of %d: %v", c.a, c.b, c.n, got)
		}
	}
	if s := figures(f(0.5, 0.75)); s != ", validation accuracy 0.75, loss 0.5" {
		t.Errorf("%q", s)
	}
	if s := figures(nil); s != "" {
		t.Errorf("%q", s)
	}
	for _, c := range []struct {
		class []int
		want  string
	}{{[]int{0, 2}, ""}, {[]int{0, 3}, "train: sample 1 is of class 3, the model has scores for 3 classes"}, {[]int{-1}, "train: sample 0 is of class -1, the model has scores for 3 classes"}} {
		if err := checkClasses(c.class, 3); (c.want == "") != (err == nil) || err != nil && err.Error() != c.want {
			t.Errorf("%v: %v", c.class, err)
		}
	}
}

// TestSuggestedRate checks the rate suggested for given curves: an eighth of that at which the loss
// clearly rose, or that of its steepest descent before.
func TestSuggestedRate(t *testing.T) {
	for name, c := range map[string]struct {
		loss []float64
		want float64 // of rates 1, 2, 3, …
	}{
		"rises at the end":     {[]float64{1, 1, 1, 1, 1, 1, 1, 2}, 8.0 / 8},
		"rises before the end": {[]float64{1, 1, 1, 1, 1, 1.25, 1.26, 2}, 7.0 / 8},
		"never rises":          {[]float64{1, 1, 1, 1, 1, 1, 1, 1}, 8.0 / 8},
		"falls a little":       {[]float64{1, 1, 0.96, 0.96, 0.96, 0.96, 0.96, 0.96}, 8.0 / 8},
		"falls steeply":        {[]float64{1, 1, 1, 1, 0.9, 0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4}, 6},
		"by the rise":          {[]float64{1, 0.9, 0.8, 0.5, 0.4, 0.2, 0.1, 0.9}, 8.0 / 8},
	} {
		curve := RateCurve{Loss: c.loss}
		for i := range c.loss {
			curve.Rate = append(curve.Rate, float64(i+1))
		}
		if curve.suggest(); math.Abs(curve.Suggestion-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, curve.Suggestion, c.want)
		}
	}
	s := rising{1e-4, 1, 5}
	for i, want := range []float64{1e-4, 1e-3, 1e-2, 1e-1, 1} {
		if got := s.At(i, 0); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("rate %d is %v", i, got)
		}
	}
	for _, r := range []RateFinder{{Min: -1}, {Min: 2, Max: 1}, {Min: 1, Max: 1}, {Steps: 3}, {Min: math.NaN()}} {
		if _, err := r.FindRate(context.Background(), layered(t), nil); err == nil || !strings.Contains(err.Error(), "want rising rates above 0 and 4 steps or more") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := (RateFinder{Steps: 4}).FindRate(context.Background(), layered(t), nil); err == nil || err.Error() != "train: there are no samples to find a rate with" {
		t.Error(err)
	}
}

// TestTensorArithmetic checks arithmetic on tensors: sums, factors, squares within and beyond the
// range of float32, averages.
func TestTensorArithmetic(t *testing.T) {
	for _, c := range []struct {
		factor  float64
		replace bool
		want    []float64
	}{{1, true, []float64{1, 2, 3}}, {2, true, []float64{2, 4, 6}}, {1, false, []float64{11, 12, 13}}, {2, false, []float64{12, 14, 16}}} {
		dst, wide := of(t, []float32{10, 10, 10}, 3), of(t, []float64{10, 10, 10}, 3)
		add(dst, of(t, []float32{1, 2, 3}, 3), c.factor, c.replace)
		add(wide, of(t, []float64{1, 2, 3}, 3), c.factor, c.replace)
		if !slices.Equal(numbers(t, dst), c.want) || !slices.Equal(numbers(t, wide), c.want) {
			t.Errorf("%+v: %v, %v", c, dst, wide)
		}
	}
	var blocks []float64
	long := make([]float32, 2*squareBlock+3)
	for i := range long {
		long[i] = float32(i % 3)
	}
	full := len(long) / 3
	for _, c := range []struct {
		x    *tensor.Dense
		want float64
	}{
		{of(t, long, len(long)), float64(full)*5 + 1}, // the last two are 0 and 1
		{of(t, []float32{3, 4}, 2), 25}, {of(t, []float64{1, 2, 3, 4, 5}, 5), 55}, {of(t, []float32{1e-20, 1e-20}, 2), 2e-40}, {of(t, []float32{1e20, 1e20}, 2), 2e40}, {of(t, []float32{}, 0), 0},
	} {
		if got := squares(c.x, &blocks); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%d elements: %v, want %v", c.x.Size(), got, c.want)
		}
	}
	if n := (len(long) - 2) % 3; n != 0 {
		t.Errorf("the sum by hand is for %d more", n)
	}
	to := []float64{1, 2}
	if blend(to, []float64{5, 10}, 0.25); !slices.Equal(to, []float64{2, 4}) {
		t.Errorf("average %v", to)
	}
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	scale(x, []int{2, 3, 2}, 1, func(i int) float64 { return []float64{1, 10, 100}[i] })
	if !slices.Equal(x, []float64{1, 2, 30, 40, 500, 600, 7, 8, 90, 100, 1100, 1200}) {
		t.Errorf("scaled along the middle axis: %v", x)
	}
	average := []float64{math.NaN(), 2, math.NaN()}
	if settle(average, []float64{7, 8, 9}); !slices.Equal(average, []float64{7, 2, 9}) {
		t.Errorf("settled: %v", average)
	}
	if spreads(optim.Lion{}) || !spreads(optim.SGD{}) || !spreads(optim.Adam{}) || !spreads(optim.AdamW{}) {
		t.Error("rules that use all threads")
	}
	if n := samplesIn(data.Sample{}); n != 0 {
		t.Errorf("%d samples in nothing", n)
	}
	if batchOf(nil) != 1 || batchOf(dtype.Scalar(float32(1))) != 1 || batchOf(dtype.New(dtype.Float32, 4, 2)) != 4 {
		t.Error("sizes of batches")
	}
	for _, c := range []struct {
		s    optim.Schedule
		want bool
	}{{optim.CosineLR{}, true}, {optim.OneCycleLR{}, true}, {optim.ConstantLR{}, false}, {optim.ExponentialLR{}, false}} {
		if got := needsTotal(c.s); got != c.want {
			t.Errorf("%T: %v", c.s, got)
		}
	}
}

// The models of the best epochs are kept, and only those, whether large or small figures are good.
func TestKeep(t *testing.T) {
	for _, c := range []struct {
		mode  string
		curve []float64
		want  []string // after each epoch
	}{
		{"", []float64{3, 2, 4, math.NaN(), 1, 2}, []string{"1", "1 2", "1 2", "1 2", "2 5", "2 5"}},
		{"max", []float64{3, 2, 4, math.NaN(), 1, 4}, []string{"1", "1 2", "1 3", "1 3", "1 3", "3 6"}},
		{"min", []float64{math.NaN(), 2, math.Inf(-1), 3}, []string{"", "2", "2", "2 4"}},
	} {
		dir := t.TempDir()
		tr, err := New(layered(t), Config{Dir: dir, Keep: 2, Mode: c.mode, Log: Quiet, Metrics: []Metric{}})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range c.curve {
			tr.g.Params()(func(p *nn.Param) bool { p.Data().Float32s()[0] = float32(i + 1); return false })
			tr.history = append(tr.history, Epoch{Epoch: i + 1, Loss: v})
			if err := tr.keep(); err != nil {
				t.Fatal(err)
			}
			if err := tr.publishKept(t.Context(), tr.history.Last()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for k := range c.curve {
				g, err := onnxio.Load(filepath.Join(dir, keptFile(k+1)))
				if err != nil {
					continue
				}
				got = append(got, string(rune('1'+k)))
				for p := range g.Params() {
					if x := p.Data().Float32s()[0]; x != float32(k+1) {
						t.Errorf("the model of epoch %d is that of %v", k+1, x)
					}
					break
				}
			}
			if s := strings.Join(got, " "); s != c.want[i] {
				t.Errorf("mode %q, epoch %d: kept %s, want %s", c.mode, i+1, s, c.want[i])
			}
		}
	}
	if keptFile(7) != "epoch-0007.onnx" {
		t.Error(keptFile(7))
	}
}

// The preset that is usual for the tool that a model comes from, and how a finding reads.
func TestBorn(t *testing.T) {
	for producer, want := range map[string][2]string{
		"pytorch": {"imagenet", "mnist"}, "Caffe2": {"caffe", "unit"}, "CNTK": {"raw", "raw"}, "tf2onnx": {"symmetric", "unit"}, "keras2onnx": {"symmetric", "unit"}, "graft": {"", ""},
	} {
		g := layered(t)
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := onnxio.Save(path, g); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		const field = "\x12\x05graft" // producer_name
		if !strings.Contains(string(b), field) {
			t.Fatal("no producer")
		}
		b = []byte(strings.Replace(string(b), field, "\x12"+string(rune(len(producer)))+producer, 1))
		if g, err = onnxio.Read(strings.NewReader(string(b))); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{born(g, false), born(g, true)}; got != want {
			t.Errorf("%s: %q, want %q", producer, got, want)
		}
	}
}
