package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
)

// Policy is how much of a model is trained.
type Policy string

// The policies.
const (
	Auto        Policy = ""             // head first, then all layers where that does not make it worse
	HeadOnly    Policy = "head-only"    // the classifier alone
	Full        Policy = "full"         // head first, then all layers, whatever comes of it
	FromScratch Policy = "from-scratch" // all layers alike, from the weights as they are: for models without training
)

// FineTuner chooses how to train a model for a task, and does it. The zero value is a policy for any task.
//
// Head first: the features that the layers before the classifier compute are computed once, and the classifier
// is fitted to them, by logistic regression with a cross-validated decay where it is linear in their means. Then all layers:
// AdamW with a base rate that a short run of RateFinder suggests, the first layer's a tenth of the last's, weight decay
// on matrices and kernels alone, one cycle with warm-up, label smoothing, and an average of the weights that is what is
// judged. Running statistics stay as they are while there are few samples. Models that are cheap to run try several rates for
// half of the time first, one that was never trained from its own weights, too. The second part is undone where the validation is
// worse by it; where few samples validate, unless their losses fell by more than their standard error.
type FineTuner struct {
	Policy Policy
	Head   *nn.Head // a new classifier; nil: the model keeps its own
	// Config's settings hold where they are set; the policy fills in the others: Rule, Schedule, Epochs, Batch, EMA, Groups, Loss.
	Config Config
}

// Outcome is what a FineTuner did.
type Outcome struct {
	Policy  string             `json:"policy"`   // what was chosen, in words
	Head    map[string]float64 `json:"head"`     // the validation's figures after the first part; nil without one
	Val     map[string]float64 `json:"val"`      // of the model as it is now
	Folds   float64            `json:"folds"`    // accuracy of the fitted classifier on samples of the training set that were held out; 0 without one
	AllKept bool               `json:"all_kept"` // the second part is in the model
	History History            `json:"-"`        // of the second part
}

// FineTune trains g as FineTuner's zero value does.
func FineTune(ctx context.Context, g *nn.Graph, fit, val data.Set[data.Sample]) (Outcome, error) {
	return FineTuner{}.FineTune(ctx, g, fit, val)
}

// tuning is a run of a FineTuner.
type tuning struct {
	FineTuner
	g        *nn.Graph
	fit, val data.Set[data.Sample]
	cut      trunk
	seen     *features // that the classifier was fitted to; nil: it was not
	views    int       // of each sample in seen
	began    snapshot  // the model's own weights, where the classifier that was fitted took the place of its own; nil elsewhere
	plan     recipe
	say      func(string)
	out      Outcome
}

// FineTune trains g on fit and judges by val, which may be nil. Samples of fit that are asked for without chance (a nil r)
// must come without augmentation.
func (f FineTuner) FineTune(ctx context.Context, g *nn.Graph, fit, val data.Set[data.Sample]) (Outcome, error) {
	switch {
	case g == nil:
		return Outcome{}, errors.New("train: there is no graph")
	case fit == nil || fit.Len() == 0:
		return Outcome{}, errors.New("train: there are no samples to train on")
	case f.Policy != Auto && f.Policy != HeadOnly && f.Policy != Full && f.Policy != FromScratch:
		return Outcome{}, fmt.Errorf("train: the policy is %q: want %s, %s, %s or none", f.Policy, HeadOnly, Full, FromScratch)
	}
	if val != nil && val.Len() == 0 {
		val = nil
	}
	t := &tuning{FineTuner: f, g: g, fit: fit, val: val}
	t.say = func(text string) {
		if log := f.Config.Log; log != nil {
			log(Event{Kind: Note, Text: text})
		} else {
			(&console{}).event(Event{Kind: Note, Text: text})
		}
		if see := f.Config.Observe; see != nil {
			see(Event{Kind: Note, Text: text})
		}
	}
	if f.Head != nil {
		if err := g.Edit(func(e *nn.Edit) { e.Head(*f.Head) }); err != nil {
			return t.out, err
		}
	}
	err := t.run(ctx)
	return t.out, err
}

