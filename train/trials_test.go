package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestRaceOfExpensive checks that a model that is expensive to train is compared with the classifier alone at a high learning rate and,
// unless it is better, at the one that was found, with any evaluation; its plan for trained models differs only in the rate.
func TestRaceOfExpensive(t *testing.T) {
	still := optim.SGD{LR: 1e-30} // all plans are as good, and no better than the classifier alone: the first one wins
	for _, c := range []struct {
		policy     Policy
		validation int
		rule       optim.Rule
		found      float64
		rate       float64
		tried      int
	}{
		{validation: 120, rule: still, found: 1e-4, rate: 2e-3, tried: 2, policy: Full},
		{validation: 120, found: 1e-5, rate: 2e-3, tried: 1},
		{validation: 12, found: 1e-5, rate: 2e-3, tried: 1, policy: Full},
		{found: 1, rate: 5e-4}, {found: 1e-5, rate: 1e-4}, {found: 1e-4, rate: 3e-4},
		{validation: 12, found: 2e-3, rate: 2e-3, tried: 3, policy: FromScratch},
		{validation: 12, found: 1, rate: 1e-2, tried: 3, policy: FromScratch},
		{found: 1e-6, rate: 1e-4, policy: FromScratch},
	} {
		g := layered(t)
		said := ""
		tune := &tuning{FineTuner: FineTuner{Policy: c.policy, Config: Config{Log: Quiet, Epochs: 20, Rule: c.rule}}, g: g, fit: points(t, 60), say: func(s string) { said += s }}
		if c.validation > 0 {
			tune.val = points(t, c.validation)
		}
		before := nntest.Weights(t, g)
		tune.plan = tune.draft(60, 1e12)
		if err := tune.comparePlans(context.Background(), c.found, 1e12); err != nil {
			t.Fatal(err)
		}
		p := tune.plan
		if tune.isCheap || tune.headIsBest || tune.tried != c.tried || math.Abs(p.Rate/c.rate-1) > 1e-9 {
			t.Errorf("%+v: %d tried, rate %v, said %s", c, tune.tried, p.Rate, said)
		}
		want := "all layers: " + p.String()
		switch {
		case c.tried == 1:
			want += ", better than the classifier alone in half of the epochs"
		case c.tried > 1:
			want += fmt.Sprintf(", the best of %d in half of the epochs", c.tried)
		}
		if said != want {
			t.Errorf("%+v: said %q", c, said)
		}
		if scratch := c.policy == FromScratch; p.HoldStatistics == scratch || (p.Spread == 1) != scratch {
			t.Errorf("%+v: %+v", c, p)
		}
		for x, d := range before {
			if !slices.Equal(x.Data().Float32s(), d.Float32s()) || x.Frozen() {
				t.Errorf("%+v: %s has changed", c, x.Name())
			}
		}
	}
}

// TestRaceIsLost checks that if all layers are clearly worse on held-out samples, only the classifier
// is kept, provided the policy may choose.
func TestRaceIsLost(t *testing.T) {
	for _, policy := range []Policy{Auto, Full} {
		g, right := layered(t), points(t, 150)
		if _, err := Fit(context.Background(), g, Config{Rule: optim.Adam{LR: 0.01}, Epochs: 60, Log: Quiet}, right, nil); err != nil {
			t.Fatal(err)
		}
		wrong := data.Map(points(t, 60), func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
			s.Y = []*tensor.Dense{tensor.New(tensor.FromScalar((s.Y[0].Int64s()[0] + 1) % 3))}
			return s, nil
		})
		said := ""
		tune := &tuning{FineTuner: FineTuner{Policy: policy, Config: Config{Log: Quiet, Epochs: 300, Rule: optim.SGD{LR: 3}}}, g: g, fit: wrong, val: right, say: func(s string) { said += s }}
		tune.plan = tune.draft(60, 1e12)
		if err := tune.comparePlans(context.Background(), 1e-3, 1e12); err != nil {
			t.Fatal(err)
		}
		if lost := policy == Auto; tune.headIsBest != lost || tune.plan.BetterThanHead || strings.HasPrefix(said, "all layers: no better than the classifier alone on samples") != lost {
			t.Errorf("policy %q: %s", policy, said)
		}
	}
}

// TestRaceIsEven checks that an equal result is not an improvement: only the classifier is kept,
// unless training is cheap and validation decides afterwards.
func TestRaceIsEven(t *testing.T) {
	for _, cost := range []float64{0, 1e12} {
		g := layered(t)
		c := Config{Log: Quiet, Epochs: 4, Rule: optim.SGD{LR: 1e-30}}
		tune := &tuning{FineTuner: FineTuner{Config: c}, g: g, fit: points(t, 60), val: points(t, 12), say: func(string) {}}
		tune.plan = tune.draft(60, cost)
		if err := tune.comparePlans(context.Background(), 1e-4, cost); err != nil {
			t.Fatal(err)
		}
		if isCheap := cost == 0; tune.isCheap != isCheap || tune.plan.BetterThanHead || tune.headIsBest == isCheap || !isCheap && (tune.plan.Rate != highRate || tune.tried != 2) {
			t.Errorf("cost %v: %+v, %d tried", cost, tune.plan, tune.tried)
		}
	}
	// The limit of what is cheap, in multiply-adds of all epochs.
	for cost, isCheap := range map[float64]bool{1e11: true, 1.0001e11: false} {
		tune := &tuning{FineTuner: FineTuner{Policy: FromScratch}, g: layered(t), fit: points(t, 6), plan: recipe{Epochs: 4}, say: func(string) {}}
		if err := tune.comparePlans(context.Background(), 1e-4, cost); err != nil || tune.isCheap != isCheap {
			t.Errorf("%v: cheap %v, %v", cost, tune.isCheap, err)
		}
	}
}

// TestRaceSetsBounded checks that the sets on which plans are compared are limited where plans are
// expensive, and disjoint.
func TestRaceSetsBounded(t *testing.T) {
	for _, c := range []struct {
		n, validation int
		isCheap       bool
		fit, held     int
	}{
		{10, 0, true, 7, 3}, {10, 1, true, 7, 4}, {10, 99, true, 7, 102}, {10, 100, true, 10, 100},
		{10, 100, false, 7, 103}, {1000, 150, false, 500, 450}, {1000, 300, false, 500, 500}, {3000, 300, false, 500, 500}, {3000, 99, true, 2100, 999},
	} {
		at := func(i int) data.Sample { return data.Sample{X: []*tensor.Dense{numbered(t, float32(i))}} }
		var all []data.Sample
		for i := range c.n + c.validation {
			all = append(all, at(i))
		}
		tune := &tuning{fit: data.Of(all[:c.n]...), isCheap: c.isCheap}
		if c.validation > 0 {
			tune.val = data.Of(all[c.n:]...)
		}
		fit, held, err := tune.trialSets(context.Background())
		if err != nil || fit.Len() != c.fit || held.Len() != c.held {
			t.Fatalf("%+v: %d to fit, %d held out, %v", c, fit.Len(), held.Len(), err)
		}
		seen := map[float32]bool{}
		for _, s := range []data.Dataset[data.Sample]{fit, held} {
			for i := range s.Len() {
				v, err := s.At(i, nil)
				if err != nil {
					t.Fatal(err)
				}
				seen[v.X[0].Float32s()[0]] = true
			}
		}
		if len(seen) != c.fit+c.held {
			t.Errorf("%+v: %d samples", c, len(seen))
		}
	}
}
