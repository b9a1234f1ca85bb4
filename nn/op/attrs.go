package op

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Attributes are fields of configuration structs. A field with an `onnx` tag is one attribute:
//
//	type ConvConfig struct {
//		AutoPad string `onnx:"auto_pad,default=NOTSET"`
//		Group   int    `onnx:"group,default=1"`
//		Pads    []int  `onnx:"pads"`
//		Axes    []int  `onnx:"axes,until=12"`
//		To      DType  `onnx:"to,required"`
//	}
//
// since=V and until=V limit the operator versions that have the attribute. A field holds the
// default if the attribute is absent, so the zero struct, decoded from nothing, is the operator
// with default attributes; a pointer field (*int, *float32) is nil if absent, and nil=V says what nil stands
// for. Go types: int,
// bool (an INT), float32, string, []int, []float32, []string, DType, dtype.Value (TENSOR), Body
// (GRAPH), Type (TYPE_PROTO), and pointers to the scalars.
//
// In a configuration written by a program, ConvConfig{Kernel: …}, a zero field means
// the default; Fill sets the defaults. An attribute whose zero is meaningful and not the
// default is a pointer field.

// field is one attribute of a configuration struct.
type field struct {
	name         string
	index        int
	def          string
	required     bool
	since, until int
}

func (f field) in(version int) bool {
	return version >= f.since && (f.until == 0 || version <= f.until)
}

func fields(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("onnx")
		if !ok {
			continue
		}
		parts := strings.Split(tag, ",")
		f := field{name: parts[0], index: i}
		for _, p := range parts[1:] {
			k, v, _ := strings.Cut(p, "=")
			switch k {
			case "default":
				f.def = v
			case "required":
				f.required = true
			case "since":
				f.since, _ = strconv.Atoi(v)
			case "until":
				f.until, _ = strconv.Atoi(v)
			case "nil": // the value that a nil pointer stands for
			default:
				panic(fmt.Sprintf("op: %s.%s: no tag option %q", t, f.name, k))
			}
		}
		list = append(list, f)
	}
	return list
}

// Decode returns the operator's configuration for attributes as files hold them: int64, float32, string, dtype.Value,
// Body and slices of the first three. Unknown names, wrong types and missing required attributes are errors.
// consumed_inputs, a hint about memory that elementwise operators could have before version 6, is ignored.
func (o *Op) Decode(version int, attrs map[string]any) (Config, error) {
	if _, ok := attrs["consumed_inputs"]; ok && version < 6 && !o.declares("consumed_inputs") {
		attrs = maps.Clone(attrs)
		delete(attrs, "consumed_inputs")
	}
	if o.Attrs == nil {
		for name := range attrs {
			return nil, &Error{Op: o.Name, Err: fmt.Errorf("attribute %s is unknown", name)}
		}
		return o.Operator(), nil
	}
	v := reflect.New(reflect.TypeOf(o.Attrs)).Elem()
	seen := 0
	for _, f := range fields(v.Type()) {
		a, ok := attrs[f.name]
		if ok && !f.in(version) {
			return nil, &Error{Op: o.Name, Err: fmt.Errorf("attribute %s does not exist in version %d", f.name, version)}
		}
		if !ok {
			if f.required && f.in(version) {
				return nil, &Error{Op: o.Name, Err: fmt.Errorf("attribute %s is missing", f.name)}
			}
			setDefault(v.Field(f.index), f)
			continue
		}
		seen++
		if err := setAttr(v.Field(f.index), a); err != nil {
			return nil, &Error{Op: o.Name, Err: fmt.Errorf("attribute %s: %w", f.name, err)}
		}
	}
	if seen < len(attrs) {
		return nil, &Error{Op: o.Name, Err: fmt.Errorf("attribute %s is unknown in version %d", unknownAttr(v.Type(), attrs), version)}
	}
	return v.Interface().(Config), nil
}

// declares reports whether the configuration has an attribute with the given name.
func (o *Op) declares(name string) bool {
	if o.Attrs == nil {
		return false
	}
	return slices.ContainsFunc(fields(reflect.TypeOf(o.Attrs)), func(f field) bool { return f.name == name })
}

func unknownAttr(t reflect.Type, attrs map[string]any) string {
	known := map[string]bool{}
	for _, f := range fields(t) {
		known[f.name] = true
	}
	for name := range attrs {
		if !known[name] {
			return name
		}
	}
	return "?"
}

