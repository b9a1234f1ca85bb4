package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

// LabelEncoderConfig has the attributes of LabelEncoder: one kind of keys and one kind of values.
type LabelEncoderConfig struct {
	Classes       []string    `onnx:"classes_strings,until=1"` // strings, which are mapped to their positions and vice versa
	DefaultFloat  float32     `onnx:"default_float,default=0,since=2"`
	DefaultInt    *int        `onnx:"default_int64"`          // -1 when nil
	DefaultString *string     `onnx:"default_string"`         // _Unused when nil
	Default       dtype.Value `onnx:"default_tensor,since=4"` // one element, of the type of the values
	KeysFloat     []float32   `onnx:"keys_floats,since=2"`
	KeysInt       []int       `onnx:"keys_int64s,since=2"`
	KeysString    []string    `onnx:"keys_strings,since=2"`
	Keys          dtype.Value `onnx:"keys_tensor,since=4"` // instead of the lists
	ValuesFloat   []float32   `onnx:"values_floats,since=2"`
	ValuesInt     []int       `onnx:"values_int64s,since=2"`
	ValuesString  []string    `onnx:"values_strings,since=2"`
	Values        dtype.Value `onnx:"values_tensor,since=4"` // instead of the lists
}

// Operator makes LabelEncoderConfig a Config.
func (LabelEncoderConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "LabelEncoder"} }

// CategoryMapperConfig has the attributes of CategoryMapper.
type CategoryMapperConfig struct {
	Ints          []int    `onnx:"cats_int64s"`    // integers, in the order of Strings
	Strings       []string `onnx:"cats_strings"`   // strings, in the order of Ints
	DefaultInt    *int     `onnx:"default_int64"`  // for strings that are not listed; -1 when nil
	DefaultString *string  `onnx:"default_string"` // for integers that are not listed; _Unused when nil
}

// Operator makes CategoryMapperConfig a Config.
func (CategoryMapperConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "CategoryMapper"}
}

func labelEncoders() []*op.Op {
	encoder := func(name, doc string, since []int, attrs op.Config) *op.Op {
		return &op.Op{
			Domain: mlDomain, Name: name, Since: since, Doc: doc, In: "X any", Out: "Y any", Attrs: attrs,
			Infer: func(c *op.Call) ([]op.Type, error) {
				k, err := codeOf(c)
				if err != nil {
					return nil, err
				}
				return []op.Type{c.In[0].Of(k.to)}, nil
			},
			Kernel: valueFunction(encodeLabels).kernel, Strings: valueFunction(encodeLabels).strings,
			NoGrad: "a table lookup", Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
		}
	}
	return []*op.Op{
		encoder("LabelEncoder", "Replaces keys by values.", []int{1, 2, 4}, LabelEncoderConfig{}),
		encoder("CategoryMapper", "Replaces strings by numbers, or numbers by strings.", []int{1}, CategoryMapperConfig{}),
	}
}

// code is the mapping of a label encoder: lists of float64 or string.
type code struct {
	keys, values []any
	def          any
	to           op.DType
}

func anys[T any, U any](list []T, f func(T) U) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func same[T any](v T) T { return v }

// listOf returns the first of the attributes that is there.
func listOf(t dtype.Value, floats []float32, ints []int, strings []string) ([]any, op.DType, error) {
	switch v := t.(type) {
	case *dtype.Strings:
		return anys(v.Elems, same[string]), dtype.String, nil
	case *tensor.Dense:
		list, err := dtype.Float64s(v)
		return anys(list, same[float64]), dtype.DTypeOf(v), err
	}
	switch {
	case floats != nil:
		return anys(floats, func(v float32) float64 { return float64(v) }), dtype.Float32, nil
	case ints != nil:
		return anys(ints, func(v int) float64 { return float64(v) }), dtype.Int64, nil
	}
	return anys(strings, same[string]), dtype.String, nil
}

// unused is the default result for keys that are not listed.
const unused = "_Unused"

func orString(p *string, def string) string {
	if p == nil {
		return def
	}
	return *p
}

