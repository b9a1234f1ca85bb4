package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/terminal"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/mutate"
)

// recipe is a list of changes to a model, applied as a whole or not at all.
type recipe struct {
	Steps []recipeStep `json:"steps"`
}

// recipeStep is one change. Do names it; verbs lists the other fields that it requires and accepts.
type recipeStep struct {
	Do         string                  `json:"do"`
	Node       string                  `json:"node"`  // a node, by its name or that of its output
	Value      string                  `json:"value"` // a value, by its name
	To         string                  `json:"to"`    // new name
	Type       string                  `json:"type"`  // "float32[N,3,224,224]"
	Layer      *layer                  `json:"layer"`
	Towards    []string                `json:"towards"` // of insert: the nodes to insert before; empty: all that read the value
	Prefer     string                  `json:"prefer"`  // which side is resized when sizes differ
	Channels   int                     `json:"channels"`
	Factor     float64                 `json:"factor"`
	Axis       int                     `json:"axis"`
	Near       bool                    `json:"near"`
	Kernel     []int                   `json:"kernel"`
	Activation *layer                  `json:"activation"` // of deepen
	Norm       bool                    `json:"norm"`
	Concat     bool                    `json:"concat"` // of add-edge
	Via        *layer                  `json:"via"`
	Labels     []string                `json:"labels"`
	Classes    int                     `json:"classes"`
	Glob       []string                `json:"glob"`
	Keep       []string                `json:"keep"` // of mutate: globs of nodes
	Count      int                     `json:"count"`
	Seed       uint64                  `json:"seed"`
	Version    int                     `json:"version"` // of opset
	Weights    map[mutate.Kind]float64 `json:"weights"`
	Cuts       []nn.Cut                `json:"cuts"`
	Domain     string                  `json:"domain"` // of decompose: its operators
	Set        map[string]any          `json:"set"`    // of annotate: values by key, null removes
}

// given returns the set of the names of the fields that are set.
func (s recipeStep) given() map[string]bool {
	return map[string]bool{
		"node": s.Node != "", "value": s.Value != "", "to": s.To != "", "type": s.Type != "", "layer": s.Layer != nil,
		"towards": len(s.Towards) > 0, "prefer": s.Prefer != "", "channels": s.Channels > 0, "factor": s.Factor != 0,
		"axis": s.Axis != 0, "near": s.Near, "kernel": len(s.Kernel) > 0, "activation": s.Activation != nil, "norm": s.Norm,
		"concat": s.Concat, "via": s.Via != nil, "labels": len(s.Labels) > 0, "classes": s.Classes > 0, "glob": len(s.Glob) > 0,
		"keep": len(s.Keep) > 0, "count": s.Count > 0, "seed": s.Seed != 0, "version": s.Version != 0, "weights": s.Weights != nil, "cuts": len(s.Cuts) > 0, "set": len(s.Set) > 0,
		"domain": s.Domain != "",
	}
}

// readRecipe reads and checks a recipe.
func readRecipe(path string) (recipe, error) {
	file, err := disk.Open(path)
	if err != nil {
		return recipe{}, err
	}
	defer file.Close()
	return decodeRecipe(path, file)
}

// unknownKey is encoding/json's error for a key that a struct lacks.
var unknownKey = regexp.MustCompile(`unknown field "([^"]*)"`)

// nearest returns a question for the words that differ from the given one by at most two characters, "" if there is none.
func nearest(word string, all []string) string {
	best, list := 2, []string(nil)
	for _, s := range all {
		if d := editDistance(word, s); d < best || d == best && d < len(word) {
			if d < best {
				best, list = d, nil
			}
			list = append(list, strconv.Quote(s))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(list, " or ") + "?"
}

func decodeRecipe(name string, in io.Reader) (recipe, error) {
	var r recipe
	b, err := budget.ReadAll(in)
	if err == nil {
		err = budget.UnmarshalStrict(b, &r)
	}
	if err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("not a recipe, which is JSON: %w", err)
		} else if found := unknownKey.FindStringSubmatch(err.Error()); found != nil {
			hint := nearest(found[1], append(slices.Sorted(maps.Keys(recipeStep{}.given())), "do", "steps"))
			err = fmt.Errorf("%q is not a key of a recipe: %s", found[1], cmp.Or(hint, "graft edit --help has an example of every step"))
		}
		return r, fmt.Errorf("%s: %w", name, terminal.Short(err))
	}
	for i, s := range r.Steps {
		if err := s.check(); err != nil {
			return r, fmt.Errorf("%s: step %d: %w", name, i+1, terminal.Short(err))
		}
	}
	if len(r.Steps) == 0 {
		return r, fmt.Errorf("%s: it has no steps", name)
	}
	return r, nil
}

// preferences are the values of Prefer.
var preferences = map[string]nn.Prefer{
	"": nn.PreferEither, "grow": nn.PreferGrow, "shrink": nn.PreferShrink, "before": nn.PreferBefore, "after": nn.PreferAfter,
}

// check returns an error if a field of a step is missing or does not apply.
func (s recipeStep) check() error {
	v, ok := findVerb(s.Do)
	if !ok {
		var all []string
		for _, v := range verbs() {
			all = append(all, v.name)
		}
		return fmt.Errorf("unknown step %q: %s", s.Do, cmp.Or(nearest(s.Do, all), "want one of "+strings.Join(all, ", ")))
	}
	given := s.given()
	for _, field := range v.needs {
		if !given[field] {
			return fmt.Errorf("%s needs %q", s.Do, field)
		}
	}
	var extra []string
	for field, set := range given {
		if set && !slices.Contains(v.needs, field) && !slices.Contains(v.takes, field) {
			extra = append(extra, field)
		}
	}
	if slices.Sort(extra); len(extra) > 0 {
		return fmt.Errorf("%s does not take %q", s.Do, strings.Join(extra, `", "`))
	}
	if _, ok := preferences[s.Prefer]; !ok {
		return fmt.Errorf("prefer %q: want grow, shrink, before or after", s.Prefer)
	}
	for _, l := range []*layer{s.Layer, s.Activation, s.Via} {
		if l != nil {
			if _, err := l.build(); err != nil {
				return err
			}
		}
	}
	switch {
	case s.Do == "head" && len(s.Labels) == 0 && s.Classes == 0:
		return fmt.Errorf(`head needs "labels" or "classes"`)
	case s.Do == "decompose" && s.Node == "" && s.Domain == "" && len(s.Glob) == 0:
		return fmt.Errorf(`decompose needs "node", "glob" or "domain"`)
	case s.Do == "widen" && !(s.Factor >= 1):
		return fmt.Errorf("widen by a factor of %v: want 1 or more", s.Factor)
	case s.Do == "mutate":
		return s.mutator().Check()
	}
	return nil
}

// plan tries the steps on a graph.
func (r recipe) plan(g *nn.Graph) (*nn.Plan, error) {
	at := 0
	p, err := g.Plan(func(e *nn.Edit) {
		for i, s := range r.Steps {
			at = i + 1
			v, _ := findVerb(s.Do)
			for _, pattern := range s.Glob {
				if !slices.ContainsFunc(e.Nodes(), nn.Glob(pattern)) && e.Err() == nil {
					e.Failf("glob %s: no node or parameter has such a name%s", pattern, near(slices.Values(e.Nodes()), pattern))
				}
			}
			if v.apply(s, e); e.Err() != nil {
				return
			}
		}
		at = 0
	})
	if err != nil && at > 0 {
		return nil, fmt.Errorf("step %d, %s: %w", at, r.Steps[at-1].Do, terminal.Short(err))
	}
	return p, err
}
