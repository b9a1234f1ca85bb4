package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// small returns a network of two layers with a normalization between them: [N, 4] to 3 classes.
func small(t testing.TB) *nn.Graph {
	t.Helper()
	g := nn.New("small")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		h := e.Node(std.GemmConfig{TransB: true}, x, e.Param("w1", initial.FanIn{}, 8, 4)).Out(0)
		h = e.Node(std.BatchNormalizationConfig{}, h, e.Param("scale", initial.Ones{}, 8), e.Param("bias", initial.Zeros{}, 8), e.Param("mean", initial.Zeros{}, 8), e.Param("var", initial.Ones{}, 8)).Out(0)
		h = e.Node(op.Plain("Relu"), h).Out(0)
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, e.Param("w2", initial.FanIn{}, 3, 8), e.Param("b2", initial.Zeros{}, 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// blobs are n points around three centres in four dimensions.
func blobs(n int, seed uint64) data.Dataset[data.Sample] {
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

// weights returns the bytes of all parameters, by name.
func weights(g *nn.Graph) map[string][]byte {
	m := map[string][]byte{}
	for p := range g.Params() {
		if p.Data() != nil {
			m[p.Name()] = bytes.Clone(dtype.Bytes(p.Data()))
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

// batch stacks a whole set.
func batch(t testing.TB, s data.Dataset[data.Sample]) data.Sample {
	t.Helper()
	for b, err := range (data.BatchLoader{Batch: s.Len(), Workers: 1}).Batches(context.Background(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return data.Sample{}
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
	for _, workers := range []int{1, 2, 5} {
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
	w := param(t, g, "w2").Data()
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

func TestHistoryPrints(t *testing.T) {
	h := train.History{
		{Epoch: 1, Steps: 10, Samples: 300, Loss: 0.5, Rate: 1, Val: map[string]float64{"loss": math.NaN(), "accuracy": 0.75}, Seconds: 2, Best: true},
		{Epoch: 2, Steps: 20, Samples: 300, Loss: 0.25, Rate: 1, Seconds: 2},
	}
	if got, want := h[0].String(), "epoch 1: loss 0.5, validation accuracy 0.75, loss NaN, in 2s, best so far"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	b, err := json.Marshal(h)
	if want := `{"epochs":[{"best":true,"epoch":1,"loss":0.5,"lr":0,"norm":0,"rate":1,"samples":300,"seconds":2,"steps":10,"val":{"accuracy":0.75,"loss":null}},{"best":false,"epoch":2,"loss":0.25,"lr":0,"norm":0,"rate":1,"samples":300,"seconds":2,"steps":20}]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
	var csv, png bytes.Buffer
	if err := h.WriteCSV(&csv); err != nil || !strings.HasPrefix(csv.String(), "epoch,steps,samples,loss,norm,rate,lr,seconds,val_accuracy,val_loss\n1,10,300,0.5,0,1,0,2,0.75,NaN\n2,") {
		t.Errorf("%s, %v", csv.String(), err)
	}
	if err := h.WriteCurves(&png); err != nil || !bytes.HasPrefix(png.Bytes(), []byte("\x89PNG")) {
		t.Error(err)
	}
	if h.Best().Epoch != 1 || h.Last().Epoch != 2 {
		t.Error("Best, Last")
	}
}

// TestOrderOfEpoch checks that without shuffling, and with a sampler, an epoch takes the samples in the given order.
func TestOrderOfEpoch(t *testing.T) {
	for name, c := range map[string]struct {
		config train.Config
		want   string
	}{
		"no shuffle": {train.Config{NoShuffle: true}, "[0 1 2 3 4 5]"},
		"sampler":    {train.Config{Sampler: func(n, epoch int) []int { return []int{5, 5, 4, 3, 0, 1} }}, "[5 5 4 3 0 1]"},
	} {
		var seen []int
		set := watchedSet{blobs(6, 1), func(i int) { seen = append(seen, i) }}
		c.config.Batch, c.config.Workers, c.config.Log = 2, 1, train.Quiet
		tr, err := train.New(small(t), c.config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Fit(context.Background(), set, nil); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(seen); !strings.HasPrefix(got[:len(got)-1], c.want[:len(c.want)-1]) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// watchedSet tells which samples are asked for.
type watchedSet struct {
	data.Dataset[data.Sample]
	asked func(i int)
}

func (s watchedSet) At(i int, r *rand.Rand) (data.Sample, error) {
	s.asked(i)
	return s.Dataset.At(i, r)
}

// A validation without samples is none.
func TestEmptyValidation(t *testing.T) {
	h, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Epochs: 2}), blobs(20, 1), data.Of[data.Sample]())
	if err != nil || len(h) != 2 || h[1].Val != nil {
		t.Errorf("%v, %v", h, err)
	}
}

// TestSoftTargets checks label smoothing and class weights for probability targets: Σ w·q·(−log p),
// with q = (1−s)·y + s/classes, computed by hand.
func TestSoftTargets(t *testing.T) {
	logp := []float64{math.Log(0.2), math.Log(0.3), math.Log(0.5)}
	y := []float64{0.25, 0, 0.75}
	for _, l := range []train.CrossEntropy{{}, {LabelSmoothing: 0.3}, {ClassWeights: []float64{1, 2, 4}}, {LabelSmoothing: 0.3, ClassWeights: []float64{1, 2, 4}, Sum: true}} {
		want := 0.0
		for i, p := range logp {
			w := 1.0
			if l.ClassWeights != nil {
				w = l.ClassWeights[i]
			}
			want -= w * ((1-l.LabelSmoothing)*y[i] + l.LabelSmoothing/3) * p
		}
		g := nn.New("scores")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Add"), e.Input("x", "float32[N,3]"), e.Param("b", initial.Zeros{}, 3)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		tr, err := train.New(g, quiet(train.Config{Loss: l, Rule: optim.SGD{LR: 0.1}}))
		if err != nil {
			t.Fatal(err)
		}
		x, target := dtype.New(dtype.Float32, 1, 3), dtype.New(dtype.Float32, 1, 3)
		for i := range logp {
			dtype.Slice[float32](x)[i], dtype.Slice[float32](target)[i] = float32(logp[i]), float32(y[i])
		}
		s, err := tr.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{target}})
		if err != nil || math.Abs(s.Loss-want) > 1e-5 {
			t.Errorf("%+v: loss %v, %v, want %v", l, s.Loss, err, want)
		}
	}
}
