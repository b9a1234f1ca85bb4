package conformance_test

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// TestLaterContext: what a run prepares is kept for later ones, but not its context: a run and a gradient succeed after the
// context of the one before has ended.
func TestLaterContext(t *testing.T) {
	for _, family := range sweeps {
		for _, name := range slices.Sorted(maps.Keys(family)) {
			for i := range 8 {
				r := &draw{Rand: rand.New(rand.NewPCG(1, uint64(i)))}
				c := family[name](r)
				g, err := onnxio.Read(bytes.NewReader(c.model(t, r)))
				if err != nil {
					continue
				}
				feed, wrt := nn.Feed{}, []string(nil)
				for k, a := range c.in {
					if a.value != nil && !a.constant {
						feed[inputName(k)] = a.value
						if dtype.DTypeOf(a.value) == dtype.Float32 {
							wrt = append(wrt, inputName(k))
						}
					}
				}
				no := false
				differentiable := g.Edit(func(e *nn.Edit) {
					e.Output("the loss", e.Node(std.ReduceSumConfig{KeepDims: &no}, e.Outputs()[0]).Out(0))
				}) == nil
				for what, run := range map[string]func(ctx context.Context) error{
					"run": func(ctx context.Context) error { _, err := g.Eval(ctx, feed); return err },
					"gradient": func(ctx context.Context) error {
						if !differentiable || len(wrt) == 0 {
							return context.Canceled
						}
						_, err := g.Grad(ctx, feed, "the loss", wrt...)
						return err
					},
				} {
					ctx, cancel := context.WithCancel(t.Context())
					err := run(ctx)
					cancel()
					if err != nil {
						continue // not differentiable, or a refused model
					}
					if err := run(t.Context()); err != nil {
						t.Errorf("%s %d: the second %s: %v", name, i, what, err)
					}
				}
			}
		}
	}
}
