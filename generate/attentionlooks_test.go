package generate_test

import (
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// TestAttentionsLinear: the work, counted by looks at the context, is in proportion to the number of attentions.
func TestAttentionsLinear(t *testing.T) {
	looks := func(n int) int {
		g := nn.New("m")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,T,8]")
			for range n {
				x = e.Apply(layers.Attention{Heads: 2}, x)
			}
			e.Output("y", x)
		}); err != nil {
			t.Fatal(err)
		}
		count := &kerneltest.EndsAfter{Context: t.Context(), Left: 1 << 30}
		if _, err := generate.Generate(count, g, generate.Options{}); err != nil {
			t.Fatal(err)
		}
		return 1<<30 - count.Left
	}
	if few, many := looks(6), looks(24); many > 6*few {
		t.Errorf("%d looks for 6 attentions, %d for 24", few, many)
	} else {
		t.Log(few, many)
	}
}
