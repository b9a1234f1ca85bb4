package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"github.com/spf13/cobra"
)

// rateFinding holds the flags of the lr-find command.
type rateFinding struct {
	training
	plot   string
	finder train.RateFinder
}

func newLRFind(p *process) *cobra.Command {
	r := rateFinding{training: training{process: p, runtime: runtimeFlags{process: p}}}
	cmd := &cobra.Command{
		Use:   "lr-find MODEL",
		Short: "Suggest a learning rate by a range test",
		Long: `lr-find is a learning-rate range test: it trains for --steps steps at exponentially increasing rates and suggests the one
where the loss falls most steeply, well below the rate at which it begins to rise. The model file is not changed. If the classes
of the data are not the model's, it gets a new classifier first, as in train. -o draws the loss over the rate.

` + dataHelp + "\n\n" + preparingHelp,
		Example: `  graft lr-find squeezenet1.1.onnx --data flowers/ -o lr.png
  graft lr-find model.onnx --data arrays.npz --optimizer sgd --steps 200 --json`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			rt, err := r.runtime.open(cmd)
			if err != nil {
				return err
			}
			if rt != nil {
				r.finder.Config.Runtime = rt
			}
			return r.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	r.source.flags(cmd)
	r.dataset.flags(cmd)
	r.divideFlags(cmd)
	r.targetFlags(cmd)
	r.runtime.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.optimizer, "optimizer", "adamw", words(rules))
	f.IntVar(&r.finder.Config.Batch, "batch", 32, "batch size")
	f.Float64Var(&r.finder.Min, "min", 1e-7, "lowest learning rate")
	f.Float64Var(&r.finder.Max, "max", 10, "highest learning rate")
	f.IntVar(&r.finder.Steps, "steps", 100, "number of steps")
	f.BoolVar(&r.asJSON, "json", false, "one JSON object: rates, losses, suggestion")
	f.StringVarP(&r.plot, "output", "o", "", "draw the loss over the learning rate into this file (.png)")
	return cmd
}

func (r *rateFinding) run(ctx context.Context, w io.Writer, model string) error {
	if r.data == "" {
		return errNoData
	}
	if err := checkEnding("-o", r.plot, ".png"); err != nil {
		return err
	}
	if err := checkFile("-o", r.plot); err != nil {
		return err
	}
	rule, err := choose("optimizer", r.optimizer, rules)
	if err != nil {
		return err
	}
	switch f := r.finder; {
	case !(f.Min > 0):
		return fmt.Errorf("--min %v: want a rate above 0", f.Min)
	case !(f.Max > f.Min):
		return fmt.Errorf("--max %v: want a rate above that of --min, %v", f.Max, f.Min)
	case f.Steps < 4:
		return fmt.Errorf("--steps %d: want 4 or more", f.Steps)
	case f.Config.Batch < 1:
		return fmt.Errorf("--batch %d: want 1 or more", f.Config.Batch)
	}
	g, err := r.load(model)
	if err != nil {
		return err
	}
	if err := r.widen(g); err != nil {
		return err
	}
	if err := freeBatch(g, r.finder.Config.Batch); err != nil {
		return err
	}
	g, fit, err := r.samples(ctx, g, model)
	if err != nil {
		return err
	}
	c := &r.finder.Config
	if c.Loss == nil {
		c.Loss = r.config.Loss
	}
	c.Rule, c.Seed = rule(settings{decay: optim.Off}), r.seed
	curve, err := r.finder.FindRate(ctx, g, fit)
	if err != nil {
		return err
	}
	if r.plot != "" {
		if err := onnxio.WriteFile(r.plot, curve.WritePNG); err != nil {
			return err
		}
	}
	if r.asJSON {
		return json.NewEncoder(w).Encode(curve)
	}
	_, err = fmt.Fprintf(w, "%ssuggested rate: %.2g\n", r.preparation(), curve.Suggestion)
	return err
}

// samples opens the training data. It also returns the graph to train, which for tables is the part after column preprocessing.
func (r *rateFinding) samples(ctx context.Context, g *nn.Graph, model string) (*nn.Graph, data.Dataset[data.Sample], error) {
	r.rowImages = r.imageRows(g, r.data)
	if r.columnar() {
		several, err := r.severalAnswers(model)
		if err != nil {
			return nil, nil, err
		}
		if !several {
			return r.tableSamples(ctx, g)
		}
	}
	fit, _, err := r.divided(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	if err := r.prepare(g, fit); err != nil {
		return nil, nil, err
	}
	r.tellNotes()
	return g, fit, r.tagging(g)
}

// tableSamples prepares a table and its model in the same way as train.
func (r *rateFinding) tableSamples(ctx context.Context, g *nn.Graph) (*nn.Graph, data.Dataset[data.Sample], error) {
	if err := r.noTexts(ctx, g); err != nil {
		return nil, nil, err
	}
	p, err := r.readTable(g)
	if err != nil {
		return nil, nil, err
	}
	if err := r.adapt(ctx, p); err != nil {
		return nil, nil, err
	}
	if err := r.prepareTable(p); err != nil {
		return nil, nil, err
	}
	r.notes = append(r.notes, p.lines...)
	r.tellNotes()
	trunk, err := table.Cut(p.graph, p.schema)
	if err != nil {
		return nil, nil, err
	}
	fit, err := trunk.Samples(ctx, p.table, p.fit)
	return trunk.Rest, fit, err
}
