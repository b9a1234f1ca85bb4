package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// editing holds the flags of the edit command.
type editing struct {
	source
	recipe, output, plan string
	dryRun, asJSON       bool
}

func newEdit() *cobra.Command {
	var e editing
	cmd := &cobra.Command{
		Use:   "edit MODEL",
		Short: "Change a model by a recipe: insert, remove, replace, resize, deepen, edges, rename, outputs, head",
		Long: `edit applies the steps of a JSON file, all of them or none. Each step says what to do:

` + recipeHelp() + `
Nodes are named by their name or that of their output, values by their name. A resize cuts or widens
everything that hangs together; new channels leave what the model computes. Where insert, replace,
remove, add-edge and remove-edge bring layers of different sizes together, the layers around are
realigned: "prefer" says which side follows (grow, shrink, before, after). The plan lists what
changes; what is impossible is refused with the reason, before anything is written.

Layers: ` + layerHelp() + `.`,
		Example: `  graft edit model.onnx --recipe recipe.json -o changed.onnx
  graft edit model.onnx --recipe recipe.json --dry-run`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.run(cmd.OutOrStdout(), args[0])
		},
	}
	e.source.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&e.recipe, "recipe", "", "file with the steps")
	f.StringVarP(&e.output, "output", "o", "", "file to write the changed model to")
	f.StringVar(&e.plan, "plan", "", "file to write what changes to, as JSON")
	f.BoolVar(&e.dryRun, "dry-run", false, "say what would change, and write nothing")
	f.BoolVar(&e.asJSON, "json", false, "print the plan as JSON")
	_ = cmd.MarkFlagRequired("recipe")
	return cmd
}

func (e editing) run(w io.Writer, model string) error {
	if !e.dryRun {
		if err := checkOutput(e.output); err != nil {
			return err
		}
	}
	r, err := readRecipe(e.recipe)
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
		if _, err := fmt.Fprintln(w, plan); err != nil {
			return err
		}
	}
	if !e.dryRun {
		if err := plan.Apply(); err != nil {
			return err
		}
		if err := saveModel(e.output, g); err != nil {
			return err
		}
	}
	return writePlan(w, plan, e.plan, e.asJSON)
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
