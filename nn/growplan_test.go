package nn_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestGrowthReplays lets a network shrink and grow in one plan, reads the plan's file on a copy and
// compares what both become, bit by bit.
func TestGrowthReplays(t *testing.T) {
	for _, copying := range []bool{false, true} {
		g := worked(t)
		twin := nntest.Clone(t, g)
		plan, err := g.Plan(func(e *nn.Edit) {
			e.Seed(7)
			e.ResizeAll(
				nn.Request{Value: e.Value("add"), Channels: 6},
				nn.Request{Value: node(e, "dw").Out(0), Channels: 12, ResizeOptions: nn.ResizeOptions{Near: true}},
			)
			e.Resize(e.Value("add"), 9, nn.ResizeOptions{Copy: copying})
			e.Resize(e.Value("add"), 11, nn.ResizeOptions{Copy: copying})
			e.RemoveChannels(node(e, "c1"), 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		js, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := nn.ReadPlan(twin, bytes.NewReader(js))
		if err != nil {
			t.Fatalf("%v\n%s", err, js)
		}
		js2, _ := json.Marshal(again)
		if a, b := cutPart(t, js), cutPart(t, js2); a != b {
			t.Errorf("read back, the plan says\n%s\nnot\n%s", b, a)
		}
		if len(plan.Grown()) == 0 || len(plan.Cuts()) == 0 {
			t.Fatalf("%d axes grow, %d shrink", len(plan.Grown()), len(plan.Cuts()))
		}
		for _, p := range []*nn.Plan{plan, again} {
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := nntest.Dump(g), nntest.Dump(twin); a != b {
			t.Error(diff(a, b))
		}
		before := nntest.Dump(worked(t))
		if err := plan.Undo(); err != nil {
			t.Fatal(err)
		}
		if got := nntest.Dump(g); got != before {
			t.Error(diff(got, before))
		}
		if _, err := nn.ReadPlan(twin, bytes.NewReader(js)); err == nil || !strings.Contains(err.Error(), "axis") {
			t.Errorf("replayed on the changed model: %v", err)
		}
	}
}

// TestGrowthOfAnyCount: a plan's file that says another number of atoms than it has indices for is refused before any is made.
func TestGrowthOfAnyCount(t *testing.T) {
	plan, err := worked(t).Plan(func(e *nn.Edit) { e.Resize(e.Value("add"), 11, nn.ResizeOptions{}) })
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nn.ReadPlan(worked(t), bytes.NewReader(js)); err != nil {
		t.Fatal(err)
	}
	huge := regexp.MustCompile(`"count":\d+`).ReplaceAll(js, []byte(`"count":1099511627776`))
	if _, err := nn.ReadPlan(worked(t), bytes.NewReader(huge)); err == nil || !strings.Contains(err.Error(), "no group of channels that can grow as the plan says") {
		t.Errorf("%v of\n%s", err, huge)
	}
}

func cutPart(t *testing.T, js []byte) string {
	t.Helper()
	var f map[string]json.RawMessage
	if err := json.Unmarshal(js, &f); err != nil {
		t.Fatal(err)
	}
	return string(f["cuts"]) + "\n" + string(f["resizes"])
}

// TestPlanKeepsTraining checks that weights which change between planning and applying stay changed.
func TestPlanKeepsTraining(t *testing.T) {
	g := worked(t)
	plan, err := g.Plan(func(e *nn.Edit) { e.RemoveChannels(node(e, "c1"), 1) })
	if err != nil {
		t.Fatal(err)
	}
	v, err := g.Value("fc.bias")
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Value("c1.weight")
	if err != nil {
		t.Fatal(err)
	}
	dtype.Slice[float32](v.Param().Data())[0] = 42
	for i := range dtype.Slice[float32](w.Param().Data()) {
		dtype.Slice[float32](w.Param().Data())[i] = 3
	}
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	for _, x := range dtype.Slice[float32](w.Param().Data()) {
		if x != 3 {
			t.Fatalf("the plan brought %v back", x)
		}
	}
}

// TestPlansLeaveTypes checks that taking a plan back restores what was inferred.
func TestPlansLeaveTypes(t *testing.T) {
	g := worked(t)
	types := func() string {
		s := ""
		for n := range g.Nodes() {
			s += n.Label() + " " + n.Out(0).Type().String() + "\n"
		}
		return s
	}
	before := types()
	plan, err := g.Plan(func(e *nn.Edit) { e.RemoveChannels(node(e, "c1"), 2) })
	if err != nil {
		t.Fatal(err)
	}
	if got := types(); got != before {
		t.Error(diff(got, before))
	}
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	if got := types(); got == before {
		t.Error("the types stayed as they were")
	}
	if err := plan.Undo(); err != nil {
		t.Fatal(err)
	}
	if got := types(); got != before {
		t.Error(diff(got, before))
	}
	if g.Edit(func(e *nn.Edit) { e.RemoveChannels(node(e, "c1"), 2); e.Failf("no") }) == nil {
		t.Error("an edit that failed was applied")
	}
	if got := types(); got != before {
		t.Error(diff(got, before))
	}
}

// TestJoinedPlans applies two plans and looks at them as one: by its file, and taking it back.
func TestJoinedPlans(t *testing.T) {
	g := worked(t)
	before, twin := nntest.Dump(g), nntest.Clone(t, g)
	var plans []*nn.Plan
	for range 2 {
		p, err := g.Plan(func(e *nn.Edit) {
			e.RemoveChannels(node(e, "c1"), 2)
			e.AddChannels(node(e, "b"), 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	if _, err := plans[1].Join(plans[0]); err == nil {
		t.Error("plans were joined the wrong way round")
	}
	both, err := plans[0].Join(plans[1])
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(both)
	if err != nil {
		t.Fatal(err)
	}
	again, err := nn.ReadPlan(twin, bytes.NewReader(js))
	if err != nil {
		t.Fatalf("%v\n%s", err, js)
	}
	if err := again.Apply(); err != nil {
		t.Fatal(err)
	}
	if a, b := nntest.Dump(g), nntest.Dump(twin); a != b {
		t.Error(diff(a, b))
	}
	if err := both.Undo(); err != nil {
		t.Fatal(err)
	}
	if got := nntest.Dump(g); got != before {
		t.Error(diff(got, before))
	}
}
