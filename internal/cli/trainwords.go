package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// The values of --optimizer, --schedule, --loss and --metric.

// settings are the settings of an update rule from flags; 0 is the rule's default.
type settings struct{ rate, decay, momentum float64 }

var rules = map[string]func(s settings) optim.Rule{
	"sgd": func(s settings) optim.Rule {
		return optim.SGD{LR: s.rate, WeightDecay: s.decay, Momentum: s.momentum}
	},
	"rmsprop": func(s settings) optim.Rule {
		return optim.RMSprop{LR: s.rate, WeightDecay: s.decay, Momentum: s.momentum}
	},
	"adam":      func(s settings) optim.Rule { return optim.Adam{LR: s.rate, WeightDecay: s.decay} },
	"adamw":     func(s settings) optim.Rule { return optim.AdamW{LR: s.rate, WeightDecay: s.decay} },
	"nadam":     func(s settings) optim.Rule { return optim.NAdam{LR: s.rate, WeightDecay: s.decay} },
	"radam":     func(s settings) optim.Rule { return optim.RAdam{LR: s.rate, WeightDecay: s.decay} },
	"adagrad":   func(s settings) optim.Rule { return optim.Adagrad{LR: s.rate, WeightDecay: s.decay} },
	"adadelta":  func(s settings) optim.Rule { return optim.Adadelta{LR: s.rate, WeightDecay: s.decay} },
	"adamax":    func(s settings) optim.Rule { return optim.Adamax{LR: s.rate, WeightDecay: s.decay} },
	"adafactor": func(s settings) optim.Rule { return optim.Adafactor{LR: s.rate, WeightDecay: s.decay} },
	"lamb":      func(s settings) optim.Rule { return optim.LAMB{LR: s.rate, WeightDecay: s.decay} },
	"lion":      func(s settings) optim.Rule { return optim.Lion{LR: s.rate, WeightDecay: s.decay} },
}

var schedules = map[string]optim.Schedule{
	"constant": optim.ConstantLR{}, "cosine": optim.CosineLR{}, "linear": optim.LinearLR{From: 1}, "step": optim.StepLR{},
	"one-cycle": optim.OneCycleLR{}, "plateau": nil, // a plateau looks at results: it is not a function of the step
}

var losses = map[string]train.Loss{
	"cross-entropy": train.CrossEntropy{}, "bce": train.BCEWithLogits{}, "mse": train.MSE{}, "l1": train.L1{}, "huber": train.Huber{},
	"nll": train.NLL{},
}

var metrics = map[string]func() train.Metric{
	"accuracy":        func() train.Metric { return &train.Accuracy{} },
	"top5":            func() train.Metric { return &train.Accuracy{K: 5} },
	"binary-accuracy": func() train.Metric { return &train.BinaryAccuracy{} },
	"confusion":       func() train.Metric { return &train.Confusion{} },
	"calibration":     func() train.Metric { return &train.Calibration{} },
	"auroc":           func() train.Metric { return &train.AUROC{} },
	"deviation":       func() train.Metric { return &train.Deviation{} },
}

// monitors are the names of the figures of metrics, and the loss.
var monitors = []string{"loss", "accuracy", "top5", "precision", "recall", "f1", "iou", "auroc", "ece", "mae", "rmse", "r2"}

// words lists the keys of one of the tables.
func words[V any](table map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

// choose looks up a value; the error lists the valid ones.
func choose[V any](flag, word string, table map[string]V) (V, error) {
	v, ok := table[strings.ToLower(word)]
	if !ok {
		return v, fmt.Errorf("--%s %s: want one of %s", flag, word, words(table))
	}
	return v, nil
}

// chosenMetrics returns the metrics with the given names.
func chosenMetrics(names []string) ([]train.Metric, error) {
	var list []train.Metric
	for _, name := range names {
		m, err := choose("metric", name, metrics)
		if err != nil {
			return nil, err
		}
		list = append(list, m())
	}
	return list, nil
}

// readLogits sets whether binary metrics receive logits or, after a Sigmoid, probabilities.
func readLogits(list []train.Metric, g *nn.Graph) {
	if len(g.Outputs()) == 0 {
		return
	}
	for _, m := range list {
		if b, ok := m.(*train.BinaryAccuracy); ok {
			b.Logits = !train.EndsInEach(g.Outputs()[0])
		}
	}
}
