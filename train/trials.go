package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Learning rates of AdamW for the layers of pretrained models.
const (
	minRate, maxFoundRate = 1e-4, 5e-4
	highRate              = 2e-3
	maxUniformRate        = 1e-2
	peak                  = 3 // factor on the rate finder's suggestion for a constant rate; a one-cycle schedule is at its peak only briefly
)

// work and updates limit the training of all layers, in multiply-adds of forward and backward passes and in updates; anew replaces work
// for models that were never trained. Training that takes less than cheap can be repeated several times.
const (
	work    = 2e12
	anew    = 3e12
	cheap   = 4e11
	updates = 1500
)

// choose chooses the plan for all layers.
func (t *tuning) choose(ctx context.Context) error {
	n := t.fit.Len()
	macs, err := t.macs(ctx)
	if err != nil {
		return err
	}
	cost := 3 * float64(macs) * float64(n)
	t.plan = t.draft(n, cost)
	t.plan.Smoothing = t.smoothing()
	found, err := t.rate(ctx, cost/float64(n))
	if err != nil {
		return err
	}
	return t.comparePlans(ctx, found, cost)
}

// macs returns the multiply-adds of a forward pass for one sample, at the sizes that the data have where the model leaves them open.
func (t *tuning) macs(ctx context.Context) (int64, error) {
	s, err := t.fit.At(0, nil)
	if err == nil {
		s, err = data.Collate([]data.Sample{s})
	}
	if err != nil {
		return 0, err
	}
	in := nn.Feed{}
	for i, v := range t.g.Inputs() {
		if i < len(s.X) {
			in[v.Name()] = s.X[i]
		}
	}
	table, err := t.g.SummaryUntil(ctx, in)
	if err != nil {
		return 0, err
	}
	return table.Total.MACs, nil
}

// draft returns a plan without a rate, for n samples and the multiply-adds of an epoch.
func (t *tuning) draft(n int, cost float64) recipe {
	p := recipe{Batch: t.Config.Batch, Epochs: t.Config.Epochs, EMA: t.Config.EMA, Spread: 0.1, Decay: 0.05}
	if p.Batch == 0 {
		p.Batch = 16
		for p.Batch < 64 && n/p.Batch > 60 {
			p.Batch *= 2
		}
		if t.ranks != nil {
			p.Batch = max(p.Batch, t.ranks.size)
		}
	}
	perEpoch := (n + p.Batch - 1) / p.Batch
	if p.Epochs == 0 {
		p.Epochs = min(100, max(8, updates/perEpoch))
		limit := work
		if t.Policy == FromScratch {
			limit = anew
		}
		if most := int(limit / max(cost, 1)); p.Epochs > most {
			p.Epochs = max(3, most)
		}
	}
	p.HoldStatistics = n < 2000
	if p.EMA == 0 {
		p.EMA = min(0.9998, max(0.8, 1-10/float64(p.Epochs*perEpoch)))
	}
	if t.Policy == FromScratch {
		p.Spread, p.HoldStatistics = 1, false
	}
	p.Head, p.Unmirrored = t.out.Head, t.unmirrored
	if t.valSize() >= 50 {
		p.Patience = max(4, p.Epochs/3)
	}
	return p
}

// rate returns the RateFinder's suggestion for the plan, with a few percent of the work.
func (t *tuning) rate(ctx context.Context, perSample float64) (float64, error) {
	steps := min(60, max(20, int(work/8/max(1, perSample*float64(t.plan.Batch)))))
	c := t.plan.config(t.g, t.Config)
	defer t.plan.hold(t.g, t.fit.Len())()
	found, err := RateFinder{Min: 1e-6, Max: 0.3, Steps: steps, Config: c}.FindRate(ctx, t.g, t.fit)
	return found.Suggestion, cmp.Or(err, ctx.Err())
}

