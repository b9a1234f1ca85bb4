package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestAdd checks sums of gradients computed by hand, for both element types, added to and overwriting the old sum.
func TestAdd(t *testing.T) {
	for _, typ := range []dtype.DType{dtype.Float32, dtype.Float64} {
		for name, add := range map[string]func(dst, src *tensor.Dense, factor float64, replace bool){"add": add, "addOnAllThreads": addOnAllThreads} {
			for _, c := range []struct {
				factor  float64
				replace bool
				want    []float64
			}{{1, false, []float64{11, 22, 27}}, {1, true, []float64{1, 2, -3}}, {0.5, false, []float64{10.5, 21, 28.5}}, {0.5, true, []float64{0.5, 1, -1.5}}, {-1, false, []float64{9, 18, 33}}} {
				dst, err := dtype.FromFloats(typ, []float64{10, 20, 30}, 3)
				if err != nil {
					t.Fatal(err)
				}
				src, err := dtype.FromFloats(typ, []float64{1, 2, -3}, 3)
				if err != nil {
					t.Fatal(err)
				}
				add(dst, src, c.factor, c.replace)
				if got := numbers(t, dst); !slices.Equal(got, c.want) {
					t.Errorf("%s of %v, factor %v, replacing %v: %v, want %v", name, typ, c.factor, c.replace, got, c.want)
				}
			}
		}
	}
}

// TestSquares checks that squares are summed in float64 where float32 overflows, in blocks whose memory is reused.
func TestSquares(t *testing.T) {
	var blocks []float64
	for _, c := range []struct {
		n    int
		x    float32
		want float64
	}{{1, 3, 9}, {squareBlock*3 + 1, 2, 4 * (squareBlock*3 + 1)}, {squareBlock, 1, squareBlock}, {squareBlock - 1, 1, squareBlock - 1}, {2, 1e30, 2e60}, {squareBlock + 1, 1e-30, (squareBlock + 1) * 1e-60}, {0, 0, 0}, {3, 0, 0}} {
		d := dtype.New(dtype.Float32, c.n)
		for i := range d.Float32s() {
			d.Float32s()[i] = c.x
		}
		if got := squares(d, &blocks); math.Abs(got-c.want) > 1e-5*c.want {
			t.Errorf("%d times %v: %v, want %v", c.n, c.x, got, c.want)
		}
		if n := (c.n + squareBlock - 1) / squareBlock; len(blocks) != n || cap(blocks) < min(4, n) {
			t.Errorf("%d blocks of %d numbers", len(blocks), c.n)
		}
	}
	d := dtype.New(dtype.Float32, 2)
	d.Float32s()[1] = float32(math.Inf(-1))
	if got := squares(d, &blocks); !math.IsInf(got, 1) {
		t.Error(got)
	}
}

