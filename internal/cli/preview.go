package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// value is an input or output value of a model.
type value = dtype.Value

// preview prints the first elements of a value.
func preview(v value, most int) string {
	var parts []string
	n := 0
	switch v := v.(type) {
	case *tensor.Dense:
		n = v.Shape().TotalSize()
		first := dtype.New(dtype.Of(v.Dtype()), min(n, most))
		copy(dtype.Bytes(first), dtype.Bytes(v))
		x, err := dtype.Float64s(first)
		if err != nil {
			return fmt.Sprintf("(%v)", err)
		}
		for _, f := range x {
			parts = append(parts, fmt.Sprintf("%.6g", f))
		}
	case *dtype.Strings:
		n = len(v.Elems)
		for _, s := range v.Elems[:min(n, most)] {
			parts = append(parts, fmt.Sprintf("%q", s))
		}
	case *dtype.Sequence:
		n = len(v.Items)
		for _, x := range v.Items[:min(n, 3)] {
			parts = append(parts, op.TypeOf(x).String()+" "+preview(x, most))
		}
	case *dtype.Map:
		return preview(v.Keys, most) + ": " + preview(v.Values, most)
	case *dtype.Optional:
		if v.Item == nil {
			return "nothing"
		}
		return preview(v.Item, most)
	}
	if n > len(parts) {
		parts = append(parts, fmt.Sprintf("… %d in all", n))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// object is the JSON form of an output. JSON has no NaN and no infinities: they are strings.
type object struct {
	Name  string `json:"name,omitempty"`
	Type  string `json:"type"`
	Shape []int  `json:"shape,omitzero"`
	Data  any    `json:"data"`
}

func asObject(v onnxio.NamedValue) object {
	o := object{Name: v.Name, Type: op.TypeOf(v.Value).String()}
	switch x := v.Value.(type) {
	case *tensor.Dense:
		o.Shape = append([]int{}, x.Shape()...)
		o.Data = elements(x)
	case *dtype.Strings:
		o.Shape, o.Data = append([]int{}, x.Dims...), x.Elems
	case *dtype.Sequence:
		items := []object{}
		for _, i := range x.Items {
			items = append(items, asObject(onnxio.NamedValue{Value: i}))
		}
		o.Data = items
	case *dtype.Map:
		o.Data = map[string]any{"keys": asObject(onnxio.NamedValue{Value: x.Keys}), "values": asObject(onnxio.NamedValue{Value: x.Values})}
	case *dtype.Optional:
		if x.Item != nil {
			o.Data = asObject(onnxio.NamedValue{Value: x.Item})
		}
	}
	return o
}

func elements(d *tensor.Dense) any {
	dt := dtype.Of(d.Dtype())
	if dt.IsInteger() {
		if n, err := dtype.Int64s(d); err == nil {
			return n
		}
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return err.Error()
	}
	list := make([]any, len(x))
	for i, f := range x {
		switch {
		case dt == dtype.Bool:
			list[i] = f != 0
		case math.IsNaN(f) || math.IsInf(f, 0):
			list[i] = fmt.Sprint(f)
		case dt == dtype.Float32:
			list[i] = float32(f)
		default:
			list[i] = f
		}
	}
	return list
}
