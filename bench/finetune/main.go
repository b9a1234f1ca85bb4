// Command finetune measures what training without settings reaches, beside settings by hand: MNIST's first images are
// trained on, the rest are tested on, several seeds each.
//
//	go run ./bench/finetune --mnist DIR --images 100,1000,8000 --seeds 3 --grid
//	go run ./bench/finetune --model squeezenet1.1.onnx --train insects/ --test insects-test/ --seeds 3
//	go run ./bench/finetune --preparations DIR
//
// A line is a way to train: the mean of the accuracies on the test part, their standard deviation, and the processor's and
// the clock's seconds of a run. The grid is SGD with momentum 0.9 at five rates and AdamW at five, each with a constant rate and
// one cycle, 20 epochs with batches of 32: what one sets by hand.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func main() {
	mnist := flag.String("mnist", "", "folder of MNIST's IDX files")
	images := flag.String("images", "100,1000,8000", "how many of the first images are trained on")
	model := flag.String("model", "", "a model for photographs; with -mnist, a model for digits in place of an untrained one")
	prepared := flag.String("preparations", "", "folder of preparations.py: print which preprocessing is found for each of its models")
	fit := flag.String("train", "", "folder of photographs by class")
	test := flag.String("test", "", "another one to test on")
	seeds := flag.Int("seeds", 3, "runs of each way")
	first := flag.Uint64("first", 0, "seed of the first run; the others follow")
	grid := flag.Bool("grid", false, "measure the grid of 20 settings on MNIST, too, and print the best and the median of their means")
	only := flag.String("settings", "", "of the grid, the settings whose names contain this")
	ways := flag.String("policies", "head-only,auto,full", "which to measure, separated by commas, or none: auto is training without settings")
	parts := flag.Bool("parts", false, "of runs without settings: print the accuracy of the classifier alone, and of all layers with the whole of what training changed, too")
	verbose := flag.Bool("v", false, "print what the policies say")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *prepared != "" {
		err = preparations(ctx, *prepared)
	} else if *mnist != "" {
		err = digits(ctx, *mnist, *images, *model, seeding{*first, *seeds}, strings.Split(*ways, ","), *grid, *only, *verbose)
	} else {
		err = photographs(ctx, *model, *fit, *test, seeding{*first, *seeds}, strings.Split(*ways, ","), *parts, *verbose)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// seeding is which seeds the runs of each way have.
type seeding struct {
	first uint64
	runs  int
}

// task is the training and test data of one run.
type task struct {
	model          func(seed uint64) (*nn.Graph, error)
	fit, val, test func(seed uint64) data.Dataset[data.Sample]
	head           *nn.Head
	parts, verbose bool
}

// digits measures on MNIST.
func digits(ctx context.Context, dir, counts, model string, seeds seeding, policies []string, grid bool, only string, verbose bool) error {
	images, labels := data.FindIDX(dir, true)
	if labels == "" {
		return fmt.Errorf("%s: no IDX files", dir)
	}
	all, err := data.IDX(images, labels)
	if err != nil {
		return err
	}
	for _, word := range strings.Split(counts, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 10 || n >= all.Len() {
			return fmt.Errorf("-images %s: want numbers from 10 to below %d", counts, all.Len())
		}
		p := data.Preprocess{Size: 28, Crop: 1, Gray: true, NoFlip: true, Mean: []float64{0.1307}, Std: []float64{0.3081}}
		part := func(share int, seed uint64) data.Dataset[data.Sample] {
			fit, val := data.Split(span(all, 0, n), 0.1, seed)
			return []data.Dataset[data.Sample]{p.Vary(fit), p.Prepare(val), p.Prepare(span(all, n, all.Len())), p.Prepare(fit)}[share]
		}
		t := task{
			verbose: verbose,
			model:   func(seed uint64) (*nn.Graph, error) { return digitNet(model, seed) },
			fit:     func(seed uint64) data.Dataset[data.Sample] { return part(0, seed) },
			val:     func(seed uint64) data.Dataset[data.Sample] { return part(1, seed) },
			test:    func(seed uint64) data.Dataset[data.Sample] { return part(2, seed) },
		}
		fmt.Printf("%d images\n", n)
		if err := t.measurePolicies(ctx, seeds, policies); err != nil {
			return err
		}
		if !grid {
			continue
		}
		t.fit = func(seed uint64) data.Dataset[data.Sample] { return part(3, seed) }
		all := settings()
		var means []float64
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !strings.Contains(name, only) {
				continue
			}
			mean, err := t.measure(ctx, name, seeds, byHand(all[name]))
			if err != nil {
				return err
			}
			means = append(means, mean)
		}
		if len(means) == 0 {
			return fmt.Errorf("-settings %s: no name contains it", only)
		}
		slices.Sort(means)
		fmt.Printf("  grid: best %.4f, median %.4f\n", means[len(means)-1], (means[(len(means)-1)/2]+means[len(means)/2])/2)
	}
	return nil
}

