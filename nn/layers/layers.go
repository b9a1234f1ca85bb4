package layers

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// attrs are attributes by ONNX's names. Beside what op.Op.Decode takes, values may be int, bool,
// float64 and []int.
type attrs map[string]any

// put adds an operator by name, written for its newest version, and returns its first output. Label names the node and the output; "" leaves the node without name.
func put(e *nn.Edit, label, name string, a attrs, in ...*nn.Value) *nn.Value {
	out := putN(e, label, name, a, 1, in...)
	if e.Err() != nil {
		return nil
	}
	return out[0]
}

// putN is put for an operator with several outputs.
func putN(e *nn.Edit, label, name string, a attrs, outputs int, in ...*nn.Value) []*nn.Value {
	if e.Err() != nil {
		return nil
	}
	o := e.Ops().Find("", name)
	if o == nil {
		e.Failf("the graph's operators lack %s", name)
		return nil
	}
	raw := make(map[string]any, len(a))
	for k, v := range a {
		if x, ok := v.(float64); ok && math.IsNaN(x-x) {
			e.Failf("%s: %s is %v: want a finite number", name, k, x)
			return nil
		}
		raw[k] = rawAttr(v)
	}
	c, err := o.Decode(o.Latest(), raw)
	if err != nil {
		e.Fail(err)
		return nil
	}
	return e.Op(label, c, outputs, in...)
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

// only returns the single input of a layer.
func only(e *nn.Edit, in []*nn.Value) *nn.Value {
	if e.Err() == nil && (len(in) != 1 || in[0] == nil) {
		e.Failf("takes one input, got %d", len(in))
	}
	if e.Err() != nil {
		return nil
	}
	return in[0]
}

// ranked returns the single input of a layer, which must have at least the given number of axes, and
// its rank.
func ranked(e *nn.Edit, in []*nn.Value, least int) (*nn.Value, int) {
	x := only(e, in)
	if e.Err() != nil {
		return nil, 0
	}
	if r := x.Type().Rank(); r < least {
		e.Fail(&nn.Error{Input: x.Name(), Want: fmt.Sprintf("at least %d axes", least), Got: x.Type()})
		return nil, 0
	}
	return x, x.Type().Rank()
}

// sizeOf returns the length of an axis that a parameter's shape depends on, one of those that ranked has counted.
func sizeOf(e *nn.Edit, x *nn.Value, axis int) int {
	if e.Err() != nil {
		return 0
	}
	if d := x.Type().Shape[axis]; !d.Known() || d.Symbolic() {
		e.Fail(&nn.Error{Input: x.Name(), Want: fmt.Sprintf("a number for axis %d", axis), Got: x.Type()})
		return 0
	}
	return x.Type().Shape[axis].Size
}

// axisOf counts an axis from the front; negative ones count from the back.
func axisOf(e *nn.Edit, x *nn.Value, axis int) int {
	rank := x.Type().Rank()
	if e.Err() == nil && (axis < -rank || axis >= rank) {
		e.Fail(&nn.Error{Input: x.Name(), Want: fmt.Sprintf("an axis %d", axis), Got: x.Type()})
	}
	if axis < 0 {
		axis += rank
	}
	return axis
}

// axisOr returns the axis that a layer sets, def if it sets none.
func axisOr(axis *int, def int) int {
	if axis == nil {
		return def
	}
	return *axis
}

// perAxis spreads a setting over the spatial axes: none given is def, one holds for all.
func perAxis(e *nn.Edit, what string, list []int, axes, def, least int) []int {
	for _, n := range list {
		if n < least && e.Err() == nil {
			e.Failf("%s %v: want %d or more", what, list, least)
		}
	}
	switch {
	case len(list) == 0:
		return slices.Repeat([]int{def}, axes)
	case len(list) == 1:
		return slices.Repeat(list, axes)
	case len(list) != axes && e.Err() == nil:
		e.Failf("%s %v: want one number or %d", what, list, axes)
	}
	return list
}

// weight adds a parameter of a layer with the element type of its input.
func weight(e *nn.Edit, name string, x *nn.Value, init, def initial.Filler, dims ...int) *nn.Value {
	if init == nil {
		init = def
	}
	for _, d := range dims {
		if d <= 0 && e.Err() == nil {
			e.Failf("%s would have shape %v: every size must be positive", name, dims)
		}
	}
	if e.Err() == nil && !x.Type().DType.IsFloat() {
		e.Failf("%s would be %v like %q: weights must be floating-point numbers", name, x.Type().DType, x.Name())
	}
	return e.ParamOf(name, x.Type().DType, init, dims...)
}
