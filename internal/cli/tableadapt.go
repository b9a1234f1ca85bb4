package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

// tableFlags adds the flags about the target column and the preprocessing of a table.
func (t *training) tableFlags(cmd *cobra.Command) {
	t.targetFlags(cmd)
	cmd.Flags().StringVar(&t.fresh, "new", "", "create a network instead of reading MODEL: tabular")
}

// targetFlags adds those that apply to an existing model.
func (t *tabular) targetFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.target, "target", "", "target column of a table, by name or number (from 0); default: the last")
	f.StringVar(&t.scale, "scale", "", "scaling of a table's numbers: standard, quantile or none; default: standard, or none for a model trained on such numbers")
}

// encoder fits the encoding of the columns to rows of a table.
func (t *tabular) encoder(ctx context.Context, from *table.Table, rows []int) (*table.Encoder, error) {
	scale := table.Scale(strings.ToLower(t.scale))
	if !slices.Contains([]table.Scale{"", table.Standard, table.Quantile}, scale) {
		return nil, fmt.Errorf("--scale %s: want %s or %s", t.scale, table.Standard, table.Quantile)
	}
	return table.Fit(ctx, from, rows, table.Options{Scale: scale})
}

// begin trains a network that is created for the data.
func (t training) begin(ctx context.Context, w io.Writer, args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("--new %s creates the network: leave out MODEL, %s", t.fresh, args[0])
	case !strings.EqualFold(t.fresh, "tabular"):
		return fmt.Errorf("--new %s: want tabular; graft new makes networks of other kinds, which train takes as MODEL", t.fresh)
	case !isTable(t.data):
		return fmt.Errorf("--new tabular is for tables (.csv, .tsv), --data is %s", t.data)
	}
	if err := t.configure(); err != nil {
		return err
	}
	return t.runTable(ctx, w, "")
}

// packed reads a table of numbers as samples with one input.
func (d *dataset) packed(path string) (s samples, err error) {
	if err := d.forColumns(d.graph, path); err != nil {
		return s, err
	}
	r, err := d.reader()
	if err != nil {
		return s, err
	}
	t, err := r.Read(path)
	if err != nil {
		return s, err
	}
	var schema table.Schema
	for _, c := range t.Columns {
		schema.Fields = append(schema.Fields, table.Field{Name: c.Name, Kind: c.Kind})
	}
	schema.Packed = "x"
	rows := t.Complete()
	for _, c := range t.Columns {
		if row := c.Gap(rows); row >= 0 {
			return s, fmt.Errorf("%s: line %d, column %s: the number is missing", path, t.Lines[row], c.Name)
		}
	}
	feed, err := schema.Feed(t, rows)
	if err != nil {
		return s, err
	}
	y, err := t.Targets(rows)
	if err != nil {
		return s, err
	}
	s.classes = t.Classes
	s.tensors, err = data.Tensors(feed["x"].(*tensor.Dense), y)
	return s, err
}

// adapt adapts a model to the table: by its schema, by the names of its inputs, or with all columns as one input.
func (t *training) adapt(ctx context.Context, p *plan) error {
	p.lines = describe(p)
	if len(p.schema.Fields) > 0 {
		return nil
	}
	if p.byName() {
		t.freePolicyForColumns()
		return p.filled()
	}
	in := p.graph.Inputs()
	if len(in) != 1 {
		return fmt.Errorf("the model has the inputs %v, the table the columns %s: want a column for each input, or one input [N, columns]; for texts, --text names their column", ports(in), p.columns())
	}
	size, ok := floats(in[0])
	if !ok {
		return fmt.Errorf("input %s does not take a table: want float32[N,columns], or inputs [N,1] by the names of the columns; graft train --new tabular makes a network; --text names a column of texts", ports(in)[0])
	}
	if n, plain := p.plain(); plain && n == size {
		return t.pack(ctx, p, in[0])
	}
	if r, err := t.reader(); err == nil {
		p.leaveRowNumbers(r)
	}
	return t.prepend(ctx, p, in[0], size)
}

// byName selects the columns by the names of the model's inputs.
func (p *plan) byName() bool {
	s := p.blank()
	for _, v := range p.graph.Inputs() {
		c, typ := p.table.Column(v.Name()), v.Type()
		if c == nil || typ.Rank() != 2 || typ.Shape[1].Size != 1 {
			return false
		}
		s.Fields = append(s.Fields, table.Field{Name: c.Name, Kind: c.Kind, Type: typ.DType.String(), Layout: c.Layout})
	}
	p.schema = s
	return true
}

// leaveRowNumbers drops columns of row numbers, except those that --column names.
func (p *plan) leaveRowNumbers(r table.Reader) {
	kinds := map[*table.Column]table.ColumnKind{}
	for _, c := range p.table.Columns {
		kinds[c] = c.Kind
	}
	p.table.LeaveRowNumbers()
	for _, c := range p.table.Columns {
		if _, said := r.Kinds[c.Name]; said && c.Kind != kinds[c] {
			c.Kind, c.Note = kinds[c], ""
		}
	}
}

// filled refuses missing values if the model has no replacement for them.
func (p *plan) filled() error {
	for _, f := range p.schema.Fields {
		c := p.table.Column(f.Name)
		if c == nil {
			continue
		}
		if row := c.Gap(p.fit); row >= 0 {
			return fmt.Errorf("%s: line %d, column %s: the number is missing, and the model does not replace missing values; graft train --new tabular makes a network that does", p.table.Path, p.table.Lines[row], c.Name)
		}
	}
	return nil
}

