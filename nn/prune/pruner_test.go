package prune_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
)

func models(t *testing.T, f func(t *testing.T, name string, g *nn.Graph)) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	files, _ := filepath.Glob(filepath.Join(shared, "models", "*", "model.onnx"))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			f(t, name, g)
		})
	}
}

// TestHalf prunes every model to half of its multiply-adds and replays the plan from JSON.
func TestHalf(t *testing.T) {
	models(t, func(t *testing.T, name string, g *nn.Graph) {
		p := prune.Pruner{Target: prune.Target{MACs: 0.5}}
		if len(p.Groups(g)) == 0 {
			t.Skip("nothing to cut")
		}
		plan, err := p.Plan(context.Background(), g)
		if err != nil {
			var e *nn.Error
			if errors.As(err, &e) && e.Stage == "prune" {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		before, after := plan.Cost()
		share := float64(after.MACs) / float64(before.MACs)
		t.Logf("%.1f %% of the multiply-adds, %.1f %% of the parameters", 100*share, 100*float64(after.Params)/float64(before.Params))
		if before.MACs > 0 && (share < 0.4 || share > 0.55) {
			t.Errorf("%.3f of the multiply-adds stay", share)
		}
		js, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := nn.ReadPlan(g, bytes.NewReader(js))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(plan.Cuts())
		b, _ := json.Marshal(again.Cuts())
		if !bytes.Equal(a, b) {
			t.Errorf("the plan read back cuts %s, not %s", b, a)
		}
	})
}

// TestSettings checks that invalid settings are refused, among them selectors that match nothing.
func TestSettings(t *testing.T) {
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 8}, layers.ReLU{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]prune.Pruner{
		"target 2 is not a share":                        {Target: prune.Target{MACs: 2}},
		"RoundTo is -1":                                  {RoundTo: -1},
		`Scale is "median": want mean, max, sum or none`: {Scale: "median"},
		"Most is 1.5":                                    {Most: 1.5},
		"Keep: selector 1 selects no n":                  {Keep: []nn.Selector{nn.Ops("Relu"), nn.Glob("misspelled")}},
	} {
		if _, err := p.Plan(context.Background(), g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
