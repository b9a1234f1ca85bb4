package train_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// proportional returns the model y = w·x of one number, w being 0.5, in float64.
func proportional(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("proportional")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", "float64[N,1]"), e.ParamOf("w", dtype.Float64, initial.Ones{}, 1)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	dtype.Slice[float64](param(t, g, "w").Data())[0] = 0.5
	return g
}

// lines are samples of x and y.
func lines(t *testing.T, x, y []float64) data.Dataset[data.Sample] {
	t.Helper()
	a, err := dtype.FromSlice(x, len(x), 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dtype.FromSlice(y, len(y), 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := data.Tensors(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// halving is a schedule that notes what it was asked.
type halving struct{ asked map[string]bool }

func (h halving) At(step, total int) float64 {
	h.asked[fmt.Sprint(step, "/", total)] = true
	return math.Pow(0.5, float64(step))
}

// TestEpochArithmetic checks all figures of two epochs of nine samples in batches of two, with two
// batches per update, against figures computed by hand.
func TestEpochArithmetic(t *testing.T) {
	x, y := []float64{1, 2, -1, 0.5, 3, 1, -2, 1, 2}, []float64{2, 3, 1, 0, 5, 1, -3, 2, 2}
	for _, c := range []struct {
		name string
		loss train.Loss
		sum  bool
	}{{"mean", train.MSE{}, false}, {"default", nil, false}, {"sum", train.MSE{Sum: true}, true}} {
		var events []train.Event
		asked := map[string]bool{}
		g := proportional(t)
		lr := map[bool]float64{false: 0.1, true: 0.02}[c.sum]
		config := train.Config{
			Loss: c.loss, Rule: optim.SGD{LR: lr}, Schedule: halving{asked}, Epochs: 2, Batch: 2, Accumulate: 2, NoShuffle: true, Metrics: []train.Metric{},
			Log: func(e train.Event) { events = append(events, e) },
		}
		h, err := train.Fit(context.Background(), g, config, lines(t, x, y), lines(t, []float64{1, 2, 4}, []float64{1, 1, 1}))
		if err != nil {
			t.Fatal(err)
		}
		w, step := 0.5, 0
		close := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
				t.Errorf("%s: %s is %.9g, want %.9g", c.name, what, got, want)
			}
		}
		at := 0 // of the events
		for epoch := range 2 {
			total, weights, seen, batches := 0.0, 0.0, 0, 0
			var norm, rate float64
			for _, group := range [][][2]int{{{0, 2}, {2, 4}}, {{4, 6}, {6, 8}}, {{8, 9}}} {
				grad, count := 0.0, 0.0
				for i, b := range group {
					loss, n := 0.0, float64(b[1]-b[0])
					for k := b[0]; k < b[1]; k++ {
						d := w*x[k] - y[k]
						loss += d * d
						grad += 2 * d * x[k]
					}
					rate = math.Pow(0.5, float64(step))
					count += n
					if c.sum {
						total, weights = total+loss, weights+1
					} else {
						total, weights, loss = total+loss, weights+n, loss/n
					}
					seen, batches = seen+int(n), batches+1
					e := events[at]
					at++
					last := i == len(group)-1 && len(group) == 2
					if e.Kind != train.Stepped || e.Epoch != epoch+1 || e.Epochs != 2 || e.Batch != batches || e.Count != 5 || e.Info.Samples != int(n) || e.Info.Updated != last {
						t.Errorf("%s: event %d is %+v", c.name, at, e)
					}
					if want := step + map[bool]int{true: 1}[last]; e.Info.Step != want || (e.Left == 0) != (batches == 5) || !(e.Speed > 0) {
						t.Errorf("%s: event %d is of step %d, want %d, %v left", c.name, at, e.Info.Step, want, e.Left)
					}
					close("a batch's loss", e.Info.Loss, loss)
					close("a batch's rate", e.Info.Rate, rate)
					close("a batch's learning rate", e.LR, lr*rate)
					close("the loss so far", e.Loss, total/weights)
				}
				if !c.sum {
					grad /= count
				}
				w -= lr * rate * grad
				norm = math.Abs(grad)
				step++
			}
			for i := 1; i <= 2; i++ {
				if e := events[at]; e.Kind != train.Tested || e.Batch != i || e.Epoch != epoch+1 || e.Epochs != 2 || e.Count != 2 {
					t.Errorf("%s: event %d is %+v", c.name, at, e)
				}
				at++
			}
			e := events[at]
			at++
			if e.Kind != train.Finished || e.Epoch != epoch+1 || e.Epochs != 2 || e.Done == nil {
				t.Fatalf("%s: event %d is %+v", c.name, at, e)
			}
			ep := h[epoch]
			if ep.Epoch != epoch+1 || ep.Steps != step || ep.Samples != seen || !(ep.Seconds > 0) {
				t.Errorf("%s: %+v", c.name, ep)
			}
			close("the epoch's loss", ep.Loss, total/weights)
			close("the norm", ep.Norm, norm)
			close("the factor", ep.Rate, rate)
			close("the learning rate", ep.LR, lr*rate)
			val := ((w-1)*(w-1) + (2*w-1)*(2*w-1) + (4*w-1)*(4*w-1)) / 3
			if c.sum {
				val = ((w-1)*(w-1) + (2*w-1)*(2*w-1) + (4*w-1)*(4*w-1)) / 2 // of two batches
			}
			close("the validation's loss", ep.Val["loss"], val)
		}
		if at != len(events) {
			t.Errorf("%s: %d events, want %d", c.name, len(events), at)
		}
		close("the weight", mustFloats(t, param(t, g, "w").Data())[0], w)
		for i := range 6 {
			if !asked[fmt.Sprint(i, "/", 6)] {
				t.Errorf("%s: the schedule was not asked for step %d of 6: %v", c.name, i, asked)
			}
		}
		if len(asked) != 6 {
			t.Errorf("%s: the schedule was asked for %v", c.name, asked)
		}
	}
}

// TestUpdateArithmetic checks that an update is the same whether its gradients are applied on arrival
// or all at once, for both element types, and that its norm is that of the gradients.
func TestUpdateArithmetic(t *testing.T) {
	for _, typ := range []op.DType{dtype.Float32, dtype.Float64} {
		for _, whole := range []bool{false, true} {
			for k := 1; k <= 3; k++ {
				g := nn.New("sums")
				const size = 9001 // more than two blocks of squares, and a rest
				if err := g.Edit(func(e *nn.Edit) {
					x := e.Input("x", fmt.Sprintf("%v[N,%d]", typ, size))
					e.Output("y", e.Node(op.Plain("Mul"), x, e.ParamOf("w", typ, initial.Zeros{}, size)).Out(0))
				}); err != nil {
					t.Fatal(err)
				}
				tr, err := train.New(g, train.Config{Loss: train.MSE{Sum: true}, Rule: optim.SGD{LR: 1}, Whole: whole, Accumulate: k, Log: train.Quiet})
				if err != nil {
					t.Fatal(err)
				}
				// The gradient of (w·x − y)² at 0 is −2·x·y, with y = −1/2: x.
				v, minus := make([]float64, size), make([]float64, size)
				square := 0.0
				for i := range v {
					v[i], minus[i] = float64(i%7)-2, -0.5
					square += float64(k*k) * v[i] * v[i]
				}
				x, err := dtype.FromFloats(typ, v, 1, size)
				if err != nil {
					t.Fatal(err)
				}
				y, err := dtype.FromFloats(typ, minus, 1, size)
				if err != nil {
					t.Fatal(err)
				}
				var info train.StepInfo
				for i := range k {
					if info, err = tr.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}); err != nil {
						t.Fatal(err)
					}
					if info.Updated != (i == k-1) || (info.Norm == 0) == info.Updated {
						t.Errorf("batch %d of %d: %+v", i+1, k, info)
					}
				}
				if want := math.Sqrt(square); math.Abs(info.Norm-want) > 1e-6*want {
					t.Errorf("%v, whole %v, %d batches: norm %v, want %v", typ, whole, k, info.Norm, want)
				}
				for i, w := range mustFloats(t, param(t, g, "w").Data()) {
					if want := -float64(k) * v[i]; w != want {
						t.Fatalf("%v, whole %v, %d batches: element %d is %v, want %v", typ, whole, k, i, w, want)
					}
				}
			}
		}
	}
}

