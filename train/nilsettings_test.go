package train_test

import (
	"testing"

	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// TestNilSettings: nil where a setting needs a value, and a negative rank, are errors that name it.
func TestNilSettings(t *testing.T) {
	for want, c := range map[string]train.Config{
		"train: metric 0 is nil":                          {Metrics: []train.Metric{nil}},
		"train: parameter w: optim: Chain: rule 0 is nil": {Rule: optim.Chain{nil, optim.SGD{}}},
		"train: group 0: Rank is -1: want 0 or more":      {Groups: []train.ParamGroup{{Rank: -1}}},
	} {
		if _, err := train.New(proportional(t), c); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	tr, err := train.New(proportional(t), train.Config{Log: train.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	const want = "train: the context is nil: context.Background() never ends"
	//lint:ignore SA1012 the mistake
	if _, err := tr.Step(nil, data.Sample{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