// comparePlans compares plans on held-out samples, each for half of its epochs, and keeps the best: plans with different rates if training is
// cheap, otherwise the plan for pretrained models, with a high rate and, unless that is better than the classifier alone, with the rate that
// was found; for FromScratch the rate that was found and lower ones.
func (t *tuning) comparePlans(ctx context.Context, found, epoch float64) error {
	uniform, discriminative := t.plan, t.plan
	uniform.Rate, uniform.Spread = min(maxUniformRate, max(found, 1e-4)), 1
	uniform.HoldStatistics = false
	discriminative.Rate = min(maxFoundRate, max(minRate, peak*found))
	t.plan = discriminative
	if t.Policy == FromScratch {
		t.plan = uniform
	}
	t.isCheap = epoch*float64(t.plan.Epochs) <= cheap
	alone := t.val == nil && t.seen == nil // the classifier was not fitted: nothing to compare with
	scratch := t.Policy == FromScratch
	if alone && !scratch || scratch && (t.fit.Len() < 10 || len(slower(uniform)) < 2) {
		t.say("all layers: " + t.plan.String())
		return nil
	}
	plans := []recipe{discriminative, discriminative}
	plans[0].Rate = highRate
	if scratch {
		plans = slower(uniform)
	} else if t.isCheap {
		plans = t.alternatives(discriminative, uniform)
	}
	if err := t.tryPlans(ctx, plans); err != nil {
		return err
	}
	if t.Policy == Auto && !t.plan.BetterThanHead && (!t.isCheap || t.val == nil) {
		t.headIsBest = true
		t.say("all layers: no better than the classifier alone on samples that were held out")
		return nil
	}
	won := fmt.Sprintf("the best of %d", t.tried)
	if t.tried < len(plans) {
		won = "better than the classifier alone"
	}
	t.say(fmt.Sprintf("all layers: %s, %s in half of the epochs", t.plan, won))
	return nil
}

// slower returns plans with the rate of p, a third and a tenth of it, down to minRate: where the loss is flat in the few steps of a
// range test, the rate that it suggests can be far too high.
func slower(p recipe) []recipe {
	plans := []recipe{p}
	for _, divisor := range []float64{3, 10} {
		q := p
		if q.Rate /= divisor; q.Rate >= minRate {
			plans = append(plans, q)
		}
	}
	return plans
}

// alternatives returns the plans for a model that is cheap to train.
func (t *tuning) alternatives(discriminative, uniform recipe) []recipe {
	plans := []recipe{discriminative}
	for _, rate := range []float64{3e-4, 1e-3, 3e-3} {
		uniform.Rate = rate
		plans = append(plans, uniform)
	}
	if uniform.Anew = t.began != nil; uniform.Anew {
		// A model that was never trained learns better features without a classifier that was fitted to its initial ones.
		plans[1].Anew = true
		plans = append(plans, uniform)
		plans[1].Rate = 1e-3
	}
	return plans
}

// trial is the result of a plan in half of its epochs: the loss on held-out samples.
type trial struct {
	plan recipe
	loss float64
}

// leastLoss returns the plan with the lowest loss. If plans with the same rates were tried from both starts, the original weights and the fitted
// classifier, the mean losses of these decide about the start: with few held-out samples the lowest loss of all can be luck.
func leastLoss(trials []trial) (best recipe, ok bool) {
	var original, fitted float64
	for _, a := range trials {
		for _, b := range trials {
			if a.plan.Anew && !b.plan.Anew && a.plan.Spread == b.plan.Spread && a.plan.Rate == b.plan.Rate {
				original += a.loss
				fitted += b.loss
			}
		}
	}
	least := math.Inf(1)
	for _, r := range trials {
		outdone := r.plan.Spread == 1 && (r.plan.Anew && original > fitted || !r.plan.Anew && fitted > original)
		if !outdone && r.loss < least {
			best, least = r.plan, r.loss
		}
	}
	return best, least < math.Inf(1)
}

