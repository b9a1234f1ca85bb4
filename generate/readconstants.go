package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// small is the maximum number of elements of a constant that is written as a literal.
const small = 64

// constantOutputs makes steps for outputs that are constants.
func (r *reader) constantOutputs() error {
	for _, v := range r.g.Outputs() {
		if x := r.vals[v]; x != nil && (x.step != nil || x.input != "") {
			continue
		}
		t := r.tensor(v)
		if t == nil {
			return fmt.Errorf("generate: output %s, %v, cannot be written as Go source", v.Name(), v.Type())
		}
		n := v.Producer()
		if n == nil {
			return fmt.Errorf("generate: output %s is a parameter that nothing computes", v.Name())
		}
		x := r.val(v)
		s := &step{op: copied, kind: "constant", nodes: []*nn.Node{n}, in: []arg{{con: r.constantOf(v, t, "value", n)}}, out: []*value{x}}
		x.step = s
		r.steps = append(r.steps, s)
	}
	return nil
}

// constant reports whether every output of a node is folded, so that it needs no step.
func (r *reader) constant(n *nn.Node) bool {
	for _, v := range n.Outputs() {
		if v != nil && r.tensor(v) == nil {
			return false
		}
	}
	return true
}

// tensor returns the value of v if it does not depend on the model's inputs, otherwise nil.
func (r *reader) tensor(v *nn.Value) *tensor.Dense {
	if v == nil {
		return nil
	}
	if p := v.Param(); p != nil && !v.IsInput() {
		return direct.Data(p)
	}
	if d := r.folded[v]; d != nil {
		return d
	}
	d, _ := v.Known().Value.(*tensor.Dense)
	if d != nil && v.Type().DType.IsFloat() && d.Shape().TotalSize() > 1 && v.Producer() != nil {
		if x := v.Producer().In(0); x != nil && !x.Type().DType.IsFloat() {
			return nil // integers of a quantized model stay integers
		}
	}
	return d
}

// short is the maximum number of elements of a constant that is repeated as a literal for each of its readers.
const short = 8

// own returns a constant as an input of a step: the constant, or the value of a separate step if several nodes read its elements.
func (r *reader) own(v *nn.Value, c *constant) arg {
	elements := c.data.Shape().TotalSize()
	written := c.kind == conParam || c.kind == conBlank || c.kind == conSmall && elements > short
	if r.style == Gorgonia || !written || r.alone(v) || elements == 0 {
		return arg{con: c}
	}
	x := r.val(v)
	if x.step == nil {
		if !strings.Contains(c.name.v.(string), "::") && v.Param() != nil {
			c.name.v = v.Name()
		}
		x.step = &step{alone: true, op: copied, kind: "constant", nodes: v.Users()[:1], in: []arg{{con: c}}, out: []*value{x}, scope: []string{}}
		r.shared = append(r.shared, x.step)
	}
	return arg{val: x}
}

// constantOf returns a tensor that an operator reads.
func (r *reader) constantOf(v *nn.Value, t *tensor.Dense, slot string, n *nn.Node) *constant {
	dt := dtype.Of(t.Dtype())
	c := &constant{name: &lit{v: slot, hint: "name"}, data: t, fill: fillOf(n, slices.Index(n.Inputs(), v), t)}
	role := nn.Constant
	if p := v.Param(); p != nil {
		role = p.Role()
	} else if v.Type().DType.IsFloat() && r.learned[v] {
		role = nn.Weight
	}
	elements := t.Shape().TotalSize()
	switch {
	case role != nn.Constant && dt.IsFloat():
		c.kind, c.list = conParam, &lit{v: []int(t.Shape().Clone()), hint: "shape"}
	case dt == dtype.Int64 && t.Dims() == 1 && elements <= small:
		ints, _ := dtype.Ints(t)
		c.kind, c.list = conInts, &lit{v: ints, hint: slot}
	case dt.IsFloat() && t.Dims() == 0 && slices.ContainsFunc(n.Inputs(), func(x *nn.Value) bool { return x != nil && r.tensor(x) == nil && x.Type().DType == dt }):
		f, _ := dtype.Float64s(t)
		c.kind, c.list = conScalar, &lit{v: exact(f[0], dt), hint: slot}
	case elements > 0 && elements <= small && spelled(dt):
		c.kind, c.list = conSmall, &lit{v: elementsOf(t), hint: slot}
	default:
		c.kind, c.list = conBlank, &lit{v: []int(t.Shape().Clone()), hint: "shape"}
	}
	if c.kind == conParam || c.kind == conBlank {
		c.name.v = v.Name()
		if p := r.origin(v); p != nil {
			c.name.v = p.Name()
		} else if i := strings.LastIndex(v.Name(), "/"); i >= 0 && v.Param() == nil {
			c.name.v = strings.Join(append(scopeOfNode(n), slot), ".")
		}
	}
	return c
}

// origin returns the parameter whose elements a folded value has, in the same order, if the model names it.
func (r *reader) origin(v *nn.Value) *nn.Param {
	for v != nil && r.folded[v] != nil && v.Producer() != nil && (copies(v.Producer()) || v.Producer().Traits().Moves == trait.MovedInOrder) {
		v = v.Producer().In(0)
	}
	if v == nil || v.Param() == nil || strings.Contains(v.Name(), "::") {
		return nil
	}
	return v.Param()
}

// exact returns a number with the digits that its type needs in source.
func exact(f float64, t dtype.DType) float64 {
	if t.Size() <= 4 {
		return round(float32(f))
	}
	return f
}

// spelled reports whether tensors of a type can be written as literals.
func spelled(t dtype.DType) bool {
	switch t {
	case dtype.Float32, dtype.Float64, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Bool:
		return true
	}
	return false
}

// elementsOf returns the elements of a tensor as a slice.
func elementsOf(t *tensor.Dense) any {
	v := reflect.ValueOf(t.Data())
	if v.Kind() != reflect.Slice {
		s := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
		s.Index(0).Set(v)
		return s.Interface()
	}
	return v.Slice(0, t.Shape().TotalSize()).Interface()
}
