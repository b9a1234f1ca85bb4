package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/step"
	"github.com/spf13/cobra"
)

// stepExport holds the flags of the export-step command.
type stepExport struct {
	source
	loss, optimizer string
	smoothing       float64
	axis            int
	settings        settings
	clip            float64
	accumulate      int
	freeze, targets []string
	opset           int
	output          string
	asJSON          bool
	info            bool
}

func newExportStep() *cobra.Command {
	var x stepExport
	cmd := &cobra.Command{
		Use:   "export-step MODEL",
		Short: "Write one training step as an ONNX model, to train in any runtime",
		Long: `export-step writes one training step of a model as an ONNX model of standard operators: loss, gradients and update rule. Its
inputs are a batch, the targets, the number of the step, a factor on the learning rate, the parameters and the optimizer state; its
outputs are the loss and, with .next appended to the names of the inputs, the new parameters, state and running statistics.
A program of ten lines trains with it in any ONNX runtime.

A second file, named like -o with .start before .onnx, computes the initial values: it has no inputs, and its outputs have the
names of the step's inputs.

The batch is symbolic if the model allows it. --freeze excludes parameters from training. A learning-rate schedule is up to the
program, which passes the factor as the input rate. Dropout depends on the input seed and the number of the step, as in graft
train. If something cannot be expressed in standard operators, the error names it and nothing is written.

--training-info writes one file instead: the model with the step as its training_info, ONNX's own form of it, with the loss, a node
Gradient, and Momentum, Adam or Adagrad if that is the optimizer. For models with batch normalization or Dropout it holds
the whole step in standard operators. graft train --as-stored executes it.`,
		Example: `  graft export-step model.onnx -o step.onnx
  graft export-step model.onnx --loss cross-entropy --optimizer adamw --clip 1 -o step.onnx
  graft export-step regression.onnx --loss mse --optimizer sgd --momentum 0.9 --lr 0.01 -o step.onnx
  graft export-step model.onnx --optimizer sgd --momentum 0.9 --training-info -o trainable.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			for name, v := range map[string]*float64{"lr": &x.settings.rate, "weight-decay": &x.settings.decay, "momentum": &x.settings.momentum} {
				if !(*v >= 0) {
					return fmt.Errorf("--%s %v: want 0 or more", name, *v)
				}
				if cmd.Flags().Changed(name) && *v == 0 {
					*v = optim.Off
				}
			}
			return x.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.loss, "loss", "cross-entropy", words(losses))
	f.Float64Var(&x.smoothing, "label-smoothing", 0, "cross-entropy: label smoothing, from 0 to 1")
	f.IntVar(&x.axis, "class-axis", 0, "cross-entropy: class axis of the model's output, -1 for the last; default: 1")
	f.StringArrayVar(&x.targets, "target", nil, `type of a target, "int64[N]"; repeatable; default: by the loss and the model's output`)
	f.StringVar(&x.optimizer, "optimizer", "adamw", words(rules))
	f.Float64Var(&x.settings.rate, "lr", 0, "learning rate, multiplied by the step's input rate; default: PyTorch's for the optimizer")
	f.Float64Var(&x.settings.decay, "weight-decay", 0, "weight decay; default: PyTorch's for the optimizer")
	f.Float64Var(&x.settings.momentum, "momentum", 0, "momentum of sgd and rmsprop")
	f.Float64Var(&x.clip, "clip", 0, "clip the global norm of the gradients to this; 0: no clipping")
	f.IntVar(&x.accumulate, "accumulate", 1, "number of batches whose gradients are accumulated for one update")
	f.StringArrayVar(&x.freeze, "freeze", nil, "nodes or parameters that are not trained, by pattern; repeatable")
	f.IntVar(&x.opset, "opset", 0, fmt.Sprintf("version of the operator set; default: %d, or the model's if that is later", step.DefaultOpset))
	f.BoolVar(&x.info, "training-info", false, "write the model with the step as its training_info, instead of the step as a model")
	f.BoolVar(&x.asJSON, "json", false, "print inputs and outputs as JSON")
	f.StringVarP(&x.output, "output", "o", "", "file to write the training step to")
	return cmd
}

func (x stepExport) run(ctx context.Context, w io.Writer, model string) error {
	if err := checkOutput(x.output); err != nil {
		return err
	}
	c, err := x.config()
	if err != nil {
		return err
	}
	c.Context = ctx
	g, err := x.load(model)
	if err != nil {
		return err
	}
	fixed := g.Edit(func(e *nn.Edit) { e.FreeBatch("N") }) // where it cannot be freed it stays
	for _, pattern := range x.freeze {
		if err := g.Edit(func(e *nn.Edit) { e.Freeze(nn.Glob(pattern)) }); err != nil {
			return fmt.Errorf("--freeze %s: %w", pattern, err)
		}
	}
	if x.info {
		return x.trainingInfo(w, model, g, c)
	}
	s, err := step.Exporter{Config: c, Targets: x.targets, Opset: x.opset}.Export(g)
	if err != nil {
		return err
	}
	start := startFile(x.output)
	if err := saveTogether(ctx, filepath.Dir(x.output), map[string]func(path string) error{
		filepath.Base(start):    func(path string) error { return onnxio.Save(path, s.Start) },
		filepath.Base(x.output): func(path string) error { return onnxio.Save(path, s.Graph) },
	}); err != nil {
		return err
	}
	if x.asJSON {
		return json.NewEncoder(w).Encode(stepAnswer{x.output, start, s.Graph.Opsets()[""], s.Nodes(), s.Inputs(), s.Outputs(), s.Variables, fixed == nil})
	}
	kinds := map[step.VariableKind]int{}
	for _, v := range s.Variables {
		kinds[v.Kind]++
	}
	fmt.Fprintf(w, "%s: %d nodes of operator set %d\n", x.output, s.Nodes(), s.Graph.Opsets()[""])
	for _, v := range s.Inputs() {
		fmt.Fprintf(w, "  input   %s %s\n", v.Name, v.Type)
	}
	fmt.Fprintf(w, "  output  loss\n")
	fmt.Fprintf(w, "  %d parameters, %d states and %d statistics go in and come out as NAME.next\n", kinds[step.Parameter], kinds[step.State], kinds[step.Statistic])
	fmt.Fprintf(w, "%s: their initial values\n", start)
	if fixed != nil {
		fmt.Fprintf(w, "the batch size is fixed, as in the model: %v\n", fixed)
	}
	return nil
}

// trainingInfo writes the model with its step as training_info.
func (x stepExport) trainingInfo(w io.Writer, model string, g *nn.Graph, c train.Config) error {
	if x.opset != 0 {
		return fmt.Errorf("--opset is for steps of their own: training_info is of the model's operator set, %d", g.Opsets()[""])
	}
	t, err := step.Exporter{Config: c, Targets: x.targets}.TrainingInfo(g)
	if err != nil {
		return err
	}
	if err := onnxio.SetTrainingInfo(g, []onnxio.Training{t}); err != nil {
		return err
	}
	s, err := step.NewStored(g)
	if err != nil {
		return err
	}
	if err := onnxio.Save(x.output, g); err != nil {
		return err
	}
	if x.asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"model": x.output, "inputs": s.Inputs(), "update_binding": t.Update})
	}
	fmt.Fprintf(w, "%s: the model with its training_info: %d initializers are updated\n", x.output, len(t.Update))
	for _, p := range s.Inputs() {
		fmt.Fprintf(w, "  input   %s %s\n", p.Name, p.Type)
	}
	return nil
}

