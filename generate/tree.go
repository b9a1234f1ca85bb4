package generate

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// lit is a literal of generated source. Instances of a repeated block may differ in literals only.
type lit struct {
	v    any    // int, float64, float32, string, bool, dtype.DType, or a slice of one of the first four; the value in the source
	ref  string // Go expression to print in place of v, if the literal has become a parameter
	hint string // suggested name of such a parameter
}

// comp is a composite literal: a layer, attributes.
type comp struct {
	typ    reflect.Type
	fields []*field
}

// field is a field of a composite literal, a literal or a composite in turn.
type field struct {
	name    string
	index   int
	lit     *lit
	comp    *comp
	def     any  // value for which the field is omitted
	pointer bool // the field points to the literal
	absent  bool // the pointer is nil
}

// compOf returns a struct value as a composite literal. defaults has the values, other than zero, that are equivalent to an
// absent field. Values without a representation in source are errors.
func compOf(x any, defaults map[string]any) (*comp, error) {
	v := reflect.ValueOf(x)
	c := &comp{typ: v.Type()}
	if v.Kind() != reflect.Struct || c.typ.Name() == "" || c.typ.Name()[0] >= 'a' {
		return nil, fmt.Errorf("type %v cannot be written as Go source", c.typ)
	}
	for i := range v.NumField() {
		f, fv := c.typ.Field(i), v.Field(i)
		if !f.IsExported() {
			continue
		}
		x := &field{name: f.Name, index: i, def: reflect.Zero(f.Type).Interface()}
		if d, ok := defaults[f.Name]; ok {
			x.def = d
		} else if required(f) {
			x.def = nil
		}
		if fv.Kind() == reflect.Pointer {
			x.pointer, x.absent, x.def = true, byDefault(f, fv), nil
			fv = reflect.New(f.Type.Elem()).Elem()
			if !x.absent {
				fv = v.Field(i).Elem()
			}
		}
		if f.Type == reflect.TypeFor[op.Subgraph]() {
			if !fv.IsNil() {
				x.lit = &lit{ref: "nil"} // replaced by the function of the subgraph
				c.fields = append(c.fields, x)
			}
			continue
		}
		switch val := fv.Interface().(type) {
		case dtype.Value:
			d, ok := val.(*tensor.Dense)
			if !ok || !spelled(dtype.Of(d.Dtype())) {
				return nil, fmt.Errorf("attribute %s, %s, cannot be written as Go source", f.Name, dtype.Describe(val))
			}
			x.lit = &lit{v: d, hint: hintOf(f.Name)}
		case int, float64, float32, string, bool, dtype.DType, []int, []float32, []string, []float64:
			x.lit = &lit{v: val, hint: hintOf(f.Name)}
		default:
			if fv.IsZero() {
				continue
			}
			if fv.Kind() != reflect.Interface || fv.Elem().Kind() != reflect.Struct {
				return nil, fmt.Errorf("attribute %s, a %v, cannot be written as Go source", f.Name, fv.Type())
			}
			inner, err := compOf(fv.Elem().Interface(), nil)
			if err != nil {
				return nil, err
			}
			x.comp = inner
		}
		c.fields = append(c.fields, x)
	}
	return c, nil
}

// configOf returns an operator with its attributes; nil and the operator's name if all attributes have their defaults.
func configOf(c op.Config) (*comp, error) {
	t := reflect.TypeOf(c)
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[op.Name]() {
		return nil, nil
	}
	def := reflect.ValueOf(op.Fill(reflect.Zero(t).Interface().(op.Config)))
	defaults := map[string]any{}
	for i := range t.NumField() {
		if t.Field(i).IsExported() && t.Field(i).Type.Kind() != reflect.Pointer && !required(t.Field(i)) {
			defaults[t.Field(i).Name] = def.Field(i).Interface()
		}
	}
	if v := reflect.ValueOf(c); !slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		d, ok := defaults[f.Name]
		return f.IsExported() && (ok && !same(v.FieldByIndex(f.Index).Interface(), d) || !ok && (required(f) || !byDefault(f, v.FieldByIndex(f.Index))))
	}) {
		return nil, nil
	}
	return compOf(c, defaults)
}

