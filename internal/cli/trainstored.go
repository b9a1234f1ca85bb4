package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"github.com/spf13/pflag"
	"gorgonia.org/tensor"
)

// notStored are the flags for settings that --as-stored reads from the file, and for features that it does not support.
var notStored = []string{
	"accumulate", "balanced", "class-weights", "clip-norm", "cutmix", "dir", "dry-run", "ema", "force", "freeze", "from-scratch", "full", "head", "head-only",
	"keep", "label-smoothing", "loss", "lr", "lr-group", "metric", "micro-batch", "mixup", "momentum", "monitor", "new", "optimizer", "patience", "policy", "resume", "schedule",
	"teacher", "teacher-share", "temperature", "tensorboard", "warmup", "weight-decay",
}

// runStored trains with the training_info of the model's file.
func (t training) runStored(ctx context.Context, w io.Writer, model string) error {
	if err := checkOutput(t.output); err != nil {
		return err
	}
	var refused []string
	t.flagSet.Visit(func(f *pflag.Flag) {
		if slices.Contains(notStored, f.Name) {
			refused = append(refused, "--"+f.Name)
		}
	})
	if len(refused) > 0 {
		return fmt.Errorf("--as-stored trains as the file states: leave out %s", strings.Join(refused, ", "))
	}
	if t.config.Epochs < 0 || t.config.Batch < 0 {
		return fmt.Errorf("--epochs %d, --batch %d: want 0 or more", t.config.Epochs, t.config.Batch)
	}
	if !t.flagSet.Changed("val") {
		t.val = "0"
	}
	g, err := t.load(model)
	if err != nil {
		return err
	}
	s, err := step.NewStored(g)
	if err != nil {
		return err
	}
	var fit, val data.Dataset[data.Sample]
	switch {
	case len(s.Inputs()) == 0 && t.data != "":
		return errors.New("the training_info reads no data: leave out --data")
	case len(s.Inputs()) > 0 && t.data == "":
		return errNoData
	case t.data != "":
		if fit, val, err = t.divided(ctx, g); err != nil {
			return err
		}
		if fit == nil || fit.Len() == 0 {
			return fmt.Errorf("%s: there are no samples in it", t.data)
		}
	}
	if t.reset {
		switch any, err := s.Initialize(ctx); {
		case err != nil:
			return err
		case !any:
			return fmt.Errorf("--reset: the training_info of the model has no initialization")
		}
	}
	if t.data == "" {
		return t.withoutData(ctx, w, g, s)
	}
	l := data.BatchLoader{Batch: t.config.Batch, Shuffle: !t.config.NoShuffle, Seed: t.seed}
	if n := g.Inputs()[0].Type(); n.Rank() > 0 && n.Shape[0].Known() {
		l.Batch, l.DropLast = n.Shape[0].Size, true
		if t.config.Batch != 0 && t.config.Batch != l.Batch {
			return fmt.Errorf("--batch %d: the model fixes it to %d", t.config.Batch, l.Batch)
		}
	}
	for epoch := range max(t.config.Epochs, 1) {
		row := map[string]any{"epoch": epoch + 1}
		for _, part := range []struct {
			prefix string
			set    data.Dataset[data.Sample]
			step   func(context.Context, nn.Feed) (nn.Feed, error)
		}{{"", fit, s.Step}, {"val_", val, s.Look}} {
			if part.set == nil || part.set.Len() == 0 {
				continue
			}
			means, err := storedEpoch(ctx, l, part.set, epoch, s.Inputs(), part.step)
			if err != nil {
				return err
			}
			for name, x := range means {
				row[part.prefix+name] = x
			}
		}
		if err := t.tellStored(w, row); err != nil {
			return err
		}
	}
	return t.keepStored(w, g, s)
}

