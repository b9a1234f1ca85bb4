package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
)

// runTable trains on a table.
func (t training) runTable(ctx context.Context, w io.Writer, model string) (err error) {
	var g *nn.Graph
	if model != "" {
		if g, err = t.load(model); err != nil {
			return err
		}
		if err := t.noTexts(ctx, g); err != nil {
			return err
		}
		if err := t.widen(g); err != nil {
			return err
		}
		if err := freeBatch(g, t.config.Batch); err != nil {
			return err
		}
	}
	p, err := t.readTable(g)
	if err != nil {
		return err
	}
	if g == nil {
		err = t.newTable(ctx, p)
	} else {
		err = t.adapt(ctx, p)
	}
	if err != nil {
		return err
	}
	if err := t.prepareTable(p); err != nil {
		return err
	}
	readLogits(t.config.Metrics, p.graph)
	trunk, err := table.Cut(p.graph, p.schema)
	if err != nil {
		return err
	}
	fit, err := trunk.Samples(ctx, p.table, p.fit)
	if err != nil {
		return err
	}
	val, err := heldSamples(ctx, trunk, p)
	if err != nil {
		return err
	}
	t.notes = append(t.notes, p.lines...)
	return t.within(w, model, trunk.Rest, fit, val, func(fit, val data.Dataset[data.Sample]) error {
		save := func() error {
			if err := trunk.Return(); err != nil {
				return err
			}
			return t.save(p.graph)
		}
		if t.policy != "manual" {
			return t.fineTune(ctx, w, trunk.Rest, fit, val, save)
		}
		anew, err := t.anew(trunk.Rest, fit, val)
		if err != nil {
			return err
		}
		history, err := t.fit(ctx, w, trunk.Rest, fit, val)
		if err != nil {
			return err
		}
		if t.blends(val) {
			b := table.Blend{Classes: len(t.classes), Unit: p.unit, Loss: t.config.Loss, Refit: p.other == p.table, Seed: t.seed, Anew: anew(history.Best()), Ways: 2}
			mixed, err := b.Apply(ctx, trunk, fit, val)
			if err != nil {
				return err
			}
			t.blend = &mixed
		}
		if err := save(); err != nil {
			return err
		}
		return t.conclude(w, history)
	})
}

// heldSamples returns the validation rows, an empty set if there are none.
func heldSamples(ctx context.Context, trunk *table.Trunk, p *plan) (data.Dataset[data.Sample], error) {
	if len(p.held) == 0 {
		return data.Of[data.Sample](), nil
	}
	return trunk.Samples(ctx, p.other, p.held)
}

// newTable creates a network for the table.
func (t *training) newTable(ctx context.Context, p *plan) error {
	prep, err := t.encoder(ctx, p.table, p.fit)
	if err != nil {
		return err
	}
	p.schema = prep.Schema
	p.lines = append(append(describe(p), prep.Describe()...), tells(p.table, p.fit)...)
	if p.graph, err = (table.Network{Seed: t.seed}).New(prep, p.table.Classes, p.unit); err != nil {
		return err
	}
	t.untuned(len(p.fit))
	return nil
}

// untuned sets the defaults of a new network for settings that no flag gives.
func (t *training) untuned(rows int) {
	c := &t.config
	if !t.changed("batch") {
		c.Batch = min(256, max(16, rows/100))
	}
	if !t.changed("epochs") {
		c.Epochs = max(20, min(200, 200_000/rows))
	}
	if !t.changed("patience") {
		c.Patience = max(10, c.Epochs/4)
	}
	if !t.changed("schedule") && !t.changed("warmup") {
		c.Schedule = schedules["cosine"]
	}
	if !t.changed("ema") {
		c.EMA = 0.98
	}
	if !t.changed("optimizer") {
		c.Rule = t.tableRule(2e-3, 0.1)
		if rows < 1000 {
			c.Rule = t.tableRule(1e-3, 1) // close to the linear model
		}
	}
}

// tableRule returns AdamW with the rate and the weight decay of the flags, or else the given ones.
func (t *training) tableRule(rate, decay float64) optim.Rule {
	s := t.settings
	if !t.changed("lr") {
		s.rate = rate
	}
	if !t.changed("weight-decay") {
		s.decay = decay
	}
	return rules["adamw"](s)
}

// prepareTable adds the head for the target, freezes parameters and stores the metadata; loss and metrics are those of
// the target.
func (t *training) prepareTable(p *plan) error {
	c := &t.config
	if p.table.Classes == nil {
		if t.head || t.headOnly {
			return fmt.Errorf("--head: the data have no classes: the target %s is a number; --task classes treats its values as classes", p.table.Target.Name)
		}
		if c.Metrics == nil {
			c.Metrics = []train.Metric{&train.Deviation{}}
		}
		if c.Loss == nil {
			c.Loss = train.MSE{}
		}
		c.Loss = p.unit.Loss(c.Loss)
	}
	if n, ok := scores(p.graph.Outputs()); ok && n == 1 && len(t.classes) == 2 && c.Loss == nil {
		c.Loss = train.BCEWithLogits{}
	}
	classes := 0
	if t.head || t.headOnly {
		classes = len(t.classes)
	} else if err := t.agree(p.graph); err != nil {
		return fmt.Errorf("%w: --head gives it a new classifier", err)
	}
	if err := t.reshape(p.graph, classes); err != nil {
		return err
	}
	return p.graph.Edit(func(e *nn.Edit) {
		key, value, err := p.schema.Meta()
		e.Fail(err)
		e.SetMeta(key, value)
	})
}
