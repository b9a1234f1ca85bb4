package train

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// The plan for all layers by the number of samples, the work of an epoch and the samples to validate on.
func TestDraft(t *testing.T) {
	for _, c := range []struct {
		n          int
		cost       float64
		validation int
		policy     Policy
		set        Config
		want       recipe
	}{
		{n: 5, want: recipe{Batch: 16, Epochs: 100, EMA: 0.9}},
		{n: 1, set: Config{Epochs: 2}, want: recipe{Batch: 16, Epochs: 2, EMA: 0.8}},
		{n: 100, want: recipe{Batch: 16, Epochs: 100, EMA: 1 - 10./700}},
		{n: 112, want: recipe{Batch: 16, Epochs: 100, EMA: 1 - 10./700}},
		{n: 113, want: recipe{Batch: 16, Epochs: 100, EMA: 1 - 10./800}},
		{n: 975, want: recipe{Batch: 16, Epochs: 24, EMA: 1 - 10./(24*61)}},
		{n: 976, want: recipe{Batch: 32, Epochs: 48, EMA: 1 - 10./(48*31)}},
		{n: 1951, want: recipe{Batch: 32, Epochs: 24, EMA: 1 - 10./(24*61)}},
		{n: 1999, want: recipe{Batch: 64, Epochs: 46, EMA: 1 - 10./(46*32)}},
		{n: 2000, want: recipe{Batch: 64, Epochs: 46, EMA: 1 - 10./(46*32)}},
		{n: 100_000, want: recipe{Batch: 64, Epochs: 8, EMA: 1 - 10./(8*1563)}},
		{n: 10_000_000, want: recipe{Batch: 64, Epochs: 8, EMA: 0.9998}},
		{n: 100, cost: 2e11, want: recipe{Batch: 16, Epochs: 10, EMA: 1 - 10./(10*7)}},
		{n: 100, cost: 2e11, policy: FromScratch, want: recipe{Batch: 16, Epochs: 15, EMA: 1 - 10./(15*7)}},
		{n: 100, cost: 1e12, want: recipe{Batch: 16, Epochs: 3, EMA: 0.8}},
		{n: 100, cost: 4e12, want: recipe{Batch: 16, Epochs: 3, EMA: 0.8}},
		{n: 100, cost: 4e12, set: Config{Batch: 10, Epochs: 7, EMA: 0.5}, want: recipe{Batch: 10, Epochs: 7, EMA: 0.5}},
		{n: 100, validation: 49, want: recipe{Batch: 16, Epochs: 100, EMA: 1 - 10./700}},
		{n: 100, validation: 50, want: recipe{Batch: 16, Epochs: 100, EMA: 1 - 10./700, Patience: 33}},
		{n: 100, validation: 50, set: Config{Epochs: 9}, want: recipe{Batch: 16, Epochs: 9, EMA: 1 - 10./63, Patience: 4}},
		{n: 100, policy: FromScratch, want: recipe{Batch: 16, Epochs: 100, EMA: 1 - 10./700}},
	} {
		tune := &tuning{FineTuner: FineTuner{Policy: c.policy, Config: c.set}}
		if c.validation > 0 {
			tune.val = data.Subset(data.Of(data.Sample{}), make([]int, c.validation))
		}
		got, want := tune.draft(c.n, c.cost), c.want
		want.Spread, want.Decay, want.HoldStatistics = 0.1, 0.05, c.n < 2000
		if c.policy == FromScratch {
			want.Spread, want.HoldStatistics = 1, false
		}
		ema := got.EMA
		got.EMA, want.EMA = 0, 0
		if got.String() != want.String() || got.Patience != want.Patience || got.BetterThanHead || got.Head != nil || math.Abs(ema-c.want.EMA) > 1e-12 {
			t.Errorf("%+v: %s, average %v, patience %d", c, got, ema, got.Patience)
		}
	}
	tune := &tuning{unmirrored: true, out: Outcome{Head: map[string]float64{"accuracy": 0.5}}, ranks: &ranks{size: 70}}
	if p := tune.draft(100, 0); !p.Unmirrored || p.Head["accuracy"] != 0.5 || p.Batch != 70 {
		t.Errorf("%+v", p)
	}
}
