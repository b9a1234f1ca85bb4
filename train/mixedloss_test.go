package train_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestOneLoss: training and validation compute the same function, whatever mixes the labels, whichever loss is set or none, and
// whoever trains: samples that are all equal are what they were when they are mixed, so that weights that stay have one loss.
func TestOneLoss(t *testing.T) {
	var list []data.Sample
	for range 8 {
		x := dtype.New(dtype.Float32, 1, 4, 4)
		for i := range 16 {
			dtype.Slice[float32](x)[i] = float32(i%5) - 1.5
		}
		list = append(list, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{dtype.Scalar(int64(1))}})
	}
	plain := data.Of(list...)
	sets := map[string]data.Dataset[data.Sample]{"classes": plain, "mix-up": data.MixUp{Classes: 3}.Of(plain), "cut-mix": data.MixUp{Classes: 3, CutMix: true}.Of(plain)}
	still := optim.SGD{LR: 1e-30}
	ways := map[string]func(g *nn.Graph, c train.Config, fit, val data.Dataset[data.Sample]) (train.History, error){
		"Fit": func(g *nn.Graph, c train.Config, fit, val data.Dataset[data.Sample]) (train.History, error) {
			return train.Fit(context.Background(), g, c, fit, val)
		},
		"in parts": func(g *nn.Graph, c train.Config, fit, val data.Dataset[data.Sample]) (train.History, error) {
			c.MicroBatch, c.Accumulate = 2, 2
			return train.Fit(context.Background(), g, c, fit, val)
		},
	}
	for _, policy := range []train.Policy{train.FromScratch, train.Full} {
		ways[string(policy)] = func(g *nn.Graph, c train.Config, fit, val data.Dataset[data.Sample]) (train.History, error) {
			out, err := train.FineTuner{Policy: policy, Config: c}.FineTune(context.Background(), g, fit, val)
			return out.History, err
		}
	}
	for how, way := range ways {
		for loss, l := range map[string]train.Loss{"none": nil, "cross-entropy": train.CrossEntropy{}, "smoothed": train.CrossEntropy{LabelSmoothing: 0.1}, "squared errors": train.MSE{}} {
			for fit := range sets {
				for _, val := range []string{"classes", fit} {
					switch {
					case loss == "squared errors" && (fit == "classes" || val == "classes"): // refused: classes are not numbers
						continue
					case fit == "classes" && val == fit && how != "Fit", loss == "cross-entropy" && how != "Fit": // the same as others
						continue
					}
					g := nn.New("linear")
					if err := g.Edit(func(e *nn.Edit) {
						e.Seed(3)
						e.Output("y", e.Apply(nn.Sequential{layers.Flatten{}, layers.Linear{Out: 3}}, e.Input("x", "float32[N,1,4,4]")))
					}); err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("%s, loss %s, trained on %s, validated on %s", how, loss, fit, val)
					h, err := way(g, quiet(train.Config{Loss: l, Rule: still, Batch: 4, Epochs: 1, Seed: 2}), sets[fit], sets[val])
					if err != nil || len(h) == 0 {
						t.Errorf("%s: %d epochs, %v", what, len(h), err)
						continue
					}
					if x := h.Last(); math.Abs(x.Loss-x.Val["loss"]) > 1e-5*(1+x.Loss) || x.Loss < 0 {
						t.Errorf("%s: the loss is %v in training, %v in validation", what, x.Loss, x.Val["loss"])
					}
				}
			}
		}
	}
}