func (t *tuning) run(ctx context.Context) error {
	resumed, err := t.resumed()
	if err != nil {
		return err
	}
	if !resumed {
		if err := t.headFirst(ctx); err != nil {
			return err
		}
		if t.Policy == HeadOnly {
			return t.onlyHead(ctx)
		}
		if err := t.choose(ctx); err != nil {
			return err
		}
		if err := t.keepPlan(); err != nil {
			return err
		}
	}
	return t.allLayers(ctx)
}

// headFirst fits the classifier to the features of the layers before it, where there is one for single classes.
func (t *tuning) headFirst(ctx context.Context) error {
	var err error
	kept := t.Head == nil
	if kept {
		if t.out.Head, err = t.judge(ctx); err != nil {
			return err
		}
	}
	if t.Policy == FromScratch || classesOf(t.g) == 0 || !t.singleClasses() {
		if t.Policy == HeadOnly {
			return errors.New("train: head-only is for classifiers and a class for each sample: freeze what is not to be trained instead")
		}
		return nil
	}
	cut, err := divide(t.g)
	if err != nil {
		if t.Head != nil || t.Policy == HeadOnly {
			return err
		}
		return nil // a model of its own kind: no classifier that could be fitted apart
	}
	before := snap(t.g)
	views := max(1, min(4, 1200/t.fit.Len()))
	seen, err := cut.look(ctx, t.fit, views, t.Config.Seed, true)
	if err != nil {
		return err
	}
	if err := checkClasses(seen.class, classesOf(t.g)); err != nil {
		return err
	}
	if t.out.Folds, err = cut.fitHead(ctx, t.g, seen, views, t.Config.Seed, t.loss()); err != nil {
		return err
	}
	after, err := t.judge(ctx)
	if err != nil {
		return err
	}
	if kept && !better(after, t.out.Head, t.valSize()) {
		before.restore()
		t.say(fmt.Sprintf("head: the model's own classifier is as good as a new one%s", figures(t.out.Head)))
		return nil
	}
	text := ""
	if t.out.Folds >= 0 {
		text = fmt.Sprintf(", accuracy %.3f on held-out folds", t.out.Folds)
	}
	t.say(fmt.Sprintf("head: fitted to the features of %d samples%s%s", t.fit.Len(), text, figures(after)))
	t.out.Head, t.cut, t.seen, t.views = after, cut, seen, views
	if kept {
		t.began = before
	}
	return nil
}

// checkClasses refuses classes that the model has no score for.
func checkClasses(class []int, n int) error {
	for i, c := range class {
		if c < 0 || c >= n {
			return fmt.Errorf("train: sample %d is of class %d, the model has scores for %d classes", i, c, n)
		}
	}
	return nil
}

// singleClasses reports whether the first sample has one class as its target.
func (t *tuning) singleClasses() bool {
	s, err := t.fit.At(0, nil)
	if err != nil || len(s.Y) != 1 || s.Y[0].Dims() != 0 {
		return false
	}
	return eachLabel(s.Y[0], func(_, _ int) error { return nil }) == nil
}

// onlyHead ends a run that trains nothing else.
func (t *tuning) onlyHead(context.Context) error {
	t.out.Policy, t.out.Val = "the classifier alone, on features that were computed once", t.out.Head
	return nil
}

// allLayers trains by the plan and takes the result back where it is worse than what it began with.
func (t *tuning) allLayers(ctx context.Context) error {
	t.out.Policy = t.plan.String()
	c := t.plan.config(t.g, t.Config)
	defer t.plan.hold(t.g)()
	before := snap(t.g)
	if floor, err := t.floor(); err != nil {
		return err
	} else if floor != nil {
		before = floor
	}
	now := snap(t.g)
	before.restore()
	surprise, err := t.surprise(ctx)
	if err != nil {
		return err
	}
	now.restore()
	if t.plan.Anew {
		t.began.restore()
	}
	trainer, err := New(t.g, c)
	if err != nil {
		return err
	}
	if t.out.History, err = trainer.Fit(ctx, t.fit, t.val); err != nil {
		return err
	}
	if t.out.Val, err = t.judge(ctx); err != nil {
		return err
	}
	t.out.AllKept = true
	if t.val == nil || t.Policy == Full || t.Policy == FromScratch || t.out.Head == nil {
		return nil
	}
	if ok, err := t.gained(ctx, surprise); ok || err != nil {
		return err
	}
	before.restore()
	t.say(fmt.Sprintf("all layers: no better%s: the model keeps what it had%s", figures(t.out.Val), figures(t.out.Head)))
	t.out.Val, t.out.AllKept = t.out.Head, false
	return nil
}

