package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// The journal of a plan taken back lists its changes backwards, what was added as removed and the other way around.
func TestUndoJournal(t *testing.T) {
	g := nntest.Small(t)
	p, err := g.Plan(func(e *nn.Edit) {
		e.Replace(node(e, "act"), nn.Sequential{layers.Conv{Out: 4, Kernel: []int{1, 1}}, layers.ReLU{}})
	})
	if err != nil {
		t.Fatal(err)
	}
	since := func(version int) (list []nn.Change) {
		for c := range g.Changes(version) {
			list = append(list, c)
		}
		return list
	}
	before := g.Version()
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	forth, applied := since(before), g.Version()
	if err := p.Undo(); err != nil {
		t.Fatal(err)
	}
	back := since(applied)
	slices.Reverse(back)
	if len(forth) != len(back) || len(forth) < 4 {
		t.Fatalf("%d changes, taken back in %d", len(forth), len(back))
	}
	opposite := map[nn.ChangeKind]nn.ChangeKind{nn.NodeAdded: nn.NodeRemoved, nn.NodeRemoved: nn.NodeAdded, nn.ParamAdded: nn.ParamRemoved, nn.ParamRemoved: nn.ParamAdded}
	seen := map[nn.ChangeKind]bool{}
	for i, c := range forth {
		want, swapped := opposite[c.Kind]
		if !swapped {
			want = c.Kind
		}
		seen[c.Kind] = true
		if back[i].Kind != want || back[i].Undoes != applied {
			t.Errorf("%v is taken back as %v of version %d, want %v of %d", c.Kind, back[i].Kind, back[i].Undoes, want, applied)
		}
	}
	if !seen[nn.NodeAdded] || !seen[nn.NodeRemoved] || !seen[nn.ParamAdded] {
		t.Error(fmt.Sprint("changes of kinds ", seen))
	}
}