// stepAnswer is the output of --json.
type stepAnswer struct {
	Step      string          `json:"step"`
	Start     string          `json:"start"`
	Opset     int             `json:"opset"`
	Nodes     int             `json:"nodes"`
	Inputs    []step.Port     `json:"inputs"`
	Outputs   []step.Port     `json:"outputs"`
	Variables []step.Variable `json:"variables"`
	Free      bool            `json:"batch_free"`
}

// startFile returns the file name of the initial values.
func startFile(path string) string { return strings.TrimSuffix(path, ".onnx") + ".start.onnx" }

func (x stepExport) config() (train.Config, error) {
	c := train.Config{ClipNorm: x.clip, Accumulate: x.accumulate, Log: train.Quiet}
	if x.accumulate < 1 {
		return c, fmt.Errorf("--accumulate %d: want 1 or more", x.accumulate)
	}
	if !(x.clip >= 0) {
		return c, fmt.Errorf("--clip %v: want 0 or more", x.clip)
	}
	var err error
	if c.Loss, err = choose("loss", x.loss, losses); err != nil {
		return c, err
	}
	if x.smoothing != 0 || x.axis != 0 {
		if !strings.EqualFold(x.loss, "cross-entropy") {
			return c, fmt.Errorf("--label-smoothing and --class-axis are for cross-entropy, not %s", x.loss)
		}
		c.Loss = train.CrossEntropy{LabelSmoothing: x.smoothing, Axis: x.axis}
	}
	rule, err := choose("optimizer", x.optimizer, rules)
	if err != nil {
		return c, err
	}
	if word := strings.ToLower(x.optimizer); x.settings.momentum != 0 && word != "sgd" && word != "rmsprop" {
		return c, fmt.Errorf("--momentum is for sgd and rmsprop, %s has its own", word)
	}
	c.Rule = rule(x.settings)
	return c, nil
}
