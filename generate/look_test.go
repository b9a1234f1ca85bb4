package generate

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
)

// TestWritingLooks: source is written statement by statement, each after a look at the context.
func TestWritingLooks(t *testing.T) {
	const n = 40
	g := nn.New("m")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		for i := range n {
			x = e.Node(op.Plain("Add"), x, e.Node(op.Plain("MatMul"), x, e.Param(fmt.Sprint("w", i), initial.FanIn{}, 4, 4)).Out(0)).Out(0)
		}
		e.Output("y", x)
	}); err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{Layers, Gorgonia} {
		ended, cancel := context.WithCancel(t.Context())
		seen := &kerneltest.Looks{Context: ended}
		if _, err := Generate(seen, g, Options{Style: style}); err != nil {
			t.Fatal(err)
		}
		if got := seen.In("(*statements).write"); got < n/4 { // blocks that repeat are written once
			t.Errorf("%s: %d looks while %d nodes are written", style, got, n)
		}
		if got := seen.In("generate.modal"); got < 2*n {
			t.Errorf("%s: %d looks while %d nodes are counted", style, got, 2*n)
		}
		if got := seen.In("generate.tidy"); got < 2*n {
			t.Errorf("%s: %d looks while %d nodes are tidied", style, got, 2*n)
		}
		cancel()
		if _, err := Generate(ended, g, Options{Style: style}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", style, err)
		}
	}
}

// TestOutside: names that begin with a layer's name and a dot do not belong to the layer.
func TestOutside(t *testing.T) {
	layers := map[string]int{"b": 0, "a": 1, "a_c.d": 2, "a.x": 3}
	for name, want := range map[string]string{"a": "a", "a.c": "a_c", "ab.c": "ab.c", "a.c.d.e": "a_c.d_e", "a.x.y": "a_x.y", "b.a": "b_a"} {
		if got := outside(layers, name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
