package train_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// priced has a class and a price in thousands for each sample.
func priced(t *testing.T) (*nn.Graph, data.Dataset[data.Sample]) {
	t.Helper()
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		h := e.Apply(nn.Sequential{layers.Linear{Out: 8}, layers.Tanh{}}, e.Input("x", "float32[N,2]"))
		e.Output("class", e.Apply(layers.Linear{Out: 3}, h))
		e.Output("price", e.Apply(layers.Linear{Out: 1}, h))
	}); err != nil {
		t.Fatal(err)
	}
	var list []data.Sample
	for i := range 60 {
		x, price := dtype.New(dtype.Float32, 2), dtype.New(dtype.Float32, 1)
		copy(dtype.Slice[float32](x), []float32{float32(i%5) - 2, float32(i%3) - 1})
		dtype.Slice[float32](price)[0] = 5000 + 1000*float32(i%5-2)
		list = append(list, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{dtype.Scalar(int64(i % 3)), price}})
	}
	s := data.Of(list...)
	return g, s
}

// TestFineTuneBalances: the losses of several targets are made comparable, as the command does: FineTune trains what Balance
// returns, and an output of another magnitude is scaled.
func TestFineTuneBalances(t *testing.T) {
	tune := func(byHand bool) (*nn.Graph, train.Outcome, []string) {
		g, s := priced(t)
		var notes []string
		c := train.Config{Epochs: 4, Batch: 10, Seed: 3, Log: func(e train.Event) {
			if e.Kind == train.Note {
				notes = append(notes, e.Text)
			}
		}}
		if byHand {
			var err error
			if c.Loss, err = (train.FineTuner{Config: c}).Balance(context.Background(), g, s); err != nil {
				t.Fatal(err)
			}
			j, ok := c.Loss.(train.Joint)
			if !ok || !reflect.DeepEqual(j.Losses, []train.Loss{train.CrossEntropy{}, train.MSE{}}) || j.Weights[0] != 1 || math.Abs(j.Weights[1]*2e6-1) > 1e-6 {
				t.Errorf("the loss is %+v, want a cross-entropy, and squared errors divided by a variance of 2·10⁶", c.Loss)
			}
		}
		out, err := train.FineTuner{Policy: train.FromScratch, Config: c}.FineTune(context.Background(), g, s, s)
		if err != nil {
			t.Fatal(err)
		}
		return g, out, notes
	}
	g, out, notes := tune(false)
	if !slices.ContainsFunc(notes, func(s string) bool {
		return strings.Contains(s, "output price: the target's mean 5000 and deviation 1414 become part of the model")
	}) {
		t.Errorf("%q", notes)
	}
	other, otherOut, _ := tune(true)
	same(t, "with the loss of Balance", weights(other), weights(g))
	if out.Val["loss"] != otherOut.Val["loss"] || !(out.Val["price/mae"] < 2000) {
		t.Errorf("%v, with the loss of Balance %v", out.Val, otherOut.Val)
	}
	one, s := plainNet(t), blobs(8, 1)
	if l, err := (train.FineTuner{}).Balance(context.Background(), one, s); l != nil || err != nil {
		t.Errorf("a single target: %v, %v", l, err)
	}
}
