package train

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
)

// Policy is how much of a model a FineTuner trains.
type Policy string

// The policies.
const (
	Auto        Policy = ""             // the classifier first, then all layers, unless that validates worse
	HeadOnly    Policy = "head-only"    // only the classifier
	Full        Policy = "full"         // the classifier first, then all layers, in any case
	FromScratch Policy = "from-scratch" // all layers at one rate, from the current weights: for models that were never trained
)

// FineTuner chooses how to train a model for a task, and trains it. The zero value is an automatic policy for any task.
//
// First the classifier: the features that the frozen layers before it compute are computed once, and the classifier is
// fitted to them; if it is linear in their means, by logistic regression with a cross-validated weight decay. Then all
// layers: AdamW with a base rate that a short run of RateFinder suggests, a tenth of it in the first layer, weight
// decay on matrices and kernels only, a one-cycle schedule with warm-up, label smoothing, and an average of the
// weights, which is what is evaluated. With few samples, running statistics are frozen, and half of the change of the
// weights is kept (interpolation between both models), or another fraction if the comparison below finds it clearly
// better.
//
// For samples with several targets the loss is that of Balance, which makes their losses comparable.
//
// Before that, rates are compared: the model is trained with each for half of the epochs, and the one with the lowest
// loss on held-out samples is chosen. For models that are cheap to train several rates are tried, and for a model that was
// never trained also a start from its own weights; for others 2e-3 and, unless that is better than the classifier alone, the
// suggested rate, on up to 500 samples of the training set, evaluated on other training samples and the validation set; for
// FromScratch the suggested rate, a third and a tenth of it. Expensive training continues only if its
// accuracy or loss there is better than that of the classifier alone by more than the standard error of paired samples.
// The second part is undone if, on few validation samples, its accuracy is lower by more than two standard errors, or if
// on many it is not better.
type FineTuner struct {
	Policy Policy   // which parts to train; zero: automatic
	Head   *nn.Head // a new classifier; nil: the model keeps its own
	// Refit fits the classifier once more, to the validation samples as well, if only the classifier was trained; for
	// validation samples that were split off from the training data. Outcome's metrics are from before that.
	Refit bool
	// New states that the model's classifier was never trained, so that the fitted one replaces it without a comparison.
	New bool
	// Config has settings that override the policy, which sets Rule, Schedule, Epochs, Batch, EMA, Groups and Loss if they are zero.
	Config Config
}

// Outcome is the result of a FineTuner.
type Outcome struct {
	Policy  string             `json:"policy"`   // description of what was chosen
	Head    map[string]float64 `json:"head"`     // validation metrics after the first part; nil without validation
	Val     map[string]float64 `json:"val"`      // validation metrics of the result
	Folds   float64            `json:"folds"`    // cross-validated accuracy of the fitted classifier on the training set; 0 without one
	AllKept bool               `json:"all_kept"` // the result of the second part was kept
	History History            `json:"-"`        // epochs of the second part
}

// FineTune trains g with the automatic policy: the zero value of FineTuner.
func FineTune(ctx context.Context, g *nn.Graph, fit, val data.Dataset[data.Sample]) (Outcome, error) {
	return FineTuner{}.FineTune(ctx, g, fit, val)
}

// tuning is a run of a FineTuner.
type tuning struct {
	FineTuner
	g        *nn.Graph
	fit, val data.Dataset[data.Sample]
	ranks    *ranks // all ranks compute the same results; they only agree that none has failed
	cut      trunk
	seen     *features        // features that the classifier was fitted to; nil: it was not fitted, or before the run was resumed
	views    int              // of each sample in seen; 0: the classifier was not fitted
	began    snapshot.Weights // the model's original weights if the fitted classifier replaced its own; otherwise nil
	plan     recipe
	say      func(string)
	out      Outcome

	isCheap    bool // several plans for all layers can be tried
	tried      int  // number of plans that were compared
	unmirrored bool // flips were removed from fit
	headIsBest bool // training all layers was not better on held-out samples
}

// FineTune trains g on fit and validates on val, which may be nil. Samples of fit that are read without randomness (a
// nil r) must not be augmented.
func (f FineTuner) FineTune(ctx context.Context, g *nn.Graph, fit, val data.Dataset[data.Sample]) (Outcome, error) {
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
	t.ranks = joined(f.Config.Communicator, t)
	t.say = func(text string) {
		if !t.ranks.first() {
			return
		}
		if log := f.Config.Log; log != nil {
			log(Event{Kind: Note, Text: text})
		} else {
			(&console{}).event(Event{Kind: Note, Text: text})
		}
		if see := f.Config.Observe; see != nil {
			see(Event{Kind: Note, Text: text})
		}
	}
	if err := g.EditUntil(ctx, func(e *nn.Edit) {
		e.Separate()
		if f.Head != nil {
			e.Head(*f.Head)
		}
	}); err != nil {
		return t.out, err
	}
	done := false
	defer t.ranks.guard(&done)
	release, err := t.ranks.occupy(f.Config.Dir)
	if err == nil {
		defer release()
		err = t.run(ctx)
	}
	done = true
	return t.out, err
}

