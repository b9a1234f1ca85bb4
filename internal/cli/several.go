package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// metaTargets is the metadata key for the targets of a model with several outputs.
const metaTargets = "graft.targets"

// outputTargets are the targets of a model's outputs, by output name.
type outputTargets map[string]outputTarget

// outputTarget describes the target of an output.
type outputTarget struct {
	Kind    string   `json:"kind"`              // classes or values
	Classes []string `json:"classes,omitempty"` // class names; empty: classes are numbers
}

// readTargets reads the targets of a model's outputs from its metadata; nil if they are not there.
func readTargets(g *nn.Graph) (outputTargets, error) {
	text, ok := g.Meta()[metaTargets]
	if !ok {
		return nil, nil
	}
	var c outputTargets
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("the model's metadata %s: %w", metaTargets, err)
	}
	return c, nil
}

func (c outputTargets) describe(e *nn.Edit) {
	b, err := json.Marshal(c)
	if err != nil {
		e.Failf("%v", err)
		return
	}
	e.SetMeta(metaTargets, string(b))
}

// outputsIn returns the names of a model's outputs if it has several and has holds for each; otherwise none.
func outputsIn(g *nn.Graph, has func(string) bool) (names []string) {
	if g == nil || len(g.Outputs()) < 2 {
		return nil
	}
	for _, v := range g.Outputs() {
		if !has(v.Name()) {
			return nil
		}
		names = append(names, v.Name())
	}
	return names
}

// forOutput returns the dataset that reads the target of one of several outputs, with the classes known for it.
func (d *dataset) forOutput(name string) (*dataset, error) {
	known, err := readTargets(d.graph)
	if err != nil {
		return nil, err
	}
	one := *d
	one.target, one.classes, one.positions, one.notes = name, nil, false, nil
	if one.among = d.outputs[name].Classes; one.among == nil {
		one.among = known[name].Classes
	}
	return &one, nil
}

// keep records the target of an output, and converts integers to measurements if the output has a single score.
func (d *dataset) keep(one *dataset, name string, classes []string, y *tensor.Dense) (*tensor.Dense, error) {
	d.notes = append(d.notes, one.notes...)
	t := op.Type{}
	for _, v := range d.graph.Outputs() {
		if v.Name() == name {
			t = v.Type()
		}
	}
	n := -1
	if t.Rank() >= 2 && t.Shape[1].Known() {
		n = t.Shape[1].Size
	}
	if n >= 0 && n < len(classes) {
		return nil, fmt.Errorf("the target %s has %d classes (%s), the output gives %d scores", name, len(classes), brief(classes), n)
	}
	var err error
	if n == 1 && t.Rank() == 2 && y.Dims() == 1 {
		if y, err = dtype.View(y, y.Shape()[0], 1); err != nil {
			return nil, err
		}
	}
	if n == 1 && dtype.Of(y.Dtype()).IsInteger() {
		if y, err = dtype.ConvertTo(dtype.Float32, y); err != nil {
			return nil, err
		}
	}
	about := outputTarget{Kind: "values"}
	if dtype.Of(y.Dtype()).IsInteger() {
		about = outputTarget{Kind: "classes", Classes: classes}
	}
	if d.outputs == nil {
		d.outputs = outputTargets{}
	}
	d.outputs[name] = about
	return y, nil
}

// severalLines reads a target for each output from objects.
func (d *dataset) severalLines(rows []map[string]any, names []string) (list []lineTargets, err error) {
	for _, name := range names {
		one, err := d.forOutput(name)
		if err != nil {
			return nil, err
		}
		var s samples
		y, err := one.lineTargets(rows, &s)
		if err != nil {
			return nil, err
		}
		if y.unequal {
			return nil, fmt.Errorf("the target %s has lists of unequal length, which are for models with one output", name)
		}
		for i, t := range y.of {
			t, err := dtype.View(t, append([]int{1}, t.Shape()...)...)
			if err == nil {
				t, err = d.keep(one, name, s.classes, t)
			}
			if err == nil {
				y.of[i], err = dtype.View(t, t.Shape()[1:]...)
			}
			if err != nil {
				return nil, fmt.Errorf("object %d: %w", i+1, err)
			}
			one.notes = nil
		}
		list = append(list, y)
	}
	return list, nil
}