// couple returns a batch of two samples of two numbers, whose targets are 0, 1 and 1, 1.
func couple(t *testing.T, x ...float32) data.Sample {
	t.Helper()
	b, err := data.Collate([]data.Sample{{X: []*tensor.Dense{numbered(t, x[:2]...)}, Y: []*tensor.Dense{numbered(t, 0, 1)}}, {X: []*tensor.Dense{numbered(t, x[2:]...)}, Y: []*tensor.Dense{numbered(t, 1, 1)}}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A group that is cut off by an edit, by a failure or by numbers that are none is forgotten: statistics and gradients are as before it.
func TestGroupIsForgotten(t *testing.T) {
	ctx := context.Background()
	good, huge := couple(t, 1, 2, 3, -1), couple(t, 3e38, 1, -3e38, 2)
	values := func(g *nn.Graph) map[string][]byte {
		all := map[string][]byte{}
		for p := range g.Params() {
			all[p.Name()] = bytes.Clone(dtype.Bytes(p.Data()))
		}
		return all
	}
	stop := errors.New("stop")
	for name, c := range map[string]struct {
		c    Config
		f    func(tr *Trainer) error
		want string
	}{
		"an edit": {Config{Accumulate: 2}, func(tr *Trainer) error {
			return tr.g.Edit(func(e *nn.Edit) { e.SetFrozen(e.Value("w").Param(), true) })
		}, ""},
		"statistics":                   {Config{Accumulate: 2}, func(tr *Trainer) error { _, err := tr.Step(ctx, huge); return err }, "train: step 1: the statistic var is not finite"},
		"statistics at once":           {Config{Whole: true}, func(tr *Trainer) error { _, err := tr.Step(ctx, huge); return err }, "is not finite"},
		"statistics on their way":      {Config{}, func(tr *Trainer) error { _, err := tr.Step(ctx, huge); return err }, "is not finite"},
		"a gradient that nobody wants": {Config{Accumulate: 2, OnGradient: func(*nn.Param, *tensor.Dense) error { return stop }}, func(tr *Trainer) error { _, err := tr.Step(ctx, good); return err }, "step 1: stop"},
	} {
		g := normalized(t)
		c.c.Rule, c.c.Log, c.c.Loss = optim.SGD{LR: 0.1}, Quiet, MSE{}
		tr, err := New(g, c.c)
		if err != nil {
			t.Fatal(err)
		}
		before := values(g)
		if c.c.Accumulate > 0 {
			if _, err := tr.Step(ctx, good); err != nil {
				t.Fatal(name, err)
			}
			if bytes.Equal(before["mean"], values(g)["mean"]) || tr.borrowed != nil {
				t.Errorf("%s: the batch moves no statistic, or its gradients are not the trainer's", name)
			}
		}
		err = c.f(tr)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || c.want == "" && err != nil {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if name == "an edit" {
			if info, err := tr.Step(ctx, good); err != nil || info.Updated || tr.Micro != 1 {
				t.Errorf("%s: %+v, %v, %d batches", name, info, err, tr.Micro)
			}
			continue
		}
		for p, b := range values(g) {
			if !bytes.Equal(b, before[p]) {
				t.Errorf("%s: %s has changed", name, p)
			}
		}
		if tr.group.count != 0 || tr.Micro != 0 || tr.progress.Step != 0 {
			t.Errorf("%s: %+v, %+v", name, tr.group, tr.progress)
		}
		for p, s := range tr.params {
			if s.has {
				t.Errorf("%s: a gradient of %s is left", name, p.Name())
			}
		}
	}
}

// A parameter of a share of all elements that a thread would not be done with in time comes by itself.
func TestLeastAlone(t *testing.T) {
	params := []*nn.Param{zeros(t, 10), zeros(t, 2, 10), zeros(t, 90)}
	for threads, want := range map[int]int{1: 60, 2: 30, 4: 15, 16: 3} {
		if got := leastAlone(params, threads); got != want {
			t.Errorf("%d threads: %d, want %d", threads, got, want)
		}
	}
}

// TestFlush checks that Flush updates with the accumulated gradients and reports it, does nothing
// without any, and does not count a failed update.
func TestFlush(t *testing.T) {
	stop := errors.New("stop")
	for _, failing := range []bool{false, true} {
		var told []StepInfo
		c := Config{Accumulate: 3, Rule: optim.SGD{LR: 0.1}, Schedule: optim.StepLR{Every: 1, Gamma: 0.5}, Log: Quiet, OnStep: func(s StepInfo) error { told = append(told, s); return nil }}
		if failing {
			c.OnGradient = func(*nn.Param, *tensor.Dense) error { return stop }
		}
		tr, err := New(normalized(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Flush(); err != nil || len(told) != 0 {
			t.Errorf("nothing: %v, %v", told, err)
		}
		for round := range 2 {
			for range 2 {
				if _, err := tr.Step(context.Background(), couple(t, 1, 2, 3, 5)); err != nil {
					t.Fatal(err)
				}
			}
			told = nil
			err := tr.Flush()
			switch {
			case failing && (!errors.Is(err, stop) || len(told) != 0 || tr.progress.Step != 0 || tr.Micro != 0):
				t.Errorf("%v, %+v, %+v", err, told, tr.progress)
			case !failing && (err != nil || len(told) != 1 || !told[0].Updated || told[0].Step != round+1 || !(told[0].Norm > 0) || told[0].Rate != math.Pow(0.5, float64(round)) || tr.Micro != 2*round+2):
				t.Errorf("%v, %+v, %+v", err, told, tr.progress)
			}
		}
	}
}

// TestGradientsAreGivenBack checks that gradients used in the engine's memory are released after the
// step, and those of a trainer are not kept.
func TestGradientsAreGivenBack(t *testing.T) {
	for name, c := range map[string]Config{"whole": {Whole: true}, "streamed": {}, "clipped": {ClipNorm: 1}} {
		c.Rule, c.Log = optim.SGD{LR: 0.1}, Quiet
		tr, err := New(normalized(t), c)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := tr.Step(context.Background(), couple(t, 1, 2, 3, 5)); err != nil {
				t.Fatal(err)
			}
			for p, s := range tr.params {
				if s.grad != nil || s.has || tr.borrowed != nil {
					t.Errorf("%s: the gradient of %s is kept", name, p.Name())
				}
			}
		}
	}
}
