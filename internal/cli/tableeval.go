package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// columns reads a table for an existing model: by its schema, or by the shapes and names of its inputs. keep: the
// original text of rows is kept.
func (d *dataset) columns(g *nn.Graph, path string, keep bool) (*plan, error) {
	r, err := d.reader()
	if err != nil {
		return nil, err
	}
	p := &plan{graph: g}
	if r, err = p.suit(r, path, true); err != nil {
		return nil, err
	}
	r.KeepText = keep
	if len(p.schema.Fields) == 0 && keep && r.Target == "" {
		r.NoTarget = p.everyColumn(r, path)
	}
	if p.table, err = r.Read(path); err != nil {
		return nil, err
	}
	return p, p.bind()
}

// everyColumn reports whether a model without a schema takes all columns of a table, which then has no target.
func (p *plan) everyColumn(r table.Reader, path string) bool {
	rows, err := r.Open(path, "")
	if err != nil || path == "-" {
		return false
	}
	defer rows.Close()
	in := p.graph.Inputs()
	if len(in) == 1 {
		if n, ok := floats(in[0]); ok {
			return n == len(rows.Names)
		}
	}
	return !slices.ContainsFunc(rows.Names, func(name string) bool {
		return !slices.ContainsFunc(in, func(v *nn.Value) bool { return v.Name() == name })
	})
}

// bind finds the columns of the model's inputs if there is no schema.
func (p *plan) bind() error {
	if len(p.schema.Fields) > 0 || p.byName() {
		return nil
	}
	in := p.graph.Inputs()
	if len(in) != 1 {
		return fmt.Errorf("the model has the inputs %v, the table the columns %s: want a column for each input, or one input [N, columns]; for texts, --text names their column", ports(in), p.columns())
	}
	size, ok := floats(in[0])
	if !ok {
		return fmt.Errorf("input %s does not take a table: want float32[N,columns], or inputs [N,1] by the names of the columns; --text names a column of texts", ports(in)[0])
	}
	if n := len(p.table.Columns); n != size {
		return fmt.Errorf("the table has %d columns besides the target (%s), the model takes %d", n, p.columns(), size)
	}
	p.side(in[0])
	return nil
}

// batches returns the given rows in batches for the model.
func (p *plan) batches(rows []int, size int) iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for chunk := range slices.Chunk(rows, size) {
			b, err := p.batch(chunk)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func (p *plan) batch(rows []int) (b train.Batch, err error) {
	if b.Feed, err = p.schema.Feed(p.table, rows); err != nil || p.table.Target == nil {
		return b, err
	}
	y, err := p.table.Targets(rows)
	b.Y = []*tensor.Dense{y}
	return b, err
}

// table evaluates on a table.
func (v *evaluation) table(ctx context.Context, g *nn.Graph, list []train.Metric) (int, map[string]float64, []train.Metric, error) {
	p, err := v.columns(g, v.data, false)
	if err != nil {
		return 0, nil, nil, err
	}
	if p.table.Target == nil {
		return 0, nil, nil, fmt.Errorf("%s has no column %q, the target: --target names another", v.data, cmp.Or(v.target, p.schema.Target))
	}
	if p.table.Classes == nil {
		if err := v.numbersOnly(); err != nil {
			return 0, nil, nil, err
		}
	}
	v.classes, v.odd = p.table.Classes, oddities(p.table)
	rows := p.table.Complete()
	if len(rows) == 0 {
		return 0, nil, nil, fmt.Errorf("%s: no row has a target", v.data)
	}
	n, ok := scores(g.Outputs())
	switch k := len(v.classes); {
	case !ok || k <= n || len(v.metrics) > 0 && !slices.ContainsFunc(v.metrics, classMetric):
	case n == 1 && k == 2 && list == nil:
		list = []train.Metric{&train.BinaryAccuracy{}}
	default:
		return 0, nil, nil, fmt.Errorf("the data have classes up to %d, the model gives %d scores; --task regression treats a table's targets as numbers", k-1, n)
	}
	if list == nil && v.classes == nil {
		list = []train.Metric{&train.Deviation{}}
	}
	if list, err = v.extra(list, g, func() (bool, error) { return v.classes != nil, nil }); err != nil {
		return 0, nil, nil, err
	}
	v.names = func(i int) string { return fmt.Sprintf("line %d", p.table.Lines[rows[i]]) }
	readLogits(list, g)
	size := 256
	if b, fixed := fixedBatch(g); fixed {
		if size = b; len(rows)%b != 0 {
			return 0, nil, nil, fmt.Errorf("the model fixes the batch to %d, which %d samples do not divide into: --batch-dim N frees it", b, len(rows))
		}
	}
	c := computer{runtime: v.rt, g: g}
	defer c.close()
	figures, err := c.evaluator().EvaluateBatches(ctx, g, p.batches(rows, size), list...)
	return len(rows), figures, list, err
}

// fixedBatch returns the fixed batch size of a model.
func fixedBatch(g *nn.Graph) (int, bool) {
	for _, v := range g.Inputs() {
		if t := v.Type(); t.Rank() > 0 && t.Shape[0].Known() {
			return t.Shape[0].Size, true
		}
	}
	return 0, false
}