func required(f reflect.StructField) bool { return slices.Contains(options(f), "required") }

// options returns what the tag of a field has after the name of the attribute.
func options(f reflect.StructField) []string { return strings.Split(f.Tag.Get("onnx"), ",")[1:] }

// byDefault reports whether an attribute without a default in the struct is absent, or has the value that an absent one stands for.
func byDefault(f reflect.StructField, v reflect.Value) bool {
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return v.IsZero()
	}
	for _, o := range options(f) {
		if text, ok := strings.CutPrefix(o, "nil="); ok {
			def := reflect.New(f.Type.Elem())
			_, err := fmt.Sscan(text, def.Interface())
			return err == nil && def.Elem().Interface() == v.Elem().Interface()
		}
	}
	return false
}

// hintOf returns a parameter name derived from a field name.
func hintOf(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// shown reports whether a field is printed.
func (f *field) shown() bool {
	switch {
	case f.comp != nil:
		return true
	case f.pointer:
		return !f.absent
	}
	return f.lit.ref != "" || !same(f.lit.v, f.def) && !usual(f.name, f.lit.v)
}

// usual reports whether an attribute of a sliding window has ONNX's default.
func usual(name string, v any) bool {
	list, ok := v.([]int)
	one, known := map[string]int{"Strides": 1, "Dilations": 1, "Pads": 0}[name]
	return ok && known && !slices.ContainsFunc(list, func(n int) bool { return n != one })
}

// plain reports whether no field of a composite is printed.
func (c *comp) plain() bool {
	return c == nil || !slices.ContainsFunc(c.fields, (*field).shown)
}

// same compares literals; a nil slice is an empty one.
func same(a, b any) bool {
	if d, ok := a.(*tensor.Dense); ok {
		e, ok := b.(*tensor.Dense)
		return ok && d.Dtype() == e.Dtype() && slices.Equal(d.Shape(), e.Shape()) && bytes.Equal(dtype.Bytes(d), dtype.Bytes(e))
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.IsValid() && y.IsValid() && x.Kind() == reflect.Slice && y.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}

// value returns the struct that the literal denotes.
func (c *comp) value() reflect.Value {
	v := reflect.New(c.typ).Elem()
	for _, f := range c.fields {
		switch x := v.Field(f.index); {
		case f.comp != nil:
			x.Set(f.comp.value())
		case f.absent, f.lit.v == nil:
		case f.pointer:
			p := reflect.New(x.Type().Elem())
			p.Elem().Set(reflect.ValueOf(f.lit.v))
			x.Set(p)
		default:
			x.Set(reflect.ValueOf(f.lit.v))
		}
	}
	return v
}

// each calls f for every literal of a composite literal, in order.
func (c *comp) each(f func(*lit)) {
	if c == nil {
		return
	}
	for _, x := range c.fields {
		if x.comp != nil {
			x.comp.each(f)
		} else if !x.absent {
			f(x.lit)
		}
	}
}

// form describes a composite literal without its literals: two with the same form differ in literals only.
func (c *comp) form() string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(c.typ.String())
	for _, f := range c.fields {
		if f.comp != nil {
			b.WriteString(" " + f.name + ":" + f.comp.form())
		} else if f.pointer {
			fmt.Fprintf(&b, " %s:%v", f.name, f.absent)
		}
	}
	return b.String()
}

// field returns the literal of a field by name, nil if there is none.
func (c *comp) field(name string) *lit {
	if c != nil {
		for _, f := range c.fields {
			if f.name == name {
				return f.lit
			}
		}
	}
	return nil
}

// absent reports whether a field is a nil pointer.
func (c *comp) absent(name string) bool {
	return slices.ContainsFunc(c.fields, func(f *field) bool { return f.name == name && f.absent })
}

func (c *comp) clone() *comp {
	if c == nil {
		return nil
	}
	d := &comp{typ: c.typ, fields: make([]*field, len(c.fields))}
	for i, f := range c.fields {
		x := *f
		x.lit, x.comp = f.lit.clone(), f.comp.clone()
		d.fields[i] = &x
	}
	return d
}

func (l *lit) clone() *lit {
	if l == nil {
		return nil
	}
	x := *l
	return &x
}
