package op

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// DType is an element type, numbered as in ONNX.
type DType = dtype.DType

// Kind distinguishes tensors and the containers of ONNX.
type Kind uint8

// The kinds of values.
const (
	Tensor Kind = iota
	Sequence
	Optional
	Map
	Sparse
)

// Type is what is known of a value before it is computed. The zero Type means that there is no value (an absent optional
// input), or that nothing is known of it.
type Type struct {
	Kind     Kind  // tensor or a container
	DType    DType // of a tensor's elements; of the keys of a map
	Shape    []Dim // of a tensor; empty: rank 0
	Unranked bool  // the rank is not known; Shape is empty
	Elem     *Type // of a sequence, an optional, or the values of a map
}

// T returns a tensor type.
func T(t DType, shape ...Dim) Type { return Type{DType: t, Shape: shape} }

// Shaped returns a tensor type with concrete sizes.
func Shaped(t DType, sizes ...int) Type { return Type{DType: t, Shape: Dims(sizes...)} }

// TypeOf returns the type of a value.
func TypeOf(v dtype.Value) Type {
	switch v := v.(type) {
	case nil:
		return Type{}
	case *dtype.Sequence:
		t := Type{Kind: Sequence, Elem: &Type{Unranked: true, DType: v.Elem}}
		if len(v.Items) > 0 {
			e := TypeOf(v.Items[0])
			e.Unranked, e.Shape = e.Kind == Tensor, nil
			t.Elem = &e
		}
		return t
	case *dtype.Optional:
		e := Type{Unranked: true, DType: v.Elem}
		if v.Item != nil {
			e = TypeOf(v.Item)
		}
		return Type{Kind: Optional, Elem: &e}
	case *dtype.Map:
		return MapType(dtype.DTypeOf(v.Keys), dtype.DTypeOf(v.Values))
	case *dtype.Strings:
		return Shaped(dtype.String, v.Shape()...)
	}
	return Shaped(dtype.Of(v.Dtype()), v.Shape()...)
}

// MapType returns the type of maps from keys to values of the given types.
func MapType(keys, values DType) Type {
	e := T(values)
	return Type{Kind: Map, DType: keys, Elem: &e}
}

// Present reports whether the type is that of a value, rather than of an absent one.
func (t Type) Present() bool { return t.DType != dtype.Undefined || t.Kind != Tensor }

// Rank returns the number of dimensions, -1 if it is not known.
func (t Type) Rank() int {
	if t.Unranked {
		return -1
	}
	return len(t.Shape)
}

// Static reports whether every dimension has a number.
func (t Type) Static() bool {
	if t.Unranked || t.Kind != Tensor || t.DType == dtype.Undefined {
		return false
	}
	for _, d := range t.Shape {
		if !d.Known() {
			return false
		}
	}
	return true
}

// Sizes returns the numbers of the shape; those that are not known are -1.
func (t Type) Sizes() []int {
	s := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		s[i] = d.Size
	}
	return s
}

// TensorShape returns Sizes as a shape of gorgonia.org/tensor.
func (t Type) TensorShape() tensor.Shape { return tensor.Shape(t.Sizes()) }

// Elements returns the number of elements of a static shape.
func (t Type) Elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d.Size
	}
	return n
}

// With returns the type with another shape.
func (t Type) With(shape ...Dim) Type { return Type{DType: t.DType, Shape: shape} }

// Of returns the type with another element type.
func (t Type) Of(d DType) Type { t.DType = d; return t }

// String formats the type: float32[N,3,?,224], seq(float32[?]), int64[] for rank 0, float32 for an unknown rank.
func (t Type) String() string {
	switch t.Kind {
	case Sequence:
		return "seq(" + t.elem() + ")"
	case Optional:
		return "optional(" + t.elem() + ")"
	case Map:
		return "map(" + t.DType.String() + "," + t.elem() + ")"
	}
	s := t.DType.String()
	if t.Unranked {
		return s
	}
	parts := make([]string, len(t.Shape))
	for i, d := range t.Shape {
		parts[i] = d.String()
	}
	s += "[" + strings.Join(parts, ",") + "]"
	if t.Kind == Sparse {
		s = "sparse(" + s + ")"
	}
	return s
}

