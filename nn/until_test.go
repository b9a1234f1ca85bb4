package nn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// longModel is a network of n residual layers, whose channels can be removed.
func longModel(t *testing.T, n int) *nn.Graph {
	g := nn.New("m")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Node(op.Plain("MatMul"), e.Input("x", "float32[N,3]"), e.Param("first", initial.FanIn{}, 3, 4)).Out(0)
		for range n {
			w := e.Param(e.New("w"), initial.FanIn{}, 4, 4)
			y := e.Node(op.Plain("MatMul"), x, w).Out(0)
			x = e.Node(op.Plain("Add"), x, e.Node(op.Plain("Tanh"), y).Out(0)).Out(0)
		}
		e.Output("y", e.Node(op.Plain("MatMul"), x, e.Param("last", initial.FanIn{}, 4, 3)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestUntil: what changes, copies or analyzes a graph with a context ends with its error wherever that is seen, leaves the graph as it was, and
// looks at it in proportion to the nodes.
func TestUntil(t *testing.T) {
	const layers = 700
	g := longModel(t, layers)
	grow := func(e *nn.Edit) {
		for _, n := range e.Select(nn.Ops("Tanh")) {
			e.Insert(n.Out(0), nn.OpLayer{Config: op.Plain("Neg")})
		}
	}
	squared := longModel(t, 100)
	var loss *nn.Value
	nntest.Edit(t, squared, func(e *nn.Edit) {
		loss = e.Node(std.ReduceSumConfig{}, e.Node(op.Plain("Mul"), e.Value("y"), e.Value("y")).Out(0)).Out(0)
		loss = e.Node(std.ReshapeConfig{}, loss, e.Ints("scalar")).Out(0)
		e.Output("loss", loss)
	})
	derive := func(ctx context.Context) error {
		o := nn.DeriveOptions{Loss: loss, Params: slices.Collect(squared.Params())[:1]}
		_, err := squared.DeriveUntil(ctx, o, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) })
		return err
	}
	for name, c := range map[string]struct {
		f    func(ctx context.Context) error
		most int // nodes, values or changes between two looks
	}{
		"edit": {func(ctx context.Context) error {
			f, _ := g.Fork()
			err := f.EditUntil(ctx, grow)
			if err != nil && labelsOf(f) != labelsOf(g) {
				return errors.New("an edit that ended changed the graph")
			}
			return err
		}, 1 << 10},
		"plan":     {func(ctx context.Context) error { _, err := g.PlanUntil(ctx, grow); return err }, 1 << 10},
		"channels": {func(ctx context.Context) error { _, err := g.ChannelsUntil(ctx); return err }, 1},
		"cost":     {func(ctx context.Context) error { _, err := g.Channels().CostUntil(ctx, nil); return err }, 1 << 10},
		"cost of all": {func(ctx context.Context) error {
			c := g.Channels()
			var all []*nn.Atom
			for _, x := range c.Groups() {
				all = append(all, x.Atoms...)
			}
			_, err := c.CostUntil(ctx, all)
			return err
		}, 1 << 8},
		"summary": {func(ctx context.Context) error { _, err := g.SummaryUntil(ctx, nn.Feed{}); return err }, 1 << 9},
		"large": {func(ctx context.Context) error {
			f, _ := g.Fork()
			return f.EditUntil(ctx, func(e *nn.Edit) { e.Param("large", initial.Zeros{}, 1<<20) })
		}, 3 * layers},
		"derive": {derive, 1},
		"derive without time for folding": {func(ctx context.Context) error {
			defer nn.SetFoldingTime(0)()
			return derive(ctx)
		}, 1},
		"extract":    {func(ctx context.Context) error { _, err := g.ExtractUntil(ctx, nil, []string{"y"}); return err }, 1 << 10},
		"composites": {func(ctx context.Context) error { _, err := g.Composites(ctx); return err }, 1},
	} {
		before, version := labelsOf(g), g.Version()
		ended, cancel := context.WithCancel(t.Context()) // one that can end is looked at
		defer cancel()
		count := &kerneltest.EndsAfter{Context: ended, Left: 1 << 30}
		if err := c.f(count); err != nil {
			t.Fatal(name, err)
		}
		looks := 1<<30 - count.Left
		if want := 3 * layers / c.most; looks < want {
			t.Errorf("%s: %d looks, want %d", name, looks, want)
		}
		for at := 0; at < looks; at += max(1, looks/3) {
			if err := c.f(&kerneltest.EndsAfter{Context: ended, Left: at}); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, ended at look %d of %d: %v", name, at, looks, err)
			}
		}
		if after := labelsOf(g); after != before || g.Version() != version {
			t.Errorf("%s changed the graph", name)
		}
		if err := g.Check(); err != nil {
			t.Error(name, err)
		}
	}
}

func labelsOf(g *nn.Graph) string {
	var list []string
	for n := range g.Nodes() {
		list = append(list, n.Label())
	}
	return strings.Join(list, " ")
}
