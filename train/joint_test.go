package train_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// twoHeads returns a network of two outputs: three classes, and two numbers.
func twoHeads(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		h := e.Apply(nn.Sequential{layers.Linear{Out: 6, Name: "body"}, layers.Tanh{}}, e.Input("x", "float32[N,2]"))
		e.Output("class", e.Apply(layers.Linear{Out: 3, Name: "a"}, h))
		e.Output("value", e.Apply(layers.Linear{Out: 2, Name: "b"}, h))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// twoTargets are samples whose class and numbers follow from the input.
func twoTargets(n int) data.Dataset[data.Sample] {
	var list []data.Sample
	for i := range n {
		x := []float32{float32(i%5) - 2, float32(i%3) - 1}
		list = append(list, data.Sample{
			X: []*tensor.Dense{tensor.New(tensor.WithShape(2), tensor.WithBacking(x))},
			Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(i % 3))), tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{x[0] / 2, -x[1]}))},
		})
	}
	return data.Of(list...)
}

// The joint loss is the sum of those of the outputs, each as it is alone.
func TestJoint(t *testing.T) {
	ctx, set := context.Background(), twoTargets(15)
	loss := func(c train.Config) float64 {
		t.Helper()
		c.Log, c.Metrics = train.Quiet, []train.Metric{}
		tr, err := train.New(twoHeads(t), c)
		if err != nil {
			t.Fatal(err)
		}
		f, err := tr.Evaluate(ctx, set)
		if err != nil {
			t.Fatal(err)
		}
		return f["loss"]
	}
	at := func(i int, l train.Loss) train.Loss {
		return train.LossFunc(func(e *nn.Edit, out, want []*nn.Value) *nn.Value { return l.Build(e, out[i:i+1], want[i:i+1]) })
	}
	a, b := loss(train.Config{Loss: at(0, train.CrossEntropy{})}), loss(train.Config{Loss: at(1, train.MSE{})})
	for got, want := range map[float64]float64{
		loss(train.Config{}):                                                         a + b,
		loss(train.Config{Loss: train.Joint{}}):                                      a + b,
		loss(train.Config{Loss: train.Joint{Weights: []float64{2, 0.5}}}):            2*a + b/2,
		loss(train.Config{Loss: train.Joint{Losses: []train.Loss{nil, train.L1{}}}}): a + loss(train.Config{Loss: at(1, train.L1{})}),
	} {
		if math.Abs(got-want) > 1e-5 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for _, l := range []train.Loss{nil, train.Joint{}, train.Joint{Weights: []float64{1, 2}}, train.Joint{Losses: []train.Loss{nil, train.L1{}}}, train.Joint{Losses: []train.Loss{train.CrossEntropy{}, nil}}} {
		tr, err := train.New(twoHeads(t), train.Config{Loss: l, Log: train.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		f, err := tr.Evaluate(ctx, set)
		if got := fmt.Sprint(slices.Sorted(maps.Keys(f))); err != nil || got != "[class/accuracy loss value/mae value/r2 value/rmse]" {
			t.Errorf("%+v: %s, %v", l, got, err)
		}
	}
	tr, err := train.New(twoHeads(t), train.Config{Epochs: 40, Batch: 5, Log: train.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	h, err := tr.Fit(ctx, set, set)
	if err != nil {
		t.Fatal(err)
	}
	if v := h.Last().Val; v["loss"] > 0.8*(a+b) || v["class/accuracy"] == 0 || v["value/mae"] == 0 {
		t.Errorf("%v after %v", v, a+b)
	}
}

func TestJointRefused(t *testing.T) {
	for want, c := range map[string]train.Config{
		"Joint: 1 losses and 0 weights for 2 outputs: want one for each":                                 {Loss: train.Joint{Losses: []train.Loss{nil}}},
		"cross-entropy: compares one target with the first output, the samples have 2: write a LossFunc": {Loss: train.CrossEntropy{}},
	} {
		tr, err := train.New(twoHeads(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Evaluate(context.Background(), twoTargets(4)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m := &train.OutputMetric{Output: 2, Metric: &train.Accuracy{}}
	if err := m.Add(nil, nil); err == nil || fmt.Sprint(err) != "train: a metric of output 2: there are 0 outputs and 0 targets" {
		t.Error(err)
	}
}
