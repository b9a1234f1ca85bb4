package nn

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// What the layers in the files around this one share. A layer is a struct value that says what it
// computes; sizes of its input are read off the value it is applied to, and parameters get that
// value's element type. Names of its nodes and parameters begin with its Name, or with its kind
// and a number: conv1, conv1.weight, conv1.bias.

// attrs are attributes by ONNX's names. Beside what op.Op.Decode takes, values may be int, bool,
// float64 and []int.
type attrs map[string]any

// put adds an operator by name, written for its newest version, and returns its first output. Label names the node and the output; "" leaves the node without name.
func (e *Edit) put(label, name string, a attrs, in ...*Value) *Value {
	out := e.putN(label, name, a, 1, in...)
	if e.err != nil {
		return nil
	}
	return out[0]
}

// putN is put for an operator with several outputs.
func (e *Edit) putN(label, name string, a attrs, outputs int, in ...*Value) []*Value {
	if e.err != nil {
		return nil
	}
	o := e.g.ops.Find("", name)
	if o == nil {
		e.Failf("the graph's operators lack %s", name)
		return nil
	}
	raw := make(map[string]any, len(a))
	for k, v := range a {
		raw[k] = rawAttr(v)
	}
	c, err := o.Decode(o.Latest(), raw)
	if err != nil {
		e.fail(err)
		return nil
	}
	return e.named(label, c, outputs, in)
}

func rawAttr(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case float64:
		return float32(v)
	case []int:
		list := make([]int64, len(v))
		for i, n := range v {
			list[i] = int64(n)
		}
		return list
	}
	return v
}

// begin chooses what the names of a layer's nodes and parameters begin with.
func (e *Edit) begin(kind, name string) string {
	e.made()
	if name == "" {
		return e.g.numbered(e.scope+kind, e.g.leadsAny)
	}
	if base := e.scope + name; !e.g.leadsAny(base) {
		return base
	}
	return e.g.numbered(e.scope+name+"_", e.g.leadsAny)
}

// only is the single input of a layer.
func (e *Edit) only(in []*Value) *Value {
	e.made()
	if e.err == nil && (len(in) != 1 || in[0] == nil) {
		e.Failf("takes one input, got %d", len(in))
	}
	if e.err != nil {
		return nil
	}
	return in[0]
}

// ranked is the single input of a layer, which must have at least the given number of axes, and
// how many it has.
func (e *Edit) ranked(in []*Value, least int) (*Value, int) {
	x := e.only(in)
	if e.err != nil {
		return nil, 0
	}
	if r := x.typ.Rank(); r < least {
		e.fail(&Error{Input: x.name, Want: fmt.Sprintf("at least %d axes", least), Got: x.typ})
		return nil, 0
	}
	return x, x.typ.Rank()
}

// size is the length of an axis that a parameter's shape depends on, one of those that ranked has counted.
func (e *Edit) size(x *Value, axis int) int {
	if e.err != nil {
		return 0
	}
	if d := x.typ.Shape[axis]; !d.Known() || d.Symbolic() {
		e.fail(&Error{Input: x.name, Want: fmt.Sprintf("a number for axis %d", axis), Got: x.typ})
		return 0
	}
	return x.typ.Shape[axis].Size
}

// axis counts an axis from the front; negative ones count from the back.
func (e *Edit) axis(x *Value, axis int) int {
	rank := x.Type().Rank()
	if e.err == nil && (axis < -rank || axis >= rank) {
		e.fail(&Error{Input: x.name, Want: fmt.Sprintf("an axis %d", axis), Got: x.typ})
	}
	if axis < 0 {
		axis += rank
	}
	return axis
}

// perAxis spreads a setting over the spatial axes: none given is def, one holds for all.
func (e *Edit) perAxis(what string, list []int, axes, def, least int) []int {
	for _, n := range list {
		if n < least && e.err == nil {
			e.Failf("%s %v: want %d or more", what, list, least)
		}
	}
	switch {
	case len(list) == 0:
		return slices.Repeat([]int{def}, axes)
	case len(list) == 1:
		return slices.Repeat(list, axes)
	case len(list) != axes && e.err == nil:
		e.Failf("%s %v: want one number or %d", what, list, axes)
	}
	return list
}

// weight adds a parameter of a layer with the element type of its input.
func (e *Edit) weight(name string, x *Value, init, def Init, dims ...int) *Value {
	if init == nil {
		init = def
	}
	for _, d := range dims {
		if d <= 0 && e.err == nil {
			e.Failf("%s would have shape %v: every size must be positive", name, dims)
		}
	}
	if e.err == nil && !x.Type().DType.IsFloat() {
		e.Failf("%s would be %v as %q is: weights are floating-point numbers", name, x.Type().DType, x.name)
	}
	return e.ParamOf(name, x.Type().DType, init, dims...)
}

// swapped fills a matrix [in, out] as init fills [out, in].
func swapped(init Init) Init {
	return InitFunc(func(v []float64, shape []int, r *rand.Rand) {
		in, out := shape[0], shape[1]
		t := make([]float64, len(v))
		init.Fill(t, []int{out, in}, r)
		for o := range out {
			for i := range in {
				v[i*out+o] = t[o*in+i]
			}
		}
	})
}
