package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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
	plan, replay         string
}

func newPrune() *cobra.Command {
	var p pruning
	cmd := &cobra.Command{
		Use:   "prune MODEL",
		Short: "Take away the channels, heads and hidden units that matter least",
		Long: `prune removes whole channels, attention heads and hidden units with everything that hangs together
with them, so that the model that is written is smaller and faster everywhere.

--target says what stays: macs=0.5, params=0.5, channels=0.7 or time=0.6, measured here; several
may be joined by commas. --criterion says what matters least; some criteria read gradients, which
need --data. With --iterations the target is reached in rounds, each followed by --finetune-epochs
on the data, with the settings of train: --lr, --optimizer, --schedule and the others. A table says of each layer
what it was and what it is, and at the end how good the model was after each round.

` + dataHelp + `

The plan is written by --plan as JSON: every index removed from every initializer; --details prints it.
--replay applies such a file instead of choosing anew.`,
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
	f.BoolVar(&p.details, "details", false, "print what is removed of each parameter in place of the table")
	f.StringSliceVar(&p.stays, "target", []string{"macs=0.5"}, "share that stays: macs=, params=, channels= or time=")
	f.StringVar(&p.criterion, "criterion", "l2", words(criteria)+", or with --data "+words(gradientCriteria))
	f.IntVar(&p.iterations, "iterations", 1, "rounds in which the target is reached")
	f.IntVar(&p.config.Epochs, "finetune-epochs", 0, "epochs of fine-tuning after each round")
	f.IntVar(&p.config.Batch, "batch", 32, "samples in a batch")
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
	return cmd
}

func (p pruning) run(ctx context.Context, w io.Writer, model string) error {
	if !p.dryRun {
		if err := checkOutput(p.output); err != nil {
			return err
		}
	}
	if err := p.tune(); err != nil {
		return err
	}
	g, err := p.load(model)
	if err != nil {
		return err
	}
	if p.replay != "" {
		return p.again(w, g)
	}
	t, err := p.tuning(ctx, g)
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
		return p.finish(w, g, plan)
	}
	return p.rounds(ctx, w, g, pruner, t)
}

// rounds prunes step by step, with fine-tuning between. What is written as the plan is all of it.
func (p pruning) rounds(ctx context.Context, w io.Writer, g *nn.Graph, pruner prune.Pruner, t tuning) error {
	before, err := t.judge(ctx)
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
		if r.Cut, err = t.judge(ctx); err != nil {
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
			if r.Tuned, err = t.judge(ctx); err != nil {
				return err
			}
		}
		r.Total = g.Summary().Total
		list = append(list, r)
	}
	if err := writePlan(w, all, p.plan, p.asJSON); err != nil {
		return err
	}
	if !p.asJSON {
		p.tell(w, was, g.Summary(), all)
		printRounds(w, list)
		for name := range sorted(before) {
			fmt.Fprintf(w, "validation %s %.4g → %.4g\n", name, before[name], list[len(list)-1].Tuned[name])
		}
	}
	return saveModel(p.output, g)
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

// finish applies a plan, shows it and writes the model.
func (p pruning) finish(w io.Writer, g *nn.Graph, plan *nn.Plan) error {
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
		p.tell(w, was, is, plan)
	}
	if p.dryRun && p.iterations > 1 && !p.asJSON {
		fmt.Fprintf(w, "planned at once: what %d rounds cut is decided after fine-tuning\n", p.iterations)
	}
	if err := writePlan(w, plan, p.plan, p.asJSON); err != nil || p.dryRun {
		return err
	}
	return saveModel(p.output, g)
}

// tuning is what scores channels and fine-tunes between rounds; its zero value is for runs without data.
type tuning struct {
	trainer  *train.Trainer
	fit, val data.Set[data.Sample]
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
	if err := p.judging(); err != nil {
		return err
	}
	err := p.byHand()
	p.config.Epochs = epochs
	if p.asJSON {
		p.config.Log = train.Quiet
	}
	return err
}

// tuning opens the data, if there are any, and makes a trainer for them.
func (p *pruning) tuning(ctx context.Context, g *nn.Graph) (t tuning, err error) {
	if p.data == "" {
		if p.config.Epochs > 0 {
			return t, errors.New("--finetune-epochs needs --data")
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

// judge is what the validation says of the model; nothing without data.
func (t tuning) judge(ctx context.Context) (map[string]float64, error) {
	if t.trainer == nil || t.val.Len() == 0 {
		return nil, nil
	}
	return t.trainer.Evaluate(ctx, t.val)
}

// pruner is what the flags ask for.
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
