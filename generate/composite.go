package generate

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// attrs returns a node's attributes; their defaults if the node has none.
func attrs[T op.Config](n *nn.Node) T {
	if c, ok := n.Config().(T); ok {
		return c
	}
	var zero T
	return op.Fill(zero).(T)
}

// given returns an attribute, or its default.
func given(x *float32, def float32) float32 {
	if x == nil {
		return def
	}
	return *x
}

// composite turns a group of nodes into one step if there is an equivalent layer.
func (r *reader) composite(x *nn.Composite) (draft, bool) {
	last := x.Nodes[len(x.Nodes)-1]
	if len(x.In) == 0 || x.In[0] == nil || r.tensor(x.In[0]) != nil {
		return draft{}, false
	}
	var l *layer
	switch c := x.Config.(type) {
	case std.LayerNormalizationConfig:
		if len(x.In) == 3 && x.In[1] != nil && x.In[2] != nil {
			l = r.lastAxes(last, x.In[0], x.In[1], x.In[2], epsilon(c.Epsilon))
		}
		if l == nil {
			return r.normalization(x)
		}
	case std.RMSNormalizationConfig:
		if len(x.In) == 2 && x.In[1] != nil {
			l = r.rmsNorm(last, x.In[0], x.In[1], epsilon(c.Epsilon))
		}
		if l == nil {
			return r.normalization(x)
		}
	case std.GeluConfig:
		l = layerOf(layers.GELU{Tanh: c.Approximate == "tanh"}, "", last, x.In[0], nil)
	case std.SwishConfig:
		if c.Alpha == nil || *c.Alpha == 1 {
			l = layerOf(layers.SiLU{}, "", last, x.In[0], nil)
		}
	case op.Plain:
		plain := plainLayers[string(c)]
		if plain == nil {
			plain = nn.OpLayer{Config: c}
		}
		l = layerOf(plain, "", last, x.In[0], nil)
	case std.LinearConfig:
		var bias *nn.Value
		if len(x.In) > 2 {
			if bias = x.In[2]; bias == nil {
				return draft{}, false
			}
		}
		l = r.linear(last, x.In[0], x.In[1], bias, c.TransB)
	}
	if l == nil {
		return draft{}, false
	}
	if _, ok := l.Layer.(nn.OpLayer); ok {
		p := x.Config.(op.Plain)
		s := &step{op: p.Operator(), in: []arg{{val: r.val(x.In[0])}}, nodes: x.Nodes, scope: scopeOfNode(last), kind: string(p)}
		v := r.val(last.Out(0))
		v.step, s.out = s, []*value{v}
		return draft{s, x.In[:1]}, true
	}
	if len(l.nodes) < 2 {
		l.nodes = x.Nodes
	}
	d, err := r.layered(l, last)
	return d, err == nil
}

// normalization makes a step that calls the operator of a group whose parameters no layer can own, for they are shared.
func (r *reader) normalization(x *nn.Composite) (draft, bool) {
	for _, v := range x.In[1:] {
		if v == nil || r.tensor(v) == nil || !endsIn(x.In[0].Type(), r.tensor(v).Shape()) {
			return draft{}, false
		}
	}
	if len(x.In) == 1 {
		return draft{}, false
	}
	d, err := r.call(x.Config, x.In, x.Nodes)
	return d, err == nil
}
