package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// seeing notes the sizes of batches.
type seeing struct {
	sizes []int
	err   error
}

func (s *seeing) Add(out, want []*tensor.Dense) error {
	s.sizes = append(s.sizes, out[0].Shape()[0])
	return s.err
}

func (s *seeing) Result() map[string]float64 {
	return map[string]float64{"batches": float64(len(s.sizes))}
}

func (s *seeing) Reset() { s.sizes = nil }

// twice returns the model y = 2·x with a weight, of so many samples at a time.
func twice(t *testing.T, batch string) *nn.Graph {
	t.Helper()
	g := nn.New("twice")
	if err := g.Edit(func(e *nn.Edit) {
		w := e.Param("w", initial.Ones{}, 1)
		w.Param().Data().Float32s()[0] = 2
		frozen := e.Const("one", numbered(t, 1))
		e.SetFrozen(frozen.Param(), true)
		y := e.Node(op.Plain("Mul"), e.Input("x", "float32["+batch+",1]"), w).Out(0)
		e.Output("y", e.Node(op.Plain("Mul"), y, frozen).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// ramp are samples 1, 2, … with targets of 0.
func ramp(t *testing.T, n int) data.Dataset[data.Sample] {
	t.Helper()
	var list []data.Sample
	for i := range n {
		list = append(list, data.Sample{X: []*tensor.Dense{numbered(t, float32(i+1))}, Y: []*tensor.Dense{numbered(t, 0)}})
	}
	return data.Of(list...)
}

// TestEvaluatedBatches checks the batches in which a set is evaluated, and what is reported about remaining samples.
func TestEvaluatedBatches(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		batch  string
		c      Config
		n      int
		sizes  string
		square float64 // the loss: 4 times the mean square of the inputs
		want   string
		notes  string
	}{
		{"N", Config{Batch: 4}, 8, "[4 4]", 4 * 204. / 8, "", ""}, {"N", Config{Batch: 4}, 9, "[4 4 1]", 4 * 285. / 9, "", ""}, {"N", Config{}, 33, "[32 1]", 4 * 12529. / 33, "", ""}, {"N", Config{Batch: 6, MicroBatch: 3}, 8, "[3 3 2]", 4 * 204. / 8, "", ""},
		{"4", Config{}, 8, "[4 4]", 4 * 204. / 8, "", ""}, {"4", Config{}, 9, "[4 4]", 4 * 204. / 8, "", "the model fixes the batch to 4: the last 1 samples of 9 were not validated"},
		{"4", Config{}, 3, "[]", 0, "train: 3 samples do not fill a batch of 4, which the model fixes", ""}, {"N", Config{}, 0, "[]", 0, "train: there are no samples to evaluate", ""},
		{"4", Config{Batch: 3}, 8, "[]", 0, "train: input x: the model fixes the batch to 4, Batch is 3: free it with Edit.Input or Loader.Inputs", ""},
	} {
		m := &seeing{}
		var notes []string
		tested := 0
		c.c.Metrics = []Metric{m}
		c.c.Log = func(e Event) {
			if e.Kind == Note {
				notes = append(notes, e.Text)
			}
			if e.Kind == Tested {
				if tested++; e.Batch != tested {
					t.Errorf("%+v: %+v", c, e)
				}
			}
		}
		tr, err := New(twice(t, c.batch), c.c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tr.Evaluate(ctx, ramp(t, c.n))
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%d samples of batches of %s: %v, want %q", c.n, c.batch, err, c.want)
		}
		if err == nil && (math.Abs(got["loss"]-c.square) > 1e-3 || got["batches"] != float64(len(m.sizes)) || len(got) != 2) {
			t.Errorf("%d samples of batches of %s: %v, want a loss of %v", c.n, c.batch, got, c.square)
		}
		if fmt.Sprint(m.sizes) != c.sizes || strings.Join(notes, "; ") != c.notes {
			t.Errorf("%d samples of batches of %s: sizes %v, notes %q", c.n, c.batch, m.sizes, notes)
		}
	}
	for n, want := range map[int]string{8: "", 9: "evaluate: input x: the model fixes the batch to 4, which 9 samples do not divide into: free it with Edit.Input or Loader.Inputs", 0: "train: there are no samples to evaluate"} {
		m := &seeing{}
		got, err := Evaluate(ctx, twice(t, "4"), ramp(t, n), m)
		if (err == nil) != (want == "") || err != nil && err.Error() != want || err == nil && (got["batches"] != 2 || fmt.Sprint(m.sizes) != "[4 4]") {
			t.Errorf("%d samples: %v, %v, %v", n, got, m.sizes, err)
		}
	}
}

// TestEvaluatorRun checks that outputs computed by other runtimes are evaluated like the engine's; an
// error of theirs, of batches or of metrics ends the evaluation.
func TestEvaluatorRun(t *testing.T) {
	ctx, g, broken := context.Background(), twice(t, "N"), errors.New("broken")
	run := func(y dtype.Value, err error) Evaluator {
		return Evaluator{Run: func(context.Context, nn.Feed) (nn.Feed, error) { return nn.Feed{"y": y}, err }}
	}
	three := func(yield func(Batch, error) bool) {
		for i := range 3 {
			x := dtype.New(dtype.Float32, 1, 1)
			x.Float32s()[0] = float32(i)
			if !yield(Batch{nn.Feed{"x": x}, []*tensor.Dense{dtype.New(dtype.Float32, 1, 1)}}, nil) {
				return
			}
		}
	}
	one := dtype.New(dtype.Float32, 1, 1)
	one.Float32s()[0] = 1
	got, err := run(one, nil).EvaluateBatches(ctx, g, three)
	if err != nil || got["mae"] != 1 || got["rmse"] != 1 { // without a metric, those of numbers
		t.Errorf("%v, %v", got, err)
	}
	if got, err = EvaluateBatches(ctx, g, three); err != nil || got["mae"] != 2 || math.Abs(got["rmse"]-math.Sqrt(20./3)) > 1e-9 {
		t.Errorf("%v, %v", got, err)
	}
	m := &seeing{err: broken}
	if _, err := run(one, nil).EvaluateBatches(ctx, g, three, m); err != broken || len(m.sizes) != 1 {
		t.Errorf("%v after %d batches", err, len(m.sizes))
	}
	for want, f := range map[string]func() error{
		"broken": func() error { _, err := run(one, broken).EvaluateBatches(ctx, g, three); return err },
		"broken ": func() error {
			_, err := EvaluateBatches(ctx, g, func(yield func(Batch, error) bool) { yield(Batch{}, broken) })
			return err
		},
		"evaluate: there are no batches: the sequence is nil":                  func() error { _, err := EvaluateBatches(ctx, g, nil); return err },
		"train: output 0 is a *dtype.Strings: metrics need tensors of numbers": func() error { _, err := run(&dtype.Strings{}, nil).EvaluateBatches(ctx, g, three); return err },
		"sample 0: broken": func() error { _, err := Evaluate(ctx, g, unreadable{broken}); return err },
	} {
		if err := f(); err == nil || !strings.HasSuffix(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := scalarOf(&dtype.Strings{}); err == nil || err.Error() != "train: the loss is a *dtype.Strings, want a tensor of one number" {
		t.Error(err)
	}
	if _, err := scalarOf(numbered(t, 1, 2)); err == nil || err.Error() != "train: the loss has 2 elements, want one" {
		t.Error(err)
	}
	if x, err := scalarOf(numbered(t, 3)); err != nil || x != 3 {
		t.Error(x, err)
	}
}

// TestGradientsOfBatches checks gradients computed by hand, also of frozen weights; iteration ends
// when the caller breaks.
func TestGradientsOfBatches(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		c    Config
		n    int
		take int
		want []float64 // of w: the mean of 2·(2x)·x
	}{
		{Config{Batch: 2}, 4, 9, []float64{4 * 5. / 2, 4 * 25. / 2}}, {Config{Batch: 2}, 3, 9, []float64{4 * 5. / 2, 4 * 9}}, {Config{Batch: 4, MicroBatch: 2}, 4, 9, []float64{4 * 5. / 2, 4 * 25. / 2}}, {Config{Batch: 2, MicroBatch: 4}, 4, 9, []float64{4 * 5. / 2, 4 * 25. / 2}},
		{Config{Batch: 2}, 4, 1, []float64{4 * 5. / 2}}, {Config{}, 4, 9, []float64{4 * 30. / 4}},
	} {
		g := twice(t, "N")
		c.c.Log = Quiet
		tr, err := New(g, c.c)
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for grads, err := range tr.Gradients(ctx, ramp(t, c.n)) {
			if err != nil || len(grads) != 2 {
				t.Fatal(grads, err)
			}
			for p, d := range grads {
				switch x := float64(d.Float32s()[0]); p.Name() {
				case "w":
					got = append(got, x)
				case "one":
					if x == 0 {
						t.Errorf("%+v: no gradient of a frozen weight", c)
					}
				}
			}
			if len(got) == c.take {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
		if w := g.Outputs(); len(w) != 1 || tr.progress.Step != 0 {
			t.Errorf("%+v: %+v", c, tr.progress)
		}
	}
	tr, err := New(twice(t, "N"), Config{Log: Quiet})
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]data.Dataset[data.Sample]{"train: there are no samples": data.Of[data.Sample](), "torn": unreadable{errors.New("torn")}} {
		n := 0
		for grads, err := range tr.Gradients(ctx, s) {
			if n++; grads != nil || err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d turns", want, n)
		}
	}
}