// severalArrays returns the targets of several outputs: the arrays with their names.
func (d *dataset) severalArrays(path string, names []string, all map[string]*tensor.Dense) (list []*tensor.Dense, err error) {
	for _, name := range names {
		one, err := d.forOutput(name)
		if err != nil {
			return nil, err
		}
		var s samples
		var y *tensor.Dense
		if all[name].Dtype() == tensor.String {
			y, err = one.named(path, all[name], &s)
		} else {
			y, err = one.targets(path, name, all[name])
		}
		if err == nil {
			y, err = d.keep(one, name, s.classes, y)
		}
		if err != nil {
			return nil, fmt.Errorf("array %s: %w", name, err)
		}
		list = append(list, y)
	}
	return list, nil
}

// answersByColumn reports whether a model has several outputs and the table has a target column for each.
func (d *dataset) answersByColumn(g *nn.Graph, path string) bool {
	if _, known, err := table.ReadMeta(g.Meta()); known || err != nil || len(g.Outputs()) < 2 || !isTable(path) {
		return false
	}
	names := d.header(path)
	return outputsIn(g, func(n string) bool { return slices.Contains(names, n) }) != nil
}

// severalAnswers reports whether the model has several outputs and the table has a target column for each.
func (t *training) severalAnswers(model string) (bool, error) {
	if model == "" || t.target != "" {
		return false, nil
	}
	g, err := t.load(model)
	if err != nil {
		return false, err
	}
	return t.answersByColumn(g, t.data), nil
}

// header returns the names of a table's columns; nil if it cannot be read, which is reported later.
func (d *dataset) header(path string) []string {
	r, err := d.reader()
	if err != nil || path == "-" {
		return nil
	}
	rows, err := r.Open(path, "")
	if err != nil {
		return nil
	}
	defer rows.Close()
	return rows.Names
}

// sideColumns reads the feature columns of a table for a model with several outputs: those with the names of its inputs or, for a
// single input, all that are not targets.
func (d *dataset) sideColumns(g *nn.Graph, path string, keep bool) (*table.Table, table.Schema, error) {
	var schema table.Schema
	r, err := d.reader()
	if err != nil {
		return nil, schema, err
	}
	r.NoTarget, r.KeepText = true, keep
	t, err := r.Read(path)
	if err != nil {
		return nil, schema, err
	}
	p := &plan{graph: g, table: t}
	if p.byName() {
		schema = p.schema
	} else {
		for _, c := range t.Columns {
			output := slices.ContainsFunc(g.Outputs(), func(v *nn.Value) bool { return v.Name() == c.Name })
			if !output && c.Kind != table.Ignore {
				schema.Fields = append(schema.Fields, table.Field{Name: c.Name, Kind: c.Kind})
			}
		}
		in := g.Inputs()
		size, ok := floats(in[0])
		if len(in) != 1 || !ok || size != len(schema.Fields) {
			return nil, schema, fmt.Errorf("the model has the inputs %v, the table the columns %s: want a column for each input, or one input [N, columns] that takes all columns but the targets", ports(in), p.columns())
		}
		schema.Packed = in[0].Name()
	}
	for _, f := range schema.Fields {
		c := t.Column(f.Name)
		if row := c.Gap(upTo(t.Len())); row >= 0 {
			return nil, schema, fmt.Errorf("%s: line %d, column %s: the number is missing", path, t.Lines[row], c.Name)
		}
	}
	return t, schema, nil
}