// loss is the configuration's, or without one what the targets call for.
func (t *tuning) loss() Loss { return t.Config.Loss }

func (t *tuning) valSize() int {
	if t.val == nil {
		return 0
	}
	return t.val.Len()
}

// judge evaluates the model; nil without validation.
func (t *tuning) judge(ctx context.Context) (map[string]float64, error) {
	if t.val == nil {
		return nil, nil
	}
	return t.judgeBy(ctx, t.val)
}

func (t *tuning) judgeBy(ctx context.Context, s data.Set[data.Sample]) (map[string]float64, error) {
	c := Config{Loss: t.loss(), Metrics: t.Config.Metrics, Batch: t.Config.Batch, Seed: t.Config.Seed, Workers: t.Config.Workers, Log: Quiet}
	judge, err := New(t.g, c)
	if err != nil {
		return nil, err
	}
	return judge.Evaluate(ctx, s)
}

// fewJudges is the number of samples below which a validation's accuracy is taken with care.
const fewJudges = 100

// better compares figures of n samples. More right answers are better, and as many with a smaller loss; where a few samples
// judge, the loss must not contradict. Without accuracies the loss decides.
func better(a, b map[string]float64, n int) bool {
	x, ok := a["accuracy"]
	y, both := b["accuracy"]
	switch {
	case !finite(a["loss"]):
		return false
	case !ok || !both || x == y:
		return a["loss"] < b["loss"]
	case n < fewJudges && a["loss"] > b["loss"]:
		return false
	}
	return x > y
}

// figures are the figures of a validation, for a sentence.
func figures(m map[string]float64) string {
	if m == nil {
		return ""
	}
	s := strings.TrimPrefix(Epoch{Val: m}.String(), "epoch 0: loss 0")
	return strings.TrimSuffix(s, ", 0 s")
}

// rates that a pretrained model's layers are trained at, for AdamW
const (
	gentlest, gentle = 1e-4, 5e-4
	boldest          = 1e-2
	peak             = 3 // times the rate finder's suggestion, which is for a constant rate: a cycle is there only for a while
)

// work bounds the second part: multiply-adds of its forward and backward passes, and updates.
const (
	work    = 1.6e12
	updates = 1500
)

// choose makes the plan for all layers.
func (t *tuning) choose(ctx context.Context) error {
	n := t.fit.Len()
	p := recipe{Batch: t.Config.Batch, Epochs: t.Config.Epochs, EMA: t.Config.EMA, Spread: 0.1, Decay: 0.05}
	if p.Batch == 0 {
		p.Batch = 16
		for p.Batch < 64 && n/p.Batch > 60 {
			p.Batch *= 2
		}
	}
	perEpoch := (n + p.Batch - 1) / p.Batch
	cost := 3 * float64(t.g.Summary().Total.MACs) * float64(n)
	if p.Epochs == 0 {
		p.Epochs = min(100, max(8, updates/perEpoch))
		if most := int(work / max(cost, 1)); p.Epochs > most {
			p.Epochs = max(3, most)
		}
	}
	p.Smoothing, p.HoldStatistics = t.smoothing(), n < 2000
	if p.EMA == 0 {
		p.EMA = min(0.9998, max(0.8, 1-10/float64(p.Epochs*perEpoch)))
	}
	if t.Policy == FromScratch {
		p.Spread, p.HoldStatistics = 1, false
	}
	p.Head = t.out.Head
	if t.valSize() >= 50 {
		p.Patience = max(4, p.Epochs/3)
	}
	t.plan = p
	found, err := t.rate(ctx, cost/float64(n))
	if err != nil {
		return err
	}
	return t.race(ctx, found, cost)
}