func (t *tuning) run(ctx context.Context) error {
	if t.Config.Loss == nil {
		f := FineTuner{Config: Config{Seed: t.Config.Seed, Log: func(e Event) { t.say(e.Text) }}}
		loss, err := f.Balance(ctx, t.g, t.fit)
		if err := t.ranks.agree(err); err != nil {
			return err
		}
		t.Config.Loss = loss
	}
	resumed, err := t.resumed()
	if err != nil {
		return err
	}
	if without, ok := data.Unmirrored(t.fit); resumed && ok && t.plan.Unmirrored {
		t.fit = without
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
		if t.headIsBest {
			return t.onlyHead(ctx)
		}
		if err := t.keepPlan(); err != nil {
			return err
		}
	}
	return t.allLayers(ctx)
}

// headFirst fits the classifier to the features of the layers before it, if the model is a single-label classifier.
func (t *tuning) headFirst(ctx context.Context) error {
	var err error
	kept := t.Head == nil
	if kept {
		if t.out.Head, err = t.validate(ctx); err != nil {
			return err
		}
	}
	if t.Policy == FromScratch || classesOf(t.g) == 0 || !singleClasses(t.fit) {
		if t.Policy == HeadOnly {
			return errors.New("train: the policy head-only is for classifiers with one class for each sample: freeze parameters instead")
		}
		return nil
	}
	if t.val != nil {
		if s, err := t.val.At(0, nil); err == nil && !singleClass(s) {
			return errors.New("train: samples to train on have one class each, those for validation have not: mix classes (data.MixUp) of the samples to train on alone, or of both")
		}
	}
	cut, err := divide(ctx, t.g)
	if err != nil {
		if t.Head != nil || t.Policy == HeadOnly {
			return err
		}
		return nil // no classifier that can be fitted separately
	}
	before, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return err
	}
	views := max(1, min(4, 1200/t.fit.Len()))
	var seen *features
	alone := func() error {
		if seen, err = cut.look(ctx, t.fit, views, t.Config.Seed, true); err != nil {
			return err
		}
		if err := checkClasses(seen.class, classesOf(t.g)); err != nil {
			return err
		}
		if t.out.Folds, err = cut.fitHead(ctx, t.g, seen, views, t.Config.Seed, t.loss()); err != nil {
			return err
		}
		seen, err = t.tryUnmirrored(ctx, cut, seen, views)
		return err
	}
	if err := t.ranks.agree(alone()); err != nil {
		return err
	}
	after, err := t.validate(ctx)
	if err != nil {
		return err
	}
	if kept && !t.New && !better(after, t.out.Head, t.valSize()) {
		before.Restore()
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

// checkClasses returns an error for classes without a score in the model's output.
func checkClasses(class []int, n int) error {
	for i, c := range class {
		if c < 0 || c >= n {
			return fmt.Errorf("train: sample %d is of class %d, the model has scores for %d classes", i, c, n)
		}
	}
	return nil
}

// singleClasses reports whether the target of the first sample of a set is a single class.
func singleClasses(set data.Dataset[data.Sample]) bool {
	s, err := set.At(0, nil)
	return err == nil && singleClass(s)
}

func singleClass(s data.Sample) bool {
	return len(s.Y) == 1 && s.Y[0].Dims() == 0 && eachLabel(s.Y[0], func(_, _ int) error { return nil }) == nil
}

// onlyHead ends a run that trains only the classifier.
func (t *tuning) onlyHead(ctx context.Context) error {
	t.out.Policy, t.out.Val = "the classifier alone, on features that were computed once", t.out.Head
	return t.refit(ctx)
}

// refit fits the classifier to the training and validation samples if Refit is set.
func (t *tuning) refit(ctx context.Context) error {
	if !t.Refit || t.val == nil || t.views < 1 {
		return nil
	}
	n := 0
	alone := func() error {
		cut, err := divide(ctx, t.g) // the weights as they are now, in a resumed run as in another
		if err != nil {
			return err
		}
		if t.seen == nil {
			if t.seen, err = cut.look(ctx, t.fit, t.views, t.Config.Seed, true); err != nil {
				return err
			}
		}
		validation, err := cut.look(ctx, t.val, 1, t.Config.Seed, len(t.seen.rows) == len(t.seen.pooled))
		if err != nil {
			return err
		}
		if err := checkClasses(validation.class, classesOf(t.g)); err != nil {
			return err
		}
		all := t.seen.with(validation, t.views)
		n = len(all.class) / t.views
		_, err = cut.fitHead(ctx, t.g, all, t.views, t.Config.Seed, t.loss())
		return err
	}
	if err := t.ranks.agree(alone()); err != nil {
		return err
	}
	t.say(fmt.Sprintf("head: fitted once more, to all %d samples", n))
	return nil
}

// allLayers trains with the plan and restores the parameters if the result is worse than the start.
func (t *tuning) allLayers(ctx context.Context) error {
	t.out.Policy = t.plan.String()
	c := t.plan.config(t.g, t.Config)
	defer t.plan.hold(t.g, t.fit.Len())()
	if err := ctx.Err(); err != nil {
		return err
	}
	before, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return err
	}
	if floor, err := t.floor(); err != nil {
		return err
	} else if floor != nil {
		before = floor
	}
	now, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return err
	}
	before.Restore()
	alone, err := t.evaluate(ctx, t.val)
	if err != nil {
		return err
	}
	now.Restore()
	if t.plan.Anew {
		t.began.Restore()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	trainer, err := New(t.g, c.until(ctx))
	if err != nil {
		return err
	}
	if t.out.History, err = trainer.Fit(ctx, t.fit, t.val); err != nil {
		return err
	}
	if s := t.plan.Interpolation; s > 0 && s < 1 {
		end, err := snapshot.Of(ctx, t.g)
		if err != nil {
			return err
		}
		toward(before, end, s)
	}
	all, err := t.evaluate(ctx, t.val)
	if err != nil {
		return err
	}
	t.out.Val, t.out.AllKept = all.figures, true
	if t.keeps(alone, all) {
		return nil
	}
	before.Restore()
	t.say(fmt.Sprintf("all layers: no better%s: the model keeps what it had%s", figures(t.out.Val), figures(t.out.Head)))
	t.out.Val, t.out.AllKept = t.out.Head, false
	return t.refit(ctx)
}

