package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// annotating holds the flags of the annotate command.
type annotating struct {
	source
	set          []string
	remove, glob []string
	output, mode string
	asJSON       bool
}

var annotationModes = map[string]onnxio.AnnotationMode{"": onnxio.AsStored, "metadata": onnxio.AsMetadata, "attributes": onnxio.AsAttributes}

func newAnnotate() *cobra.Command {
	var a annotating
	cmd := &cobra.Command{
		Use:   "annotate MODEL",
		Short: "List, set and remove annotations of nodes",
		Long: `An annotation is a key with a value (string, number or list) on a node, which operators ignore. It stays with the node through
edits, pruning and saving, and other commands select nodes by it, with the patterns @key and @key=value:
graft prune --ignore '@prune=no'.

Without --set, --remove and -o the annotations are listed. --glob selects nodes by the name of a node, an output or a parameter,
or by annotation. Files store annotations as node metadata, which every runtime ignores, or, with --as attributes, as attributes
like pytorch-pfn-extras, which ONNX Runtime rejects.`,
		Example: `  graft annotate model.onnx
  graft annotate model.onnx --glob 'layer4/*' --set prune=no --set stage=4 -o marked.onnx
  graft annotate marked.onnx --glob '@stage=4' --remove stage -o model.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.OutOrStdout(), args[0])
		},
	}
	a.source.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&a.glob, "glob", nil, "select nodes by pattern; repeatable; default with --remove: all nodes")
	f.StringArrayVar(&a.set, "set", nil, "KEY=VALUE to set; numbers and lists as in JSON; repeatable")
	f.StringArrayVar(&a.remove, "remove", nil, "annotation to remove, * for all; repeatable")
	f.StringVar(&a.mode, "as", "", "how annotations are stored in the file: metadata or attributes; default: as before, new ones as metadata")
	f.StringVarP(&a.output, "output", "o", "", "file to write the model to")
	f.BoolVar(&a.asJSON, "json", false, "print one JSON object per annotated node: node, op, annotations")
	return cmd
}

func (a annotating) run(w io.Writer, model string) error {
	mode, ok := annotationModes[a.mode]
	changes := len(a.set)+len(a.remove) > 0 || a.mode != ""
	switch {
	case !ok:
		return fmt.Errorf("--as: want metadata or attributes, got %q", a.mode)
	case len(a.set) > 0 && len(a.glob) == 0:
		return errors.New("missing --glob PATTERN, the nodes to annotate")
	case changes && a.output == "":
		return errors.New("missing -o FILE, the file to write the model to")
	case a.output != "" && !changes && a.batch == "" && len(a.types) == 0:
		return errors.New("nothing to change: give --set KEY=VALUE or --remove KEY, or leave out -o to list annotations")
	case a.output != "":
		if err := checkOutput(a.output); err != nil {
			return err
		}
	}
	g, err := a.load(model)
	if err != nil {
		return err
	}
	for _, pattern := range a.glob {
		if err := matched(g, "glob", pattern); err != nil {
			return err
		}
	}
	if err := a.removable(g); err != nil {
		return err
	}
	if err := a.edit(g); err != nil {
		return err
	}
	if a.output != "" {
		return onnxio.Saver{Annotations: mode, Warn: saver.Warn}.Save(a.output, g)
	}
	return a.list(w, g)
}

// removable refuses keys that no node has.
func (a annotating) removable(g *nn.Graph) error {
	for _, key := range a.remove {
		found := false
		for n := range g.Nodes(a.nodes()...) {
			_, has := n.Annotations()[key]
			found = found || has || key == "*" && len(n.Annotations()) > 0
		}
		if !found {
			return fmt.Errorf("--remove %s: no node has such an annotation", key)
		}
	}
	return nil
}

// nodes returns the nodes that --glob selects.
func (a annotating) nodes() []nn.Selector {
	if len(a.glob) == 0 {
		return nil
	}
	return []nn.Selector{nn.Glob(a.glob...)}
}

func (a annotating) edit(g *nn.Graph) error {
	set := map[string]any{}
	for _, s := range a.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return fmt.Errorf("--set %s: want KEY=VALUE", s)
		}
		set[key] = nn.ParseAnnotation(value)
	}
	sel := a.nodes()
	return g.Edit(func(e *nn.Edit) {
		if len(a.remove) > 0 {
			e.RemoveAnnotations(a.remove, sel...)
		}
		if len(set) > 0 {
			e.Annotate(set, sel...)
		}
	})
}

// anchor adds an anchor with annotations.
func anchor(e *nn.Edit, s recipeStep) {
	if n := e.Anchor(e.Value(s.Value), nil); n != nil && len(s.Set) > 0 {
		annotate(e, s.Set, func(x *nn.Node) bool { return x == n })
	}
}

// annotate sets annotations, and removes those whose value is nil.
func annotate(e *nn.Edit, set map[string]any, sel ...nn.Selector) {
	set = maps.Clone(set)
	var gone []string
	for key, v := range set {
		if v == nil {
			gone = append(gone, key)
			delete(set, key)
		} else if list, ok := v.([]any); ok { // of JSON
			if text, err := json.Marshal(list); err == nil {
				set[key] = nn.ParseAnnotation(string(text))
			}
		} else if x, ok := v.(float64); ok && x == float64(int64(x)) {
			set[key] = int64(x)
		}
	}
	if len(gone) > 0 {
		e.RemoveAnnotations(gone, sel...)
	}
	if len(set) > 0 {
		e.Annotate(set, sel...)
	}
}

// list prints the annotated nodes.
func (a annotating) list(w io.Writer, g *nn.Graph) error {
	some := false
	for n := range g.Nodes(a.nodes()...) {
		notes := n.Annotations()
		if len(notes) == 0 {
			continue
		}
		some = true
		if a.asJSON {
			if err := json.NewEncoder(w).Encode(map[string]any{"node": n.Label(), "op": n.Type(), "annotations": notes}); err != nil {
				return err
			}
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(notes)) {
			if _, err := fmt.Fprintf(w, "%s %s  %s=%s\n", n.Type(), n.Label(), key, nn.AnnotationText(notes[key])); err != nil {
				return err
			}
		}
	}
	if !some && !a.asJSON {
		fmt.Fprintln(w, "no node has annotations; --glob PATTERN --set KEY=VALUE -o FILE adds some")
	}
	return nil
}
