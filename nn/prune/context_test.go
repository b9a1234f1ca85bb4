package prune_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn/prune"
)

// watched is a context that counts the looks at it by the function that looks.
type watched struct {
	context.Context
	looks map[string]int
}

func (c watched) Err() error {
	at, _, _, _ := runtime.Caller(1)
	name := runtime.FuncForPC(at).Name()
	c.looks[name[strings.LastIndex(name, "/")+1:]]++
	return nil
}

// TestPlanChecks: planning looks at its context while it analyzes and edits, before each group that is scored, and before each measurement of the
// search, and ends at any of these looks without changing the graph.
func TestPlanChecks(t *testing.T) {
	g := chain(t)
	version := g.Version()
	p := prune.Pruner{Target: prune.Target{MACs: 0.5}}
	seen := watched{t.Context(), map[string]int{}}
	if _, err := p.Plan(seen, g); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, n := range seen.looks {
		all += n
	}
	nodes := len(slices.Collect(g.Nodes()))
	for name, want := range map[string]int{"nn.(*Graph).analyse": nodes, "prune.Pruner.rank": len(p.Groups(g))} {
		if got := seen.looks[name]; got != want {
			t.Errorf("%s looks %d times, want %d", name, got, want)
		}
	}
	if seen.looks["nn.begun"] < 4 { // of the plan, and of each measurement
		t.Errorf("looks by function: %v", seen.looks)
	}
	for n := range all {
		if _, err := p.Plan(&kerneltest.EndsAfter{Context: t.Context(), Left: n}, g); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v", n, err)
		}
	}
	if g.Version() != version {
		t.Error("the graph has changed")
	}
}
