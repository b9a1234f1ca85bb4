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
		Short: "Write a model as readable Go source, and its weights",
		Long: `generate writes a Go package that builds the model from graft's layers: New with initial weights, Load with those of
weights.safetensors, which is written beside it. Repeated blocks become one function with parameters, names follow the model's
scopes, and comments show shapes. Nodes that are not a layer are written as operators.

The source is meant to be edited: after a size is changed, Load returns the weights that no longer fit and keep their initial
values. Before anything is written, the generated model and the original are run on random inputs and compared. If something
cannot be written as source, the error names the operator and the node.

--style gorgonia writes a package that needs only Gorgonia; if an operator has no form there, the error lists it.

With --recipe the changes of a recipe (see edit --help), or of a plan that removes channels, are written as a function Edit,
for any model that has those nodes. They are tried on MODEL first.`,
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
	f.StringVar(&x.pkg, "package", "", "package name; default: the folder's")
	f.StringVar(&x.style, "style", generate.Layers, "layers (graft's) or gorgonia (needs no graft at run time)")
	f.StringVar(&x.recipe, "recipe", "", "write the changes of a recipe or plan as Go source, instead of the model")
	f.BoolVar(&x.asJSON, "json", false, "print what was written as JSON")
	return cmd
}

func (x generation) run(ctx context.Context, w io.Writer, model string) error {
	if x.output == "" {
		return errors.New("missing -o FOLDER, the folder to write the package to")
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
