package generate

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// attention is self-attention, or attention to a second value, with its four projections, of which those of queries, keys and
// values may be one, and with what is added to the scores; nil where the projection that x is does not end one, or what is in
// front of it is less or more than that.
func (r *reader) attention(x *nn.Composite, last *nn.Node) *layer {
	back := x.In[0].Producer()
	if back == nil || back.In(0) == nil || back.In(0).Producer() == nil || !only(x.In[0], x.Nodes[0]) && len(x.In[0].Users()) != 1 {
		return nil
	}
	core := r.groups[back.In(0).Producer()]
	if core == nil || len(back.In(0).Users()) != 1 || len(core.In) < 3 || len(core.In) > 4 {
		return nil
	}
	c, ok := core.Config.(std.HeadAttentionConfig)
	t := back.In(0).Type()
	if !ok || !c.RowsY || t.Rank() != 4 || x.In[0].Type().Rank() != 3 {
		return nil
	}
	heads, per := t.Shape[2].Size, t.Shape[3].Size
	if t.Shape[2].Symbolic() || t.Shape[3].Symbolic() || math.Abs(c.Scale*math.Sqrt(float64(per))-1) > 1e-5 {
		return nil
	}
	p := r.separate(core, heads, per)
	if p == nil {
		p = r.joint(core, heads, per)
	}
	if p == nil {
		return nil
	}
	if l, _ := r.projection(last); !p.put("output", l) || p.from.Type().Rank() != 3 || p.from.Type().Shape[2].Size != p.size {
		return nil
	}
	l := layerOf(layers.Attention{Heads: heads, NoBias: p.tensors == 1}, "attention", last, p.query, p.weights)
	if l == nil {
		return nil
	}
	masked := len(core.In) == 4 && core.In[3] != nil
	if p.from != p.query || masked {
		l.in = append(l.in, p.from)
	}
	if masked {
		if r.tensor(core.In[3]) != nil {
			return nil // a constant is no input of a layer
		}
		l.in = append(l.in, core.In[3])
	}
	l.name, l.nodes = parent(stem(x.In[1])), slices.Concat([]*nn.Node{back}, core.Nodes, p.nodes, x.Nodes)
	return l
}

// projections are the linear layers around attention.
type projections struct {
	query, from *nn.Value // what queries, and keys and values are made of
	size        int
	tensors     int // of each layer: a weight, and perhaps a bias; 0: not known yet
	weights     map[string]*tensor.Dense
	nodes       []*nn.Node
}

// put adds the weights of a layer, if they are of the size of the others.
func (p *projections) put(what string, l *layer) bool {
	if l == nil || l.Layer.(layers.Linear).Out != p.size || p.tensors > 0 && len(l.weights) != p.tensors {
		return false
	}
	p.tensors = len(l.weights)
	for k, w := range l.weights {
		p.weights[what+"."+k] = w
	}
	return true
}

// separate are the projections where each is a layer of its own.
func (r *reader) separate(core *nn.Composite, heads, per int) *projections {
	p := &projections{size: heads * per, weights: map[string]*tensor.Dense{}}
	if c := core.Config.(std.HeadAttentionConfig); !c.RowsQ || !c.RowsK || !c.RowsV {
		return nil
	}
	from := make([]*nn.Value, 3)
	for i, what := range []string{"query", "key", "value"} {
		v := core.In[i]
		if v == nil || v.Producer() == nil || len(v.Users()) != 1 || v.Producer().In(0) == nil || v.Type().Rank() != 4 || v.Type().Shape[2].Size != heads {
			return nil
		}
		rows := v.Producer().In(0) // before the reshape that cuts it into heads
		if rows.Producer() == nil || len(rows.Users()) != 1 || rows.Type().Rank() != 3 {
			return nil
		}
		l, ns := r.projection(rows.Producer())
		if !p.put(what, l) {
			return nil
		}
		from[i] = l.in[0]
		p.nodes = append(append(p.nodes, v.Producer()), ns...)
	}
	if from[1] != from[2] {
		return nil
	}
	p.query, p.from = from[0], from[1]
	return p
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
