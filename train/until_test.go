package train

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
)

// TestConfigContext: a trainer is made, and a loss attached, beside looks at Config.Context, before each parameter, and both end at any of these looks.
func TestConfigContext(t *testing.T) {
	const params = 30
	g := nn.New("chain")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,2]")
		for i := range params {
			x = e.Node(op.Plain("MatMul"), x, e.Param(fmt.Sprint("w", i), initial.FanIn{}, 2, 2)).Out(0)
		}
		e.Output("y", x)
	}); err != nil {
		t.Fatal(err)
	}
	var groups []ParamGroup
	for p := range g.Params() {
		groups = append(groups, ParamGroup{Params: []*nn.Param{p}})
	}
	ending, cancel := context.WithCancel(t.Context()) // one that can end is looked at
	defer cancel()
	for name, c := range map[string]struct {
		f     func(c Config) error
		least int
	}{
		"new":    {func(c Config) error { _, err := New(g, c); return err }, 2 * params}, // for states and groups
		"attach": {func(c Config) error { _, err := c.Attach(g); return err }, params},
		"fit":    {func(c Config) error { _, err := Fit(c.Context, g, c, nil, nil); return err }, 0},
	} {
		count := &kerneltest.EndsAfter{Context: ending, Left: 1 << 30}
		config := Config{Loss: MSE{}, Groups: groups, Log: Quiet, EMA: 0.9}
		config.Context = count
		if err := c.f(config); err != nil && c.least > 0 {
			t.Fatal(name, err)
		}
		looks := 1<<30 - count.Left
		if looks < c.least {
			t.Errorf("%s: %d looks, want %d", name, looks, c.least)
		}
		for at := 0; at < max(1, looks); at += max(1, looks/9) {
			if c.least == 0 && at > 2*params {
				break // what follows New has its own tests
			}
			config.Context = &kerneltest.EndsAfter{Context: ending, Left: at}
			if err := c.f(config); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, ended at look %d of %d: %v", name, at, looks, err)
			}
		}
	}
}

// TestContextsOfRanks: the ranks of a training have contexts of their own.
func TestContextsOfRanks(t *testing.T) {
	g := nn.New("empty")
	ending, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, b := (&Trainer{g: g}).facts(), (&Trainer{g: g, c: Config{Context: ending}}).facts()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("facts that ranks compare: %v, %v", a, b)
	}
}

// TestPlansLinear: what one parameter's group is does not take longer with more groups.
func TestPlansLinear(t *testing.T) {
	g := nn.New("weights")
	var groups []ParamGroup
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,2]")
		for i := range 300 {
			p := e.Param(fmt.Sprint("w", i), initial.FanIn{}, 2, 2)
			groups = append(groups, ParamGroup{Params: []*nn.Param{p.Param()}, Rate: float64(i + 1)})
			x = e.Node(op.Plain("MatMul"), x, p).Out(0)
		}
		e.Output("y", x)
	}); err != nil {
		t.Fatal(err)
	}
	a, err := Config{Loss: MSE{}, Groups: groups}.Attach(g)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range a.Params {
		if _, rate, err := a.Plan(p); err != nil || rate != float64(i+1) {
			t.Errorf("the rate of parameter %d is %v: %v", i, rate, err)
		}
	}
	if _, _, err := a.Plan(nil); err == nil {
		t.Error("a parameter that is not of the graph has a plan")
	}
	if n := testing.AllocsPerRun(3, func() { _, _, _ = a.Plan(a.Params[7]) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}
