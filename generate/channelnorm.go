package generate

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// channelNorm recognizes a layer normalization over the channels, axis 1, that ends in a node: one over the last axis
// between two transpositions.
func channelNorm(r *reader, n *nn.Node) *layer {
	x := n.In(0)
	if x == nil || x.Producer() == nil || !only(x, n) || x.Type().Unranked || x.Type().Rank() < 3 {
		return nil
	}
	rank := x.Type().Rank()
	perm := channelsLast(rank)
	if !inverse(perm, attrs[std.TransposeConfig](n).Perm) {
		return nil
	}
	l := r.lastNormOf(x.Producer())
	if l == nil || l.Layer.(layers.LayerNorm).Axes != 1 {
		return nil
	}
	first := l.in[0].Producer()
	if first == nil || !ofStandard(first, "Transpose") || !slices.Equal(attrs[std.TransposeConfig](first).Perm, perm) || first.In(0).Type().Rank() != rank ||
		slices.ContainsFunc(l.in[0].Users(), func(u *nn.Node) bool { return !slices.Contains(l.nodes, u) && !measures(u) }) || slices.Contains(r.g.Outputs(), l.in[0]) {
		return nil
	}
	eps := l.Layer.(layers.LayerNorm).Eps
	l.Layer = layers.LayerNorm{Axes: 1, ChannelsFirst: true, Eps: eps}
	l.in, l.out, l.nodes = first.Inputs()[:1], n.Outputs(), append(append([]*nn.Node{first}, l.nodes...), n)
	return l
}

// channelsLast is the permutation that moves axis 1 to the end.
func channelsLast(rank int) []int {
	perm := []int{0}
	for i := 2; i < rank; i++ {
		perm = append(perm, i)
	}
	return append(perm, 1)
}

// lastNormOf returns the layer normalization over the last axes that ends in a node; nil if there is none.
func (r *reader) lastNormOf(n *nn.Node) *layer {
	if x := r.groups[n]; x != nil {
		if c, ok := x.Config.(std.LayerNormalizationConfig); ok && len(x.In) == 3 && x.In[0] != nil && x.In[1] != nil && x.In[2] != nil {
			if l := r.lastAxes(n, x.In[0], x.In[1], x.In[2], epsilon(c.Epsilon)); l != nil {
				l.nodes = x.Nodes
				return l
			}
		}
		return nil
	}
	if ofStandard(n, "LayerNormalization") {
		return layerNorm(r, n)
	}
	return nil
}

// spelledChannelNorm recognizes a layer normalization over the channels, axis 1, written in elementary operators: the
// node is the last sum of w·(x−E)/√(Var+ε)+b, where the means keep axis 1.
func spelledChannelNorm(r *reader, n *nn.Node) *layer {
	scaled, bias := r.sides(n)
	if scaled == nil || !only(scaled, n) || !ofStandard(scaled.Producer(), "Mul") {
		return nil
	}
	normal, scale := r.sides(scaled.Producer())
	if normal == nil || !only(normal, scaled.Producer()) || !ofStandard(normal.Producer(), "Div") {
		return nil
	}
	div := normal.Producer()
	centred, root := div.In(0).Producer(), div.In(1).Producer()
	if centred == nil || root == nil || !ofStandard(centred, "Sub") || !ofStandard(root, "Sqrt") || root.In(0).Producer() == nil || !ofStandard(root.In(0).Producer(), "Add") {
		return nil
	}
	sum := root.In(0).Producer()
	variance, eps := r.sides(sum)
	x, mean := centred.In(0), centred.In(1).Producer()
	add, ok := r.number(eps)
	if variance == nil || !ok || add <= 0 || !r.channelMean(mean, x) {
		return nil
	}
	over := variance.Producer()
	if over.In(0) == nil || over.In(0).Producer() == nil || !r.channelMean(over, over.In(0)) {
		return nil
	}
	square := over.In(0).Producer()
	of := square.In(0).Producer()
	two, power := r.number(square.In(1))
	if of == nil || !ofStandard(of, "Sub") || of.In(0) != x || of.In(1) != centred.In(1) ||
		!(ofStandard(square, "Pow") && power && two == 2 || ofStandard(square, "Mul") && square.In(0) == square.In(1)) {
		return nil
	}
	nodes := []*nn.Node{mean, centred, of, square, over, sum, root, div, scaled.Producer(), n}
	for _, m := range nodes[:len(nodes)-1] {
		if slices.Contains(r.g.Outputs(), m.Out(0)) || slices.ContainsFunc(m.Out(0).Users(), func(u *nn.Node) bool { return !slices.Contains(nodes, u) && !measures(u) }) {
			return nil
		}
	}
	t := x.Type()
	if t.Rank() < 3 || !fixed(t.Shape[1]) {
		return nil
	}
	w, b := r.perChannel(scale, t.Shape[1].Size, t.Rank()), r.perChannel(bias, t.Shape[1].Size, t.Rank())
	l := layerOf(layers.LayerNorm{Axes: 1, ChannelsFirst: true, Eps: round(float32(add))}, "layernorm", n, x, map[string]*tensor.Dense{"weight": w, "bias": b}).with(lastNorm)
	if l != nil {
		l.name, l.nodes = stem(scale, bias), nodes
	}
	return l
}

// channelMean reports whether a node is the mean of x over axis 1 with the axis kept.
func (r *reader) channelMean(n *nn.Node, x *nn.Value) bool {
	if n == nil || !ofStandard(n, "ReduceMean") || n.In(0) != x || x.Type().Unranked {
		return false
	}
	c := attrs[std.ReduceMeanConfig](n)
	axes, err := dtype.Ints(r.tensor(n.In(1)))
	return err == nil && slices.Equal(axes, []int{1}) && (c.KeepDims == nil || *c.KeepDims)
}
