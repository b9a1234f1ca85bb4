package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/table"
)

// plan is a training run on a table: training rows, validation rows, and the model.
type plan struct {
	table, other *table.Table // other: where the validation rows are; the same table, or that of --val
	fit, held    []int
	graph        *nn.Graph
	schema       table.Schema
	unit         train.Scaling
	lines        []string // findings, to be printed
}

// readTable reads the table to train on, and divides it.
func (t *training) readTable(known *nn.Graph) (*plan, error) {
	share, apart, err := t.heldShare()
	if err != nil {
		return nil, err
	}
	for _, f := range forImages {
		if t.changed(f) {
			return nil, notImages(f, t.data)
		}
	}
	for _, f := range []string{"mean", "std", "range"} {
		if t.changed(f) && known == nil {
			return nil, fmt.Errorf("--%s: a new network scales the columns itself; --scale chooses how", f)
		}
	}
	r, err := t.tabular.reader()
	if err != nil {
		return nil, err
	}
	p := &plan{graph: known}
	if known != nil {
		if how, scaled := known.Meta()[metaScaling]; scaled {
			return nil, fmt.Errorf("the model was trained on numbers prepared by --mean, --std and --range (%s): give the same flags again", how)
		}
		if r, err = p.suit(r, t.data, strings.EqualFold(t.loss, "bce")); err != nil {
			return nil, err
		}
	}
	if p.table, err = r.Read(t.data); err != nil {
		return nil, err
	}
	if p.table.Target == nil {
		return nil, fmt.Errorf("%s has no column %q, the target: --target names another", t.data, r.Target)
	}
	if known == nil {
		p.leaveRowNumbers(r)
	}
	p.other = p.table
	if !apart {
		if rows := len(p.table.Complete()); rows < 1000 && !t.changed("val") && t.fresh != "" {
			share = 0.2 // 10 % would be too few
		}
		p.fit, p.held = p.table.Divide(share, t.seed)
	} else {
		p.fit, _ = p.table.Divide(0, t.seed)
		if p.other, err = r.Like(p.table).Read(t.val); err != nil {
			return nil, fmt.Errorf("--val: %w", err)
		}
		p.held = p.other.Complete()
	}
	if len(p.fit) == 0 {
		return nil, fmt.Errorf("%s: no row has a target to train on", t.data)
	}
	if t.classes = p.table.Classes; len(t.classes) == 1 {
		return nil, fmt.Errorf("%s: the target %s is always %s: there is nothing to learn", t.data, p.table.Target.Name, t.classes[0])
	}
	if t.classes == nil {
		p.unit = table.TargetScaling(p.table, p.fit)
	}
	return p, nil
}

// suit adapts a reader to a model: the columns of its schema, and its classes. With a single score, integers are
// measurements unless the loss is binary.
func (p *plan) suit(r table.Reader, path string, binary bool) (table.Reader, error) {
	s, ok, err := table.ReadMeta(p.graph.Meta())
	if err != nil {
		return r, err
	}
	if ok {
		p.schema = s
		return s.Reader(r), nil
	}
	if r.Target == "" && path != "-" {
		r.Target = p.ownTarget(r, path)
	}
	if r.Classes, err = labelsOf(p.graph); err != nil {
		return r, err
	}
	if n, ok := scores(p.graph.Outputs()); ok {
		if r.Integers = table.Classes; n == 1 && !binary && !yesOrNo(p.graph) {
			r.Integers = table.Regression
		}
	}
	return r, nil
}

// ownTarget returns the column with the name of the model's first output if the last column, which is the default
// target, is an input of the model; "" otherwise.
func (p *plan) ownTarget(r table.Reader, path string) string {
	rows, err := r.Open(path, "")
	if err != nil {
		return "" // it is reported later
	}
	defer rows.Close()
	out := p.graph.Outputs()
	if len(out) == 0 || len(rows.Names) == 0 || !slices.Contains(rows.Names, out[0].Name()) {
		return ""
	}
	last := rows.Names[len(rows.Names)-1]
	if !slices.ContainsFunc(p.graph.Inputs(), func(v *nn.Value) bool { return v.Name() == last }) {
		return ""
	}
	return out[0].Name()
}
