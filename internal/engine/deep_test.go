package engine

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A core with very many outputs is spelled out once, and one place in memory serves them.
func TestManyOutputs(t *testing.T) {
	const n = 2000
	g := gorgonia.NewGraph()
	x := input(g, "x", tensor.New(tensor.WithShape(n), tensor.Of(tensor.Float32)))
	core := &Core{Name: "split"}
	for range n {
		core.Out = append(core.Out, Spec{DType: tensor.Float32, Shape: tensor.Shape{1}})
	}
	core.Kernel = func(_ *Exec, out, in []*tensor.Dense) error { return nil }
	b := newBuilder(t.Context())
	nodes := apply(t, core, nil, x)
	for _, m := range b.order(nodes) {
		if err := b.add(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.groups) != 1 || len(b.steps) != 1 || len(b.ids) > 3 {
		t.Errorf("%d groups, %d steps, %d ids", len(b.groups), len(b.steps), len(b.ids))
	}
}

// TestFusionIsBounded checks that chains are fused up to a length that keeps the time linear.
func TestFusionIsBounded(t *testing.T) {
	g := gorgonia.NewGraph()
	shape := tensor.Shape{4}
	n := input(g, "x", tensor.New(tensor.WithShape(4), tensor.Of(tensor.Float32)))
	work := 0
	var fuse func(m Meeting) *Core
	fuse = func(m Meeting) *Core {
		work += len(m.Self.Name)
		return &Core{Kernel: m.Self.Kernel, Patterns: m.Self.Patterns, Fuse: fuse}
	}
	const length = 4 * mostFused
	for i := range length {
		c := scale(fmt.Sprintf("s%d", i), shape, float32(i))
		c.Patterns, c.Fuse = []Pattern{Addition{}}, fuse
		n = apply(t, c, nil, n)[0]
	}
	p := compile(t, n)
	if steps := len(p.Stats().Steps); steps < 4 || steps > 8 {
		t.Errorf("%d steps", steps)
	}
	if most := length * mostFused * 8; work > most {
		t.Errorf("names of %d bytes were put together, want at most %d", work, most)
	}
}
