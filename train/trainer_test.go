package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// small is a network of two layers with a normalization between them: [N, 4] to 3 classes.
func small(t testing.TB) *nn.Graph {
	t.Helper()
	g := nn.New("small")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		h := e.Node(op.GemmConfig{TransB: true}, x, e.Param("w1", nn.FanIn{}, 8, 4)).Out(0)
		h = e.Node(op.BatchNormalizationConfig{}, h, e.Param("scale", nn.Ones{}, 8), e.Param("bias", nn.Zeros{}, 8), e.Param("mean", nn.Zeros{}, 8), e.Param("var", nn.Ones{}, 8)).Out(0)
		h = e.Node(op.Plain("Relu"), h).Out(0)
		e.Output("y", e.Node(op.GemmConfig{TransB: true}, h, e.Param("w2", nn.FanIn{}, 3, 8), e.Param("b2", nn.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// blobs are n points around three centres in four dimensions.
func blobs(n int, seed uint64) data.Set[data.Sample] {
	r := rand.New(rand.NewPCG(seed, 1))
	x, y := dtype.New(dtype.Float32, n, 4), dtype.New(dtype.Int64, n)
	xs, ys := dtype.Slice[float32](x), dtype.Slice[int64](y)
	for i := range n {
		c := r.IntN(3)
		ys[i] = int64(c)
		for k := range 4 {
			xs[4*i+k] = float32(r.NormFloat64())
		}
		xs[4*i+c] += 3
	}
	s, err := data.Tensors(x, y)
	if err != nil {
		panic(err)
	}
	return s
}

// weights is the bytes of all parameters, by name.
func weights(g *nn.Graph) map[string][]byte {
	m := map[string][]byte{}
	for p := range g.Params() {
		if p.Data != nil {
			m[p.Name()] = bytes.Clone(dtype.Bytes(p.Data))
		}
	}
	return m
}

func same(t *testing.T, what string, a, b map[string][]byte) {
	t.Helper()
	for n, x := range a {
		if !bytes.Equal(x, b[n]) {
			t.Errorf("%s: %s differs", what, n)
		}
	}
}

func param(t testing.TB, g *nn.Graph, name string) *nn.Param {
	t.Helper()
	v, err := g.Value(name)
	if err != nil {
		t.Fatal(err)
	}
	return v.Param()
}

func quiet(c train.Config) train.Config {
	c.Log = train.Quiet
	return c
}

func TestFitLearns(t *testing.T) {
	g := small(t)
	before := weights(g)
	nodes := g.Summary().String()
	h, err := train.Fit(context.Background(), g, quiet(train.Config{Epochs: 5, Rule: optim.SGD{LR: 0.1}}), blobs(300, 1), blobs(100, 2))
	if err != nil {
		t.Fatal(err)
	}
	if len(h) != 5 || h[4].Val["accuracy"] < 0.9 || h[4].Loss >= h[0].Loss {
		t.Errorf("history:\n%v", h)
	}
	if g.Summary().String() != nodes {
		t.Error("training changed the structure")
	}
	for n, b := range weights(g) {
		if bytes.Equal(b, before[n]) {
			t.Errorf("%s did not change", n)
		}
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	m, err := train.Evaluate(context.Background(), g, blobs(100, 2))
	if err != nil || m["accuracy"] != h[4].Val["accuracy"] {
		t.Errorf("Evaluate: %v, %v; validation %v", m, err, h[4].Val)
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	var first map[string][]byte
	for _, workers := range []int{-1, 1, 5} {
		g := small(t)
		if _, err := train.Fit(context.Background(), g, quiet(train.Config{Epochs: 2, Batch: 16, Seed: 7, Workers: workers}), blobs(100, 1), nil); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = weights(g)
		}
		same(t, fmt.Sprint(workers, " workers"), first, weights(g))
	}
}

// A run that is cancelled in the middle of an epoch and resumed ends with the bytes of one that
// was not.
func TestResumeIsExact(t *testing.T) {
	fit, val := blobs(150, 1), blobs(40, 2)
	config := train.Config{
		Epochs: 4, Batch: 16, Accumulate: 2, Seed: 3, EMA: 0.9, Rule: optim.Adam{LR: 0.02}, Schedule: optim.Cosine{},
		ClipNorm: 1, Keep: 2, Monitor: "accuracy", Plateau: &optim.Plateau{Patience: 1},
	}
	whole := small(t)
	config.Dir = t.TempDir()
	want, err := train.Fit(context.Background(), whole, quiet(config), fit, val)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"last.onnx", "last.state", "best.onnx", "history.csv", "curves.png"} {
		if _, err := os.Stat(filepath.Join(config.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(config.Dir, "epoch-*.onnx")); len(kept) != 2 {
		t.Errorf("kept %v, want 2 models", kept)
	}
	config.Dir, config.Resume = t.TempDir(), true
	g := small(t)
	for _, stop := range []int{3, 8, 9, 14, 1 << 30} {
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		config.Log = func(e train.Event) {
			if e.Kind == train.Stepped {
				if n++; n == stop {
					cancel()
				}
			}
		}
		g = small(t)
		tr, err := train.New(g, config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tr.Fit(ctx, fit, val)
		cancel()
		if stop < 1<<30 {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped at %d: %v", stop, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d epochs, want %d", len(got), len(want))
		}
		for i := range got {
			a, b := got[i], want[i]
			a.Seconds, b.Seconds = 0, 0
			if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
				t.Errorf("resumed: %s\n  whole: %s", x, y)
			}
		}
	}
	same(t, "resumed", weights(whole), weights(g))
	h, err := train.Fit(context.Background(), g, quiet(config), fit, val)
	if err != nil || len(h) != 4 {
		t.Errorf("a run that is complete goes on: %d epochs, %v", len(h), err)
	}
}

// A checkpoint of something else is refused, and nothing has changed.
func TestResumeRefuses(t *testing.T) {
	c := train.Config{Dir: t.TempDir(), Rule: optim.SGD{Momentum: 0.9}}
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(64, 1), nil); err != nil {
		t.Fatal(err)
	}
	c.Resume = true
	other := c
	other.Rule = optim.Adam{}
	head := small(t)
	if err := head.Edit(func(e *nn.Edit) { e.SetData(e.Value("w1"), dtype.New(dtype.Float64, 8, 4)) }); err == nil {
		t.Fatal("a weight of another type is no error")
	}
	wide := nn.New("wide")
	if err := wide.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Node(op.GemmConfig{TransB: true}, x, e.Param("w1", nn.FanIn{}, 3, 4)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		g    *nn.Graph
		c    train.Config
		want string
	}{
		{small(t), other, "optimizer/exp_avg/w1: is not in"},
		{wide, c, "input param/w1: want float32[3,4], got float32[8,4]"},
	} {
		before := weights(x.g)
		if _, err := train.New(x.g, x.c); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want %s", err, x.want)
		}
		same(t, "refused", before, weights(x.g))
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "last.state"), []byte("rubbish, more than eight bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(small(t), c); err == nil || !strings.Contains(err.Error(), "is no state file") {
		t.Errorf("rubbish: %v", err)
	}
}

// Batches in which every target is ignored train nothing and spoil nothing.
func TestNothingCounts(t *testing.T) {
	b := batch(t, blobs(8, 1))
	y := dtype.New(dtype.Int64, 8)
	for i := range 8 {
		dtype.Slice[int64](y)[i] = -100
	}
	g := small(t)
	tr, err := train.New(g, train.Config{Rule: optim.SGD{LR: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	before := weights(g)
	info, err := tr.Step(context.Background(), data.Sample{X: b.X, Y: []*tensor.Dense{y}})
	if err != nil || info.Loss != 0 {
		t.Errorf("%v, %v", info, err)
	}
	same(t, "nothing counts", before, weights(g))
	if info, err = tr.Step(context.Background(), b); err != nil || info.Loss == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAccumulateIsOneBatch(t *testing.T) {
	// Without a normalization, whose statistics are those of the small batches.
	model := func() *nn.Graph {
		g := small(t)
		if err := g.Edit(func(e *nn.Edit) { e.Remove(e.Find(nn.Ops("BatchNormalization"))) }); err != nil {
			t.Fatal(err)
		}
		return g
	}
	fit := blobs(96, 1)
	config := train.Config{Epochs: 2, Batch: 48, ClipNorm: 0.5, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 3}}}
	whole, parts := model(), model()
	if _, err := train.Fit(context.Background(), whole, quiet(config), fit, nil); err != nil {
		t.Fatal(err)
	}
	config.Batch, config.Accumulate = 12, 4
	h, err := train.Fit(context.Background(), parts, quiet(config), fit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h.Last().Steps != 4 {
		t.Errorf("%d steps, want 4", h.Last().Steps)
	}
	for p := range whole.Params() {
		x, _ := dtype.Float64s(p.Data)
		if d := distance(t, param(t, parts, p.Name()).Data, x); d > 1e-5 {
			t.Errorf("%s is off by %g", p.Name(), d)
		}
	}
}

func TestFreeze(t *testing.T) {
	g := small(t)
	if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Any(nn.Glob("w1"), nn.Ops("BatchNormalization"))) }); err != nil {
		t.Fatal(err)
	}
	before := weights(g)
	if _, err := train.Fit(context.Background(), g, quiet(train.Config{}), blobs(64, 1), nil); err != nil {
		t.Fatal(err)
	}
	after := weights(g)
	for _, n := range []string{"w1", "scale", "bias", "mean", "var"} {
		if !bytes.Equal(before[n], after[n]) {
			t.Errorf("%s is frozen and changed", n)
		}
	}
	for _, n := range []string{"w2", "b2"} {
		if bytes.Equal(before[n], after[n]) {
			t.Errorf("%s did not change", n)
		}
	}
	if err := g.Edit(func(e *nn.Edit) { e.Freeze() }); err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(g, train.Config{}); err == nil || !strings.Contains(err.Error(), "no trainable parameter") {
		t.Errorf("all frozen: %v", err)
	}
}

func TestNaNStops(t *testing.T) {
	for _, k := range []int{1, 2} {
		g := small(t)
		tr, err := train.New(g, train.Config{Accumulate: k})
		if err != nil {
			t.Fatal(err)
		}
		good, bad := batch(t, blobs(8, 1)), batch(t, blobs(8, 2))
		dtype.Slice[float32](bad.X[0])[3] = float32(math.NaN())
		for range 2 * k {
			if _, err := tr.Step(context.Background(), good); err != nil {
				t.Fatal(err)
			}
		}
		before := weights(g)
		if k > 1 {
			if _, err := tr.Step(context.Background(), good); err != nil {
				t.Fatal(err)
			}
		}
		_, err = tr.Step(context.Background(), bad)
		if err == nil || !strings.Contains(err.Error(), "step 3: the loss is NaN") {
			t.Fatalf("error %v", err)
		}
		same(t, "after NaN", before, weights(g))
		if info, err := tr.Step(context.Background(), good); err != nil || info.Updated != (k == 1) {
			t.Errorf("the next step: %+v, %v", info, err)
		}
	}
}

// batch stacks a whole set.
func batch(t testing.TB, s data.Set[data.Sample]) data.Sample {
	t.Helper()
	for b, err := range (data.Loader{Batch: s.Len(), Workers: -1}).Batches(context.Background(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return data.Sample{}
}

func TestBreakAndContinue(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Epochs: 5}))
	if err != nil {
		t.Fatal(err)
	}
	for ep, err := range tr.Epochs(context.Background(), blobs(64, 1), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if ep.Epoch == 2 {
			break
		}
	}
	h, err := tr.Fit(context.Background(), blobs(64, 1), nil)
	if err != nil || len(h) != 7 || h.Last().Epoch != 7 {
		t.Errorf("%d epochs, %v", len(h), err)
	}
}

func TestPatience(t *testing.T) {
	g := small(t)
	c := train.Config{Epochs: 50, Patience: 2, MinDelta: 10, RestoreBest: true}
	tr, err := train.New(g, quiet(c))
	if err != nil {
		t.Fatal(err)
	}
	var best map[string][]byte
	for ep, err := range tr.Epochs(context.Background(), blobs(64, 1), blobs(30, 2)) {
		if err != nil {
			t.Fatal(err)
		}
		if ep.Best {
			best = weights(g)
		}
	}
	if n := len(tr.History()); n != 3 {
		t.Errorf("stopped after %d epochs, want 3", n)
	}
	same(t, "best restored", best, weights(g))
}

func TestEMA(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, train.Config{EMA: 0.5, Rule: optim.SGD{LR: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	w := param(t, g, "w2").Data
	average, _ := dtype.Float64s(w)
	b := batch(t, blobs(32, 1))
	for n := 1; n <= 4; n++ {
		if _, err := tr.Step(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		x, _ := dtype.Float64s(w)
		keep := min(0.5, float64(1+n)/float64(10+n))
		for i := range x {
			average[i] = keep*average[i] + (1-keep)*x[i]
		}
	}
	raw := bytes.Clone(dtype.Bytes(w))
	tr.Average()
	if d := distance(t, w, average); d > 1e-6 {
		t.Errorf("the average is off by %g", d)
	}
	if _, err := tr.Evaluate(context.Background(), blobs(10, 2)); err != nil {
		t.Fatal(err)
	}
	if err := tr.Flush(); err != nil || !bytes.Equal(raw, dtype.Bytes(w)) {
		t.Errorf("the weights did not come back: %v", err)
	}
}

func TestGroups(t *testing.T) {
	b := batch(t, blobs(32, 1))
	run := func(groups ...train.Group) map[string][]byte {
		g := small(t)
		tr, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 0.1, WeightDecay: 0.5}, Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Step(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		return weights(g)
	}
	start, plain := weights(small(t)), run()
	off := run(train.Group{Match: []string{"w*"}, Rate: optim.Off})
	if !bytes.Equal(off["w1"], start["w1"]) || !bytes.Equal(off["b2"], plain["b2"]) {
		t.Error("Rate Off")
	}
	decay := run(train.Group{Rank: 1, WeightDecay: optim.Off})
	if bytes.Equal(decay["scale"], plain["scale"]) || !bytes.Equal(decay["w2"], plain["w2"]) {
		t.Error("no decay on rank 1")
	}
	for _, c := range []struct {
		group train.Group
		want  string
	}{
		{train.Group{Match: []string{"x*"}}, `group 0, "x*", matches none`},
		{train.Group{Rule: optim.Lion{}, WeightDecay: 1, Rate: -3}, "Rate is -3"},
		{train.Group{Rule: optim.Chain{optim.SGD{}}, WeightDecay: 1}, "WeightDecay, which optim.Chain lacks"},
	} {
		if _, err := train.New(small(t), train.Config{Groups: []train.Group{c.group}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// Edits between steps: the trainer follows.
func TestEditsBetweenSteps(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, train.Config{EMA: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	b := batch(t, blobs(32, 1))
	step := func() {
		t.Helper()
		if _, err := tr.Step(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if err := g.Edit(func(e *nn.Edit) { e.Insert(e.Value("relu"), nn.BatchNorm{}) }); err != nil {
		t.Fatal(err)
	}
	step()
	var scale *nn.Param
	for p := range g.Params() {
		if p.Name() != "scale" && p.Role() == nn.Weight && len(p.Data.Shape()) == 1 && p.Data.Shape()[0] == 8 && p.Name() != "bias" {
			scale = p
			break
		}
	}
	x, _ := dtype.Float64s(scale.Data)
	if x[0] == math.Sqrt(1+1e-5) || x[0] == 1 {
		t.Errorf("%s was not trained", scale.Name())
	}
	if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Before(e.Find(nn.Glob("w2")))) }); err != nil {
		t.Fatal(err)
	}
	before := weights(g)
	step()
	if after := weights(g); !bytes.Equal(before["w1"], after["w1"]) || bytes.Equal(before["w2"], after["w2"]) {
		t.Error("freezing between steps")
	}
	param(t, g, "w1").Frozen = false
	step()
	if bytes.Equal(before["w1"], weights(g)["w1"]) {
		t.Error("w1 is not frozen any more and did not change")
	}
}

// A model that fixes its batch takes whole batches of that size.
func TestFixedBatch(t *testing.T) {
	g := nn.New("fixed")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Linear{Out: 3}, e.Input("x", "float32[8,4]")))
	})
	if err != nil {
		t.Fatal(err)
	}
	var notes string
	c := train.Config{Log: func(e train.Event) { notes += e.Text }}
	h, err := train.Fit(context.Background(), g, c, blobs(30, 1), blobs(20, 2))
	if err != nil || h.Last().Samples != 24 || h.Last().Steps != 3 {
		t.Errorf("%v, %v", h, err)
	}
	if want := "the last 4 samples of 20 were not validated"; !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	c.Batch = 16
	if _, err := train.Fit(context.Background(), g, c, blobs(30, 1), nil); err == nil || !strings.Contains(err.Error(), "the model fixes the batch to 8, Batch is 16: free it with Edit.Input or Loader.Inputs") {
		t.Errorf("batch 16: %v", err)
	}
	if _, err := train.Evaluate(context.Background(), g, blobs(20, 2)); err == nil || !strings.Contains(err.Error(), "which 20 samples do not divide into") {
		t.Errorf("evaluate: %v", err)
	}
}

func TestGradients(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Batch: 16}))
	if err != nil {
		t.Fatal(err)
	}
	before, n := weights(g), 0
	for grads, err := range tr.Gradients(context.Background(), blobs(32, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, name := range []string{"w1", "w2", "scale", "bias", "b2"} {
			if d := grads[param(t, g, name)]; d == nil || squares(t, d) == 0 {
				t.Errorf("no gradient of %s", name)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d batches", n)
	}
	same(t, "gradients only", before, weights(g))
}

func squares(t testing.TB, d *tensor.Dense) (s float64) {
	x, err := dtype.Float64s(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range x {
		s += v * v
	}
	return s
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	x, y := dtype.New(dtype.Float32, 4, 4), dtype.New(dtype.Int64, 4)
	high := dtype.New(dtype.Int64, 4)
	dtype.Slice[int64](high)[2] = 3
	for _, c := range []struct {
		name   string
		config train.Config
		batch  data.Sample
		want   string
	}{
		{"label", train.Config{}, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{high}}, "target 2 of the batch is class 3, the output has 3 classes"},
		{"inputs", train.Config{}, data.Sample{X: []*tensor.Dense{x, x}, Y: []*tensor.Dense{y}}, "want 1 inputs [x], got 2"},
		{"no target", train.Config{}, data.Sample{X: []*tensor.Dense{x}}, "the samples have no target"},
		{"shape", train.Config{Loss: train.MSE{}}, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}, "MSE: the output is float32[N,3], the target float32[N]: want one target for each element"},
		{"width", train.Config{}, data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 4, 5)}, Y: []*tensor.Dense{y}}, "want float32[N,4], got float32[4,5]"},
		{"batch", train.Config{}, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 5)}}, "N is 4 in input x"},
		{"class weights", train.Config{Loss: train.CrossEntropy{ClassWeights: []float64{1, 2}}}, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}, "2 class weights for 3 classes"},
		{"nil", train.Config{}, data.Sample{X: []*tensor.Dense{nil}, Y: []*tensor.Dense{y}}, "a tensor of the batch is nil"},
	} {
		g := small(t)
		tr, err := train.New(g, c.config)
		if err != nil {
			t.Fatal(err)
		}
		before := weights(g)
		if _, err := tr.Step(ctx, c.batch); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
		same(t, c.name, before, weights(g))
	}
	for want, c := range map[string]train.Config{
		"Epochs is -1": {Epochs: -1}, "EMA is 1": {EMA: 1}, "Mode is": {Mode: "x"}, "Resume wants a Dir": {Resume: true},
		"Keep wants a Dir": {Keep: 1}, "ClipNorm is NaN": {ClipNorm: math.NaN()}, "LR": {Rule: optim.SGD{LR: -2}},
	} {
		if _, err := train.New(small(t), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := train.Fit(ctx, small(t), quiet(train.Config{Monitor: "f1"}), blobs(10, 1), blobs(10, 2)); err == nil || !strings.Contains(err.Error(), `Monitor is "f1", the validation has [accuracy loss]`) {
		t.Errorf("monitor: %v", err)
	}
	if _, err := train.Fit(ctx, small(t), quiet(train.Config{}), data.Of[data.Sample](), nil); err == nil {
		t.Error("an empty set is no error")
	}
}

func TestHistoryPrints(t *testing.T) {
	h := train.History{
		{Epoch: 1, Steps: 10, Samples: 300, Loss: 0.5, Rate: 1, Val: map[string]float64{"loss": math.NaN(), "accuracy": 0.75}, Seconds: 2, Best: true},
		{Epoch: 2, Steps: 20, Samples: 300, Loss: 0.25, Rate: 1, Seconds: 2},
	}
	if got, want := h[0].String(), "epoch 1: loss 0.5, validation accuracy 0.75, loss NaN, 2 s, best so far"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	b, err := json.Marshal(h)
	if want := `{"epochs":[{"best":true,"epoch":1,"loss":0.5,"norm":0,"rate":1,"samples":300,"seconds":2,"steps":10,"val":{"accuracy":0.75,"loss":null}},{"best":false,"epoch":2,"loss":0.25,"norm":0,"rate":1,"samples":300,"seconds":2,"steps":20}]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
	var csv, png bytes.Buffer
	if err := h.WriteCSV(&csv); err != nil || !strings.HasPrefix(csv.String(), "epoch,steps,samples,loss,norm,rate,seconds,val_accuracy,val_loss\n1,10,300,0.5,0,1,2,0.75,NaN\n2,") {
		t.Errorf("%s, %v", csv.String(), err)
	}
	if err := h.WriteCurves(&png); err != nil || !bytes.HasPrefix(png.Bytes(), []byte("\x89PNG")) {
		t.Error(err)
	}
	if h.Best().Epoch != 1 || h.Last().Epoch != 2 {
		t.Error("Best, Last")
	}
}
