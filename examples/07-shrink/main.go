// Command 07-shrink trains a residual network on digits, prunes half of its multiply-adds in three
// rounds with fine-tuning in between, measures the gain in speed, widens it again without changing
// its outputs, and continues training. One trainer is used throughout: its optimizer's state is cut
// and widened along with the weights.
//
//	go run ./examples/07-shrink IMAGES.gz LABELS.gz     # IDX files, such as MNIST's
//
// Without arguments it renders its own digits. The three models are saved in the temporary folder.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/graft-ml/graft/examples/letters"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func main() {
	all, err := glyphs(4000)
	if len(os.Args) == 3 {
		all, err = data.IDX(os.Args[1], os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
	out, err := os.MkdirTemp("", "shrink")
	if err != nil {
		log.Fatal(err)
	}
	p := program{width: 32, images: 4000, epochs: 3, dir: out, w: os.Stdout}
	if _, err := p.run(context.Background(), all); err != nil {
		log.Fatal(err)
	}
	fmt.Println("saved in", out)
}

// glyphs are rendered digits, for a machine without MNIST.
func glyphs(n int) (data.Dataset[data.Sample], error) {
	images, labels, err := letters.Set("0123456789", n, 1)
	if err != nil {
		return nil, err
	}
	x, err := dtype.FromSlice(images, n, 1, letters.Size, letters.Size)
	if err != nil {
		return nil, err
	}
	y, err := dtype.FromSlice(labels, n)
	if err != nil {
		return nil, err
	}
	return data.Tensors(x, y)
}

// program holds the sizes of a run.
type program struct {
	width  int // channels of the first trunk; the second has twice as many
	images int // to train on, at most two thirds of all
	epochs int // before pruning
	dir    string
	w      io.Writer
}

// report holds the results of a run.
type report struct {
	before, pruned, widened float64 // accuracy on images that were not trained on
	macs                    float64 // share of the multiply-adds that stays
	time                    float64 // share of the time for one image that stays
	changed                 float64 // largest difference of an output by widening
}

// resnet has a trunk of width channels at 14×14 and one of twice as many at 7×7, two residual blocks each.
func resnet(width int) func(e *nn.Edit) {
	conv := func(name string, out, stride int) nn.Sequential {
		return nn.Sequential{layers.Conv{Name: name, Out: out, Kernel: []int{3}, Stride: []int{stride}, Same: true, NoBias: true}, layers.BatchNorm{}}
	}
	return func(e *nn.Edit) {
		block := func(name string, n int) nn.Sequential {
			return nn.Sequential{layers.Residual{Body: nn.Sequential{conv(name+".a", n, 1), layers.ReLU{}, conv(name+".b", n, 1)}}, layers.ReLU{}}
		}
		e.Output("scores", e.Apply(nn.Sequential{
			conv("stem", width, 2), layers.ReLU{}, block("b1", width), block("b2", width),
			conv("down", 2*width, 2), layers.ReLU{}, block("b3", 2*width), block("b4", 2*width),
			layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 10},
		}, e.Input("image", "float32[N,1,28,28]")))
	}
}

func (p program) run(ctx context.Context, all data.Dataset[data.Sample]) (report, error) {
	var r report
	fit, val := p.split(all)
	g := nn.New("digits")
	if err := g.Edit(resnet(p.width)); err != nil {
		return r, err
	}
	t, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 2e-3}, Schedule: optim.CosineLR{}, Batch: 32, Seed: 1, Log: train.Quiet})
	if err != nil {
		return r, err
	}
	if r.before, err = p.train(ctx, t, p.epochs, fit, val); err != nil {
		return r, err
	}
	fmt.Fprintf(p.w, "trained: accuracy %.2f %%\n", 100*r.before)
	whole, err := g.Clone()
	if err != nil {
		return r, err
	}
	if err := onnxio.Save(filepath.Join(p.dir, "whole.onnx"), whole); err != nil {
		return r, err
	}

	if r.pruned, err = p.shrink(ctx, g, t, fit, val); err != nil {
		return r, err
	}
	if err := onnxio.Save(filepath.Join(p.dir, "pruned.onnx"), g); err != nil {
		return r, err
	}
	r.macs = float64(g.Summary().Total.MACs) / float64(whole.Summary().Total.MACs)
	for _, n := range []int{16, 1} {
		a, b, err := race(ctx, n, whole, g)
		if err != nil {
			return r, err
		}
		r.time = b.Seconds() / a.Seconds()
		fmt.Fprintf(p.w, "images at a time: %d; they take %v, %v before: %.0f %% less, with %.0f %% of the multiply-adds\n", n, b, a, 100*(1-r.time), 100*r.macs)
	}

	if r.changed, err = p.widen(ctx, g, val); err != nil {
		return r, err
	}
	if r.widened, err = p.train(ctx, t, 1, fit, val); err != nil {
		return r, err
	}
	fmt.Fprintf(p.w, "trained on: accuracy %.2f %%\n", 100*r.widened)
	return r, onnxio.Save(filepath.Join(p.dir, "widened.onnx"), g)
}

