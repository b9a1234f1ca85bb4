package train

import (
	"context"
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/train/data"
)

// tryUnmirrored fits the classifier once more, to features of images without flips, if the set flips images: classes may differ by
// their orientation. It keeps that fit if the accuracy on held-out folds is higher by more than its standard error.
func (t *tuning) tryUnmirrored(ctx context.Context, cut trunk, seen *features, views int) (*features, error) {
	without, ok := data.Unmirrored(t.fit)
	if !ok || views < 2 || t.out.Folds < 0 {
		return seen, nil
	}
	before, err := snapshot.Of(ctx, t.g)
	if err != nil {
		return nil, err
	}
	tail, err := snapshot.Of(ctx, cut.tail)
	if err != nil {
		return nil, err
	}
	folds := t.out.Folds
	again, err := cut.look(ctx, without, views, t.Config.Seed, true)
	if err != nil {
		return nil, err
	}
	got, err := cut.fitHead(ctx, t.g, again, views, t.Config.Seed, t.loss())
	if err != nil {
		return nil, err
	}
	n := float64(t.fit.Len())
	if got-folds <= math.Sqrt((got*(1-got)+folds*(1-folds))/n) {
		before.Restore()
		tail.Restore()
		return seen, nil
	}
	t.say(fmt.Sprintf("images: not mirrored, since mirroring mixes up classes: accuracy %.3f on held-out folds, %.3f with mirrored ones", got, folds))
	t.fit, t.out.Folds, t.unmirrored = without, got, true
	return again, nil
}
