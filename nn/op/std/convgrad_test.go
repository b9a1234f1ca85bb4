package std_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestConvGradAdds differentiates blocks with a shortcut of 1×1 that halves images: its gradient is added to that of the
// body, which is in memory of its own or is an input, not to be overwritten.
func TestConvGradAdds(t *testing.T) {
	if kernel.About().Kernels == "portable" {
		t.Skip("there are no kernels for it here")
	}
	for name, body := range map[string]func(b *chainBuilder) *gorgonia.Node{
		"convolution": func(b *chainBuilder) *gorgonia.Node {
			return b.apply(std.ConvConfig{Strides: []int{2, 2}, Pads: []int{1, 1, 1, 1}}, b.x, b.constant(5, 8, 3, 3))
		},
		"nothing": func(b *chainBuilder) *gorgonia.Node { return b.add(b.x, b.constant(2, 8, 12, 6)) },
	} {
		b := &chainBuilder{t: t, g: gorgonia.NewGraph()}
		b.x = b.constant(2, 8, 12, 6)
		y := gorgonia.Nodes{body(b), b.apply(std.ConvConfig{Strides: []int{2, 2}}, b.x, b.constant(5, 8, 1, 1))}
		dy := gorgonia.Nodes{b.constant(y[0].Shape()...), b.constant(y[1].Shape()...)}
		grads, err := op.Backpropagate(t.Context(), y, dy, gorgonia.Nodes{b.x})
		if err != nil {
			t.Fatal(err)
		}
		run := func(o engine.Options) ([]float32, []string) {
			p, err := engine.Compile(o, append(slices.Clone(grads), dy...)...)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time with what the first left
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return slices.Clone(dtype.Slice[float32](p.Value(grads[0]).(*tensor.Dense))), p.Stats().Steps
		}
		got, steps := run(engine.Options{})
		want, _ := run(engine.Options{Unfused: true})
		if !slices.ContainsFunc(steps, func(s string) bool { return strings.HasPrefix(s, "ConvDataGrad, +") }) {
			t.Errorf("%s: steps %q", name, steps)
		}
		for i, w := range want {
			if d := got[i] - w; !(d < 1e-5 && d > -1e-5) {
				t.Fatalf("%s: element %d is %v, apart %v", name, i, got[i], w)
			}
		}
	}
}
