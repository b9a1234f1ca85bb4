package cli

import (
	"bytes"
	"context"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/table"
)

// columnPruning is a model that encodes the columns of a table. What follows the encoding is scored and trained by itself, since the
// encoding reads texts; in the end its plan is repeated on the whole model.
type columnPruning struct {
	whole *nn.Graph
	trunk *table.Trunk
}

// ownColumns reports whether --data is a table whose columns the model encodes itself.
func (p *pruning) ownColumns(g *nn.Graph) (bool, error) {
	_, own, err := table.ReadMeta(g.Meta())
	return own && p.columnar(), err
}

// tableTuning is tuning for such a model. It returns the part to prune.
func (p *pruning) tableTuning(ctx context.Context, g *nn.Graph) (rest *nn.Graph, t tuning, err error) {
	if err := p.widen(g); err != nil {
		return nil, t, err
	}
	read, err := p.readTable(g)
	if err != nil {
		return nil, t, err
	}
	if err := p.adapt(ctx, read); err != nil {
		return nil, t, err
	}
	if err := p.prepareTable(read); err != nil {
		return nil, t, err
	}
	readLogits(p.config.Metrics, g)
	p.notes = append(p.notes, read.lines...)
	p.tellNotes()
	trunk, err := table.Cut(g, read.schema)
	if err != nil {
		return nil, t, err
	}
	p.columns = &columnPruning{g, trunk}
	if t.fit, err = trunk.Samples(ctx, read.table, read.fit); err != nil {
		return nil, t, err
	}
	if t.val, err = heldSamples(ctx, trunk, read); err != nil {
		return nil, t, err
	}
	if t.fit, t.val, err = p.shape(trunk.Rest, t.fit, t.val); err != nil {
		return nil, t, err
	}
	c := p.config
	c.RestoreBest, c.Dir = false, ""
	t.trainer, err = train.New(trunk.Rest, c)
	return trunk.Rest, t, err
}

// store writes the model g, to which the plan was applied, or the whole model that it is the rest of, and the plan, js as JSON.
func (p *pruning) store(ctx context.Context, g *nn.Graph, plan *nn.Plan, js []byte) error {
	if p.columns == nil {
		return p.plan.save(ctx, js, p.output, func(path string) error { return saveModel(path, g) })
	}
	if len(plan.Cuts()) > 0 {
		same, err := nn.ReadPlan(p.columns.whole, bytes.NewReader(js))
		if err != nil {
			return err
		}
		if err := same.Apply(); err != nil {
			return err
		}
	}
	if err := p.columns.trunk.Return(); err != nil {
		return err
	}
	return p.plan.save(ctx, js, p.output, func(path string) error { return saveModel(path, p.columns.whole) })
}