func mustFloats(t *testing.T, d *tensor.Dense) []float64 {
	t.Helper()
	x, err := dtype.Float64s(d)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The rate falls with the plateau's factor, on top of the schedule's; batches that have nothing that counts do not.
func TestRateOfPlateau(t *testing.T) {
	c := train.Config{Rule: optim.SGD{LR: 1e-9}, Plateau: &optim.Plateau{Factor: 0.5, Patience: -1}, Schedule: optim.StepLR{Every: 3, Gamma: 0.1}, Epochs: 4, Metrics: []train.Metric{}}
	h, err := train.Fit(context.Background(), proportional(t), quiet(c), lines(t, []float64{1}, []float64{1}), lines(t, []float64{1}, []float64{1}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 1, 0.5, 0.025} { // the second epoch is no better than the first, and so on
		if math.Abs(h[i].Rate-want) > 1e-12 || math.Abs(h[i].LR-want*1e-9) > 1e-21 {
			t.Errorf("epoch %d: factor %v, learning rate %v, want %v", i+1, h[i].Rate, h[i].LR, want)
		}
	}
}

// A batch without a target that counts is not a part of the validation's mean.
func TestNothingCountsInValidation(t *testing.T) {
	set := blobs(8, 1)
	var list []data.Sample
	for i := range 8 {
		s, err := set.At(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 4 {
			s.Y = []*tensor.Dense{tensor.New(tensor.FromScalar(int64(-100)))}
		}
		list = append(list, s)
	}
	tr, err := train.New(small(t), train.Config{Batch: 4, Log: train.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	all, err := tr.Evaluate(context.Background(), data.Of(list...))
	if err != nil {
		t.Fatal(err)
	}
	part, err := tr.Evaluate(context.Background(), data.Of(list[:4]...))
	if err != nil || part["loss"] == 0 || all["loss"] != part["loss"] || all["accuracy"] != part["accuracy"] {
		t.Errorf("with samples that do not count %v, without %v, %v", all, part, err)
	}
}

// TestEvaluateRefusals checks the errors of evaluations.
func TestEvaluateRefusals(t *testing.T) {
	ctx := context.Background()
	tr, err := train.New(small(t), train.Config{Log: train.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func() error{
		"train: there are no samples to evaluate":    func() error { _, err := train.Evaluate(ctx, small(t), nil); return err },
		"train: there are no samples to evaluate ":   func() error { _, err := train.Evaluate(ctx, small(t), data.Of[data.Sample]()); return err },
		"train: there are no samples to evaluate  ":  func() error { _, err := tr.Evaluate(ctx, nil); return err },
		"train: there are no samples to evaluate   ": func() error { _, err := tr.Evaluate(ctx, data.Of[data.Sample]()); return err },
		"evaluate: want 1 inputs, got 2": func() error {
			s, err := blobs(1, 1).At(0, nil)
			if err != nil {
				return err
			}
			s.X = append(s.X, s.X[0])
			_, err = train.Evaluate(ctx, small(t), data.Of(s))
			return err
		},
		"train: there are no samples": func() error {
			for _, err := range tr.Gradients(ctx, nil) {
				return err
			}
			return nil
		},
		"train: there are no samples to train on":          func() error { _, err := tr.Fit(ctx, nil, nil); return err },
		"train: there are no samples to find a rate with":  func() error { _, err := train.FindRate(ctx, small(t), nil); return err },
		"train: there are no samples to find a rate with ": func() error { _, err := train.FindRate(ctx, small(t), data.Of[data.Sample]()); return err },
		"train: rates from 1e-07 to 1e-07 in 100 steps: want rising rates above 0 and 4 steps or more": func() error {
			_, err := train.RateFinder{Max: 1e-7}.FindRate(ctx, small(t), blobs(4, 1))
			return err
		},
		"train: rates from 1e-07 to 10 in 3 steps: want rising rates above 0 and 4 steps or more": func() error {
			_, err := train.RateFinder{Steps: 3}.FindRate(ctx, small(t), blobs(4, 1))
			return err
		},
		"train: rates from -1 to 10 in 100 steps: want rising rates above 0 and 4 steps or more": func() error {
			_, err := train.RateFinder{Min: -1}.FindRate(ctx, small(t), blobs(4, 1))
			return err
		},
	} {
		if err := f(); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
	c, err := train.RateFinder{Steps: 4}.FindRate(ctx, small(t), blobs(64, 1))
	if err != nil || len(c.Rate) != 4 || c.Rate[0] != 1e-7 || math.Abs(c.Rate[3]-10) > 1e-9 || len(c.Loss) != 4 {
		t.Errorf("%+v, %v", c, err)
	}
}
