package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Options are the settings of the demonstration. The zero value is that of the command.
type Options struct {
	Dir    string            // where the results go; "": a new temporary directory
	Epochs int               // 0: 12
	Images int               // images to train on; 0: 640
	Seed   uint64            // of images, weights and order
	Out    io.Writer         // receives the progress as text; nil: discarded
	Log    func(train.Event) // progress of training; nil: the trainer's default
}

// Result holds the measurements of the demonstration and the paths of its files.
type Result struct {
	AccuracyBefore float64  `json:"accuracy_before"` // of the new head before training
	AccuracyAfter  float64  `json:"accuracy_after"`
	Classes        []string `json:"classes"`
	Inserted       string   `json:"inserted"` // the value computed by the inserted layer
	Reloaded       float64  `json:"reloaded_max_abs_difference"`
	Model          string   `json:"model"`
	Curves         string   `json:"curves"`
	History        string   `json:"history"`
}

// Run takes a network that recognizes digits, gives it a head for letters, inserts a layer, fine-tunes it on rendered
// letters, saves it, loads it again and compares the outputs. A temporary folder is removed if that fails.
func Run(ctx context.Context, o Options) (res Result, err error) {
	o = o.defaults()
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "graft-demo-"); err != nil {
			return Result{}, err
		}
		defer func() {
			if err != nil {
				_ = disk.RemoveAll(o.Dir)
			}
		}()
	} else if err := disk.MkdirAll(o.Dir); err != nil {
		return Result{}, fmt.Errorf("demo: cannot create the output folder: %w", err)
	}
	say := func(format string, args ...any) { fmt.Fprintf(o.Out, format+"\n", args...) }

	g, err := onnxio.Read(bytes.NewReader(Model()))
	if err != nil {
		return Result{}, err
	}
	say("A network that PyTorch trained on digits:\n\n%v", g.Summary())
	res.Classes = strings.Split(New, "")
	if res.Inserted, err = change(g, res.Classes, say); err != nil {
		return res, err
	}
	fit, val, err := letters(o)
	if err != nil {
		return res, err
	}
	if res.AccuracyBefore, err = accuracy(ctx, g, val); err != nil {
		return res, err
	}
	say("Accuracy on %d letters it never saw: %.3f (chance is %.3f)", val.Len(), res.AccuracyBefore, 1/float64(len(res.Classes)))
	t, err := train.New(g, train.Config{
		Rule: optim.AdamW{LR: 4e-3}, Schedule: optim.CosineLR{}, Epochs: o.Epochs, Batch: 32, Seed: o.Seed, Dir: o.Dir, Log: o.Log,
	})
	if err != nil {
		return res, err
	}
	if _, err := t.Fit(ctx, fit, val); err != nil {
		return res, err
	}
	if res.AccuracyAfter, err = accuracy(ctx, g, val); err != nil {
		return res, err
	}
	say("Accuracy after fine-tuning: %.3f", res.AccuracyAfter)
	res.Model = filepath.Join(o.Dir, "letters.onnx")
	res.Curves = filepath.Join(o.Dir, "curves.png")
	res.History = filepath.Join(o.Dir, "history.csv")
	if err := onnxio.Save(res.Model, g); err != nil {
		return res, err
	}
	res.Reloaded, err = compare(ctx, g, res.Model, val)
	say("Saved and loaded again: outputs differ by at most %g", res.Reloaded)
	return res, err
}

func (o Options) defaults() Options {
	if o.Epochs == 0 {
		o.Epochs = 12
	}
	if o.Images == 0 {
		o.Images = 640
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

// change gives the network its new head and inserts a layer after the last convolution.
func change(g *nn.Graph, classes []string, say func(string, ...any)) (inserted string, err error) {
	plan, err := g.Plan(func(e *nn.Edit) {
		convs := e.Nodes(nn.Ops("Relu"))
		if e.Err() != nil {
			return
		}
		at := convs[len(convs)-1].Out(0)
		v := e.Insert(at, layers.Conv{Out: int(channels(at)), Kernel: []int{1}})
		inserted = v.Name()
		e.Head(nn.Head{Labels: classes})
	})
	if err != nil {
		return "", err
	}
	say("The plan:\n\n%v\n", plan)
	return inserted, plan.Apply()
}

func channels(v *nn.Value) int {
	if s := v.Type().Shape; len(s) > 1 {
		return s[1].Size
	}
	return 0
}

// letters renders images to train on, and others to judge by.
func letters(o Options) (fit, val data.Dataset[data.Sample], err error) {
	make := func(n int, seed uint64) (data.Dataset[data.Sample], error) {
		images, labels, err := glyph.Set(New, n, seed)
		if err != nil {
			return nil, err
		}
		x, err := dtype.FromSlice(images, n, 1, glyph.Size, glyph.Size)
		if err != nil {
			return nil, err
		}
		y, err := dtype.FromSlice(labels, n)
		if err != nil {
			return nil, err
		}
		return data.Tensors(x, y)
	}
	if fit, err = make(o.Images, 100+o.Seed); err != nil {
		return nil, nil, err
	}
	val, err = make(400, 200+o.Seed)
	return fit, val, err
}

func accuracy(ctx context.Context, g *nn.Graph, set data.Dataset[data.Sample]) (float64, error) {
	m, err := train.Evaluate(ctx, g, set, &train.Accuracy{})
	return m["accuracy"], err
}

// compare runs the model and the file it was saved to on the same images.
func compare(ctx context.Context, g *nn.Graph, path string, set data.Dataset[data.Sample]) (float64, error) {
	again, err := onnxio.Load(path)
	if err != nil {
		return 0, err
	}
	var samples []data.Sample
	for i := range min(set.Len(), 64) {
		s, err := set.At(i, nil)
		if err != nil {
			return 0, err
		}
		samples = append(samples, s)
	}
	batch, err := data.Collate(samples)
	if err != nil {
		return 0, err
	}
	a, err := g.Run(ctx, batch.X...)
	if err != nil {
		return 0, err
	}
	b, err := again.Run(ctx, batch.X...)
	if err != nil {
		return 0, err
	}
	return difference(a, b)
}

func difference(a, b []*tensor.Dense) (worst float64, err error) {
	for i := range a {
		x, err := dtype.Float64s(a[i])
		if err != nil {
			return 0, err
		}
		y, err := dtype.Float64s(b[i])
		if err != nil {
			return 0, err
		}
		if !slices.Equal(a[i].Shape(), b[i].Shape()) {
			return 0, fmt.Errorf("output %d has shape %v, loaded again %v", i, a[i].Shape(), b[i].Shape())
		}
		for k := range x {
			worst = max(worst, x[k]-y[k], y[k]-x[k])
		}
	}
	return worst, nil
}