// tryPlans trains with each plan for half of its epochs, and chooses one by its loss on the held-out samples, which is calibrated if it is the
// default. Plans for pretrained models that are expensive to train are tried only until one is better than the classifier alone.
func (t *tuning) tryPlans(ctx context.Context, plans []recipe) error {
	whole, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return err
	}
	defer whole.Restore()
	fit, held, err := t.trialSets(ctx)
	if err != nil {
		return err
	}
	start, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return err
	}
	alone, err := t.evaluateCalibrated(ctx, held)
	if err != nil {
		return err
	}
	var trials []trial
	for t.tried = 0; t.tried < len(plans); {
		p := plans[t.tried]
		t.tried++
		if p.Anew {
			t.began.Restore()
		}
		short := p
		short.Epochs, short.Patience = max(2, p.Epochs/2), 0
		short.EMA = max(0.5, 1-2*(1-p.EMA)) // decays twice as fast, for half of the time
		c := short.config(t.g, t.Config)
		c.Dir, c.Resume, c.Keep, c.Log, c.Observe, c.RestoreBest, c.Patience = "", false, 0, Quiet, nil, false, 0
		release := short.hold(t.g, fit.Len())
		_, err := Fit(ctx, t.g, c, fit, nil)
		var got evaluation
		if err == nil {
			p.Interpolation, got, err = t.interpolate(ctx, start, held, p)
		}
		release()
		start.Restore()
		if err := t.ranks.agree(ctx.Err()); err != nil {
			return err
		}
		if err == nil && finite(got.figures["loss"]) {
			p.BetterThanHead = got.better(alone)
			trials = append(trials, trial{p, got.figures["loss"]})
		}
		if best, ok := leastLoss(trials); ok {
			t.plan = best
		}
		if t.Policy == FromScratch {
			continue
		}
		if next, ok := higherRate(t.plan, plans); ok && t.isCheap && t.tried == len(plans) {
			plans = append(plans, next)
		}
		if p.BetterThanHead && !t.isCheap {
			break
		}
	}
	return nil
}

// higherRate returns the plan with three times the rate if the best of several plans has the highest rate: an untrained model may need a
// much higher one.
func higherRate(best recipe, plans []recipe) (recipe, bool) {
	for _, p := range plans {
		if len(plans) < 2 || p.Rate > best.Rate {
			return best, false
		}
	}
	best.Rate, best.BetterThanHead = best.Rate*10/3, false
	return best, best.Rate < 0.05
}

// trialSamples limits the number of samples on which expensive plans are trained and evaluated for the comparison.
const trialSamples = 500

// trialSets returns the sets for comparing plans: the validation set, together with a part of the training set if the validation set is
// small or the plans are expensive, or that part alone if its targets have another form, as those of mixed samples have. A classifier that
// was fitted to that part is fitted again without it.
func (t *tuning) trialSets(ctx context.Context) (fit, held data.Dataset[data.Sample], err error) {
	if t.isCheap && t.valSize() >= enoughValidation {
		return t.fit, t.val, nil
	}
	order := data.Order(t.fit.Len(), t.Config.Seed, 0)
	out, in := order[:len(order)*3/10], order[len(order)*3/10:]
	validation := data.Order(t.valSize(), t.Config.Seed, 0)
	if !t.isCheap {
		out, in = out[:min(len(out), trialSamples)], in[:min(len(in), trialSamples)]
		validation = validation[:min(len(validation), trialSamples-len(out))]
	}
	fit = data.Subset(t.fit, in)
	held = plain{data.Subset(t.fit, out)}
	if t.val != nil {
		same, err := sameTargets(t.fit, t.val)
		if err = t.ranks.agree(err); err != nil {
			return nil, nil, err
		}
		if same {
			held = data.Concat(held, data.Subset(t.val, validation))
		}
	}
	if t.seen != nil {
		_, err = t.cut.fitHead(ctx, t.g, t.seen.of(in, t.views), t.views, t.Config.Seed, t.loss())
		err = t.ranks.agree(err)
	}
	return fit, held, err
}

// sameTargets reports whether the targets of the first samples of both sets have the same element types and ranks, so that a batch may hold both.
func sameTargets(a, b data.Dataset[data.Sample]) (bool, error) {
	x, err := a.At(0, nil)
	if err != nil {
		return false, err
	}
	y, err := b.At(0, nil)
	if err != nil {
		return false, err
	}
	return slices.EqualFunc(x.Y, y.Y, func(u, v *tensor.Dense) bool {
		return u.Dtype() == v.Dtype() && u.Dims() == v.Dims()
	}), nil
}