func (t Type) elem() string {
	if t.Elem == nil {
		return "?"
	}
	return t.Elem.String()
}

// Concrete formats the type with numbers rather than symbols where they are known, for errors of runs.
func (t Type) Concrete() string {
	c := t
	c.Shape = append([]Dim(nil), t.Shape...)
	for i, d := range c.Shape {
		if d.Known() {
			c.Shape[i].Sym = ""
		}
	}
	return c.String()
}

// ParseType returns the inverse of Type.String.
func ParseType(s string) (Type, error) {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "map("); ok && strings.HasSuffix(inner, ")") {
		key, value, _ := strings.Cut(inner[:len(inner)-1], ",")
		k, err := dtype.Parse(strings.TrimSpace(key))
		if err != nil {
			return Type{}, fmt.Errorf("type %q: %w", s, err)
		}
		e, err := ParseType(value)
		return Type{Kind: Map, DType: k, Elem: &e}, err
	}
	for name, kind := range map[string]Kind{"seq(": Sequence, "optional(": Optional, "sparse(": Sparse} {
		if strings.HasPrefix(s, name) && strings.HasSuffix(s, ")") {
			e, err := ParseType(s[len(name) : len(s)-1])
			if kind == Sparse {
				e.Kind = Sparse
				return e, err
			}
			return Type{Kind: kind, Elem: &e}, err
		}
	}
	name, dims, ranked := strings.Cut(s, "[")
	t, err := dtype.Parse(strings.TrimSpace(name))
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", s, err)
	}
	if !ranked {
		return Type{DType: t, Unranked: true}, nil
	}
	dims, ok := strings.CutSuffix(dims, "]")
	if !ok {
		return Type{}, fmt.Errorf("type %q: missing ]", s)
	}
	typ := Type{DType: t, Shape: []Dim{}}
	if strings.TrimSpace(dims) == "" {
		return typ, nil
	}
	for _, d := range splitOutside(dims, ',') {
		dim, err := ParseDim(d)
		if err != nil {
			return Type{}, fmt.Errorf("type %q: %w", s, err)
		}
		typ.Shape = append(typ.Shape, dim)
	}
	return typ, nil
}

// ParseInput parses the name and type of an input: "data float32[N,3,224,224]" or "data=float32[N,3,224,224]".
func ParseInput(s string) (name string, t Type, err error) {
	s = strings.TrimSpace(s)
	name, typ, ok := strings.Cut(s, " ")
	if at := strings.LastIndexByte(s, '='); !ok && at > 0 {
		name, typ, ok = s[:at], s[at+1:], true
	}
	if !ok {
		return "", Type{}, fmt.Errorf("input %q: want a name and a type such as \"x float32[N,784]\"", s)
	}
	t, err = ParseType(typ)
	return name, t, err
}

// ParseDim parses a dimension: a number, a symbol or expression, or ? (also -1) for unknown.
func ParseDim(s string) (Dim, error) {
	s = strings.TrimSpace(s)
	if s == "?" || s == "-1" {
		return Unknown(), nil
	}
	if s == "" {
		return Unknown(), fmt.Errorf("a dimension is empty")
	}
	n, err := strconv.Atoi(s)
	if errors.Is(err, strconv.ErrRange) {
		return Unknown(), fmt.Errorf("dimension %s is out of range", s)
	}
	if err != nil && strings.Trim(s, "0123456789 \t") == "" {
		return Unknown(), fmt.Errorf("dimension %q is more than one number: dimensions are separated by commas", s)
	}
	if err != nil {
		p, err := parsePoly(s)
		if err != nil {
			return Unknown(), err
		}
		constant := false
		if n, constant = p.constant(); !constant {
			return Sym(p.String()), nil
		}
	}
	if n < 0 {
		return Unknown(), fmt.Errorf("dimension %d is negative", n)
	}
	return D(n), nil
}
