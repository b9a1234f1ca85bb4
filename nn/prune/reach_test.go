package prune_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/prune"
)

// TestRoundedTarget halves a network whose trunks can only shrink in large steps: where one step is
// too large, others are taken.
func TestRoundedTarget(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := nn.New("residual")
			if err := g.Edit(func(e *nn.Edit) {
				conv := func(out, stride int) nn.Layer {
					return nn.Sequential{layers.Conv{Out: out, Kernel: []int{3}, Stride: []int{stride}, Same: true, NoBias: true}, layers.BatchNorm{}}
				}
				block := func(n int) nn.Layer {
					return nn.Sequential{layers.Residual{Body: nn.Sequential{conv(n, 1), layers.ReLU{}, conv(n, 1)}}, layers.ReLU{}}
				}
				e.Seed(seed)
				e.Output("y", e.Apply(nn.Sequential{
					conv(32, 2), layers.ReLU{}, block(32), block(32), conv(64, 2), layers.ReLU{}, block(64), block(64),
					layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 10},
				}, e.Input("x", "float32[N,1,28,28]")))
			}); err != nil {
				t.Fatal(err)
			}
			whole := g.Summary().Total.MACs
			p := prune.Pruner{Target: prune.Target{MACs: 0.5}, By: prune.Random(seed), RoundTo: 16}
			for _, err := range p.Steps(context.Background(), g, 3) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if share := float64(g.Summary().Total.MACs) / float64(whole); share < 0.4 || share > 0.55 {
				t.Errorf("%.3f of the multiply-adds stay", share)
			}
			for n := range g.Nodes(nn.Ops("Conv")) {
				if c := n.Out(0).Type().Shape[1].Size; c%16 != 0 {
					t.Errorf("%s has %d channels", n.Label(), c)
				}
			}
		})
	}
}
