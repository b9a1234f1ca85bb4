package nn

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/internal/indices"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// zeroed reports whether the slices of an axis are zero once the slices of all parameters in their atom are.
func (a *analysis) zeroed(id axisID) bool {
	v := a.axes[id].value
	return v.param != nil || a.leaf[v] || a.zero[id]
}

// zeroes finds the axes of the node's outputs that are zero if the parameters of their atoms are.
func (k *coverage) zeroes() {
	rule := k.n.op.Traits.Zero
	if rule == nil {
		return
	}
	c := k.n.call()
	for _, v := range k.n.out {
		if v == nil {
			continue
		}
		for x := range k.a.rank[v] {
			out, _ := k.a.of(v, x)
			k.a.zero[out] = rule(c, k.zeroInputs(out))
		}
	}
}

// zeroInputs returns the same for the input axes that an output axis is coupled to.
func (k *coverage) zeroInputs(out axisID) op.ZeroInputs {
	reach := k.reach(out)
	return func(i int) (zero, tied bool) {
		v := k.n.input(i)
		if v == nil {
			return true, true
		}
		zero = true
		for _, id := range reach {
			if k.a.axes[id].value == v {
				tied, zero = true, zero && k.a.zeroed(id)
			}
		}
		return zero && tied, tied
	}
}

// reach lists the input axes that an output axis of this node is coupled to.
func (k *coverage) reach(out axisID) []axisID {
	var list []axisID
	s := &k.a.system
	for _, set := range [][]indices.Relation{s.Relations[k.firstRel():], s.Norms} {
		for i := len(set) - 1; i >= 0 && set[i].By == k.by; i-- {
			list = appendOther(list, &set[i], out)
		}
	}
	if n := len(s.Splits); n > 0 && s.Splits[n-1].By == k.by {
		list = appendFactors(list, &s.Splits[n-1], out)
	}
	return list
}

// appendOther adds the axis that a relation ties to one.
func appendOther(list []axisID, r *indices.Relation, id axisID) []axisID {
	switch id {
	case r.A:
		list = append(list, r.B)
	case r.B:
		list = append(list, r.A)
	}
	return list
}

// appendFactors adds the axes that have a factor in common with one.
func appendFactors(list []axisID, s *indices.Split, id axisID) []axisID {
	for i := range s.Factors {
		if f := &s.Factors[i]; f.Holds(id) {
			for _, p := range f.Parts {
				if p.Axis != id {
					list = append(list, p.Axis)
				}
			}
		}
	}
	return list
}

// scalarIn returns the number in a constant of one element.
func scalarIn(v *Value) (float64, bool) {
	d, ok := v.known.Value.(*tensor.Dense)
	if v.param != nil {
		d, ok = v.param.data, v.param.data != nil
	}
	if !ok || d.Shape().TotalSize() != 1 {
		return 0, false
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return 0, false
	}
	return x[0], true
}
