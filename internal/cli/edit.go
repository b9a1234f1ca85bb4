package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/spf13/cobra"
)

// editing holds the flags of the edit command.
type editing struct {
	source
	storage
	recipe, output      string
	plan                planFile
	compute             string
	opset, channels     int
	simplify, inference bool
	dryRun, asJSON      bool
}

func newEdit() *cobra.Command {
	var e editing
	cmd := &cobra.Command{
		Use:   "edit MODEL",
		Short: "Change a model: insert, remove, replace, resize or rename layers, change the head, the batch, the operator set",
		Long: `edit applies the steps of a recipe, a JSON file (- is standard input): all of them, or none. The flags --batch-dim, --type,
--channels and --compute are applied before the recipe, --inference, --simplify and --opset after it; no recipe is needed. An example of
every step:

` + recipeHelp() + `
A node is named by its name or that of its output, a value by its name. resize cuts or widens all dependent channels; new
channels preserve what the model computes. If insert, replace, remove, add-edge or remove-edge connect layers of different
sizes, the neighbouring layers are resized; "prefer" (grow, shrink, before, after) says which. The printed plan lists all changes;
an impossible step is refused with the reason, before anything is written.

inference makes nodes that were exported in training mode behave as in inference: BatchNormalization uses its running statistics,
Dropout drops nothing. simplify removes what inference does not need: nodes with constant results, Identity, Dropout, unused nodes. opset converts
the model to another version of ONNX's operator set.

Layers: ` + layerHelp() + `.`,
		Example: `  graft edit model.onnx --recipe recipe.json -o changed.onnx
  graft edit model.onnx --recipe recipe.json --dry-run
  graft edit model.onnx --channels 1 -o gray.onnx
  graft edit half.onnx --compute float32 -o float.onnx
  graft edit model.onnx --batch-dim N --simplify --opset 17 -o changed.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			for name, n := range map[string]int{"channels": e.channels, "opset": e.opset} {
				if cmd.Flags().Changed(name) && n < 1 {
					return fmt.Errorf("--%s %d: want 1 or more", name, n)
				}
			}
			return e.run(cmd.Context(), cmd.OutOrStdout(), cmd.InOrStdin(), args[0])
		},
	}
	e.source.flags(cmd)
	e.storage.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&e.recipe, "recipe", "", "recipe file; - is standard input")
	f.BoolVar(&e.inference, "inference", false, "make nodes that were exported in training mode behave as in inference, after the recipe")
	f.BoolVar(&e.simplify, "simplify", false, "remove nodes that inference does not need, after the recipe")
	f.StringVar(&e.compute, "compute", "", "element type to compute in, float32 or float64: converts inputs and parameters, of a float16 model for example")
	f.IntVar(&e.channels, "channels", 0, "number of input channels; the first layer's kernels are summed for fewer and distributed over more")
	f.IntVar(&e.opset, "opset", 0, "operator-set version to convert the model to, as the last step")
	f.StringVarP(&e.output, "output", "o", "", "file to write the changed model to")
	f.StringVar((*string)(&e.plan), "plan", "", "write the plan (all changes) to this file, as JSON")
	f.BoolVar(&e.dryRun, "dry-run", false, "print what would change, and write nothing")
	f.BoolVar(&e.asJSON, "json", false, "print the plan as JSON")
	return cmd
}

func (e editing) run(ctx context.Context, w io.Writer, in io.Reader, model string) error {
	if err := e.storage.check(); err != nil {
		return err
	}
	if !e.dryRun {
		if err := checkOutput(e.output); err != nil {
			return err
		}
	}
	if err := e.plan.check(e.output); err != nil {
		return err
	}
	r, err := e.steps(in)
	if err != nil {
		return err
	}
	g, err := e.load(model)
	if err != nil {
		return err
	}
	plan, err := r.plan(g)
	if err != nil {
		return err
	}
	if !e.asJSON {
		said := any(plan)
		if len(r.Steps) == 0 { // the changes requested by flags are made when loading
			said = fmt.Sprintf("inputs %v, outputs %v", ports(g.Inputs()), ports(g.Outputs()))
		}
		if _, err := fmt.Fprintln(w, said); err != nil {
			return err
		}
	}
	if !e.dryRun {
		if err := plan.Apply(); err != nil {
			return err
		}
	}
	js, err := planText(w, plan, e.asJSON)
	if err != nil {
		return err
	}
	if e.dryRun {
		return e.plan.alone(js)
	}
	return e.plan.save(ctx, js, e.output, func(path string) error { return e.storage.save(path, g) })
}

// steps returns the steps of the recipe and of the flags.
func (e editing) steps(in io.Reader) (r recipe, err error) {
	switch {
	case e.recipe == "-":
		r, err = decodeRecipe("the recipe", in)
	case e.recipe != "":
		r, err = readRecipe(e.recipe)
	case !e.simplify && !e.inference && e.channels == 0 && e.weights == "" && e.opset == 0 && e.compute == "" && e.batch == "" && len(e.types) == 0:
		return r, errors.New("nothing to change: give --recipe FILE, or --batch-dim, --type, --channels, --compute, --inference, --simplify, --opset, --store")
	}
	if to, known := storedTypes[e.compute]; e.compute != "" && (!known || to != dtype.Float32 && to != dtype.Float64) {
		return r, fmt.Errorf("--compute %s: want float32 or float64", e.compute)
	}
	if e.compute != "" {
		r.Steps = append([]recipeStep{{Do: "compute", Type: e.compute}}, r.Steps...)
	}
	if e.channels > 0 {
		r.Steps = append([]recipeStep{{Do: "input-channels", Channels: e.channels}}, r.Steps...)
	}
	if e.inference {
		r.Steps = append(r.Steps, recipeStep{Do: "inference"})
	}
	if e.simplify {
		r.Steps = append(r.Steps, recipeStep{Do: "simplify"})
	}
	if e.opset > 0 {
		r.Steps = append(r.Steps, recipeStep{Do: "opset", Version: e.opset})
	}
	return r, err
}

// planText returns a plan as JSON, and prints it if requested.
func planText(w io.Writer, plan *nn.Plan, show bool) ([]byte, error) {
	js, err := json.MarshalIndent(plan, "", "  ")
	if js = append(js, '\n'); err == nil && show {
		_, err = w.Write(js)
	}
	return js, err
}
