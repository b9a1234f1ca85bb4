package train_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

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
		"Epochs is -1": {Epochs: -1}, "EMA is 1": {EMA: 1}, "LinearLR{}, which is 0 throughout": {Schedule: optim.LinearLR{}}, "Mode is": {Mode: "x"}, "Resume needs Dir": {Resume: true},
		"cannot create the folder for checkpoints": {Dir: "refusals_test.go/below"},
		"Keep needs Dir": {Keep: 1}, "Workers is -1": {Workers: -1}, "Schedule: Warmup: Share is 2": {Schedule: optim.PerEpoch{Schedule: optim.Warmup{Share: 2}}},
		"Plateau: Factor is -7": {Plateau: &optim.Plateau{Factor: -7}}, "ClipNorm is NaN": {ClipNorm: math.NaN()}, "LR": {Rule: optim.SGD{LR: -2}},
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