// rate is the RateFinder's suggestion for the plan, found with some percents of the work.
func (t *tuning) rate(ctx context.Context, perSample float64) (float64, error) {
	steps := min(60, max(20, int(work/8/max(1, perSample*float64(t.plan.Batch)))))
	c := t.plan.config(t.g, t.Config)
	defer t.plan.hold(t.g)()
	found, err := RateFinder{Min: 1e-6, Max: 0.3, Steps: steps, Config: c}.FindRate(ctx, t.g, t.fit)
	return found.Suggestion, err
}

// race lets plans of different boldness begin, where that is cheap, and keeps the one that validates best. Where few samples
// validate, a part of those to train on is held out besides.
func (t *tuning) race(ctx context.Context, found, epoch float64) error {
	bold, mild := t.plan, t.plan
	bold.Rate, bold.Spread = min(boldest, max(found, 1e-4)), 1
	bold.HoldStatistics = false
	mild.Rate = min(gentle, max(gentlest, peak*found))
	t.plan = mild
	if t.Policy == FromScratch {
		t.plan = bold
	}
	total := epoch * float64(t.plan.Epochs)
	if t.val == nil || t.Policy == FromScratch || total > work/4 {
		t.say("all layers: " + t.plan.String())
		return nil
	}
	plans := []recipe{mild}
	for _, rate := range []float64{3e-4, 1e-3, 3e-3} {
		bold.Rate = rate
		plans = append(plans, bold)
	}
	if bold.Anew = t.began != nil; bold.Anew {
		// What was never trained learns better features without a classifier that makes the most of those it has.
		plans[1].Anew = true
		plans = append(plans, bold)
		plans[1].Rate = 1e-3
	}
	whole := snap(t.g)
	defer whole.restore()
	fit, held, err := t.raceSets(ctx)
	if err != nil {
		return err
	}
	start := snap(t.g)
	alone, err := t.judgeBy(ctx, held)
	if err != nil {
		return err
	}
	var best map[string]float64
	for _, p := range plans {
		if p.Anew {
			t.began.restore()
		}
		short := p
		short.Epochs, short.Patience = max(2, p.Epochs/2), 0
		short.EMA = max(0.5, 1-2*(1-p.EMA)) // it forgets twice as fast, in half of the time
		c := short.config(t.g, t.Config)
		c.Dir, c.Resume, c.Keep, c.Log, c.Observe, c.RestoreBest, c.Patience = "", false, 0, Quiet, nil, false, 0
		release := short.hold(t.g)
		_, err := Fit(ctx, t.g, c, fit, nil)
		var got map[string]float64
		if err == nil {
			got, err = t.judgeBy(ctx, held)
		}
		release()
		start.restore()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && (best == nil || got["loss"] < best["loss"]) {
			best, t.plan = got, p
			t.plan.Raced = better(got, alone, held.Len())
		}
	}
	t.say(fmt.Sprintf("all layers: %s, the best of %d in half of the epochs", t.plan, len(plans)))
	return nil
}

// raceSets are what plans are compared on: the validation, and where that is small a part of the training set. A classifier that
// was fitted to that part is fitted anew without it.
func (t *tuning) raceSets(ctx context.Context) (fit, held data.Set[data.Sample], err error) {
	if t.valSize() >= fewJudges {
		return t.fit, t.val, nil
	}
	order := data.Order(t.fit.Len(), t.Config.Seed, 0)
	out, in := order[:len(order)*3/10], order[len(order)*3/10:]
	fit = data.Subset(t.fit, in)
	held = data.Concat(data.Set[data.Sample](plain{data.Subset(t.fit, out)}), t.val)
	if t.seen != nil && len(in) > 0 {
		_, err = t.cut.fitHead(ctx, t.g, t.seen.of(in, t.views), t.views, t.Config.Seed, t.loss())
	}
	return fit, held, err
}

// smoothing is the share of label smoothing, where the loss is to be chosen and the targets are classes.
func (t *tuning) smoothing() float64 {
	if t.Config.Loss != nil || classesOf(t.g) == 0 || !t.singleClasses() {
		return 0
	}
	return 0.1
}

