package generate

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// spelledGroupNorm recognizes a group normalization as PyTorch exported it before opset 18: an instance normalization of
// the groups between two reshapes, with a scale of ones and no shift, then a product and a sum for each channel. The
// node is the sum.
func spelledGroupNorm(r *reader, n *nn.Node) *layer {
	scaled, bias := r.sides(n)
	if scaled == nil || !only(scaled, n) {
		return nil
	}
	normal, scale := r.sides(scaled.Producer())
	if !ofStandard(scaled.Producer(), "Mul") || normal == nil || !only(normal, scaled.Producer()) {
		return nil
	}
	back := normal.Producer()
	if !ofStandard(back, "Reshape") || back.In(0).Producer() == nil {
		return nil
	}
	inst := back.In(0).Producer()
	if !ofStandard(inst, "InstanceNormalization") || !ofStandard(inst.In(0).Producer(), "Reshape") || !r.filled(inst.In(1), 1) || !r.filled(inst.In(2), 0) {
		return nil
	}
	first := inst.In(0).Producer()
	x, groups := first.In(0), inst.In(0).Type()
	t := x.Type()
	if !only(inst.Out(0), back) || !only(first.Out(0), inst) || t.Rank() < 3 || t.Shape[1].Symbolic() || groups.Rank() != 3 || !slices.Equal(normal.Type().Shape, t.Shape) {
		return nil
	}
	channels := t.Shape[1].Size
	w, b := r.perChannel(scale, channels, t.Rank()), r.perChannel(bias, channels, t.Rank())
	if w == nil || b == nil {
		return nil
	}
	l := layerOf(layers.GroupNorm{Groups: groups.Shape[1].Size, Eps: round(epsilon(attrs[std.InstanceNormalizationConfig](inst).Epsilon))}, "groupnorm", n, x,
		map[string]*tensor.Dense{"weight": w, "bias": b}).with(norm)
	if l != nil {
		l.name, l.nodes = stem(scale, bias), []*nn.Node{first, inst, back, scaled.Producer(), n}
	}
	return l
}

// ofStandard reports whether a node is the standard operator with a name.
func ofStandard(n *nn.Node, name string) bool { return n.Type() == name && n.Domain() == "" }

// sides returns the computed and the constant input of a sum or product.
func (r *reader) sides(n *nn.Node) (computed, constant *nn.Value) {
	if len(n.Inputs()) != 2 {
		return nil, nil
	}
	for i := range 2 {
		if x := n.In(i); r.tensor(x) == nil && r.tensor(n.In(1-i)) != nil && x.Producer() != nil {
			return x, n.In(1 - i)
		}
	}
	return nil, nil
}

// only reports whether by is the only reader of v, and v is not an output of the model.
func only(v *nn.Value, by *nn.Node) bool {
	return len(v.Users()) == 1 && v.Users()[0] == by && !slices.Contains(v.Graph().Outputs(), v)
}

// filled reports whether all elements of a constant are x.
func (r *reader) filled(v *nn.Value, x float64) bool {
	t := r.tensor(v)
	if t == nil {
		return false
	}
	f, err := dtype.Float64s(t)
	return err == nil && !slices.ContainsFunc(f, func(y float64) bool { return x != y })
}

// perChannel returns a weight of shape [C, 1, …] or [1, C, 1, …] as a vector.
func (r *reader) perChannel(v *nn.Value, channels, rank int) *tensor.Dense {
	w := r.weight(v)
	if w == nil || w.Shape().TotalSize() != channels || w.Dims() > rank || w.Dims() < rank-1 || w.Shape()[w.Dims()-rank+1] != channels {
		return nil
	}
	d, err := dtype.View(w, channels)
	if err != nil {
		return nil
	}
	return d
}
