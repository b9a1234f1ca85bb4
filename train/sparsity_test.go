package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/optim"
)

// TestMasksSurviveTraining checks that masked weights stay zero through training with weight decay,
// momentum and averages, and in the model after Bake; the others learn.
func TestMasksSurviveTraining(t *testing.T) {
	for name, mask := range map[string]prune.Sparsity{"half": {Share: 0.5}, "1 of 3": {N: 1, M: 3}} {
		t.Run(name, func(t *testing.T) {
			g := twoLayers(t)
			if err := g.Edit(mask.Mask); err != nil {
				t.Fatal(err)
			}
			tr, err := New(g, Config{Rule: optim.AdamW{LR: 0.05, WeightDecay: 0.1}, EMA: 0.9, Loss: MSE{}})
			if err != nil {
				t.Fatal(err)
			}
			before := weightsOf(t, g, "w1")
			allowed := weightsOf(t, g, "w1"+".mask")
			_, batch := byHand(t, twoLayers(t), false)
			var first, last float64
			for i := range 50 {
				info, err := tr.Step(context.Background(), batch)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					first = info.Loss
				}
				last = info.Loss
			}
			if !(last < first) {
				t.Errorf("the loss went from %v to %v", first, last)
			}
			if err := g.Edit(prune.Bake); err != nil {
				t.Fatal(err)
			}
			after := weightsOf(t, g, "w1")
			zeros := 0
			for i, w := range after {
				if allowed[i] == 0 {
					zeros++
				}
				if (w == 0) != (allowed[i] == 0) || w != 0 && w == before[i] {
					t.Errorf("weight %d went from %v to %v, its mask is %v", i, before[i], w, allowed[i])
				}
			}
			if want := map[string]int{"half": 9, "1 of 3": 12}[name]; zeros != want {
				t.Errorf("%d weights are zero, want %d", zeros, want)
			}
		})
	}
}

// The lasso drives rows of weights together towards zero: with it the least row ends far below the
// others, and what it alone costs falls.
func TestLassoWhileTraining(t *testing.T) {
	rows := func(strength float64) []float64 {
		g := twoLayers(t)
		loss := LossFunc(func(e *nn.Edit, out, want []*nn.Value) *nn.Value {
			l := MSE{}.Build(e, out, want)
			return prune.Lasso{Strength: strength, Sel: []nn.Selector{func(n *nn.Node) bool {
				return n.In(1) != nil && n.In(1).Name() == "w1"
			}}}.Build(e, l)
		})
		tr, err := New(g, Config{Rule: optim.SGD{LR: 0.05}, Loss: loss})
		if err != nil {
			t.Fatal(err)
		}
		_, batch := byHand(t, twoLayers(t), false)
		for range 300 {
			if _, err := tr.Step(context.Background(), batch); err != nil {
				t.Fatal(err)
			}
		}
		w := weightsOf(t, g, "w1")
		var norms []float64
		for row := range slices.Chunk(w, 3) {
			norms = append(norms, math.Hypot(math.Hypot(row[0], row[1]), row[2]))
		}
		slices.Sort(norms)
		return norms
	}
	without, with := rows(0), rows(0.1)
	sum := func(x []float64) (s float64) {
		for _, v := range x {
			s += v
		}
		return s
	}
	if !(sum(with) < 0.8*sum(without)) || !(with[0] < 0.1*without[0]) {
		t.Errorf("norms of the rows are %v with the penalty, %v without", with, without)
	}
}
