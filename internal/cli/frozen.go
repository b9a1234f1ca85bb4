package cli

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
)

// metaFrozen is the metadata key for the names of the parameters that --freeze or a recipe froze, as a JSON list.
const metaFrozen = "graft.frozen"

// keepFrozen stores the names of the frozen parameters in the metadata.
func keepFrozen(e *nn.Edit) {
	names := []string{}
	for _, p := range e.Params() {
		if p.Frozen() {
			names = append(names, p.Name())
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		e.SetMeta(metaFrozen, "")
		return
	}
	b, err := json.Marshal(names)
	e.Fail(err)
	e.SetMeta(metaFrozen, string(b))
}

// freezeAgain freezes the parameters that the metadata list, if they still exist.
func freezeAgain(g *nn.Graph) error {
	names, err := frozenNames(g)
	if err != nil || len(names) == 0 {
		return err
	}
	return g.Edit(func(e *nn.Edit) {
		for _, p := range e.Params() {
			if slices.Contains(names, p.Name()) {
				e.SetFrozen(p, true)
			}
		}
	})
}

func frozenNames(g *nn.Graph) (names []string, err error) {
	text, ok := g.Meta()[metaFrozen]
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, fmt.Errorf("metadata %s: %w", metaFrozen, err)
	}
	return names, nil
}

// thaw implements --freeze none: all parameters that the metadata list are trained again.
func thaw(g *nn.Graph) error {
	names, err := frozenNames(g)
	if err != nil || names == nil {
		return err
	}
	return g.Edit(func(e *nn.Edit) {
		for _, p := range e.Params() {
			if slices.Contains(names, p.Name()) {
				e.SetFrozen(p, false)
			}
		}
		e.SetMeta(metaFrozen, "")
	})
}