// eachKey calls f with each element of a value, and its number, as listOf lists them.
func eachKey(p *kernel.Pool, t dtype.Value, f func(i int, key any)) error {
	pace := p.Pace()
	switch v := t.(type) {
	case *dtype.Strings:
		for i, s := range v.Elems {
			pace.Did(24)
			f(i, s)
		}
	case *tensor.Dense:
		list, err := float64s(p, v)
		if err != nil {
			return err
		}
		for i, x := range list {
			pace.Did(24)
			f(i, x)
		}
	}
	return nil
}

func codeOf(c *op.Call) (k code, err error) {
	fromStrings := c.In[0].DType == dtype.String
	pairs := func(strings []string, ints []int, defString string, defInt int) code {
		s, n := anys(strings, same[string]), anys(ints, func(v int) float64 { return float64(v) })
		if fromStrings {
			return code{s, n, float64(defInt), dtype.Int64}
		}
		return code{n, s, defString, dtype.String}
	}
	switch cfg := c.Config.(type) {
	case CategoryMapperConfig:
		k = pairs(cfg.Strings, cfg.Ints, orString(cfg.DefaultString, unused), orInt(cfg.DefaultInt, -1))
	case LabelEncoderConfig:
		if c.Version == 1 {
			at := make([]int, len(cfg.Classes))
			for i := range at {
				at[i] = i
			}
			k = pairs(cfg.Classes, at, orString(cfg.DefaultString, unused), orInt(cfg.DefaultInt, -1))
			break
		}
		if k.keys, _, err = listOf(cfg.Keys, cfg.KeysFloat, cfg.KeysInt, cfg.KeysString); err != nil {
			return k, err
		}
		if k.values, k.to, err = listOf(cfg.Values, cfg.ValuesFloat, cfg.ValuesInt, cfg.ValuesString); err != nil {
			return k, err
		}
		switch {
		case cfg.Default != nil:
			d, _, err := listOf(cfg.Default, nil, nil, nil)
			if err != nil || len(d) != 1 {
				return k, c.Errorf("default_tensor has %d elements, want one", len(d))
			}
			k.def = d[0]
		case k.to == dtype.String:
			k.def = orString(cfg.DefaultString, unused)
		case k.to.IsFloat():
			k.def = float64(cfg.DefaultFloat)
		default:
			k.def = float64(orInt(cfg.DefaultInt, -1))
		}
	}
	if len(k.keys) != len(k.values) {
		return k, c.Errorf("has %d keys and %d values", len(k.keys), len(k.values))
	}
	if len(k.keys) > 0 {
		if _, s := k.keys[0].(string); s != fromStrings {
			return k, c.Mismatch(0, "the type of the keys", c.In[0])
		}
	}
	if _, s := k.def.(string); s != (k.to == dtype.String) {
		return k, c.Errorf("the default is not of the values' type")
	}
	return k, nil
}

func encodeLabels(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	k, err := codeOf(c)
	if err != nil {
		return nil, err
	}
	table, ofNaN := make(map[any]any, len(k.keys)), k.def
	for i := len(k.keys) - 1; i >= 0; i-- { // of equal keys the first counts
		if f, ok := k.keys[i].(float64); ok && math.IsNaN(f) {
			ofNaN = k.values[i]
		}
		table[k.keys[i]] = k.values[i]
	}
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		var s []string
		var n []float64
		if size := in[0].Shape().TotalSize(); k.to == dtype.String {
			s = make([]string, 0, size)
		} else {
			n = kernel.Uncleared[float64](size)[:0]
		}
		err := eachKey(p, in[0], func(_ int, key any) {
			v, ok := table[key]
			if f, float := key.(float64); !ok {
				if v = k.def; float && math.IsNaN(f) {
					v = ofNaN
				}
			}
			if k.to == dtype.String {
				s = append(s, v.(string))
			} else {
				n = append(n, v.(float64))
			}
		})
		if err != nil {
			return nil, err
		}
		var y dtype.Value
		if k.to == dtype.String {
			y, err = dtype.NewStrings(s, in[0].Shape()...)
		} else {
			y, err = tensorOf(p, k.to, n, in[0].Shape()...)
		}
		return []dtype.Value{y}, err
	}, nil
}