// split sets images apart that training does not see.
func (p program) split(all data.Dataset[data.Sample]) (fit, val data.Dataset[data.Sample]) {
	fit, val = data.Split(all, 1.0/3, 1)
	return first(fit, p.images), first(val, p.images/2)
}

func first(s data.Dataset[data.Sample], n int) data.Dataset[data.Sample] {
	index := make([]int, min(n, s.Len()))
	for i := range index {
		index[i] = i
	}
	return data.Subset(s, index)
}

// train goes through the images several times and returns the accuracy on the others.
func (p program) train(ctx context.Context, t *train.Trainer, epochs int, fit, val data.Dataset[data.Sample]) (float64, error) {
	for range epochs {
		h, err := t.Fit(ctx, fit, val) // one epoch, continuing with the optimizer's state
		if err != nil {
			return 0, err
		}
		fmt.Fprintln(p.w, " ", h.Last())
	}
	return t.History().Last().Val["accuracy"], nil
}

// shrink halves the multiply-adds in three rounds. It removes the channels with the least effect on the loss; numbers of
// channels are multiples of sixteen, the length of vector registers: other numbers save work but hardly time.
func (p program) shrink(ctx context.Context, g *nn.Graph, t *train.Trainer, fit, val data.Dataset[data.Sample]) (float64, error) {
	pruner := prune.Pruner{Target: prune.Target{MACs: 0.5}, By: prune.Taylor(t.Gradients(ctx, first(fit, 256))), RoundTo: 16}
	accuracy := 0.0
	for plan, err := range pruner.Steps(ctx, g, 3) {
		if err != nil {
			return 0, err
		}
		before, after := plan.Cost()
		fmt.Fprintf(p.w, "pruned: %d → %d parameters, %d → %d multiply-adds\n", before.Params, after.Params, before.MACs, after.MACs)
		if accuracy, err = p.train(ctx, t, 1, fit, val); err != nil {
			return 0, err
		}
	}
	return accuracy, nil
}

// widen adds sixteen channels to every layer and returns the change of the outputs.
func (p program) widen(ctx context.Context, g *nn.Graph, val data.Dataset[data.Sample]) (float64, error) {
	in, err := batch(val, 64)
	if err != nil {
		return 0, err
	}
	was, err := g.Run(ctx, in)
	if err != nil {
		return 0, err
	}
	plan, err := g.Plan(func(e *nn.Edit) {
		for _, n := range e.Nodes(nn.Glob("stem*", "down*", "b?.a*"), nn.Ops("Conv")) {
			e.AddChannels(n, 16)
		}
	})
	if err != nil {
		return 0, err
	}
	if err := plan.Apply(); err != nil {
		return 0, err
	}
	now, err := g.Run(ctx, in)
	if err != nil {
		return 0, err
	}
	x, y := dtype.Slice[float32](was[0]), dtype.Slice[float32](now[0])
	most := 0.0
	for i := range x {
		most = max(most, float64(x[i]-y[i]), float64(y[i]-x[i]))
	}
	before, after := plan.Cost()
	fmt.Fprintf(p.w, "widened: %d → %d parameters; outputs differ by at most %.1e\n", before.Params, after.Params, most)
	return most, nil
}

// batch returns the first n images in one tensor.
func batch(s data.Dataset[data.Sample], n int) (*tensor.Dense, error) {
	var list []data.Sample
	for i := range min(n, s.Len()) {
		x, err := s.At(i, data.Rand(1, 0, i))
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	b, err := data.Collate(list)
	if err != nil {
		return nil, err
	}
	return b.X[0], nil
}

// race measures runs of two models on n images alternately, so that other load on the machine affects both,
// and returns the medians.
func race(ctx context.Context, n int, models ...*nn.Graph) (a, b time.Duration, err error) {
	in := dtype.New(dtype.Float32, n, 1, 28, 28)
	all := make([][]time.Duration, len(models))
	for round := range 42 {
		for i, g := range models {
			start := time.Now()
			if _, err := g.Run(ctx, in); err != nil {
				return 0, 0, err
			}
			if round > 1 { // the first runs compile
				all[i] = append(all[i], time.Since(start))
			}
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all[0][len(all[0])/2], all[1][len(all[1])/2], nil
}