// recipe is a plan for all layers.
type recipe struct {
	Rate           float64            `json:"rate"`   // of the layers nearest to the output
	Spread         float64            `json:"spread"` // the first layer's rate as a share of that
	Decay          float64            `json:"weight_decay"`
	Epochs         int                `json:"epochs"`
	Batch          int                `json:"batch"`
	EMA            float64            `json:"ema"`
	Smoothing      float64            `json:"label_smoothing"`
	Patience       int                `json:"patience"`
	HoldStatistics bool               `json:"hold_statistics"` // running statistics stay as they are
	Anew           bool               `json:"anew,omitempty"`  // begins with the weights before the classifier was fitted
	Raced          bool               `json:"raced,omitempty"` // was better than the classifier alone on samples held out
	Head           map[string]float64 `json:"head,omitempty"`  // figures of the validation before
}

// String is one line.
func (p recipe) String() string {
	s := fmt.Sprintf("AdamW at %.2g", p.Rate)
	if p.Spread != 1 {
		s += fmt.Sprintf(", falling to %.2g at the first layer", p.Rate*p.Spread)
	}
	s += fmt.Sprintf(", one cycle of %d epochs with batches of %d, weight decay %g but on biases and scales, average of the weights %.4g", p.Epochs, p.Batch, p.Decay, p.EMA)
	if p.Smoothing > 0 {
		s += fmt.Sprintf(", label smoothing %g", p.Smoothing)
	}
	if p.HoldStatistics {
		s += ", running statistics held"
	}
	if p.Anew {
		s += ", from the weights before the classifier was fitted"
	}
	return s
}

// config is the plan as a configuration; what c sets stays.
func (p recipe) config(g *nn.Graph, c Config) Config {
	if c.Loss == nil && p.Smoothing > 0 {
		c.Loss = CrossEntropy{LabelSmoothing: p.Smoothing}
	}
	if c.Rule == nil {
		c.Rule = optim.AdamW{LR: p.Rate, WeightDecay: p.Decay}
	}
	if c.Schedule == nil {
		c.Schedule = optim.OneCycle{Up: 0.25, Div: 10, FinalDiv: 50}
	}
	if c.Groups == nil {
		c.Groups = p.groups(g)
	}
	if c.ClipNorm == 0 {
		c.ClipNorm = 5
	}
	if c.Patience == 0 {
		c.Patience = p.Patience
	}
	c.Epochs, c.Batch, c.EMA, c.RestoreBest = p.Epochs, p.Batch, p.EMA, p.Patience > 0
	return c
}

// groups gives each trainable parameter its rate by depth, and spares biases and scales the weight decay.
func (p recipe) groups(g *nn.Graph) []Group {
	var list []*nn.Param
	for x := range g.Params() {
		if x.Trainable() {
			list = append(list, x)
		}
	}
	depth := depths(g)
	var groups []Group
	for _, x := range list {
		r := Group{Params: []*nn.Param{x}, Rate: math.Pow(p.Spread, 1-depth[x])}
		if x.Value().Type().Rank() <= 1 {
			r.WeightDecay = optim.Off
		}
		groups = append(groups, r)
	}
	return groups
}

// depths are where parameters are read first, from 0 at the inputs to 1 at the last one with parameters.
func depths(g *nn.Graph) map[*nn.Param]float64 {
	place := map[*nn.Param]float64{}
	at := 0.0
	for n := range g.Nodes() {
		reads := false
		for _, v := range n.Inputs() {
			p := v.Param()
			if p == nil || p.Role() != nn.Weight {
				continue
			}
			if _, seen := place[p]; !seen {
				place[p], reads = at, true
			}
		}
		if reads {
			at++
		}
	}
	for p := range place {
		place[p] /= max(1, at-1)
	}
	return place
}

// hold freezes running statistics where the plan says so; what it returns thaws them.
func (p recipe) hold(g *nn.Graph) func() {
	var held []*nn.Param
	if p.HoldStatistics {
		for x := range g.Params() {
			if x.Role() == nn.Statistic && !x.Frozen() {
				held = append(held, x)
			}
		}
	}
	freeze := func(frozen bool) {
		_ = g.Edit(func(e *nn.Edit) { // it could only be refused inside of another edit
			for _, x := range held {
				e.SetFrozen(x, frozen)
			}
		})
	}
	freeze(true)
	return func() { freeze(false) }
}
