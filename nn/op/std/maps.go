package std

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ZipMapConfig has the attributes of ZipMap: integer or string keys.
type ZipMapConfig struct {
	Ints    []int    `onnx:"classlabels_int64s"`  // the keys, if they are integers
	Strings []string `onnx:"classlabels_strings"` // the keys, if they are strings
}

// Operator makes ZipMapConfig a Config.
func (ZipMapConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "ZipMap"} }

// CastMapConfig has the attributes of CastMap.
type CastMapConfig struct {
	To   string `onnx:"cast_to,default=TO_FLOAT"` // element type: TO_FLOAT, TO_INT64 or TO_STRING
	Form string `onnx:"map_form,default=DENSE"`   // DENSE: the values in the order of their keys; SPARSE: each at the index that is its key
	Max  int    `onnx:"max_map,default=1"`        // length of the output, if SPARSE
}

// Operator makes CastMapConfig a Config.
func (CastMapConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "CastMap"} }

var castMapTypes = map[string]op.DType{"TO_FLOAT": dtype.Float32, "TO_INT64": dtype.Int64, "TO_STRING": dtype.String}

// DictVectorizerConfig has the attributes of DictVectorizer: integer or string keys.
type DictVectorizerConfig struct {
	Ints    []int    `onnx:"int64_vocabulary"`  // integer keys, in the order of the columns
	Strings []string `onnx:"string_vocabulary"` // string keys, in the order of the columns
}

// Operator makes DictVectorizerConfig a Config.
func (DictVectorizerConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "DictVectorizer"}
}

func mapOperators() []*op.Op {
	const gradMissing, pinned = "gradients do not flow through maps", "keys are chosen by the model"
	return []*op.Op{
		{Domain: mlDomain, Name: "ZipMap", Since: []int{1}, Doc: "Makes a map of each row of scores, with the classes as keys.", In: "X float32", Out: "Z any", Attrs: ZipMapConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				key := dtype.Int64
				if len(c.Config.(ZipMapConfig).Strings) > 0 {
					key = dtype.String
				}
				return []op.Type{seqType(op.MapType(key, dtype.Float32))}, nil
			},
			Func: zipMap, GradMissing: gradMissing, Pinned: pinned},
		{Domain: mlDomain, Name: "CastMap", Since: []int{1}, Doc: "The values of a map with integer keys as a row.", In: "X any", Out: "Y any", Attrs: CastMapConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				cfg := c.Config.(CastMapConfig)
				to, ok := castMapTypes[cfg.To]
				if !ok || cfg.Form != "DENSE" && cfg.Form != "SPARSE" || cfg.Max < 0 || cfg.Max > maxExtent {
					return nil, c.Errorf("cast_to %q, map_form %q, max_map %d are not supported", cfg.To, cfg.Form, cfg.Max)
				}
				if cfg.Form == "SPARSE" {
					return []op.Type{op.T(to, op.D(1), op.D(cfg.Max))}, nil
				}
				v, err := c.Value(0)
				if err != nil {
					return []op.Type{op.T(to, op.D(1), op.Unknown())}, err
				}
				m, ok := v.(*dtype.Map)
				if !ok {
					return nil, c.Mismatch(0, "a map", op.TypeOf(v))
				}
				return []op.Type{op.T(to, op.D(1), op.D(m.Keys.Size()))}, nil
			},
			Func: castMap, GradMissing: gradMissing, Pinned: pinned},
		{Domain: mlDomain, Name: "DictVectorizer", Since: []int{1}, Doc: "The values of a map as a row, in the order of a vocabulary.", In: "X any", Out: "Y any", Attrs: DictVectorizerConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				t, cfg := c.In[0], c.Config.(DictVectorizerConfig)
				if t.Kind != op.Map || t.Elem == nil {
					return nil, c.Mismatch(0, "a map", t)
				}
				return []op.Type{op.T(t.Elem.DType, op.D(1), op.D(len(cfg.Ints)+len(cfg.Strings)))}, nil
			},
			Func: dictVectorize, GradMissing: gradMissing, Pinned: pinned},
	}
}

