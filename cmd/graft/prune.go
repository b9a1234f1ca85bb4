package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
)

// pruning holds the flags of the prune command.
type pruning struct {
	target               []string
	criterion, data      string
	batchDim             string
	iterations, epochs   int
	batch, scoreBatches  int
	ignore               []string
	roundTo              int
	perLayer, normalized bool
	most                 float64
	plan, replay, output string
	dryRun, asJSON       bool
	seed                 uint64
}

func newPrune() *cobra.Command {
	var p pruning
	cmd := &cobra.Command{
		Use:   "prune MODEL",
		Short: "Take away the channels, heads and hidden units that matter least",
		Long: `prune removes whole channels, attention heads and hidden units with everything that hangs together
with them, so that the model that is written is smaller and faster everywhere.

--target says what stays: macs=0.5, params=0.5, channels=0.7 or time=0.6, measured here; several
may be joined by commas. --criterion is l1, l2, bn, lamp, fpgm, random, or one of taylor,
activation and hessian, which need --data: a folder of pictures by class, or of
MNIST's IDX files, or such files: IMAGES,LABELS. With --iterations the target is reached in rounds, each followed by
--finetune-epochs on the data.

The plan is printed, and written by --plan as JSON: every index removed from every initializer.
--replay applies such a file instead of choosing anew.`,
		Example: `  graft prune model.onnx --target macs=0.5 -o small.onnx
  graft prune model.onnx --target params=0.6 --criterion lamp --ignore 'head*' --round-to 8 --dry-run
  graft prune model.onnx --target macs=0.5 --criterion taylor --data flowers/ --iterations 3 --finetune-epochs 1 -o small.onnx
  graft prune model.onnx --replay plan.json -o small.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.target, "target", []string{"macs=0.5"}, "share that stays: macs=, params=, channels= or time=")
	f.StringVar(&p.criterion, "criterion", "l2", "l1, l2, bn, lamp, fpgm, random, taylor, activation or hessian")
	f.StringVar(&p.data, "data", "", "folder of pictures by class, folder of IDX files, or IDX files IMAGES,LABELS")
	f.StringVar(&p.batchDim, "batch-dim", "", "name for the first dimension of inputs where the file fixes it, such as N: frees the batch")
	f.IntVar(&p.iterations, "iterations", 1, "rounds in which the target is reached")
	f.IntVar(&p.epochs, "finetune-epochs", 0, "epochs of fine-tuning after each round")
	f.IntVar(&p.batch, "batch", 32, "samples in a batch")
	f.IntVar(&p.scoreBatches, "score-batches", 64, "batches that taylor, activation and hessian read in each round; 0: all")
	f.StringArrayVar(&p.ignore, "ignore", nil, "glob of nodes whose outputs keep their channels; repeatable")
	f.IntVar(&p.roundTo, "round-to", 0, "make what stays a multiple of this")
	f.Float64Var(&p.most, "most", 0, "largest share of a layer that may go; 0: all but one channel")
	f.BoolVar(&p.perLayer, "per-layer", false, "take the same share of every layer")
	f.BoolVar(&p.normalized, "normalized-axes", false, "also cut axes that a normalization runs over")
	f.StringVar(&p.plan, "plan", "", "file to write the plan to, as JSON")
	f.StringVar(&p.replay, "replay", "", "plan to apply instead of choosing")
	f.BoolVar(&p.dryRun, "dry-run", false, "plan only")
	f.BoolVar(&p.asJSON, "json", false, "print plans as JSON")
	f.StringVarP(&p.output, "output", "o", "", "file to write the pruned model to")
	f.Uint64Var(&p.seed, "seed", 0, "what random choices are drawn from")
	return cmd
}

func (p pruning) run(ctx context.Context, w io.Writer, model string) error {
	if p.output == "" && !p.dryRun {
		return fmt.Errorf("say where the model goes, with -o FILE, or --dry-run")
	}
	g, err := onnxio.Loader{BatchDim: p.batchDim}.Load(model)
	if err != nil {
		return err
	}
	if p.replay != "" {
		return p.again(w, g)
	}
	pruner, t, fit, val, err := p.prepare(ctx, g)
	if err != nil {
		return err
	}
	if p.dryRun || p.iterations <= 1 && p.epochs == 0 {
		plan, err := pruner.Plan(ctx, g)
		if err != nil {
			return err
		}
		return p.finish(w, g, plan)
	}
	return p.rounds(ctx, w, g, pruner, t, fit, val)
}

// rounds prunes step by step, with fine-tuning between. What is written as the plan is all of it.
func (p pruning) rounds(ctx context.Context, w io.Writer, g *nn.Graph, pruner prune.Pruner, t *train.Trainer, fit, val data.Set[data.Sample]) error {
	before, err := p.judge(ctx, t, val)
	if err != nil {
		return err
	}
	var all *nn.Plan
	round := 0
	for plan, err := range pruner.Steps(ctx, g, p.iterations) {
		if err != nil {
			return err
		}
		if round++; !p.asJSON {
			fmt.Fprintf(w, "round %d of %d\n%v\n", round, p.iterations, plan)
		}
		if all == nil {
			all = plan
		} else if all, err = all.Join(plan); err != nil {
			return err
		}
		if p.epochs > 0 {
			if _, err := t.Fit(ctx, fit, val); err != nil {
				return err
			}
		}
	}
	if err := writePlan(w, all, p.plan, p.asJSON); err != nil {
		return err
	}
	after, err := p.judge(ctx, t, val)
	if err != nil {
		return err
	}
	if !p.asJSON {
		a, b := all.Cost()
		fmt.Fprintf(w, "in all: parameters %d → %d, multiply-adds %d → %d (%.1f %% stay)\n", a.Params, b.Params, a.MACs, b.MACs, 100*float64(b.MACs)/float64(max(a.MACs, 1)))
		for _, name := range slices.Sorted(maps.Keys(after)) {
			fmt.Fprintf(w, "validation %s %.4g → %.4g\n", name, before[name], after[name])
		}
	}
	return onnxio.Save(p.output, g)
}

// judge is what the validation says of the model; nothing without data.
func (p pruning) judge(ctx context.Context, t *train.Trainer, val data.Set[data.Sample]) (map[string]float64, error) {
	if t == nil || val == nil || val.Len() == 0 {
		return nil, nil
	}
	return t.Evaluate(ctx, val)
}

// again applies a plan from a file.
func (p pruning) again(w io.Writer, g *nn.Graph) error {
	file, err := os.Open(p.replay)
	if err != nil {
		return err
	}
	defer file.Close()
	plan, err := nn.ReadPlan(g, file)
	if err != nil {
		return err
	}
	return p.finish(w, g, plan)
}

// finish shows a plan, applies it and writes the model.
func (p pruning) finish(w io.Writer, g *nn.Graph, plan *nn.Plan) error {
	if !p.asJSON {
		fmt.Fprintln(w, plan)
	}
	if p.dryRun && p.iterations > 1 && !p.asJSON {
		fmt.Fprintf(w, "planned at once: what %d rounds cut is decided after fine-tuning\n", p.iterations)
	}
	if !p.dryRun {
		if err := plan.Apply(); err != nil {
			return err
		}
	}
	if err := writePlan(w, plan, p.plan, p.asJSON); err != nil || p.dryRun {
		return err
	}
	return onnxio.Save(p.output, g)
}

// prepare makes the pruner and, where data are given, a trainer.
func (p pruning) prepare(ctx context.Context, g *nn.Graph) (pr prune.Pruner, t *train.Trainer, fit, val data.Set[data.Sample], err error) {
	pr = prune.Pruner{RoundTo: p.roundTo, PerLayer: p.perLayer, NormalizedAxes: p.normalized, Most: p.most}
	for _, s := range p.ignore {
		pr.Keep = append(pr.Keep, nn.Glob(s))
	}
	if pr.Target, err = targets(p.target); err != nil {
		return
	}
	if p.data != "" {
		if fit, val, err = p.sets(g); err != nil {
			return
		}
		if err = p.fits(g); err != nil {
			return
		}
		if t, err = train.New(g, train.Config{Epochs: max(p.epochs, 1), Batch: p.batch, Seed: p.seed}); err != nil {
			return
		}
	} else if p.epochs > 0 {
		err = fmt.Errorf("--finetune-epochs needs --data")
		return
	}
	pr.By, err = p.by(ctx, t, fit)
	return
}

// fits says which flags help where the model's inputs are of one size, and that is not the batch.
func (p pruning) fits(g *nn.Graph) error {
	for _, v := range g.Inputs() {
		if t := v.Type(); len(t.Shape) > 0 && t.Shape[0].Known() && t.Shape[0].Size != p.batch {
			return fmt.Errorf("input %s has %d samples fixed: --batch-dim N frees it, or use --batch %[2]d", v.Name(), t.Shape[0].Size)
		}
	}
	return nil
}

func targets(list []string) (t prune.Target, err error) {
	for _, s := range list {
		key, value, _ := strings.Cut(s, "=")
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return t, fmt.Errorf("--target %s: want macs=0.5 or the like", s)
		}
		switch key {
		case "macs":
			t.MACs = x
		case "params":
			t.Params = x
		case "channels":
			t.Channels = x
		case "time":
			t.Time = x
		default:
			return t, fmt.Errorf("--target %s: want macs, params, channels or time", s)
		}
	}
	return t, nil
}

// by is the criterion of the given name.
func (p pruning) by(ctx context.Context, t *train.Trainer, fit data.Set[data.Sample]) (prune.Criterion, error) {
	switch p.criterion {
	case "l1":
		return prune.L1, nil
	case "l2":
		return prune.L2, nil
	case "bn":
		return prune.BNScale, nil
	case "lamp":
		return prune.LAMP, nil
	case "fpgm":
		return prune.FPGM, nil
	case "random":
		return prune.Random(p.seed), nil
	}
	gradients := map[string]bool{"taylor": true, "activation": true, "hessian": true}
	if !gradients[p.criterion] {
		return nil, fmt.Errorf("--criterion %s: want l1, l2, bn, lamp, fpgm, random, taylor, activation or hessian", p.criterion)
	}
	if t == nil {
		return nil, fmt.Errorf("--criterion %s needs --data", p.criterion)
	}
	if p.scoreBatches > 0 && fit.Len() > p.scoreBatches*p.batch { // one in so many samples, all classes among them
		index := make([]int, p.scoreBatches*p.batch)
		for i := range index {
			index[i] = i * fit.Len() / len(index)
		}
		fit = data.Subset(fit, index)
	}
	s := t.Gradients(ctx, fit)
	switch p.criterion {
	case "taylor":
		return prune.Taylor(s), nil
	case "activation":
		return prune.ActivationGradient(s), nil
	}
	return prune.Hessian(s), nil
}

// sets opens the data.
func (p pruning) sets(g *nn.Graph) (fit, val data.Set[data.Sample], err error) {
	images, labels, ok := strings.Cut(p.data, ",")
	if !ok {
		images, labels = data.FindIDX(p.data)
	}
	if labels != "" {
		all, err := data.IDX(images, labels)
		if err != nil {
			return nil, nil, err
		}
		val, fit = data.Split(all, 0.1, p.seed)
		return fit, val, nil
	}
	pics, err := data.Folder(p.data)
	if err != nil {
		return nil, nil, err
	}
	how, ok, err := data.ReadMeta(g.Meta)
	if err == nil && !ok {
		how, err = data.Guess(g.Inputs()[0].Type().Sizes())
	}
	if err != nil {
		return nil, nil, err
	}
	fit, val = pics.Split(0.1, how)
	return fit, val, nil
}
