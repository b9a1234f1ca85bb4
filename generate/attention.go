package generate

import (
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// attention is self-attention, or attention to a second value, with its four projections; nil where the projection that
// x is does not end one, or what is in front of it is less or more than that.
func (r *reader) attention(x *nn.Composite, last *nn.Node) *layer {
	back := x.In[0].Producer()
	if back == nil || back.In(0) == nil || back.In(0).Producer() == nil || !only(x.In[0], x.Nodes[0]) && len(x.In[0].Users()) != 1 {
		return nil
	}
	core := r.groups[back.In(0).Producer()]
	if core == nil || len(back.In(0).Users()) != 1 || len(core.In) != 3 {
		return nil
	}
	c, ok := core.Config.(std.HeadAttentionConfig)
	t := back.In(0).Type()
	if !ok || !c.RowsQ || !c.RowsK || !c.RowsV || !c.RowsY || t.Rank() != 4 || x.In[0].Type().Rank() != 3 {
		return nil
	}
	heads, per := t.Shape[2].Size, t.Shape[3].Size
	if t.Shape[2].Symbolic() || t.Shape[3].Symbolic() || math.Abs(c.Scale*math.Sqrt(float64(per))-1) > 1e-5 {
		return nil
	}
	size := heads * per
	weights, nodes := map[string]*tensor.Dense{}, append([]*nn.Node{back}, core.Nodes...)
	from := make([]*nn.Value, 3)
	bias := -1
	put := func(what string, l *layer) bool {
		if l == nil || l.Layer.(layers.Linear).Out != size || bias >= 0 && len(l.weights) != bias {
			return false
		}
		bias = len(l.weights)
		for k, w := range l.weights {
			weights[what+"."+k] = w
		}
		return true
	}
	for i, what := range []string{"query", "key", "value"} {
		v := core.In[i]
		if v == nil || v.Producer() == nil || len(v.Users()) != 1 || v.Producer().In(0) == nil || v.Type().Rank() != 4 || v.Type().Shape[2].Size != heads {
			return nil
		}
		rows := v.Producer().In(0) // before the reshape that cuts it into heads
		if rows.Producer() == nil || len(rows.Users()) != 1 || rows.Type().Rank() != 3 {
			return nil
		}
		end := rows.Producer()
		l, ns := r.projection(end)
		if !put(what, l) {
			return nil
		}
		from[i] = l.in[0]
		nodes = append(append(nodes, v.Producer()), ns...)
	}
	if l, _ := r.projection(last); !put("output", l) || from[1] != from[2] || from[0].Type().Rank() != 3 || from[0].Type().Shape[2].Size != size {
		return nil
	}
	l := layerOf(layers.Attention{Heads: heads, NoBias: bias == 1}, "attention", last, from[0], weights)
	if l == nil {
		return nil
	}
	if from[1] != from[0] {
		l.in = append(l.in, from[1])
	}
	l.name, l.nodes = parent(stem(x.In[1])), append(nodes, x.Nodes...)
	return l
}

// projection is the linear layer that ends in a node, and its nodes.
func (r *reader) projection(n *nn.Node) (*layer, []*nn.Node) {
	if x := r.groups[n]; x != nil {
		if c, ok := x.Config.(std.LinearConfig); ok {
			var bias *nn.Value
			if len(x.In) > 2 {
				bias = x.In[2]
			}
			return r.linear(n, x.In[0], x.In[1], bias, c.TransB), x.Nodes
		}
	}
	if c, ok := n.Config().(op.Name); ok && len(n.Inputs()) == 2 && c.Domain == "" && r.groups[n] == nil && readers[c.Name] != nil {
		if l := readers[c.Name](r, n); l != nil {
			if _, ok := l.Layer.(layers.Linear); ok {
				return l, []*nn.Node{n}
			}
		}
	}
	return nil, nil
}

// parent is a name without its last part.
func parent(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return ""
}
