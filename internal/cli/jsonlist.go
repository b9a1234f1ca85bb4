package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
)

// jsonList is a JSON array, possibly of arrays. It stays text until its elements are read, since each takes some fifty bytes in
// an []any.
type jsonList []byte

// String returns the beginning of the text.
func (l jsonList) String() string { return shortened(string(l[:min(len(l), 200)])) }

// jsonObject is a JSON object. Its arrays are of type jsonList, its numbers json.Number.
type jsonObject map[string]any

// mostKeys bounds the keys of an object, each of which takes over a hundred bytes.
const mostKeys = 1 << 16

// UnmarshalJSON implements json.Unmarshaler.
func (o *jsonObject) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return fmt.Errorf("%s is not an object", shortened(string(b[:min(len(b), 200)])))
	}
	*o = jsonObject{}
	key, isKey := "", true
	for text := range jsonValues(b) {
		if isKey = !isKey; !isKey {
			if err := json.Unmarshal(text, &key); err != nil {
				return err
			}
			continue
		}
		if len(*o) == mostKeys {
			return fmt.Errorf("an object with more than %d keys", mostKeys)
		}
		x, err := jsonValue(text)
		if err != nil {
			return err
		}
		switch list := x.(type) { // b belongs to the decoder
		case jsonList:
			x = jsonList(bytes.Clone(list))
		case jsonText:
			x = jsonText(bytes.Clone(list))
		}
		(*o)[key] = x
	}
	return nil
}

// jsonValue reads a valid JSON value, without spaces around it: an array as a jsonList, an object as a jsonText, which are parts of the
// text, a number as a json.Number. It returns nil for an empty text.
func jsonValue(text []byte) (x any, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	switch text[0] {
	case '[':
		return jsonList(text), nil
	case '{':
		return jsonText(text), nil
	case '"', 't', 'f', 'n':
		err = json.Unmarshal(text, &x)
		return x, err
	}
	return json.Number(text), nil
}

// objects reads JSON objects, one after the other or in a list. They are charged to the memory budget before they are decoded, and while
// rows is reachable. Decoding, which looks at no context, is awaited until ctx ends.
func objects(ctx context.Context, b []byte) (rows []map[string]any, err error) {
	n := int64(0)
	if t := bytes.TrimSpace(b); len(t) >= chargedObjects && t[0] == '[' {
		n = budget.Decoded[[]map[string]json.RawMessage](t)
	} else if len(t) >= chargedObjects {
		n = budget.Decoded[map[string]json.RawMessage](t)
	}
	if _, full := budget.Made(n, func() *map[string]any {
		var list []map[string]any
		var bad error
		if err = engine.Await(ctx, func() { list, bad = decodeObjects(b) }); err == nil {
			rows, err = list, bad
		}
		if len(rows) == 0 {
			return nil
		}
		return &rows[0]
	}); full != nil {
		return nil, fmt.Errorf("%d bytes of JSON, decoded: %w", len(b), full)
	}
	return rows, err
}

// chargedObjects is the length of a text in bytes from which its objects are charged.
const chargedObjects = 4096