// keeps reports whether the trained layers are kept, given the evaluations before (alone) and after (all) training them.
func (t *tuning) keeps(alone, all evaluation) bool {
	return t.val == nil || t.Policy == Full || t.Policy == FromScratch || t.out.Head == nil || t.gained(alone, all)
}

// loss returns the loss of the configuration; nil: chosen by the targets.
func (t *tuning) loss() Loss { return t.Config.Loss }

func (t *tuning) valSize() int {
	if t.val == nil {
		return 0
	}
	return t.val.Len()
}

// validate returns the validation metrics of the model; nil without validation.
func (t *tuning) validate(ctx context.Context) (map[string]float64, error) {
	if t.val == nil {
		return nil, nil
	}
	return t.metricsOn(ctx, t.val)
}

func (t *tuning) metricsOn(ctx context.Context, s data.Dataset[data.Sample]) (map[string]float64, error) {
	c := Config{Loss: t.loss(), Metrics: t.Config.Metrics, Batch: t.Config.Batch, MicroBatch: t.Config.MicroBatch, Seed: t.Config.Seed, Workers: t.Config.Workers, Log: Quiet, Communicator: t.Config.Communicator}
	if t.ranks != nil {
		c.Batch = max(c.batch(), t.ranks.size)
	}
	evaluator, err := New(t.g, c.until(ctx))
	if err != nil {
		return nil, err
	}
	return evaluator.Evaluate(ctx, s)
}

// enoughValidation is the number of validation samples below which their accuracy is not reliable.
const enoughValidation = 100

// better reports whether the metrics a of n samples are better than b: a higher accuracy or, with equal accuracy, a lower loss. With
// few samples, the loss must not be worse. Without accuracies the loss decides.
func better(a, b map[string]float64, n int) bool {
	x, ok := a["accuracy"]
	y, both := b["accuracy"]
	switch {
	case !finite(a["loss"]):
		return false
	case !ok || !both || x == y:
		return a["loss"] < b["loss"]
	case n < enoughValidation && a["loss"] > b["loss"]:
		return false
	}
	return x > y
}

// figures formats validation metrics for a sentence.
func figures(m map[string]float64) string {
	if m == nil {
		return ""
	}
	s := strings.TrimPrefix(Epoch{Val: m}.String(), "epoch 0: loss 0")
	return strings.TrimSuffix(s, ", 0 s")
}
