package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// nearMisses change a spelling a little: two inputs of a node change places, or a number is another one. What no longer fits in shape
// is left out.
func nearMisses(t *testing.T, build func() *nn.Graph) map[string]*nn.Graph {
	list := map[string]*nn.Graph{}
	g := build()
	for i, n := range slices.Collect(g.Nodes()) {
		if len(n.Inputs()) != 2 || n.In(0) == nil || n.In(1) == nil || n.In(0).Type().DType != n.In(1).Type().DType {
			continue
		}
		h := build()
		err := h.Edit(func(e *nn.Edit) {
			n := e.Nodes()[i]
			turned := e.Repeat(n, n.In(1), n.In(0))
			if e.Err() == nil && turned.Out(0).Type().String() != n.Out(0).Type().String() {
				e.Failf("another shape")
			}
			e.Rewire(n.Out(0), turned.Out(0))
		})
		if err == nil {
			list[fmt.Sprintf("%s %d turned", n.Type(), i)] = h
		}
	}
	for p := range g.Params() {
		if p.Data() == nil || !p.Value().Type().DType.IsFloat() || p.Size() != 1 {
			continue
		}
		h := build()
		nntest.Edit(t, h, func(e *nn.Edit) {
			v := e.Value(p.Name())
			x, err := dtype.Float64s(p.Data())
			e.Fail(err)
			d, err := dtype.FromFloats(v.Type().DType, []float64{1.25 * x[0]}, v.Type().Sizes()...)
			e.Fail(err)
			e.SetData(v, d)
		})
		list[p.Name()+" is another"] = h
	}
	return list
}

// TestNearSpellings: what differs a little from what is fused is computed as it is written.
func TestNearSpellings(t *testing.T) {
	for _, s := range slices.Concat(normSpellings(), activationSpellings(), linearSpellings(), attentionSpellings(), reorderSpellings(), lossSpellings()) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			list := nearMisses(t, func() *nn.Graph { return s.graph(t, dtype.Float64) })
			if len(list) == 0 {
				t.Error("nothing is near")
			}
			for name, g := range list {
				feed := s.feed(t, g, dtype.Float64)
				var runs [2]*tensor.Dense
				for i, on := range []bool{false, true} {
					g.SetFusion(on)
					out, err := g.Eval(t.Context(), feed, "out")
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					runs[i] = out["out"].(*tensor.Dense)
				}
				if err := closeTo(runs[1], runs[0], 1e-6); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
