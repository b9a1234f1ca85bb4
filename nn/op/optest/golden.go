package optest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// golden is a line of a file of expected values: one call, JSON.
//
// A tensor is written as its element type, its shape and its elements, "float32[2,3] 1 2 3 4 5 6", one of strings as
// {"shape": [2], "strings": ["a", "b"]}, a sequence as a list, an optional as {"optional": value} and a map as {"keys": …,
// "values": …}. A number among the attributes is an integer where it has neither a point nor an exponent.
type golden struct {
	Op      string
	Domain  string
	Opset   int
	Attrs   map[string]json.RawMessage
	In, Out []json.RawMessage
	Skip    []int
	Train   bool
	Tol     float64
	NoGrad  string
	NoLow   string
	NoWide  string
	NoCut   string
	By      string // the program that computed the values
}

// Golden reads cases from a file of expected values.
func Golden(fsys fs.FS, file string, set op.Set) ([]Case, error) {
	b, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	var list []Case
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var g golden
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(list)+1, err)
		}
		c, err := g.read(set)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(list)+1, err)
		}
		c.Name = fmt.Sprintf("%s:%d", path.Base(file), len(list)+1)
		list = append(list, c)
	}
	return list, s.Err()
}

func (g *golden) read(set op.Set) (Case, error) {
	c := Case{decoded: true, Opset: g.Opset, Outputs: len(g.Out), Skip: g.Skip, Train: g.Train, Tol: g.Tol, NoGrad: g.NoGrad, NoLow: g.NoLow, NoWide: g.NoWide, NoCut: g.NoCut}
	o := set.Find(g.Domain, g.Op)
	if o == nil {
		return c, fmt.Errorf("there is no operator %s %s", g.Domain, g.Op)
	}
	c.Version = o.Version(g.Opset)
	attrs := map[string]any{}
	for name, raw := range g.Attrs {
		v, err := attribute(raw)
		if err != nil {
			return c, fmt.Errorf("attribute %s: %w", name, err)
		}
		attrs[name] = v
	}
	var err error
	if c.Config, err = o.Decode(c.Version, attrs); err != nil {
		return c, err
	}
	if c.In, err = goldenValues(g.In); err != nil {
		return c, err
	}
	c.Want, err = goldenValues(g.Out)
	return c, err
}

// attribute returns an attribute in the form that Op.Decode accepts.
func attribute(raw json.RawMessage) (any, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return single(raw)
	}
	var ints []int64
	var floats []float32
	var texts []string
	for _, r := range list {
		v, err := single(r)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case int64:
			ints = append(ints, v)
		case float32:
			floats = append(floats, v)
		case string:
			texts = append(texts, v)
		}
	}
	switch {
	case floats != nil && ints == nil && texts == nil:
		return floats, nil
	case texts != nil && ints == nil && floats == nil:
		return texts, nil
	case floats == nil && texts == nil:
		return ints, nil
	}
	return nil, errors.New("a list of several types")
}

func single(raw json.RawMessage) (any, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var t struct{ Tensor json.RawMessage }
	if bytes.HasPrefix(raw, []byte("{")) {
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, err
		}
		return goldenValue(t.Tensor)
	}
	if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(string(raw), 32)
	return float32(f), err
}

func goldenValues(list []json.RawMessage) ([]dtype.Value, error) {
	out := make([]dtype.Value, len(list))
	for i, raw := range list {
		var err error
		if out[i], err = goldenValue(raw); err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
	}
	return out, nil
}

// goldenValue reads a value; null is none.
func goldenValue(raw json.RawMessage) (dtype.Value, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		return goldenTensor(s)
	case '[':
		return goldenSequence(raw)
	}
	var v struct {
		Shape        []int
		Strings      []string
		Elem         string
		Items        json.RawMessage
		Optional     json.RawMessage
		Keys, Values json.RawMessage
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	switch {
	case v.Keys != nil:
		keys, err := goldenValue(v.Keys)
		if err != nil {
			return nil, err
		}
		values, err := goldenValue(v.Values)
		if err != nil {
			return nil, err
		}
		return dtype.NewMap(keys, values)
	case v.Optional != nil:
		item, err := goldenValue(v.Optional)
		if err != nil {
			return nil, err
		}
		o := &dtype.Optional{Item: item}
		switch item := item.(type) {
		case nil:
			o.Elem, err = dtype.Parse(v.Elem)
		case *dtype.Sequence:
			o.Elem, o.Seq = item.Elem, true
		default:
			o.Elem = dtype.DTypeOf(item)
		}
		return o, err
	case v.Elem != "":
		t, err := dtype.Parse(v.Elem)
		return &dtype.Sequence{Elem: t}, err
	}
	return dtype.NewStrings(v.Strings, v.Shape...)
}

func goldenSequence(raw json.RawMessage) (dtype.Value, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	items, err := goldenValues(list)
	if err != nil {
		return nil, err
	}
	s := &dtype.Sequence{Items: items}
	if len(items) > 0 {
		s.Elem = dtype.DTypeOf(items[0])
	}
	return s, nil
}

// goldenTensor reads "int64[2,1] 5 -3".
func goldenTensor(s string) (dtype.Value, error) {
	f := strings.Fields(s)
	name, rest, ok := strings.Cut(f[0], "[")
	if !ok {
		return nil, fmt.Errorf("%q is not a tensor", s)
	}
	t, err := dtype.Parse(name)
	if err != nil {
		return nil, err
	}
	var shape []int
	for d := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == ',' || r == ']' }) {
		n, err := strconv.Atoi(d)
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
	}
	elems := f[1:]
	switch {
	case t.IsComplex():
		return goldenComplex(t, shape, elems)
	case t.IsFloat():
		return goldenNumbers(t, shape, elems, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	case t == dtype.Uint64:
		return goldenNumbers(t, shape, elems, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	}
	return goldenNumbers(t, shape, elems, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
}

func goldenNumbers[N float64 | int64 | uint64](t dtype.DType, shape []int, elems []string, parse func(string) (N, error)) (dtype.Value, error) {
	n := make([]N, len(elems))
	for i, e := range elems {
		var err error
		if n[i], err = parse(e); err != nil {
			return nil, err
		}
	}
	d, err := dtype.FromSlice(n, shape...)
	if err != nil {
		return nil, err
	}
	return dtype.ConvertTo(t, d)
}

func goldenComplex(t dtype.DType, shape []int, elems []string) (dtype.Value, error) {
	z := make([]complex128, len(elems)/2)
	for i := range z {
		re, err := strconv.ParseFloat(elems[2*i], 64)
		if err != nil {
			return nil, err
		}
		im, err := strconv.ParseFloat(elems[2*i+1], 64)
		if err != nil {
			return nil, err
		}
		z[i] = complex(re, im)
	}
	d, err := dtype.FromSlice(z, shape...)
	if err != nil {
		return nil, err
	}
	return dtype.ConvertTo(t, d)
}
