package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/mutate"
)

// recipeSource returns a recipe as Go source. The recipe is applied to the model first, to check it.
func recipeSource(g *nn.Graph, path, pkg string) (*generate.Source, error) {
	r, err := readRecipe(path)
	if err != nil {
		cuts, perr := planCuts(path)
		if perr != nil {
			return nil, perr
		}
		if cuts == nil {
			return nil, err
		}
		r = recipe{[]recipeStep{{Do: "cut", Cuts: cuts}}}
	}
	changed, _ := g.Fork()
	plan, err := r.plan(changed)
	if err == nil {
		err = plan.Apply()
	}
	if err != nil {
		return nil, err
	}
	e := generate.NewEdits()
	for _, s := range r.Steps {
		s.write(e)
	}
	if frozen := changed.Meta()[metaFrozen]; frozen != g.Meta()[metaFrozen] {
		e.Add("e.SetMeta(%v, %v)", metaFrozen, frozen)
	}
	text, err := e.Source(pkg, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	return &generate.Source{Files: map[string][]byte{pkg + ".go": text}, Lines: bytes.Count(text, []byte("\n")), Difference: -1}, nil
}

// planCuts returns the cuts of a plan; nil if the file is not a plan.
func planCuts(path string) ([]nn.Cut, error) {
	b, err := disk.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p struct {
		Model   *string
		Cuts    []nn.Cut
		Resizes []any
	}
	if err := budget.Unmarshal(b, &p); err != nil || p.Model == nil {
		if _, over := errors.AsType[*budget.Error](err); over {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return nil, nil
	}
	if len(p.Resizes) > 0 || len(p.Cuts) == 0 {
		return nil, errors.New("a plan that does more than remove channels cannot be written as Go: give its recipe instead")
	}
	return p.Cuts, nil
}

// write writes a step as a statement.
func (s recipeStep) write(e *generate.Edits) {
	value := func(name string) generate.Go { return generate.Go(fmt.Sprintf("e.Value(%q)", name)) }
	list := func(l []string) generate.Go {
		var b strings.Builder
		for i, x := range l {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q", x)
		}
		return generate.Go(b.String())
	}
	glob := func(patterns []string) generate.Go {
		return e.Symbol(nn.Graph{}, "Glob") + generate.Go("("+string(list(patterns))+")")
	}
	switch s.Do {
	case "input":
		e.Add("e.Input(%v, %v)", s.Value, s.Type)
	case "insert":
		args := ""
		for _, name := range s.Towards {
			args += ", " + string(e.Node(name))
		}
		e.Add("%vInsert(e, %v, %v"+strings.ReplaceAll(args, "%", "%%")+")", s.side(e), value(s.Value), s.Layer.must())
	case "remove":
		e.Add("%vRemove(e, %v)", s.side(e), e.Node(s.Node))
	case "replace":
		e.Add("%vReplace(e, %v, %v)", s.side(e), e.Node(s.Node), s.Layer.must())
	case "add-edge":
		e.Add("%vAddEdge(e, %v, %v)", s.side(e), value(s.Value), e.Node(s.Node))
	case "remove-edge":
		e.Add("%vRemoveEdge(e, %v, %v)", s.side(e), value(s.Value), e.Node(s.Node))
	case "resize":
		e.Add("e.Resize(%v, %v, %v{Axis: %v, Near: %v})", value(s.Value), s.Channels, e.Symbol(nn.ResizeOptions{}, "ResizeOptions"), s.Axis, s.Near)
	case "input-channels":
		e.Add("e.SetInputChannels(%v, %v, %v)", value(s.Value), s.Channels, s.Axis)
	case "widen":
		e.Add("e.Widen(%v, %v)", e.Node(s.Node), s.Factor)
	case "deepen":
		d := nn.Deepening{Layer: layers.Fitting{}, Near: s.Near}
		if s.Norm {
			d.Norm = layers.BatchNorm{}
		}
		if s.Layer != nil {
			d.Layer = s.Layer.must()
		}
		if s.Activation != nil {
			d.Activation = s.Activation.must()
		}
		e.Add("e.Deepen(%v, %v)", value(s.Value), d)
	case "kernel":
		e.Add("e.SetKernel(%v, %v...)", e.Node(s.Node), s.Kernel)
	case "activation":
		if len(s.Glob) == 0 {
			e.Add("e.SwapActivations(%v)", s.Layer.must())
			return
		}
		e.Add("e.SwapActivations(%v, %v)", s.Layer.must(), glob(s.Glob))
	case "mutate":
		s.writeMutate(e, glob)
	case "cut":
		for _, c := range s.Cuts {
			e.Add("e.Cut(%v{Initializer: %v, Axis: %v, Removed: %v})", e.Symbol(nn.Cut{}, "Cut"), c.Initializer, c.Axis, c.Removed)
		}
	case "rename":
		e.Add("e.RenameValue(%v, %v)", value(s.Value), s.To)
	case "output":
		e.Add("e.Output(%v, %v)", s.To, value(s.Value))
	case "remove-output":
		e.Add("e.RemoveOutput(%v)", s.Value)
	case "head":
		if len(s.Labels) > 0 {
			e.Add("e.Head(%v{Labels: %v})", e.Symbol(nn.Head{}, "Head"), s.Labels)
			return
		}
		e.Add("e.Head(%v{Classes: %v})", e.Symbol(nn.Head{}, "Head"), s.Classes)
	case "decompose":
		if s.Node != "" {
			e.Add("e.Decompose(%v)", e.Node(s.Node))
		}
		if len(s.Glob) > 0 {
			e.Add("e.Decompose(e.Nodes(%v)...)", glob(s.Glob))
		}
		if s.Domain != "" {
			e.Add("e.Decompose(e.Nodes(%v(%v))...)", e.Symbol(nn.Graph{}, "Domain"), s.Domain)
		}
	case "freeze":
		e.Add("e.Freeze(%v)", glob(s.Glob))
	case "annotate", "anchor":
		s.writeAnnotations(e, value, glob)
	}
}

// side returns the receiver of a change that realigns its neighborhood.
func (s recipeStep) side(e *generate.Edits) generate.Go {
	o := s.realign()
	var fields []string
	if o.Prefer != nn.PreferEither {
		names := map[nn.Prefer]string{nn.PreferGrow: "PreferGrow", nn.PreferShrink: "PreferShrink", nn.PreferBefore: "PreferBefore", nn.PreferAfter: "PreferAfter"}
		fields = append(fields, "Prefer: "+string(e.Symbol(o, names[o.Prefer])))
	}
	if o.Concat {
		fields = append(fields, "Concat: true")
	}
	if o.Via != nil {
		fields = append(fields, "Via: "+string(e.Text(o.Via)))
	}
	return e.Symbol(o, "Realign") + generate.Go("{"+strings.Join(fields, ", ")+"}.")
}

func (s recipeStep) writeMutate(e *generate.Edits, glob func([]string) generate.Go) {
	m := mutate.Mutator{}
	fields := fmt.Sprintf("Seed: %d", s.Seed)
	if s.Weights != nil {
		fields += ", Weights: map[" + string(e.Symbol(m, "Kind")) + "]float64{"
		for _, k := range slices.Sorted(maps.Keys(s.Weights)) {
			fields += fmt.Sprintf("%q: %v, ", k, s.Weights[k])
		}
		fields += "}"
	}
	if len(s.Keep) > 0 {
		fields += ", Keep: []" + string(e.Symbol(nn.Graph{}, "Selector")) + "{" + string(glob(s.Keep)) + "}"
	}
	e.Add("for i := range %v {\n%v{%v}.Mutate(e, i)\n}", s.Count, e.Symbol(m, "Mutator"), generate.Go(fields))
}

// writeAnnotations writes annotations, sorted by key; null removes one.
func (s recipeStep) writeAnnotations(e *generate.Edits, value func(string) generate.Go, glob func([]string) generate.Go) {
	sel := generate.Go("")
	if s.Do == "anchor" {
		if len(s.Set) == 0 {
			e.Add("e.Anchor(%v, nil)", value(s.Value))
			return
		}
		e.Add("{\nn := e.Anchor(%v, nil)", value(s.Value))
		defer e.Add("}")
		sel = "func(x *" + e.Symbol(nn.Node{}, "Node") + ") bool { return x == n }"
	} else {
		sel = glob(s.Glob)
	}
	set := ""
	for _, key := range slices.Sorted(maps.Keys(s.Set)) {
		switch v := s.Set[key].(type) {
		case nil:
			e.Add("e.RemoveAnnotations([]string{%v}, %v)", key, sel)
			continue
		case float64:
			if v == float64(int64(v)) {
				set += fmt.Sprintf("%q: %d, ", key, int64(v))
				continue
			}
			set += fmt.Sprintf("%q: %v, ", key, v)
		case []any:
			text, _ := json.Marshal(v)
			set += fmt.Sprintf("%q: %s(%q), ", key, e.Symbol(nn.Graph{}, "ParseAnnotation"), text)
		default:
			set += fmt.Sprintf("%q: %v, ", key, e.Text(v))
		}
	}
	if set != "" {
		e.Add("e.Annotate(%v{%v}, %v)", e.Symbol(nn.Graph{}, "Annotations"), generate.Go(set), sel)
	}
}
