package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

func newEdit() *cobra.Command {
	var file, output, planFile string
	var dryRun bool
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
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" && !dryRun {
				return fmt.Errorf("say where the model goes, with -o FILE, or --dry-run")
			}
			r, err := readRecipe(file)
			if err != nil {
				return err
			}
			g, err := onnxio.Load(args[0])
			if err != nil {
				return err
			}
			plan, err := r.plan(g)
			if err != nil {
				return err
			}
			return commit(cmd.OutOrStdout(), g, plan, planFile, output, dryRun)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "recipe", "", "file with the steps")
	f.StringVarP(&output, "output", "o", "", "file to write the changed model to")
	f.StringVar(&planFile, "plan", "", "file to write what changes to, as JSON")
	f.BoolVar(&dryRun, "dry-run", false, "say what would change, and write nothing")
	_ = cmd.MarkFlagRequired("recipe")
	return cmd
}

// commit prints a plan and, unless it is only to be seen, applies it and saves the model.
func commit(w io.Writer, g *nn.Graph, plan *nn.Plan, planFile, output string, dryRun bool) error {
	if _, err := fmt.Fprintln(w, plan); err != nil {
		return err
	}
	if planFile != "" {
		js, err := json.MarshalIndent(plan, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(planFile, append(js, '\n'), 0o644); err != nil {
			return err
		}
	}
	if dryRun {
		return nil
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	return onnxio.Save(output, g)
}