// span returns the samples from one index up to another.
func span(s data.Dataset[data.Sample], from, to int) data.Dataset[data.Sample] {
	var index []int
	for i := from; i < to; i++ {
		index = append(index, i)
	}
	return data.Subset(s, index)
}

// digitNet returns a model from a file, or a small network that was never trained.
func digitNet(path string, seed uint64) (*nn.Graph, error) {
	if path != "" {
		return onnxio.Loader{BatchDim: "N"}.Load(path)
	}
	g := nn.New("digits")
	err := g.Edit(func(e *nn.Edit) {
		e.Seed(seed)
		block := func(out int) nn.Sequential {
			return nn.Sequential{layers.Conv{Out: out, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}}}
		}
		e.Output("scores", e.Apply(nn.Sequential{block(16), block(32), layers.Flatten{}, layers.Linear{Out: 64}, layers.ReLU{}, layers.Linear{Out: 10}}, e.Input("image", "float32[N,1,28,28]")))
	})
	return g, err
}

// settings returns the grid, by name.
func settings() map[string]train.Config {
	all := map[string]train.Config{}
	for schedule, s := range map[string]optim.Schedule{"constant": nil, "one cycle": optim.OneCycleLR{}} {
		for _, rate := range []float64{1e-4, 3e-4, 1e-3, 3e-3, 1e-2} {
			all[fmt.Sprintf("adamw %g, %s", rate, schedule)] = train.Config{Rule: optim.AdamW{LR: rate}, Schedule: s}
			all[fmt.Sprintf("sgd %.3g, %s", 10*rate, schedule)] = train.Config{Rule: optim.SGD{LR: 10 * rate, Momentum: 0.9}, Schedule: s}
		}
	}
	return all
}

type way func(ctx context.Context, t task, g *nn.Graph, seed uint64) error

// untuned trains with the policy's settings.
func untuned(p train.Policy) way {
	return func(ctx context.Context, t task, g *nn.Graph, seed uint64) error {
		c := train.Config{Seed: seed, Log: train.Quiet}
		if t.verbose {
			c.Log = func(e train.Event) {
				if e.Kind == train.Note {
					fmt.Println("   ", e.Text)
				}
			}
		}
		if t.parts && p == train.Auto {
			dir, err := os.MkdirTemp("", "finetune")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			c.Dir = dir
		}
		_, err := train.FineTuner{Policy: p, Head: t.head, Refit: true, Config: c}.FineTune(ctx, g, t.fit(seed), t.val(seed))
		if err != nil || c.Dir == "" {
			return err
		}
		return t.sayParts(ctx, c.Dir, seed)
	}
}

