package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// A journal forgets what is oldest and says so; the latest edits stay in it.
func TestJournalForgets(t *testing.T) {
	g := built(t, func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Apply(layers.ReLU{}, e.Apply(layers.Linear{Out: 256}, e.Input("x", "float32[N,8]")))))
	})
	var relu *nn.Value
	for n := range g.Nodes(nn.Ops("Relu")) {
		relu = n.Out(0)
	}
	begin := g.Version()
	const edits = 300
	for range edits {
		p, err := g.Plan(func(e *nn.Edit) { e.Insert(relu, layers.Linear{Out: 256}) })
		if err == nil {
			err = p.Apply()
		}
		if err == nil {
			err = p.Undo()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	all := slices.Collect(g.Changes(begin))
	if all[0].Kind != nn.Forgotten || all[0].Version <= begin || all[1].Version != all[0].Version+1 {
		t.Errorf("the journal begins with %v of version %d, then %v of %d", all[0].Kind, all[0].Version, all[1].Kind, all[1].Version)
	}
	latest := slices.Collect(g.Changes(g.Version() - 200))
	if latest[0].Kind == nn.Forgotten || latest[0].Version != g.Version()-199 || latest[len(latest)-1].Version != g.Version() {
		t.Errorf("of the latest 200 versions of %d, those from %d to %d are there", g.Version(), latest[0].Version, latest[len(latest)-1].Version)
	}
	if n := len(slices.Collect(g.Changes(all[0].Version))); n != len(all)-1 {
		t.Errorf("%d changes behind what is forgotten, want %d", n, len(all)-1)
	}
}
