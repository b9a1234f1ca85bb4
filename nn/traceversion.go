package nn

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// adapt rewrites a configuration of the operator's latest version for the graph's.
func adapt(e *Edit, c op.Config, in []*Value) (op.Config, []*Value, error) {
	o, err := e.g.ops.Of(c)
	if err != nil {
		return nil, nil, err
	}
	return adaptFrom(e, o.Latest(), c, in)
}

// adaptFrom rewrites a configuration of one version of its operator for the graph's. Going back, inputs that
// were attributes once become attributes, which they can if they are constants.
func adaptFrom(e *Edit, from int, c op.Config, in []*Value) (op.Config, []*Value, error) {
	o, err := e.g.ops.Of(c)
	if err != nil {
		return nil, nil, err
	}
	to := o.Version(e.g.opset(o.Domain))
	if _, ok := e.g.Opsets[o.Domain]; !ok || to == from || to == 0 || o.Attrs == nil {
		return c, in, nil // absent operators are refused when the node is added
	}
	if c, err = e.g.ops.Complete(c); err != nil {
		return nil, nil, err
	}
	if err := changed(o, from, to, c, in); err != nil {
		return nil, nil, err
	}
	attrs := map[string]any{}
	for _, a := range op.Encode(min(from, o.Latest()), c) {
		attrs[a.Name] = a.Value
	}
	slots := o.In.List()
	for i := len(in) - 1; i > 0 && to < from; i-- {
		s, _ := op.At(slots, i)
		if in[i] == nil || in[i].param == nil || in[i].param.Data == nil || !hasAttr(c, s.Name) {
			continue
		}
		a, err := attrValue(in[i].param.Data, c, s.Name)
		if err != nil {
			return nil, nil, err
		}
		attrs[s.Name] = a
		if _, err := o.Decode(to, map[string]any{s.Name: a}); err != nil && strings.Contains(err.Error(), "does not exist in version") {
			delete(attrs, s.Name)
			continue
		}
		in = append(in[:i:i], in[i+1:]...)
	}
	cfg, err := o.Decode(to, attrs)
	if err != nil {
		return nil, nil, fmt.Errorf("operator set %d: %w", e.g.opset(o.Domain), err)
	}
	return cfg, in, nil
}

// changed refuses operators that mean something else in another version.
func changed(o *op.Op, from, to int, c op.Config, in []*Value) error {
	lo, hi := min(from, to), max(from, to)
	switch o.Name {
	case "Softmax", "LogSoftmax":
		axis := settle(reflect.ValueOf(c)).FieldByName("Axis")
		if lo < 13 && hi >= 13 && len(in) > 0 && (axis.IsNil() || int(axis.Elem().Int()) != in[0].typ.Rank()-1 && axis.Elem().Int() != -1) {
			return fmt.Errorf("means something else in version %d than in version %d unless its axis is the last", lo, hi)
		}
	case "Hardmax":
		if lo < 13 && hi >= 13 {
			return fmt.Errorf("means something else in version %d than in version %d", lo, hi)
		}
	}
	return nil
}

// hasAttr says whether some version of an operator has an attribute.
func hasAttr(c op.Config, name string) bool { return attrField(c, name).IsValid() }

func attrField(c op.Config, name string) reflect.Value {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for i := range v.NumField() {
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("onnx"), ",")
		if tag == name && tag != "" {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// attrValue is a constant input as the attribute it once was.
func attrValue(d *tensor.Dense, c op.Config, name string) (any, error) {
	x, err := dtype.Float64s(d)
	if err != nil {
		return nil, err
	}
	t := attrField(c, name).Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	ints := make([]int64, len(x))
	floats := make([]float32, len(x))
	for i := range x {
		ints[i], floats[i] = int64(x[i]), float32(x[i])
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int:
		return ints, nil
	case t.Kind() == reflect.Slice:
		return floats, nil
	case len(x) != 1:
		return nil, fmt.Errorf("attribute %s: want one number, got %d", name, len(x))
	case t.Kind() == reflect.Float32:
		return floats[0], nil
	}
	return ints[0], nil
}
