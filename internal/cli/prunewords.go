package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/train/data"
)

// The values of --target and --criterion.

// targets parses the values of --target: "macs=0.5".
func targets(list []string) (t prune.Target, err error) {
	share := map[string]*float64{"macs": &t.MACs, "params": &t.Params, "channels": &t.Channels, "time": &t.Time}
	for _, s := range list {
		key, value, _ := strings.Cut(s, "=")
		to, ok := share[key]
		if !ok {
			return t, fmt.Errorf("--target %s: want macs=, params=, channels= or time= and a fraction", s)
		}
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			return t, fmt.Errorf("--target %s: %q is not a fraction: want %s=0.5 or the like", s, value, key)
		}
		if !(*to > 0 && *to <= 1) {
			return t, fmt.Errorf("--target %s: want the fraction to keep, above 0 and at most 1", s)
		}
	}
	return t, nil
}

// criteria need the model only.
var criteria = map[string]prune.Criterion{
	"l1": prune.L1, "l2": prune.L2, "bn": prune.BNScale, "lamp": prune.LAMP, "fpgm": prune.FPGM,
	"random": nil, // needs the seed
}

// gradientCriteria need gradients of the loss.
var gradientCriteria = map[string]func(iter.Seq2[nn.Grads, error]) prune.Criterion{
	"taylor": prune.Taylor, "activation": prune.ActivationGradient, "hessian": prune.Hessian,
}

// by returns the criterion of the given name.
func (p pruning) by(ctx context.Context, t tuning) (prune.Criterion, error) {
	from, ok := gradientCriteria[p.criterion]
	switch {
	case ok && t.trainer == nil:
		return nil, fmt.Errorf("--criterion %s needs --data", p.criterion)
	case ok:
		return from(t.trainer.Gradients(ctx, p.sampled(t.fit))), nil
	case p.criterion == "random":
		return prune.Random(p.seed), nil
	}
	c, ok := criteria[p.criterion]
	if !ok {
		return nil, fmt.Errorf("--criterion %s: want one of %s, %s", p.criterion, words(criteria), words(gradientCriteria))
	}
	return c, nil
}

// sampled returns the samples for --score-batches, evenly spaced over fit so that all classes occur.
func (p pruning) sampled(fit data.Dataset[data.Sample]) data.Dataset[data.Sample] {
	n := p.scoreBatches * p.config.Batch
	if n <= 0 || fit.Len() <= n {
		return fit
	}
	index := make([]int, n)
	for i := range index {
		index[i] = i * fit.Len() / n
	}
	return data.Subset(fit, index)
}