func decodeObjects(b []byte) (rows []map[string]any, err error) {
	if t := bytes.TrimSpace(b); len(t) > 0 && t[0] == '[' {
		var list []jsonObject
		if err := json.Unmarshal(t, &list); err != nil {
			var s *json.SyntaxError
			if errors.As(err, &s) {
				return nil, objectError(b, 1, err)
			}
			return nil, fmt.Errorf("want a list of objects: %w", plainError(err))
		}
		for _, row := range list {
			rows = append(rows, row)
		}
		return rows, nil
	}
	var row jsonObject
	if json.Unmarshal(b, &row) == nil { // without the copy that a decoder makes
		return append(rows, row), nil
	}
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var row jsonObject
		if err := d.Decode(&row); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return nil, objectError(b, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
}

// maxRank bounds how deep lists are nested, as NumPy does.
const maxRank = 64

// eachElement calls f for each element of lists in lists, in order, and returns their shape. A value that is not a list is one element.
func eachElement(x any, f func(x any) error) (shape []int, err error) {
	switch x := x.(type) {
	case jsonList:
		shape, rest, err := x.scan(0, f)
		if err == nil && len(bytes.TrimSpace(rest)) > 0 {
			err = errors.New("text after a list")
		}
		return shape, err
	case []any:
		for i, e := range x {
			s, err := eachElement(e, f)
			if err != nil {
				return nil, err
			}
			if shape, err = sameShape(i, shape, s); err != nil {
				return nil, err
			}
		}
		return append([]int{len(x)}, shape...), nil
	}
	return nil, f(x)
}

// errUnequal: the parts of a list differ in length.
var errUnequal = errors.New("a list of lists of unequal length")

func sameShape(i int, first, s []int) ([]int, error) {
	if i > 0 && !slices.Equal(first, s) {
		return nil, fmt.Errorf("%w, %v and %v", errUnequal, first, s)
	}
	return s, nil
}

// scan is eachElement for the list with which l begins. rest is what follows it. l has been validated by encoding/json.
func (l jsonList) scan(depth int, f func(x any) error) (shape []int, rest jsonList, err error) {
	if depth == maxRank {
		return nil, nil, fmt.Errorf("lists are nested more than %d deep", maxRank)
	}
	l = bytes.TrimLeft(l[1:], " \t\r\n,")
	n := 0
	for ; len(l) > 0 && l[0] != ']'; n++ {
		var s []int
		if l[0] == '[' {
			if s, l, err = l.scan(depth+1, f); err != nil {
				return nil, nil, err
			}
		} else {
			end := valueEnd(l)
			x, err := jsonValue(l[:end])
			if err == nil {
				err = f(x)
			}
			if err != nil {
				return nil, nil, err
			}
			l = l[end:]
		}
		if shape, err = sameShape(n, shape, s); err != nil {
			return nil, nil, err
		}
		l = bytes.TrimLeft(l, " \t\r\n,")
	}
	if len(l) == 0 {
		return nil, nil, errors.New("a list without an end")
	}
	return append([]int{n}, shape...), l[1:], nil
}

// filler collects the elements of a tensor from JSON.
type filler struct {
	of     dtype.DType
	gaps   bool // null is a missing value: NaN or ""
	floats []float64
	ints   []int
	texts  []string
}

// reserve makes room for the elements of a value, and charges it and that of the tensor.
func (f *filler) reserve(x any) error {
	l, ok := x.(jsonList)
	n := bytes.Count(l, []byte{','}) + 1
	if len(l) >= chargedObjects {
		if err := budget.Keep(f, int64(n)*24); err != nil {
			return fmt.Errorf("a list of %d elements: %w", n, err)
		}
	}
	if ok && f.of.IsInteger() {
		f.ints = slices.Grow(f.ints, n)
	} else if ok && f.of != dtype.String {
		f.floats = slices.Grow(f.floats, n)
	}
	return nil
}

// add adds an element.
func (f *filler) add(x any) error {
	missing := x == nil && f.gaps && !f.of.IsInteger()
	if f.of == dtype.String {
		switch {
		case missing:
			x = ""
		case x == nil:
			return errors.New("null, want a text")
		}
		f.texts = append(f.texts, fmt.Sprint(x))
		return nil
	}
	v, n := 0.0, 0
	if missing {
		x, v = false, math.NaN()
	}
	switch x := x.(type) {
	case bool:
		if x {
			v, n = 1, 1
		}
	case json.Number:
		var err error
		if v, err = x.Float64(); err != nil {
			return fmt.Errorf("%s is not a number", x)
		}
		if f.of == dtype.Float32 && math.Abs(v) > math.MaxFloat32 {
			return fmt.Errorf("%s is out of the range of %v", x, f.of)
		}
		if f.of.IsInteger() {
			whole, err := x.Int64()
			if n = int(whole); err != nil {
				return fmt.Errorf("%s is not a whole number, want %v", x, f.of)
			}
		}
	case nil:
		return errors.New("null, want a number")
	case string:
		return fmt.Errorf("%q is a text, want a number", x)
	default:
		return fmt.Errorf("%v is not a number", x)
	}
	if f.of.IsInteger() {
		f.ints = append(f.ints, n)
	} else {
		f.floats = append(f.floats, v)
	}
	return nil
}

// len returns the number of elements.
func (f *filler) len() int { return len(f.texts) + len(f.ints) + len(f.floats) }

// tensor returns the elements in row-major order.
func (f *filler) tensor(dims ...int) (value, error) {
	if n, err := dtype.Count(dims); err != nil || n != f.len() {
		return nil, fmt.Errorf("%d elements for the shape %v", f.len(), dims)
	}
	switch {
	case f.of == dtype.String:
		return dtype.NewStrings(f.texts, dims...)
	case f.of.IsInteger():
		return dtype.FromInts(f.of, f.ints, dims...)
	}
	return dtype.FromFloats(f.of, f.floats, dims...)
}
