package nn

import (
	"reflect"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ComputeIn converts all inputs, parameters and attributes of type float16, bfloat16, float32 or float64 to t, which is
// float32 or float64, in subgraphs too. It allows a model that computes in half precision, in which graft cannot train,
// to be trained. Values are only rounded if t is the narrower type. Other types, such as 8-bit floats, are left alone; an
// operator that does not accept t fails the edit.
func (e *Edit) ComputeIn(t op.DType) {
	if e.err != nil {
		return
	}
	e.made()
	if t != dtype.Float32 && t != dtype.Float64 {
		e.Failf("cannot compute in %v: want float32 or float64", t)
		return
	}
	e.computeIn(t)
}

func (e *Edit) computeIn(t op.DType) {
	other := func(from op.DType) bool {
		switch from {
		case dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64:
			return from != t
		}
		return false
	}
	for _, v := range e.g.inputs {
		if other(v.typ.DType) {
			e.setType(v, v.typ.Of(t))
		}
	}
	for _, p := range e.g.params() {
		if d := p.data; d != nil && other(dtype.Of(d.Dtype())) {
			c, err := engine.Convert(t, d)
			if err != nil {
				e.Failf("parameter %q in %v: %w", p.id(), t, err)
				return
			}
			e.setData(p, c)
		}
	}
	for _, n := range e.g.nodes() {
		for _, b := range n.bodies() {
			sub := &Edit{g: b.Graph, acts: e.acts, outer: e}
			sub.computeIn(t)
			e.log, e.acts = append(e.log, sub.log...), sub.acts
			e.fail(sub.err)
		}
		c, changed, err := attributesIn(n.config, t, other)
		if err != nil {
			e.Failf("%s %s in %v: %w", n.opType, n.label(), t, err)
			return
		}
		if changed {
			e.setConfig(n, c)
		}
	}
}

// attributesIn returns c with t in place of the element types for which other is true, and tensors converted to t.
func attributesIn(c op.Config, t op.DType, other func(op.DType) bool) (_ op.Config, changed bool, err error) {
	old := reflect.ValueOf(c)
	if old.Kind() != reflect.Struct {
		return c, false, nil
	}
	s := reflect.New(old.Type()).Elem()
	s.Set(old)
	for i := range s.NumField() {
		f := s.Field(i)
		if !f.CanSet() {
			continue
		}
		switch v := f.Interface().(type) {
		case op.DType:
			if other(v) {
				f.Set(reflect.ValueOf(t))
				changed = true
			}
		case *tensor.Dense:
			if v != nil && other(dtype.Of(v.Dtype())) {
				d, err := engine.Convert(t, v)
				if err != nil {
					return c, false, err
				}
				f.Set(reflect.ValueOf(d))
				changed = true
			}
		}
	}
	return s.Interface().(op.Config), changed, nil
}
