package train_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// anchor is the part of an anchor's JSON that training is compared with.
type anchor struct {
	Loss         []float64         `json:"loss"`
	LossF64      []float64         `json:"loss_f64"`
	GradFloor    float64           `json:"grad_floor"`
	ParamsAfter  map[string]figure `json:"params_after"`
	BuffersAfter map[string]figure `json:"buffers_after"`
}

type figure struct {
	L2     float64   `json:"l2"`
	Head   []float64 `json:"head"`
	ErrF32 float64   `json:"err_f32"`
}

// TestAnchors compares ten steps of networks exported by PyTorch with its losses and final weights.
func TestAnchors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	for _, name := range []string{"mlp", "lenet", "smallcnn", "tinybert", "lstm"} {
		t.Run(name, func(t *testing.T) {
			arrays, err := oracle.NPZ(oracle.Anchors(t, name+".npz"))
			if err != nil {
				t.Fatal(err)
			}
			var want anchor
			b, err := os.ReadFile(oracle.Anchors(t, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			g, err := onnxio.Load(oracle.Anchors(t, name+".onnx"))
			if err != nil {
				t.Fatal(err)
			}
			follow(t, g, arrays, want)
		})
	}
}

func follow(t *testing.T, g *nn.Graph, arrays map[string]oracle.Tensor, want anchor) {
	tr, err := train.New(g, train.Config{Rule: optim.SGD{LR: 0.01, Momentum: 0.9}})
	if err != nil {
		t.Fatal(err)
	}
	batch := data.Sample{
		X: []*tensor.Dense{dense(t, arrays["input"], dtype.Float32)},
		Y: []*tensor.Dense{dense(t, arrays["target"], dtype.Float32)},
	}
	// Losses may be as far from those in float64 as PyTorch's float32 run gets, and a unit in the last place.
	own := 0.0
	for k, loss := range want.LossF64 {
		own = max(own, math.Abs(want.Loss[k]-loss))
	}
	own += float64(math.Nextafter32(float32(want.Loss[0]), 100)) - float64(float32(want.Loss[0]))
	for k, loss := range want.LossF64 {
		if k == 10 {
			compareParams(t, g, want)
		}
		info, err := tr.Step(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(info.Loss-loss) > own {
			t.Errorf("step %d: loss %.9g, want %.9g; PyTorch's float32 is off by up to %.2g", k, info.Loss, loss, own)
		}
	}
	// The last loss was computed in training mode, too, so PyTorch's statistics saw eleven batches.
	for p := range g.Params() {
		a, ok := arrays["buffer_after."+p.Name()]
		if !ok || len(p.Name()) < 4 || p.Name()[len(p.Name())-4:] != "mean" {
			continue // PyTorch's variance is unbiased
		}
		if d := distance(t, p.Data(), floats(t, a)); d > 1e-4 {
			t.Errorf("%s is off by %.3g", p.Name(), d)
		}
	}
}

func compareParams(t *testing.T, g *nn.Graph, want anchor) {
	t.Helper()
	for p := range g.Params() {
		f, ok := want.ParamsAfter[p.Name()]
		if !ok || p.Data() == nil || f.L2 < want.GradFloor {
			continue
		}
		x, err := dtype.Float64s(p.Data())
		if err != nil {
			t.Fatal(err)
		}
		l2 := 0.0
		for _, v := range x {
			l2 += v * v
		}
		tol := max(f.ErrF32, 0x1p-24)                           // PyTorch's own distance from float64, or the rounding of a float32
		if l2 = math.Sqrt(l2); math.Abs(l2-f.L2) > 2*tol*f.L2 { // both runs may be that far off
			t.Errorf("%s has norm %.9g, want %.9g within %.2g", p.Name(), l2, f.L2, 2*tol)
		}
		for i, v := range f.Head {
			if math.Abs(x[i]-v) > 2*tol*f.L2 {
				t.Errorf("%s[%d] is %.9g, want %.9g", p.Name(), i, x[i], v)
				break
			}
		}
	}
}

// A model from elsewhere, fine-tuned on 8,000 images, knows at least 97.5 % of 2,000 others.
func TestFineTuneMNIST(t *testing.T) {
	path := oracle.Shared(t, "models", "mnist-bn-cnn", "model.onnx")
	all, err := data.IDX(oracle.Shared(t, "data", "mnist", "t10k-images-idx3-ubyte.gz"), oracle.Shared(t, "data", "mnist", "t10k-labels-idx1-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	index := make([]int, all.Len())
	for i := range index {
		index[i] = i
	}
	fit, val := data.Subset(all, index[:8000]), data.Subset(all, index[8000:])
	g, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	in := g.Inputs()[0]
	if d := in.Type().Shape[0]; d.Known() {
		free := in.Type()
		free.Shape[0].Size, free.Shape[0].Sym = -1, "N"
		if g, err = (onnxio.Loader{Inputs: []string{in.Name() + " " + free.String()}}).Load(path); err != nil {
			t.Fatal(err)
		}
	}
	c := train.Config{Epochs: 2, Batch: 64, Seed: 1, Rule: optim.AdamW{LR: 1e-3}, Schedule: optim.CosineLR{}, Log: func(e train.Event) {
		if e.Kind != train.Stepped && e.Kind != train.Tested {
			t.Log(e)
		}
	}}
	h, err := train.Fit(context.Background(), g, c, fit, val)
	if err != nil {
		t.Fatal(err)
	}
	if acc := h.Last().Val["accuracy"]; acc < 0.975 {
		t.Errorf("accuracy %.4f, want 0.975", acc)
	}
}
