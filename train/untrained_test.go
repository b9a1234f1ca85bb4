package train_test

import (
	"context"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train"
)

// A network that was never trained does better from where it is than with a classifier fitted to features by chance, and few
// samples to validate do not hinder that.
func TestFineTuneUntrained(t *testing.T) {
	ctx := context.Background()
	var notes []string
	c := train.Config{Seed: 3, Log: func(e train.Event) {
		if e.Kind == train.Note {
			notes = append(notes, e.Text)
		}
	}}
	// Features that are not pooled: their classifier fits all that is there at once.
	flat := func() *nn.Graph {
		return barsNet(t, 3, nn.Sequential{layers.Flatten{}, layers.Linear{Out: 24}, layers.ReLU{}, layers.Linear{Out: 3}})
	}
	alone, g, test := flat(), flat(), shapes(400, 9)
	if _, err := (train.FineTuner{Policy: train.HeadOnly, Config: quiet(train.Config{Seed: 3})}).FineTune(ctx, alone, shapes(240, 5), shapes(12, 6)); err != nil {
		t.Fatal(err)
	}
	out, err := train.FineTuner{Config: c}.FineTune(ctx, g, shapes(240, 5), shapes(12, 6))
	if err != nil || !out.AllKept || !strings.HasSuffix(out.Policy, ", from the weights before the classifier was fitted") {
		t.Errorf("%s, %v, %v, %v, %q", out.Policy, out.Head, out.Val, err, notes)
	}
	head, err := train.Evaluate(ctx, alone, test)
	if err != nil {
		t.Fatal(err)
	}
	all, err := train.Evaluate(ctx, g, test)
	if err != nil || !(all["accuracy"] > head["accuracy"]+0.03) {
		t.Errorf("accuracy %v, of the classifier alone %v (%v)", all["accuracy"], head["accuracy"], err)
	}
	if said := strings.Join(notes, "\n"); !strings.Contains(said, "the best of ") {
		t.Errorf("said %q", said)
	}
}