// sayParts prints the accuracy of the models that a run leaves in its folder.
func (t task) sayParts(ctx context.Context, dir string, seed uint64) error {
	for _, part := range []struct{ name, file string }{{"the classifier alone", "head.onnx"}, {"all layers, whole", "last.onnx"}} {
		g, err := onnxio.Load(filepath.Join(dir, part.file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // what was held out was against training all layers
		}
		if err != nil {
			return err
		}
		figures, err := train.Evaluate(ctx, g, t.test(seed))
		if err != nil {
			return err
		}
		fmt.Printf("    %s: %.4f\n", part.name, figures["accuracy"])
	}
	return nil
}

// byHand trains with the settings of a configuration.
func byHand(c train.Config) way {
	return func(ctx context.Context, t task, g *nn.Graph, seed uint64) error {
		c.Seed, c.Epochs, c.Batch, c.RestoreBest, c.Log = seed, 20, 32, true, train.Quiet
		_, err := train.Fit(ctx, g, c, t.fit(seed), t.val(seed))
		return err
	}
}

// measurePolicies measures the named policies.
func (t task) measurePolicies(ctx context.Context, seeds seeding, names []string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		p := train.Policy(name)
		if name == "auto" {
			name, p = "no settings", train.Auto
		}
		if _, err := t.measure(ctx, name, seeds, untuned(p)); err != nil {
			return err
		}
	}
	return nil
}

// measure runs one way with each seed, prints a line and returns the mean accuracy, 0 if a run failed.
func (t task) measure(ctx context.Context, name string, seeds seeding, w way) (float64, error) {
	var sum, square, clock, processor float64
	for i := range uint64(seeds.runs) {
		seed := seeds.first + i
		g, err := t.model(seed)
		if err != nil {
			return 0, err
		}
		begin, used := time.Now(), processorTime()
		if err := w(ctx, t, g, seed); err != nil {
			if ctx.Err() != nil {
				return 0, err
			}
			fmt.Printf("  %-24s seed %d: %v\n", name, seed, err)
			return 0, nil
		}
		clock += time.Since(begin).Seconds()
		processor += (processorTime() - used).Seconds()
		figures, err := train.Evaluate(ctx, g, t.test(seed))
		if err != nil {
			return 0, err
		}
		sum += figures["accuracy"]
		square += figures["accuracy"] * figures["accuracy"]
	}
	n := float64(seeds.runs)
	mean := sum / n
	fmt.Printf("  %-24s %.4f ± %.4f  %.1f s of processors, %.1f s\n", name, mean, math.Sqrt(max(0, square/n-mean*mean)), processor/n, clock/n)
	return mean, nil
}

// photographs measures a model on two folders of images by class.
func photographs(ctx context.Context, model, fit, test string, seeds seeding, ways []string, parts, verbose bool) error {
	folder, err := data.Folder(fit)
	if err != nil {
		return err
	}
	held, err := data.Folder(test)
	if err != nil {
		return err
	}
	load := func(uint64) (*nn.Graph, error) { return onnxio.Loader{BatchDim: "N"}.Load(model) }
	g, err := load(0)
	if err != nil {
		return err
	}
	base, err := data.Guess(g.Inputs()[0].Type().Sizes())
	if err != nil {
		return err
	}
	plain := data.Preprocess{Size: base.Size, Width: base.Width, Crop: base.Crop, Gray: base.Gray}
	var some []*tensor.Dense
	for i := range 24 {
		s, err := plain.Eval(folder.Items[i*len(folder.Items)/24], nil)
		if err != nil {
			return err
		}
		some = append(some, s.X[0])
	}
	found, err := train.Prepare(ctx, g, base, some)
	if err != nil {
		return err
	}
	fmt.Println(found)
	found.MinArea = 0.35
	part := func(seed uint64) (fit, val data.Dataset[data.Sample]) {
		p := *folder
		p.Seed, p.Cache = seed, 1<<30
		return p.Split(0.1, found.Preprocess)
	}
	t := task{
		parts: parts, verbose: verbose, model: load, head: &nn.Head{Labels: folder.Classes},
		fit:  func(seed uint64) data.Dataset[data.Sample] { f, _ := part(seed); return f },
		val:  func(seed uint64) data.Dataset[data.Sample] { _, v := part(seed); return v },
		test: func(uint64) data.Dataset[data.Sample] { return held.All(found.Preprocess) },
	}
	return t.measurePolicies(ctx, seeds, ways)
}
