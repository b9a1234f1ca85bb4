package train_test

import (
	"context"
	"math/rand/v2"
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

// stripes are images [channels, 16, 16] of three kinds: stripes of a warm colour that run in one of three
// directions, on a dark ground.
func stripes(n, channels int, seed uint64) (images []*tensor.Dense, class []int64) {
	const size = 16
	r := rand.New(rand.NewPCG(seed, 3))
	ink := [3]float32{0.9, 0.55, 0.25}
	for range n {
		x := dtype.New(dtype.Float32, channels, size, size)
		v, kind, at := dtype.Slice[float32](x), r.IntN(3), r.IntN(6)
		for k := range channels {
			for i := range size {
				for j := range size {
					p := float32(0.1 * r.Float64())
					if ([]int{i, j, i + j}[kind]+at)%6 < 2 {
						p += ink[k] * float32(0.7+0.3*r.Float64())
					}
					v[(k*size+i)*size+j] = min(p, 1)
				}
			}
		}
		images, class = append(images, x), append(class, int64(kind))
	}
	return images, class
}

// untrainedOn returns a small network for stripes, with or without normalizations.
func untrainedOn(t *testing.T, channels int, norm bool) *nn.Graph {
	t.Helper()
	g := nn.New("stripes")
	block := func(out int) nn.Sequential {
		conv := nn.Sequential{layers.Conv{Out: out, Kernel: []int{3}, Same: true, NoBias: norm}}
		if norm {
			conv = append(conv, layers.BatchNorm{Momentum: 0.7})
		}
		return append(conv, layers.ReLU{})
	}
	err := g.Edit(func(e *nn.Edit) {
		typ := map[int]string{1: "float32[N,1,16,16]", 3: "float32[N,3,16,16]"}[channels]
		e.Output("scores", e.Apply(nn.Sequential{block(8), layers.MaxPool{Kernel: []int{2}}, block(8), layers.Flatten{}, layers.Linear{Out: 3}}, e.Input("image", typ)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// trainedOn returns a small network that was trained on stripes, prepared in a certain way.
func trainedOn(t *testing.T, p data.Preprocess, channels int, norm bool) *nn.Graph {
	t.Helper()
	g := untrainedOn(t, channels, norm)
	images, class := stripes(320, channels, 1)
	var list []data.Sample
	for i, x := range images {
		x, err := p.Tensor(x)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{tensor.New(tensor.FromScalar(class[i]))}})
	}
	if _, err := train.Fit(context.Background(), g, quiet(train.Config{Epochs: 2, Seed: 4}), data.Of(list...), nil); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPrepareByStatistics checks that the preprocessing with which a network with running statistics
// was trained is found, with an unambiguous scale, on other images.
func TestPrepareByStatistics(t *testing.T) {
	for channels, names := range map[int][]string{1: {"unit", "symmetric", "raw", "mnist"}, 3: {"imagenet", "caffe", "unit", "symmetric", "raw", "raw-bgr"}} {
		base := data.Preprocess{Size: 16, Crop: 1, Gray: channels == 1}
		images, _ := stripes(24, channels, 2)
		for _, preset := range data.Presets(channels == 1) {
			if !slices.Contains(names, preset.Name) {
				continue
			}
			g := trainedOn(t, preset.With(base), channels, true)
			got, err := train.Prepare(context.Background(), g, base, images)
			if err != nil || got.Name != preset.Name || got.By != "statistics" || got.Preprocess.String() != preset.With(base).String() {
				t.Errorf("trained on %s: %v, %v", preset.Name, got, err)
			}
			if got.Guess || got.Margin < 1.3 {
				t.Errorf("trained on %s: %v: a guess, want certainty", preset.Name, got)
			}
		}
	}
}

// TestPrepareByScores checks that without running statistics the result is right, or is reported as a
// guess with its alternatives.
func TestPrepareByScores(t *testing.T) {
	base := data.Preprocess{Size: 16, Crop: 1}
	images, _ := stripes(24, 3, 2)
	for _, preset := range data.Presets(false)[:5] {
		got, err := train.Prepare(context.Background(), trainedOn(t, preset.With(base), 3, false), base, images)
		if err != nil || got.By != "scores" || got.Name != preset.Name && !got.Guess {
			t.Errorf("trained on %s: %v, %v", preset.Name, got, err)
		}
		if got.Guess && !strings.HasSuffix(got.String(), "; a guess") {
			t.Errorf("a guess is told as %q", got)
		}
	}
}

// Statistics that training never changed are not measured: alone they are no finding, and beside others they do not count.
func TestPrepareUntrained(t *testing.T) {
	base := data.Preprocess{Size: 16, Crop: 1}
	images, _ := stripes(24, 3, 2)
	got, err := train.Prepare(context.Background(), untrainedOn(t, 3, true), base, images)
	if err != nil || got.By != "untrained" || !got.Guess || got.Name != "imagenet" || !strings.Contains(got.String(), "was never trained, so nothing can be measured; a guess") {
		t.Errorf("never trained: %v, %v", got, err)
	}
	raw := data.Preset{Preprocess: data.Raw}.With(base)
	g := trainedOn(t, raw, 3, true)
	if err := g.Edit(func(e *nn.Edit) { e.Insert(e.Inputs()[0], layers.BatchNorm{}) }); err != nil {
		t.Fatal(err)
	}
	got, err = train.Prepare(context.Background(), g, base, images)
	if err != nil || got.Name != "raw" || got.By != "statistics" || got.Guess {
		t.Errorf("with a new normalization: %v, %v", got, err)
	}
	g = untrainedOn(t, 3, true)
	for p := range g.Params() {
		if strings.Contains(p.Name(), "bias") {
			dtype.Slice[float32](p.Data())[0] = 0.5
		}
	}
	if got, err = train.Prepare(context.Background(), g, base, images); err != nil || got.By != "scores" || !got.Guess {
		t.Errorf("trained with frozen statistics: %v, %v", got, err)
	}
}
