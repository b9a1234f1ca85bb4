package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/graft-ml/graft/generate"
	"github.com/spf13/cobra"
)

// generation holds the flags of the generate command.
type generation struct {
	source
	output, pkg, recipe, style string
	asJSON                     bool
}

func newGenerate() *cobra.Command {
	var x generation
	cmd := &cobra.Command{
		Use:   "generate MODEL",
		Short: "Write a model as Go source: layers, functions for repeated blocks, and its weights",
		Long: `generate writes a Go package that builds the model with graft's layers: New with initial weights, Load
with those of weights.safetensors beside it. Blocks that the model repeats become one function with
parameters, names come from the model's scopes, shapes stand in comments. What is no layer is written as
the operator that it is.

The source is meant to be changed: after a change of a size Load says which weights no longer fit and start
afresh. Before anything is written, the model that the source builds is run beside the original on random
inputs. What cannot be written as source is refused, with the operator and the node.

--style gorgonia writes a package that needs Gorgonia alone, where all operators of the model have a form
there, or else lists those that have none.

With --recipe it is the changes of a recipe (see edit --help), or of a plan that removes channels, that
are written: a function Edit for any model that has those nodes. They are tried on MODEL first.`,
		Example: `  graft generate resnet18.onnx -o resnet --package resnet
  graft generate model.onnx -o model --batch-dim N --json
  graft generate model.onnx --recipe recipe.json -o slimmer`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			return x.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&x.output, "output", "o", "", "folder to write the package to")
	f.StringVar(&x.pkg, "package", "", "name of the package; default: that of the folder")
	f.StringVar(&x.style, "style", generate.Layers, "layers: graft's; gorgonia: functions of Gorgonia, without graft at run time")
	f.StringVar(&x.recipe, "recipe", "", "write the changes of a recipe, or the cuts of a plan, as Go instead of the model")
	f.BoolVar(&x.asJSON, "json", false, "print what was written as JSON")
	return cmd
}

func (x generation) run(ctx context.Context, w io.Writer, model string) error {
	if x.output == "" {
		return errors.New("say where the package goes, with -o FOLDER")
	}
	if x.pkg == "" {
		path, err := filepath.Abs(x.output)
		if err != nil {
			return err
		}
		x.pkg = filepath.Base(path)
	}
	g, err := x.load(model)
	if err != nil {
		return err
	}
	var s *generate.Source
	if x.recipe != "" {
		s, err = recipeSource(g, x.recipe, x.pkg)
	} else {
		s, err = generate.Generate(ctx, g, generate.Options{Package: x.pkg, From: model, Style: x.style})
	}
	if err != nil {
		return err
	}
	if err := s.WriteTo(x.output); err != nil {
		return err
	}
	if x.asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{
			"files": slices.Sorted(maps.Keys(s.Files)), "folder": x.output, "package": x.pkg, "lines": s.Lines, "layers": s.Layers,
			"operators": s.Operators, "functions": s.Functions, "difference": s.Difference, "notes": slices.Clip(append([]string{}, s.Notes...)),
		})
	}
	if x.recipe != "" {
		_, err = fmt.Fprintf(w, "%s: %d lines\n", filepath.Join(x.output, x.pkg+".go"), s.Lines)
		return err
	}
	for _, n := range s.Notes {
		fmt.Fprintln(w, n)
	}
	_, err = fmt.Fprintf(w, "%s: %d lines, %d layers, %d operators, %d functions for repeated blocks%s\n",
		filepath.Join(x.output, x.pkg+".go"), s.Lines, s.Layers, s.Operators, s.Functions, compared(s.Difference))
	return err
}

func compared(d float64) string {
	if d < 0 {
		return ""
	}
	return fmt.Sprintf("; differs from the model by %.2g on random inputs", d)
}
