package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// editing holds the flags of the edit command.
type editing struct {
	source
	storage
	recipe, output, plan string
	compute              string
	opset, channels      int
	simplify             bool
	dryRun, asJSON       bool
}

func newEdit() *cobra.Command {
	var e editing
	cmd := &cobra.Command{
		Use:   "edit MODEL",
		Short: "Change a model by a recipe: insert, remove, replace, resize, deepen, edges, rename, outputs, head",
		Long: `edit applies the steps of a JSON file (- is standard input), all of them or none. Without a recipe it
does what --batch-dim, --type, --channels, --compute, --simplify and --opset say, in this order; with one they are done before
and after it. Each step says what to do:

` + recipeHelp() + `
Nodes are named by their name or that of their output, values by their name. A resize cuts or widens
everything that hangs together; new channels leave what the model computes. Where insert, replace,
remove, add-edge and remove-edge bring layers of different sizes together, the layers around are
realigned: "prefer" says which side follows (grow, shrink, before, after). The plan lists what
changes; what is impossible is refused with the reason, before anything is written.

simplify takes out what a run does not need: nodes whose results are known before anything runs, Identity,
Dropout, what nothing reads. opset rewrites the nodes for another version of ONNX's operator set.

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
			return e.run(cmd.OutOrStdout(), cmd.InOrStdin(), args[0])
		},
	}
	e.source.flags(cmd)
	e.storage.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&e.recipe, "recipe", "", "file with the steps; -: standard input")
	f.BoolVar(&e.simplify, "simplify", false, "take out what a run does not need, after the recipe")
	f.StringVar(&e.compute, "compute", "", "float32 or float64: the element type of inputs, parameters and what is computed, in place of float16 say")
	f.IntVar(&e.channels, "channels", 0, "channels of the input: kernels' slices are added up for fewer, shared out for more")
	f.IntVar(&e.opset, "opset", 0, "version of the operator set to rewrite the model for, at the end")
	f.StringVarP(&e.output, "output", "o", "", "file to write the changed model to")
	f.StringVar(&e.plan, "plan", "", "file to write what changes to, as JSON")
	f.BoolVar(&e.dryRun, "dry-run", false, "say what would change, and write nothing")
	f.BoolVar(&e.asJSON, "json", false, "print the plan as JSON")
	return cmd
}

func (e editing) run(w io.Writer, in io.Reader, model string) error {
	if err := e.storage.check(); err != nil {
		return err
	}
	if !e.dryRun {
		if err := checkOutput(e.output); err != nil {
			return err
		}
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
		if len(r.Steps) == 0 { // what the flags change is done when loading
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
		if err := e.storage.save(e.output, g); err != nil {
			return err
		}
	}
	return writePlan(w, plan, e.plan, e.asJSON)
}

// steps are those of the recipe and of the flags.
func (e editing) steps(in io.Reader) (r recipe, err error) {
	switch {
	case e.recipe == "-":
		r, err = decodeRecipe("the recipe", in)
	case e.recipe != "":
		r, err = readRecipe(e.recipe)
	case !e.simplify && e.channels == 0 && e.weights == "" && e.opset == 0 && e.compute == "" && e.batch == "" && len(e.types) == 0:
		return r, errors.New("say what to change, with --recipe FILE, or --batch-dim, --type, --channels, --compute, --simplify, --opset, --store")
	}
	if e.compute != "" {
		r.Steps = append([]recipeStep{{Do: "compute", Type: e.compute}}, r.Steps...)
	}
	if e.channels > 0 {
		r.Steps = append([]recipeStep{{Do: "input-channels", Channels: e.channels}}, r.Steps...)
	}
	if e.simplify {
		r.Steps = append(r.Steps, recipeStep{Do: "simplify"})
	}
	if e.opset > 0 {
		r.Steps = append(r.Steps, recipeStep{Do: "opset", Version: e.opset})
	}
	return r, err
}

// writePlan writes a plan as JSON to the file, if one is named, and prints it, if that is wanted.
func writePlan(w io.Writer, plan *nn.Plan, file string, show bool) error {
	js, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	if file != "" {
		if err := onnxio.WriteFile(file, func(w io.Writer) error { _, err := fmt.Fprintf(w, "%s\n", js); return err }); err != nil {
			return err
		}
	}
	if show {
		_, err = fmt.Fprintf(w, "%s\n", js)
	}
	return err
}