func zipMap(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	labels := classNames{c.Config.(ZipMapConfig).Strings, c.Config.(ZipMapConfig).Ints}
	x, ok := in[0].(*tensor.Dense)
	if !ok || len(x.Shape()) < 1 || len(x.Shape()) > 2 || x.Shape()[len(x.Shape())-1] != labels.count() {
		return nil, c.Mismatch(0, fmt.Sprintf("rows of %d scores", labels.count()), op.TypeOf(in[0]))
	}
	scores, n := dtype.Slice[float32](x), labels.count()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	keys, err := labels.pick(poolOf(c), all)
	if err != nil {
		return nil, err
	}
	out, pace := &dtype.Sequence{Elem: dtype.Float32}, poolOf(c).Pace()
	for at := 0; n > 0 && at < len(scores); at += n {
		pace.Did(256 + n)
		values, err := dtype.FromSlice(append([]float32(nil), scores[at:at+n]...), n)
		if err != nil {
			return nil, err
		}
		m, err := dtype.NewMap(keys, values)
		if err != nil {
			return nil, c.Errorf("%w", err)
		}
		out.Items = append(out.Items, m)
	}
	return []dtype.Value{out}, nil
}

func castMap(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(CastMapConfig)
	m, ok := in[0].(*dtype.Map)
	if !ok || dtype.DTypeOf(m.Keys) != dtype.Int64 {
		return nil, c.Mismatch(0, "a map with integer keys", op.TypeOf(in[0]))
	}
	keys, values := dtype.Slice[int64](m.Keys.(*tensor.Dense)), m.Values
	n := len(keys)
	if cfg.Form == "SPARSE" {
		n = cfg.Max
		for _, k := range keys {
			if k < 0 || k >= int64(n) {
				return nil, c.Errorf("key %d is beyond max_map %d", k, n)
			}
		}
	}
	// A dense tensor of the values by key; missing keys are 0 or the empty string.
	place := func(i int) int {
		if cfg.Form == "SPARSE" {
			return int(keys[i])
		}
		return i
	}
	var row dtype.Value
	var err error
	if s, ok := values.(*dtype.Strings); ok {
		r := make([]string, n)
		for i, v := range s.Elems {
			r[place(i)] = v
		}
		row, err = dtype.NewStrings(r, 1, n)
	} else {
		var x []float64
		if x, err = numbersOf(poolOf(c), c, 0, values); err != nil {
			return nil, err
		}
		r := make([]float64, n)
		for i, v := range x {
			r[place(i)] = v
		}
		row, err = dtype.FromFloats(dtype.DTypeOf(values), r, 1, n)
	}
	if err != nil {
		return nil, err
	}
	as := *c // convert the row to its type as Cast does
	as.Config = CastConfig{To: castMapTypes[cfg.To]}
	return castStrings(&as, []dtype.Value{row})
}

func dictVectorize(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(DictVectorizerConfig)
	m, ok := in[0].(*dtype.Map)
	if !ok {
		return nil, c.Mismatch(0, "a map", op.TypeOf(in[0]))
	}
	at := map[any]int{}
	switch k := m.Keys.(type) {
	case *dtype.Strings:
		for i, s := range k.Elems {
			at[s] = i
		}
	case *tensor.Dense:
		for i, n := range dtype.Slice[int64](k) {
			at[n] = i
		}
	}
	vocabulary := make([]any, 0, len(cfg.Ints)+len(cfg.Strings))
	for _, k := range cfg.Ints {
		vocabulary = append(vocabulary, int64(k))
	}
	for _, k := range cfg.Strings {
		vocabulary = append(vocabulary, k)
	}
	n := len(vocabulary)
	switch v := m.Values.(type) {
	case *dtype.Strings:
		row := make([]string, n)
		for column, k := range vocabulary {
			if i, ok := at[k]; ok {
				row[column] = v.Elems[i]
			}
		}
		s, err := dtype.NewStrings(row, 1, n)
		return []dtype.Value{s}, err
	case *tensor.Dense:
		d := dtype.New(dtype.Of(v.Dtype()), 1, n)
		size := dtype.Of(v.Dtype()).Size()
		for column, k := range vocabulary {
			if i, ok := at[k]; ok {
				copy(dtype.Bytes(d)[column*size:][:size], dtype.Bytes(v)[i*size:])
			}
		}
		return []dtype.Value{d}, nil
	}
	return nil, c.Mismatch(0, "a map of numbers or strings", op.TypeOf(in[0]))
}
