package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
)

// pruning holds the flags of the prune command.
type pruning struct {
	training
	stays                []string // targets
	criterion            string
	iterations           int
	scoreBatches         int
	ignore               []string
	roundTo              int
	perLayer, normalized bool
	details              bool
	most                 float64
	plan                 planFile
	replay               string

	columns *columnPruning // of a model that encodes the columns of a table; nil for others
}

func newPrune() *cobra.Command {
	var p pruning
	cmd := &cobra.Command{
		Use:   "prune MODEL",
		Short: "Remove the least important channels, attention heads and hidden units",
		Long: `prune removes whole channels, attention heads and hidden units, and everything that depends on them, so that the model is
smaller and faster in every runtime.

--target is the fraction to keep: macs=0.5, params=0.5, channels=0.7 or time=0.6 (measured on this machine); several are joined by
commas. --criterion ranks the channels; criteria that use gradients or activations need --data. With --iterations the target is
reached in rounds, each followed by --finetune-epochs of training with the settings of train (--lr, --optimizer, --schedule and
others). A table shows each layer before and after and, at the end, the metrics after each round.

` + dataHelp + `

--plan writes the plan as JSON: every index removed from every initializer; --details prints it. --replay applies such a plan
instead of choosing channels.`,
		Example: `  graft prune model.onnx --target macs=0.5 -o small.onnx
  graft prune model.onnx --target params=0.6 --criterion lamp --ignore 'head*' --round-to 8 --dry-run
  graft prune model.onnx --target macs=0.5 --criterion taylor --data flowers/ --iterations 3 --finetune-epochs 2 --lr 1e-4 -o small.onnx
  graft prune model.onnx --replay plan.json -o small.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.off(cmd); err != nil {
				return err
			}
			return p.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	p.source.flags(cmd)
	p.dataset.flags(cmd)
	p.divideFlags(cmd)
	p.fitFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&p.details, "details", false, "print what is removed from each parameter, instead of the table")
	f.StringSliceVar(&p.stays, "target", []string{"macs=0.5"}, "fraction to keep: macs=, params=, channels= or time=")
	f.StringVar(&p.criterion, "criterion", "l2", words(criteria)+"; with --data also "+words(gradientCriteria))
	f.IntVar(&p.iterations, "iterations", 1, "number of rounds to reach the target in")
	f.IntVar(&p.config.Epochs, "finetune-epochs", 0, "epochs of fine-tuning after each round")
	f.IntVar(&p.config.Batch, "batch", 32, "batch size")
	f.IntVar(&p.scoreBatches, "score-batches", 64, "batches read in each round by criteria that use data; 0: all")
	f.StringArrayVar(&p.ignore, "ignore", nil, "nodes whose output channels are kept, by pattern; repeatable")
	f.IntVar(&p.roundTo, "round-to", 0, "make the numbers of remaining channels multiples of this")
	f.Float64Var(&p.most, "most", 0, "largest fraction of a layer that may be removed; 0: all but one channel")
	f.BoolVar(&p.perLayer, "per-layer", false, "remove the same fraction from every layer")
	f.BoolVar(&p.normalized, "normalized-axes", false, "also prune axes that a layer or group normalization reduces over")
	f.StringVar((*string)(&p.plan), "plan", "", "file to write the plan to, as JSON")
	f.StringVar(&p.replay, "replay", "", "apply this plan instead of choosing channels")
	f.BoolVar(&p.dryRun, "dry-run", false, "print the plan, and write nothing")
	f.BoolVar(&p.asJSON, "json", false, "print plans as JSON")
	f.StringVarP(&p.output, "output", "o", "", "file to write the pruned model to")
	return cmd
}

func (p pruning) run(ctx context.Context, w io.Writer, model string) error {
	if !p.dryRun {
		if err := checkOutput(p.output); err != nil {
			return err
		}
	}
	if err := p.plan.check(p.output); err != nil {
		return err
	}
	if err := p.tune(); err != nil {
		return err
	}
	g, err := p.load(model)
	if err != nil {
		return err
	}
	if p.replay != "" {
		return p.again(ctx, w, g)
	}
	own, err := p.ownColumns(g)
	if err != nil {
		return err
	}
	var t tuning
	if own {
		g, t, err = p.tableTuning(ctx, g)
	} else {
		t, err = p.tuning(ctx, g)
	}
	if err != nil {
		return err
	}
	pruner, err := p.pruner(ctx, g, t)
	if err != nil {
		return err
	}
	if p.dryRun || p.iterations <= 1 && p.config.Epochs == 0 {
		plan, err := pruner.Plan(ctx, g)
		if err != nil {
			return err
		}
		return p.finish(ctx, w, g, plan)
	}
	return p.rounds(ctx, w, g, pruner, t)
}

// rounds prunes step by step, with fine-tuning between the steps. The plan that is written combines all steps.
func (p pruning) rounds(ctx context.Context, w io.Writer, g *nn.Graph, pruner prune.Pruner, t tuning) error {
	before, err := t.validate(ctx)
	if err != nil {
		return err
	}
	was := g.Summary()
	list := []round{{Total: was.Total, Tuned: before}}
	var all *nn.Plan
	for plan, err := range pruner.Steps(ctx, g, p.iterations) {
		if err != nil {
			return err
		}
		r := round{Number: len(list)}
		if r.Cut, err = t.validate(ctx); err != nil {
			return err
		}
		if !p.asJSON {
			fmt.Fprintf(w, "round %d of %d%s\n", r.Number, p.iterations, after(r.Cut))
		}
		if all == nil {
			all = plan
		} else if all, err = all.Join(plan); err != nil {
			return err
		}
		if r.Tuned = r.Cut; p.config.Epochs > 0 {
			if _, err := t.trainer.Fit(ctx, t.fit, t.val); err != nil {
				return err
			}
			if r.Tuned, err = t.validate(ctx); err != nil {
				return err
			}
		}
		r.Total = g.Summary().Total
		list = append(list, r)
	}
	js, err := planText(w, all, p.asJSON)
	if err != nil {
		return err
	}
	if !p.asJSON {
		p.tell(w, g, was, g.Summary(), all)
		printRounds(w, list)
		for name := range sorted(before) {
			fmt.Fprintf(w, "validation %s %.4g → %.4g\n", name, before[name], list[len(list)-1].Tuned[name])
		}
	}
	return p.store(ctx, g, all, js)
}

// again applies a saved plan.
func (p pruning) again(ctx context.Context, w io.Writer, g *nn.Graph) error {
	file, err := disk.Open(p.replay)
	if err != nil {
		return err
	}
	defer file.Close()
	plan, err := nn.ReadPlan(g, file)
	if err != nil {
		return fmt.Errorf("--replay %s, which --plan of graft prune or graft edit writes: %w", p.replay, err)
	}
	return p.finish(ctx, w, g, plan)
}

// finish applies a plan, prints it and writes the model.
func (p pruning) finish(ctx context.Context, w io.Writer, g *nn.Graph, plan *nn.Plan) error {
	was := g.Summary()
	if err := plan.Apply(); err != nil {
		return err
	}
	is := g.Summary()
	if p.dryRun {
		if err := plan.Undo(); err != nil {
			return err
		}
	}
	if !p.asJSON {
		p.tell(w, g, was, is, plan)
	}
	if p.dryRun && p.iterations > 1 && !p.asJSON {
		fmt.Fprintf(w, "planned in one round: with --iterations %d the later rounds depend on the fine-tuning\n", p.iterations)
	}
	js, err := planText(w, plan, p.asJSON)
	if err != nil {
		return err
	}
	if p.dryRun {
		return p.plan.alone(js)
	}
	return p.store(ctx, g, plan, js)
}

// tuning holds the data and the trainer for scoring channels and for fine-tuning between rounds; zero for runs without data.
type tuning struct {
	trainer  *train.Trainer
	fit, val data.Dataset[data.Sample]
}

// tune completes the settings of fine-tuning.
func (p *pruning) tune() error {
	epochs := p.config.Epochs
	switch {
	case epochs < 0:
		return fmt.Errorf("--finetune-epochs %d: want 0 or more", epochs)
	case p.iterations < 1:
		return fmt.Errorf("--iterations %d: want 1 or more", p.iterations)
	}
	if err := p.addLossAndMetrics(); err != nil {
		return err
	}
	if err := p.byHand(); err != nil {
		return err
	}
	for _, f := range []string{"lr", "optimizer", "schedule", "warmup", "weight-decay", "momentum", "mixup", "cutmix", "teacher", "lr-group", "accumulate", "clip-norm", "ema"} {
		if epochs == 0 && p.changed(f) {
			return fmt.Errorf("--%s is for fine-tuning: --finetune-epochs says how many epochs follow each round", f)
		}
	}
	p.config.Epochs = epochs
	if p.asJSON {
		p.config.Log = train.Quiet
	}
	return nil
}

// aboutSamples are the flags, beside those for images and for tables, that have no effect without samples.
var aboutSamples = []string{
	"mean", "std", "range", "val", "skip-bad", "augment", "no-flip", "text", "text-pair", "tokenizer", "max-length", "task",
	"metric", "loss", "class-weights", "balanced", "label-smoothing",
}

// tuning opens the data, if there are any, and makes a trainer for them.
func (p *pruning) tuning(ctx context.Context, g *nn.Graph) (t tuning, err error) {
	if p.data == "" {
		if p.config.Epochs > 0 {
			return t, errors.New("--finetune-epochs needs --data")
		}
		for _, f := range slices.Concat(forImages, forTables, aboutSamples) {
			if p.changed(f) {
				return t, fmt.Errorf("--%s needs --data", f)
			}
		}
		return t, nil
	}
	if err := p.widen(g); err != nil {
		return t, err
	}
	if err := freeBatch(g, p.config.Batch); err != nil {
		return t, err
	}
	if t.fit, t.val, err = p.divided(ctx, g); err != nil {
		return t, err
	}
	p.tellNotes()
	if err := p.agree(g); err != nil {
		return t, err
	}
	if err := p.tagging(g); err != nil {
		return t, err
	}
	if t.fit, t.val, err = p.shape(g, t.fit, t.val); err != nil {
		return t, err
	}
	c := p.config
	c.RestoreBest, c.Dir = false, ""
	t.trainer, err = train.New(g, c)
	return t, err
}

// validate returns the validation metrics of the model; none without data.
func (t tuning) validate(ctx context.Context) (map[string]float64, error) {
	if t.trainer == nil || t.val.Len() == 0 {
		return nil, nil
	}
	return t.trainer.Evaluate(ctx, t.val)
}

// pruner returns the pruner that the flags select.
func (p pruning) pruner(ctx context.Context, g *nn.Graph, t tuning) (prune.Pruner, error) {
	pruner := prune.Pruner{RoundTo: p.roundTo, PerLayer: p.perLayer, NormalizedAxes: p.normalized, Most: p.most}
	for _, s := range p.ignore {
		if err := matched(g, "ignore", s); err != nil {
			return pruner, err
		}
		pruner.Keep = append(pruner.Keep, nn.Glob(s))
	}
	var err error
	if pruner.Target, err = targets(p.stays); err != nil {
		return pruner, err
	}
	pruner.By, err = p.by(ctx, t)
	return pruner, err
}
