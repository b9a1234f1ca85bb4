package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Trunk is a model that is divided into the encoding of its inputs, which runs only once over the data, and the rest,
// which is trained.
type Trunk struct {
	whole  *nn.Graph
	front  *nn.Graph
	Rest   *nn.Graph // the part that is trained; its inputs are the outputs of the first part
	border []string
	schema Schema
}

// Cut divides a model with the given schema.
func Cut(g *nn.Graph, s Schema) (*Trunk, error) {
	t := &Trunk{whole: g, schema: s}
	learns, reads := parts(g)
	for n := range g.Nodes() {
		if !learns[n] {
			continue
		}
		for _, v := range n.Inputs() {
			if v != nil && v.Param() == nil && !learns[v.Producer()] && (v.Producer() == nil || reads[v.Producer()]) && !slices.Contains(t.border, v.Name()) {
				t.border = append(t.border, v.Name())
			}
		}
	}
	for _, v := range g.Outputs() {
		if !learns[v.Producer()] {
			return nil, fmt.Errorf("table: output %s depends on no parameter that is trained", v.Name())
		}
	}
	var err error
	if t.front, err = g.Extract(nil, t.border); err != nil {
		return nil, err
	}
	var outputs []string
	for _, v := range g.Outputs() {
		outputs = append(outputs, v.Name())
	}
	t.Rest, err = g.Extract(t.border, outputs)
	return t, err
}

// parts returns the nodes that depend on a trained parameter, and those that depend on an input.
func parts(g *nn.Graph) (learns, reads map[*nn.Node]bool) {
	learns, reads = map[*nn.Node]bool{}, map[*nn.Node]bool{}
	for more := true; more; { // usually one pass in the order of nodes suffices
		more = false
		for n := range g.Nodes() {
			for _, v := range n.Inputs() {
				if v == nil {
					continue
				}
				p, from := v.Param(), v.Producer()
				if !learns[n] && (p != nil && p.Trainable() || learns[from]) {
					learns[n], more = true, true
				}
				if !reads[n] && (p == nil && from == nil || reads[from]) {
					reads[n], more = true, true
				}
			}
		}
	}
	return learns, reads
}

// Samples runs the first part on rows of a table and returns samples for the rest.
func (t *Trunk) Samples(ctx context.Context, from *Table, rows []int) (data.Dataset[data.Sample], error) {
	parts := make([][]*tensor.Dense, len(t.border))
	for chunk := range slices.Chunk(rows, 1024) {
		feed, err := t.schema.Feed(from, chunk)
		if err != nil {
			return nil, err
		}
		out, err := t.front.Eval(ctx, feed, t.border...)
		if err != nil {
			return nil, err
		}
		for i, name := range t.border {
			d, ok := out[name].(*tensor.Dense)
			if !ok || d.Dims() == 0 || d.Shape()[0] != len(chunk) {
				return nil, fmt.Errorf("table: value %s is %v, want a row for each of %d", name, out[name].Shape(), len(chunk))
			}
			parts[i] = append(parts[i], d)
		}
	}
	x := make([]*tensor.Dense, len(parts))
	for i, p := range parts {
		var err error
		if x[i], err = dtype.Join(p...); err != nil {
			return nil, err
		}
	}
	y, err := from.Targets(rows)
	if err != nil {
		return nil, err
	}
	return data.Stacked(x, []*tensor.Dense{y})
}

// Return copies the trained parameters of the rest to the model.
func (t *Trunk) Return() error {
	return t.whole.Edit(func(e *nn.Edit) {
		for p := range t.Rest.Params() {
			e.SetData(e.Value(p.Name()), direct.Data(p))
		}
	})
}
