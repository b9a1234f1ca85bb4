package generate

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// joint are the projections where one layer makes queries, keys and values, which are then cut and turned: columns of its weight
// go to the layers that make them apart. Where each comes from is found by the numbers of the elements: they go through the
// operators between.
func (r *reader) joint(core *nn.Composite, heads, per int) *projections {
	p := &projections{size: heads * per, weights: map[string]*tensor.Dense{}}
	var rows *nn.Value
	for _, v := range core.In[:3] {
		end, between := r.moved(v)
		if end == nil || rows != nil && end != rows {
			return nil
		}
		rows = end
		for _, n := range between {
			if !slices.Contains(p.nodes, n) {
				p.nodes = append(p.nodes, n)
			}
		}
	}
	l, nodes := r.projection(rows.Producer())
	if l == nil || l.Layer.(layers.Linear).Out != 3*p.size || rows.Type().Rank() != 3 || r.leave(p.nodes, core.Nodes) {
		return nil
	}
	numbers, dims := numbered(rows)
	if numbers == nil {
		return nil
	}
	names := []string{core.In[0].Name(), core.In[1].Name(), core.In[2].Name()}
	found, err := r.g.Eval(r.ctx, nn.Feed{rows.Name(): numbers}, names...)
	if err != nil {
		return nil
	}
	c := core.Config.(std.HeadAttentionConfig)
	for i, what := range []string{"query", "key", "value"} {
		x, ok := found[names[i]].(*tensor.Dense)
		if !ok {
			return nil
		}
		from := channels(x, dims, heads, per, []bool{c.RowsQ, c.RowsK, c.RowsV}[i])
		if from == nil {
			return nil
		}
		for name, w := range l.weights {
			if p.weights[what+"."+name] = picked(w, from); p.weights[what+"."+name] == nil {
				return nil
			}
		}
	}
	p.tensors, p.nodes = len(l.weights), append(p.nodes, nodes...)
	p.query, p.from = l.in[0], l.in[0]
	return p
}

// moved goes back from v over operators that only move elements, as constants say, to the value that a layer gives.
func (r *reader) moved(v *nn.Value) (end *nn.Value, between []*nn.Node) {
	for v != nil && v.Producer() != nil {
		n := v.Producer()
		if l, _ := r.projection(n); l != nil {
			return v, between
		}
		if n.Op() == nil || r.groups[n] != nil || n.Op().Traits.Moves == trait.NotMoved && n.Op().Traits.Picks == nil || len(n.Inputs()) == 0 {
			return nil, nil
		}
		for _, x := range n.Inputs()[1:] {
			if x != nil && r.tensor(x) == nil {
				return nil, nil
			}
		}
		between, v = append(between, n), n.In(0)
	}
	return nil, nil
}

// leave reports whether values of nodes are read elsewhere than by them and others.
func (r *reader) leave(nodes, others []*nn.Node) bool {
	for _, n := range nodes {
		for _, v := range n.Outputs() {
			if v == nil {
				continue
			}
			if slices.Contains(r.g.Outputs(), v) || slices.ContainsFunc(v.Users(), func(u *nn.Node) bool { return !slices.Contains(nodes, u) && !slices.Contains(others, u) }) {
				return true
			}
		}
	}
	return false
}

// numbered are the numbers of the elements of a value [batch, rows, channels], with two for axes that are open; nil where there are
// more than its type tells apart.
func numbered(v *nn.Value) (*tensor.Dense, []int) {
	var dims []int
	for _, d := range v.Type().Shape {
		n := d.Size
		if d.Symbolic() || !d.Known() {
			n = 2
		}
		dims = append(dims, n)
	}
	n, err := dtype.Count(dims)
	if err != nil || n >= 1<<24 || v.Type().DType != dtype.Float32 {
		return nil, nil
	}
	d := dtype.New(dtype.Float32, dims...)
	for i := range dtype.Slice[float32](d) {
		dtype.Slice[float32](d)[i] = float32(i)
	}
	return d, dims
}

// channels are the channels of the layer that are those of the heads, one head after the other; nil where an element is of
// another row than its own.
func channels(x *tensor.Dense, dims []int, heads, per int, rowsFirst bool) []int {
	batch, rows, all := dims[0], dims[1], dims[2]
	want := []int{batch, heads, rows, per}
	if rowsFirst {
		want[1], want[2] = rows, heads
	}
	if !slices.Equal([]int(x.Shape()), want) {
		return nil
	}
	from := make([]int, heads*per)
	for i, number := range dtype.Slice[float32](x) {
		d, j, k := i%per, i/per%want[2], i/per/want[2]%want[1]
		h, row := k, j
		if rowsFirst {
			h, row = j, k
		}
		at := int(number)
		if at/all != i/per/want[2]/want[1]*rows+row {
			return nil
		}
		if first := i < want[1]*want[2]*per && row == 0; first {
			from[h*per+d] = at % all
		} else if from[h*per+d] != at%all {
			return nil
		}
	}
	return from
}

// picked are columns of a weight, or elements of a bias.
func picked(w *tensor.Dense, columns []int) *tensor.Dense {
	shape := slices.Clone([]int(w.Shape()))
	if len(shape) == 0 || dtype.Of(w.Dtype()) != dtype.Float32 {
		return nil
	}
	all := shape[len(shape)-1]
	shape[len(shape)-1] = len(columns)
	d := dtype.New(dtype.Float32, shape...)
	to, from := dtype.Slice[float32](d), dtype.Slice[float32](w)
	for i := range to {
		to[i] = from[i/len(columns)*all+columns[i%len(columns)]]
	}
	return d
}
