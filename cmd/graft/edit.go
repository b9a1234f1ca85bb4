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

// recipe is a list of changes to a model, applied as a whole or not at all.
type recipe struct {
	Steps []recipeStep `json:"steps"`
}

// recipeStep is one change. Do names it; the other fields are what it needs.
type recipeStep struct {
	Do       string   `json:"do"`       // insert, remove, replace, resize, cut, rename, output, remove-output, input, head, freeze
	Node     string   `json:"node"`     // a node, by its name or that of its output
	Value    string   `json:"value"`    // a value, by its name
	To       string   `json:"to"`       // new name
	Type     string   `json:"type"`     // "float32[N,3,224,224]"
	Layer    *layer   `json:"layer"`    // of insert and replace
	Channels int      `json:"channels"` // of resize
	Axis     int      `json:"axis"`
	Near     bool     `json:"near"`
	Labels   []string `json:"labels"` // of head
	Classes  int      `json:"classes"`
	Glob     []string `json:"glob"` // of freeze
	Cuts     []nn.Cut `json:"cuts"`
}

// layer is a layer in a recipe.
type layer struct {
	Op     string `json:"op"` // conv, linear, batchnorm, relu, sigmoid, tanh, gelu, silu, dropout
	Name   string `json:"name"`
	Out    int    `json:"out"`
	Kernel []int  `json:"kernel"`
}

func newEdit() *cobra.Command {
	var file, output, planFile string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "edit MODEL",
		Short: "Change a model by a recipe: insert, remove, replace, resize, rename, outputs, head",
		Long: `edit applies the steps of a JSON file, all of them or none. Each step says what to do:

  {"steps": [
    {"do": "input", "value": "data", "type": "float32[N,3,224,224]"},
    {"do": "insert", "value": "conv1_out", "layer": {"op": "batchnorm"}},
    {"do": "remove", "node": "drop"},
    {"do": "replace", "node": "act1", "layer": {"op": "silu"}},
    {"do": "resize", "value": "conv2_out", "channels": 48, "near": true},
    {"do": "rename", "value": "output", "to": "scores"},
    {"do": "output", "value": "features", "to": "embedding"},
    {"do": "remove-output", "value": "aux"},
    {"do": "head", "labels": ["cat", "dog"]},
    {"do": "freeze", "glob": ["layer1*"]}
  ]}

A resize cuts or widens everything that hangs together; new channels leave what the model computes.`,
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
			plan, err := g.Plan(r.apply)
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

// readRecipe reads and checks a recipe.
func readRecipe(path string) (recipe, error) {
	var r recipe
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close()
	d := json.NewDecoder(file)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	for i, s := range r.Steps {
		if err := s.check(); err != nil {
			return r, fmt.Errorf("%s: step %d: %w", path, i+1, err)
		}
	}
	if len(r.Steps) == 0 {
		return r, fmt.Errorf("%s: there are no steps", path)
	}
	return r, nil
}

// needs are the fields without which a step makes no sense.
var needs = map[string][]string{
	"insert": {"value", "layer"}, "remove": {"node"}, "replace": {"node", "layer"}, "resize": {"value", "channels"},
	"cut": {"cuts"}, "rename": {"value", "to"}, "output": {"value", "to"}, "remove-output": {"value"},
	"input": {"value", "type"}, "head": {}, "freeze": {"glob"},
}

func (s recipeStep) check() error {
	list, ok := needs[s.Do]
	if !ok {
		return fmt.Errorf("%q is not something to do", s.Do)
	}
	has := map[string]bool{
		"value": s.Value != "", "layer": s.Layer != nil, "node": s.Node != "", "channels": s.Channels > 0,
		"cuts": len(s.Cuts) > 0, "to": s.To != "", "type": s.Type != "", "glob": len(s.Glob) > 0,
	}
	for _, field := range list {
		if !has[field] {
			return fmt.Errorf("%s needs %q", s.Do, field)
		}
	}
	if s.Layer != nil {
		_, err := s.Layer.build()
		return err
	}
	if s.Do == "head" && len(s.Labels) == 0 && s.Classes == 0 {
		return fmt.Errorf("head needs \"labels\" or \"classes\"")
	}
	return nil
}

func (l layer) build() (nn.Layer, error) {
	switch l.Op {
	case "conv":
		return nn.Conv{Out: l.Out, Kernel: l.Kernel, Same: true, Name: l.Name}, nil
	case "linear":
		return nn.Linear{Out: l.Out, Name: l.Name}, nil
	case "batchnorm":
		return nn.BatchNorm{Name: l.Name}, nil
	case "relu":
		return nn.ReLU{Name: l.Name}, nil
	case "sigmoid":
		return nn.Sigmoid{Name: l.Name}, nil
	case "tanh":
		return nn.Tanh{Name: l.Name}, nil
	case "gelu":
		return nn.GELU{Name: l.Name}, nil
	case "silu":
		return nn.SiLU{Name: l.Name}, nil
	case "dropout":
		return nn.Dropout{Name: l.Name}, nil
	}
	return nil, fmt.Errorf("there is no layer %q for recipes", l.Op)
}

// apply runs the steps in an edit.
func (r recipe) apply(e *nn.Edit) {
	for i, s := range r.Steps {
		s.apply(e)
		if e.Err() != nil {
			e.Note("step %d, %s", i+1, s.Do)
			return
		}
	}
}

func (s recipeStep) apply(e *nn.Edit) {
	var l nn.Layer
	if s.Layer != nil {
		l, _ = s.Layer.build() // checked before
	}
	switch s.Do {
	case "insert":
		e.Insert(e.Value(s.Value), l)
	case "remove":
		e.Remove(e.Find(named(s.Node)))
	case "replace":
		e.Replace(e.Find(named(s.Node)), l)
	case "resize":
		e.Resize(e.Value(s.Value), s.Channels, nn.ResizeOptions{Axis: s.Axis, Near: s.Near})
	case "cut":
		e.Cut(s.Cuts...)
	case "rename":
		e.RenameValue(e.Value(s.Value), s.To)
	case "output":
		e.Output(s.To, e.Value(s.Value))
	case "remove-output":
		e.RemoveOutput(s.Value)
	case "input":
		e.Input(s.Value, s.Type)
	case "head":
		e.Head(nn.Head{Labels: s.Labels, Classes: s.Classes})
	case "freeze":
		e.Freeze(nn.Glob(s.Glob...))
	}
}

// named selects the node of a name, or the one that computes the value of that name.
func named(name string) nn.Selector {
	return func(n *nn.Node) bool {
		if n.Name() == name {
			return true
		}
		for _, v := range n.Outputs() {
			if v.Name() == name {
				return true
			}
		}
		return false
	}
}