// Encode returns the inverse of Op.Decode: it returns the attributes that differ from their defaults, in the order of the
// struct.
func Encode(version int, c Config) []Attr {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return nil
	}
	var list []Attr
	for _, f := range fields(v.Type()) {
		if !f.in(version) {
			continue
		}
		fv := v.Field(f.index)
		def := reflect.New(fv.Type()).Elem()
		setDefault(def, f)
		if !f.required && reflect.DeepEqual(fv.Interface(), def.Interface()) {
			continue
		}
		if a := attrOf(fv); a != nil {
			list = append(list, Attr{f.name, a})
		}
	}
	return list
}

// Attr is one attribute as files hold it.
type Attr struct {
	Name  string // ONNX's name of the attribute
	Value any    // int64, float32, string, []int64, []float32, []string, dtype.Value, Body, Type
}

// Complete returns a configuration of the operator's own type, with defaults in its zero fields. It is an error if the
// set has no such operator, c is of another type than the operator's attributes, or c is only a name and some attributes
// are required.
func (s Set) Complete(c Config) (Config, error) {
	if o, isOp := c.(*Op); isOp && o == nil {
		return nil, errors.New("an operator is nil")
	}
	o, err := s.Of(c)
	if err != nil {
		return nil, err
	}
	bare := false
	switch c.(type) {
	case Name, Plain, *Op:
		bare = true
	}
	switch {
	case o.Attrs == nil && bare:
		return Name{o.Domain, c.Operator().Name}, nil
	case bare:
		cfg, err := o.Decode(o.Latest(), nil)
		if err != nil {
			return nil, fmt.Errorf("%s has required attributes: give its configuration", o)
		}
		return cfg, nil
	case reflect.TypeOf(c) != reflect.TypeOf(o.Attrs):
		return nil, fmt.Errorf("%s has attributes of type %T, not %T", o, o.Attrs, c)
	}
	return Fill(c), nil
}

// Fill returns c with defaults in its zero fields.
func Fill(c Config) Config {
	if c == nil || reflect.TypeOf(c).Kind() != reflect.Struct {
		return c
	}
	v := reflect.New(reflect.TypeOf(c)).Elem()
	v.Set(reflect.ValueOf(c))
	for _, f := range fields(v.Type()) {
		if f.def != "" && v.Field(f.index).IsZero() {
			setDefault(v.Field(f.index), f)
		}
	}
	return v.Interface().(Config)
}

// key spells out a configuration, for structural equality. "" when it holds tensors, subgraphs or long lists.
func key(c Config) string {
	if n, ok := c.(Name); ok {
		return n.String()
	}
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return ""
	}
	var b strings.Builder
	b.WriteString(c.Operator().String())
	for i := range v.NumField() {
		fv := v.Field(i)
		if fv.Kind() == reflect.Interface && !fv.IsNil() {
			return ""
		}
		if fv.Kind() == reflect.Pointer {
			if fv.IsNil() {
				b.WriteString("|nil")
				continue
			}
			fv = fv.Elem()
		}
		if long(fv) {
			return ""
		}
		fmt.Fprintf(&b, "|%#v", fv)
	}
	return b.String()
}

// long reports whether v is or holds a list too long to be spelled out.
func long(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() > 1<<12 {
			return true
		}
		for i := range v.Len() {
			if v.Type().Elem().Kind() == reflect.Slice && long(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if long(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// Available returns an error if an attribute that c sets does not exist in the given version of the operator. The error
// names the attribute and the versions that have it.
func Available(version int, c Config) error {
	c = Fill(c)
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range fields(v.Type()) {
		if f.in(version) {
			continue
		}
		def := reflect.New(v.Field(f.index).Type()).Elem()
		setDefault(def, f)
		if v.Field(f.index).IsZero() || reflect.DeepEqual(v.Field(f.index).Interface(), def.Interface()) {
			continue
		}
		if version < f.since {
			return &Error{Op: c.Operator().Name, Err: fmt.Errorf("attribute %s needs version %d, the graph has version %d", f.name, f.since, version)}
		}
		return &Error{Op: c.Operator().Name, Err: fmt.Errorf("attribute %s ended with version %d, the graph has version %d", f.name, f.until, version)}
	}
	return nil
}
