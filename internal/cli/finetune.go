package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/pflag"
)

// policies are the values of --policy.
var policies = []string{"auto", "head-only", "full", "from-scratch", "manual"}

// byHandFlags are the flags for settings that a policy would choose.
var byHandFlags = []string{"optimizer", "lr", "schedule", "warmup", "weight-decay", "momentum", "ema", "accumulate", "freeze", "clip-norm", "keep", "lr-group", "mixup", "cutmix", "teacher", "teacher-share", "temperature"}

// settlePolicy determines the policy from the flags.
func (t *training) settlePolicy(f *pflag.FlagSet) error {
	t.policy = strings.ToLower(t.policy)
	if !slices.Contains(policies, t.policy) {
		return fmt.Errorf("--policy %s: want one of %s", t.policy, strings.Join(policies, ", "))
	}
	for word, on := range map[string]bool{"head-only": t.headOnly, "full": t.full, "from-scratch": t.fromScratch} {
		if !on {
			continue
		}
		if t.policy != "auto" {
			return fmt.Errorf("--%s and --policy %s exclude each other", word, t.policy)
		}
		t.policy = word
	}
	if n := slices.Index([]bool{t.headOnly && t.full, t.headOnly && t.fromScratch, t.full && t.fromScratch}, true); n >= 0 {
		return fmt.Errorf("--head-only, --full and --from-scratch exclude each other")
	}
	for name, n := range map[string]int{"epochs": t.config.Epochs, "batch": t.config.Batch} {
		if f.Changed(name) && n < 1 {
			return fmt.Errorf("--%s %d: want 1 or more", name, n)
		}
	}
	by := slices.IndexFunc(byHandFlags, f.Changed)
	if by < 0 && !t.columnar() {
		return nil
	}
	if t.columnar() && (t.full || f.Changed("policy") && t.policy != "manual") {
		return fmt.Errorf("--policy %s is for images and arrays: networks on tables are trained whole", t.policy)
	}
	if by >= 0 && (f.Changed("policy") && t.policy != "manual" || t.full) {
		return fmt.Errorf("--%s is chosen by --policy %s: --policy manual takes all settings by hand", byHandFlags[by], t.policy)
	}
	t.freePolicy = by < 0 && !f.Changed("policy") && !t.headOnly && !t.fromScratch
	t.head = t.head || t.headOnly
	t.policy = "manual" // --head-only and --from-scratch decide which layers are trained
	return nil
}

// freePolicyForColumns lets the policy choose how to train a model whose inputs are columns of a table, unless flags say it.
func (t *training) freePolicyForColumns() {
	if !t.freePolicy {
		return
	}
	t.policy = "auto"
	c := &t.config
	c.Rule, c.Schedule, c.RestoreBest = nil, nil, false
	if !t.changed("epochs") {
		c.Epochs = 0
	}
	if !t.changed("batch") {
		c.Batch = 0
	}
}

// fineTune trains with the policy. save writes the model.
func (t training) fineTune(ctx context.Context, w io.Writer, g *nn.Graph, fit, val data.Dataset[data.Sample], save func() error) error {
	if err := t.keepDivision(division{t.seed, fit.Len(), val.Len()}); err != nil {
		return err
	}
	policy := train.Policy(t.policy)
	if t.policy == "auto" {
		policy = train.Auto
	}
	var written error
	if t.asJSON {
		t.config.Log = func(e train.Event) {
			if e.Done != nil {
				written = errors.Join(written, json.NewEncoder(w).Encode(e.Done))
			}
		}
	}
	out, err := train.FineTuner{Policy: policy, Config: t.config, Refit: t.setApart, New: t.newHead}.FineTune(ctx, g, fit, val)
	if err != nil {
		return t.interruption(ctx, err)
	}
	if err := save(); err != nil {
		return err
	}
	if t.asJSON {
		return errors.Join(written, json.NewEncoder(w).Encode(map[string]any{
			"model": t.output, "dir": t.config.Dir, "epochs": len(out.History), "best": out.History.Best(),
			"policy": out.Policy, "head": orNull(out.Head), "val": orNull(out.Val), "all_layers": out.AllKept,
		}))
	}
	fmt.Fprintf(w, "policy: %s\n", out.Policy)
	if out.Val != nil {
		fmt.Fprintf(w, "validation: %s\n", figureLine(out.Val))
	}
	if !out.AllKept && len(out.History) > 0 {
		fmt.Fprintln(w, "training all layers did not improve it: the model of the first part is kept")
	}
	_, err = fmt.Fprintln(w, t.written())
	return err
}

// figureLine formats metrics, sorted by name.
func figureLine(figures map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		parts = append(parts, fmt.Sprintf("%s %.4g", name, figures[name]))
	}
	return strings.Join(parts, ", ")
}