// severalColumns reads a table with a target for each output.
func (d *dataset) severalColumns(path string) (s samples, err error) {
	t, schema, err := d.sideColumns(d.graph, path, false)
	if err != nil {
		return s, err
	}
	feed, err := schema.Feed(t, upTo(t.Len()))
	if err != nil {
		return s, err
	}
	var x, y []*tensor.Dense
	for _, v := range d.graph.Inputs() {
		column, ok := feed[v.Name()].(*tensor.Dense)
		if !ok {
			return s, fmt.Errorf("%s: input %s takes texts: models with several outputs are trained on numbers", path, v.Name())
		}
		x = append(x, column)
	}
	for _, v := range d.graph.Outputs() {
		one, classes, target, err := d.columnTarget(t, v)
		if err == nil {
			target, err = d.keep(one, v.Name(), classes, target)
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		y = append(y, target)
	}
	s.tensors, err = data.Stacked(x, y)
	return s, err
}

// columnTarget returns the column that is the target of an output, as numbers: classes if the column has words, or integers and the
// output has several scores.
func (d *dataset) columnTarget(t *table.Table, v *nn.Value) (one *dataset, classes []string, y *tensor.Dense, err error) {
	if one, err = d.forOutput(v.Name()); err != nil {
		return nil, nil, nil, err
	}
	c := t.Column(v.Name())
	missing := func(row int) error {
		return fmt.Errorf("line %d, column %s: the target is missing", t.Lines[row], c.Name)
	}
	if c.Number == nil {
		each := make([][]any, t.Len())
		for i, code := range c.Code {
			if code < 0 {
				return nil, nil, nil, missing(i)
			}
			each[i] = []any{c.Words[code]}
		}
		var s samples
		if err := one.wordClasses("row", each, &s); err != nil {
			return nil, nil, nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		flat := make([]any, len(each))
		for i := range each {
			flat[i] = each[i][0]
		}
		value, err := tensorOf(dtype.Int64, flat, []int{len(flat)})
		if err != nil {
			return nil, nil, nil, err
		}
		return one, s.classes, value.(*tensor.Dense), nil
	}
	if row := c.Gap(upTo(t.Len())); row >= 0 {
		return nil, nil, nil, missing(row)
	}
	whole := !slices.ContainsFunc(c.Number, func(x float64) bool { return x != float64(int64(x)) || x < 0 })
	if typ := v.Type(); whole && d.task != "regression" && typ.Rank() > 1 && typ.Shape[1].Size > 1 {
		y, err = dtype.FromFloats(dtype.Int64, c.Number, len(c.Number))
		return one, nil, y, err
	}
	y, err = dtype.FromFloats(dtype.Float32, c.Number, len(c.Number), 1)
	return one, nil, y, err
}

// only returns an error if a single target belongs to an output other than the first, which is the one that a single target trains.
func only(g *nn.Graph, name string) error {
	if out := g.Outputs(); len(out) > 1 && name != out[0].Name() && slices.ContainsFunc(out, func(v *nn.Value) bool { return v.Name() == name }) {
		return fmt.Errorf("the only target, %s, is for another output than the first, %s: want targets for all outputs (%v), or a model that ends there: graft extract MODEL --to %s", name, out[0].Name(), ports(out), name)
	}
	return nil
}

// eachOutput returns the answerers of several outputs, from the metadata; nil if they do not describe the outputs.
func eachOutput(g *nn.Graph) (map[string]*answerer, error) {
	known, err := readTargets(g)
	if err != nil || known == nil {
		return nil, err
	}
	all := map[string]*answerer{}
	for _, v := range g.Outputs() {
		about, ok := known[v.Name()]
		if t := v.Type(); !ok || t.Rank() != 2 || !t.DType.IsFloat() {
			return nil, nil
		}
		all[v.Name()] = &answerer{computer: computer{g: g}, kind: about.Kind, labels: about.Classes, logits: true}
	}
	return all, nil
}

// partNames returns the names of the outputs with separate answers, sorted.
func (x answer) partNames() []string { return slices.Sorted(maps.Keys(x.parts)) }
