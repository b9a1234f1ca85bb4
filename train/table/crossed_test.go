package table_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
)

// TestBlendFolds checks cross-validation for few rows: it chooses the weight of the linear model, and
// all rows are trained on in the end. A quadratic target has no linear part; a linear one leaves
// nothing to the network.
func TestBlendFolds(t *testing.T) {
	ctx := context.Background()
	for name, target := range map[string]func(x float64) float64{"square": func(x float64) float64 { return x * x }, "line": func(x float64) float64 { return x }} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			var b strings.Builder
			b.WriteString("x,y\n")
			for range 60 {
				x := r.NormFloat64()
				fmt.Fprintf(&b, "%.3f,%.3f\n", x, target(x)+0.05*r.NormFloat64())
			}
			x := readText(t, b.String())
			rows, held := x.Divide(0.2, 1)
			unit := table.TargetScaling(x, rows)
			_, trunk, samples := trunkOf(t, x, rows, table.Network{Seed: 1}, unit)
			var trained []int
			first, loss := nntest.Weights(t, trunk.Rest), unit.Loss(train.MSE{})
			anew := func(ctx context.Context, s data.Dataset[data.Sample], way, member int) error {
				trained = append(trained, s.Len())
				first.Restore()
				rate := []float64{1e-9, 3e-3}[way] // only the second way learns
				_, err := train.Fit(ctx, trunk.Rest, train.Config{Rule: optim.AdamW{LR: rate}, Loss: loss, Epochs: 60, Batch: 16, Log: train.Quiet}, s, nil)
				return err
			}
			got, err := table.Blend{Unit: unit, Loss: loss, Refit: true, Anew: anew, Ways: 2}.Apply(ctx, trunk, samples(rows), samples(held))
			if err != nil {
				t.Fatal(err)
			}
			want := append(slices.Repeat([]int{48}, 2*5+got.Way), 60, 60, 60, 60)
			if !slices.Equal(trained, want) || got.Folds != 5 {
				t.Errorf("trained on %v rows, %+v", trained, got)
			}
			if name == "square" && got.Way != 1 {
				t.Errorf("way %d is chosen", got.Way)
			}
			if name == "square" && got.Linear > 0.25 || name == "line" && got.Linear < 0.5 {
				t.Errorf("the linear model's share is %v", got.Linear)
			}
		})
	}
}