// withoutData trains with a training_info that reads no data: an epoch is a step.
func (t training) withoutData(ctx context.Context, w io.Writer, g *nn.Graph, s *step.Stored) error {
	for epoch := range max(t.config.Epochs, 1) {
		means, err := storedMeans(ctx, epoch, func(yield func(nn.Feed, error) bool) { yield(nn.Feed{}, nil) }, s.Step)
		if err != nil {
			return err
		}
		row := map[string]any{"epoch": epoch + 1}
		for name, x := range means {
			row[name] = x
		}
		if err := t.tellStored(w, row); err != nil {
			return err
		}
	}
	return t.keepStored(w, g, s)
}

// keepStored saves the trained model.
func (t training) keepStored(w io.Writer, g *nn.Graph, s *step.Stored) error {
	if err := s.Keep(); err != nil {
		return err
	}
	if err := onnxio.Save(t.output, g); err != nil {
		return err
	}
	if !t.asJSON {
		fmt.Fprintf(w, "%s: trained as its training_info states, which goes on from here\n", t.output)
	}
	return nil
}

// storedEpoch is storedMeans over the batches of a set.
func storedEpoch(ctx context.Context, l data.BatchLoader, set data.Dataset[data.Sample], epoch int, ports []step.Port, run func(context.Context, nn.Feed) (nn.Feed, error)) (map[string]float64, error) {
	return storedMeans(ctx, epoch, func(yield func(nn.Feed, error) bool) {
		for b, err := range l.Batches(ctx, set, epoch) {
			var feed nn.Feed
			if err == nil {
				feed, err = storedFeed(ports, b)
			}
			if !yield(feed, err) {
				return
			}
		}
	}, run)
}

// storedMeans runs an epoch and returns the mean of each scalar output.
func storedMeans(ctx context.Context, epoch int, feeds iter.Seq2[nn.Feed, error], run func(context.Context, nn.Feed) (nn.Feed, error)) (map[string]float64, error) {
	sums, n := map[string]float64{}, 0
	for feed, err := range feeds {
		if err != nil {
			return nil, err
		}
		out, err := run(ctx, feed)
		if err != nil {
			return nil, err
		}
		n++
		for name, v := range out {
			d, ok := v.(*tensor.Dense)
			if !ok || d.Shape().TotalSize() != 1 {
				continue
			}
			x, err := dtype.Float64s(d)
			if err != nil {
				continue
			}
			if math.IsNaN(x[0]) || math.IsInf(x[0], 0) {
				return nil, fmt.Errorf("epoch %d, batch %d: %s is %v: nothing is written", epoch+1, n, name, x[0])
			}
			sums[name] += x[0]
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("the data have no full batch")
	}
	for name := range sums {
		sums[name] /= float64(n)
	}
	return sums, nil
}

// storedFeed assigns a batch's tensors to the inputs in order, converted to their element types.
func storedFeed(ports []step.Port, b data.Sample) (nn.Feed, error) {
	list := append(slices.Clone(b.X), b.Y...)
	if len(list) != len(ports) {
		return nil, fmt.Errorf("the stored training takes %d tensors %v, the data have %d", len(ports), ports, len(list))
	}
	feed := nn.Feed{}
	for i, p := range ports {
		d := list[i]
		if name, _, ok := strings.Cut(p.Type, "["); ok {
			if t, err := dtype.Parse(name); err == nil && dtype.Of(d.Dtype()) != t {
				if d, err = dtype.ConvertTo(t, d); err != nil {
					return nil, fmt.Errorf("input %s of the stored training: %w", p.Name, err)
				}
			}
		}
		feed[p.Name] = d
	}
	return feed, nil
}

// tellStored prints an epoch.
func (t training) tellStored(w io.Writer, row map[string]any) error {
	if t.asJSON {
		return json.NewEncoder(w).Encode(row)
	}
	fmt.Fprintf(w, "epoch %d", row["epoch"])
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if name != "epoch" {
			fmt.Fprintf(w, "  %s %.5g", name, row[name])
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