// side concatenates all columns as one input.
func (p *plan) side(in *nn.Value) {
	p.schema = p.blank()
	p.schema.Packed = in.Name()
	for _, c := range p.table.Columns {
		p.schema.Fields = append(p.schema.Fields, table.Field{Name: c.Name, Kind: c.Kind})
	}
}

// blank returns a schema without columns.
func (p *plan) blank() (s table.Schema) {
	if p.table.Target != nil {
		s.Target, s.Classes = p.table.Target.Name, p.table.Classes
	}
	return s
}

// plain returns the number of columns of a table; ok is false unless all are numbers without missing values.
func (p *plan) plain() (columns int, ok bool) {
	for _, c := range p.table.Columns {
		if c.Kind != table.Number || slices.ContainsFunc(c.Number, func(x float64) bool { return x != x }) {
			return 0, false
		}
	}
	return len(p.table.Columns), true
}

func (p *plan) columns() string {
	var names []string
	for _, c := range p.table.Columns {
		names = append(names, c.Name)
	}
	return brief(names)
}

// pack concatenates all columns without changes as the model's input. A model that was not trained on them gets the
// scaling of features and target as operators at its input and output.
func (t *training) pack(ctx context.Context, p *plan, in *nn.Value) error {
	p.side(in)
	knows := strings.EqualFold(t.scale, "none")
	if t.scale == "" {
		var err error
		if knows, err = p.knows(ctx); err != nil {
			return err
		}
		if knows {
			p.lines = append(p.lines, "the numbers are not scaled: the model was trained on unscaled ones")
		}
	}
	if knows {
		return nil
	}
	prep, err := t.encoder(ctx, p.table, p.fit)
	if err != nil {
		return err
	}
	p.lines = append(p.lines, "numbers are standardized, as part of the model")
	return p.graph.Edit(func(e *nn.Edit) {
		e.Insert(e.Value(in.Name()), prep.Scaling(p.schema))
		if p.table.Classes == nil {
			e.Insert(e.Outputs()[0], p.unit.Layer())
		}
	})
}

// knows reports whether the model predicts better than a constant: it was trained on such numbers.
func (p *plan) knows(ctx context.Context) (bool, error) {
	rows := p.fit[:min(len(p.fit), 1000)]
	feed, err := p.schema.Feed(p.table, rows)
	if err != nil {
		return false, err
	}
	y, err := p.table.Targets(rows)
	if err != nil {
		return false, err
	}
	var m train.Metric = &train.Deviation{}
	if n, ok := scores(p.graph.Outputs()); p.table.Classes != nil {
		if !ok || n != len(p.table.Classes) {
			return false, nil
		}
		m = &train.Accuracy{}
	}
	one := func(yield func(train.Batch, error) bool) { yield(train.Batch{Feed: feed, Y: []*tensor.Dense{y}}, nil) }
	figures, err := train.EvaluateBatches(ctx, p.graph, one, m)
	if err != nil {
		return false, nil // mismatches are reported later
	}
	if p.table.Classes == nil {
		return figures["r2"] > 0.1, nil
	}
	counts, most := make([]int, len(p.table.Classes)), 0
	for _, r := range rows {
		counts[p.table.Class(r)]++
	}
	for _, n := range counts {
		most = max(most, n)
	}
	share := float64(most) / float64(len(rows))
	return figures["accuracy"] > share+0.5*(1-share), nil
}

// prepend adds the preprocessing of the raw columns to the input of a model with as many features.
func (t *training) prepend(ctx context.Context, p *plan, in *nn.Value, size int) error {
	if strings.EqualFold(t.scale, "none") {
		return fmt.Errorf("--scale none: the table has texts or missing values, which %s does not take; leave columns out with --column NAME=ignore", in.Name())
	}
	prep, err := t.encoder(ctx, p.table, p.fit)
	if err != nil {
		return err
	}
	front := nn.NewGraph("table", p.graph.Ops(), map[string]int{"": p.graph.Opsets()[""]})
	var features *nn.Value
	if err := front.Edit(func(e *nn.Edit) {
		if features = prep.Build(e); e.Err() == nil {
			e.Output(features.Name(), features)
		}
	}); err != nil {
		return err
	}
	if n := features.Type().Shape[1].Size; n != size {
		return fmt.Errorf("the table's columns give %d features (%s), the model takes %d: graft train --new tabular makes a network that fits", n, firstLines(append(oddities(p.table), prep.Describe()...)), size)
	}
	p.schema = prep.Schema
	p.lines = append(p.lines, prep.Describe()...)
	g, err := nn.Join(front, p.graph, map[string]string{features.Name(): in.Name()})
	if err != nil {
		return err
	}
	p.graph = g
	if p.table.Classes != nil {
		return nil
	}
	return g.Edit(func(e *nn.Edit) { e.Insert(e.Outputs()[0], p.unit.Layer()) })
}

// firstLines returns the first few lines of a text, joined.
func firstLines(lines []string) string {
	if len(lines) > 5 {
		return fmt.Sprintf("%s … %d more", strings.Join(lines[:5], "; "), len(lines)-5)
	}
	return strings.Join(lines, "; ")
}

// yesOrNo reports whether a model ends in a Sigmoid.
func yesOrNo(g *nn.Graph) bool {
	var m train.BinaryAccuracy
	readLogits([]train.Metric{&m}, g)
	return !m.Logits
}

// floats reports whether v takes a matrix of float32.
func floats(v *nn.Value) (columns int, ok bool) {
	typ := v.Type()
	if typ.Rank() != 2 || typ.DType != dtype.Float32 || !typ.Shape[1].Known() {
		return 0, false
	}
	return typ.Shape[1].Size, true
}
