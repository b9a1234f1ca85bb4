package nn_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// FuzzPlan reads plans of any bytes for a small graph. A plan that is read is applied, leaves a graph that holds its
// invariants, and undone leaves the graph as it was.
func FuzzPlan(f *testing.F) {
	model := func(tb testing.TB) *nn.Graph {
		g := nn.New("fuzzed")
		if err := g.Edit(randomGraph(3)); err != nil {
			tb.Fatal(err)
		}
		return g
	}
	for seed := range 3 {
		g := model(f)
		p, err := g.Plan(func(e *nn.Edit) {
			switch seed {
			case 0:
				e.Remove(e.Find(nn.Ops("Relu", "BatchNormalization")))
			case 1:
				e.Freeze(nn.Glob("*"))
			case 2:
				e.Insert(e.Outputs()[0], layers.ReLU{})
			}
		})
		if err != nil {
			continue
		}
		if b, err := json.Marshal(p); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"actions":[{"do":"remove"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g := model(t)
		p, err := nn.ReadPlan(g, bytes.NewReader(b))
		if err != nil {
			if strings.Contains(err.Error(), "panic") {
				t.Fatal(err)
			}
			return
		}
		if err := p.Apply(); err != nil {
			return
		}
		if err := g.Check(); err != nil {
			t.Fatalf("applied: %v", err)
		}
	})
}
