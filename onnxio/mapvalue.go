package onnxio

import (
	"fmt"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// decodeMap converts p to a value. In files, the values of a map are a sequence of tensors: one for each
// key, or a single one with all of them.
func decodeMap(p *onnxpb.MapProto, ext *externalFiles) (*dtype.Map, error) {
	m, err := decodeEntries(p, ext)
	if err != nil {
		return nil, fmt.Errorf("map %q: %w", p.GetName(), err)
	}
	return m, nil
}

func decodeEntries(p *onnxpb.MapProto, ext *externalFiles) (*dtype.Map, error) {
	var keys dtype.Value
	var err error
	if dtype.DType(p.GetKeyType()) == dtype.String {
		s := make([]string, len(p.StringKeys))
		for i, k := range p.StringKeys {
			s[i] = string(k)
		}
		keys, err = dtype.NewStrings(s, len(s))
	} else {
		keys, err = dtype.FromSlice(append([]int64(nil), p.Keys...), len(p.Keys))
	}
	if err != nil {
		return nil, err
	}
	values := p.GetValues()
	if values == nil {
		values = &onnxpb.SequenceProto{} // writers may omit an empty message
	}
	items, err := decodeSequence(values, dtype.Undefined, ext, 1)
	if err != nil {
		return nil, err
	}
	var parts []dtype.Value
	for _, v := range items.Items {
		if _, ok := v.(*dtype.Strings); !ok {
			if _, ok = v.(*tensor.Dense); !ok {
				return nil, fmt.Errorf("a value is a %T, not a tensor", v)
			}
		}
		parts = append(parts, v)
	}
	all, err := joined(parts)
	if err != nil {
		return nil, err
	}
	return dtype.NewMap(keys, all)
}

// joined concatenates the elements of tensors of one type.
func joined(parts []dtype.Value) (dtype.Value, error) {
	var strings []string
	var raw []byte
	count, t := 0, dtype.Float32
	for i, v := range parts {
		if i == 0 {
			t = dtype.DTypeOf(v)
		}
		if dtype.DTypeOf(v) != t {
			return nil, fmt.Errorf("values of two types, %v and %v", t, dtype.DTypeOf(v))
		}
		count += v.Size()
		switch v := v.(type) {
		case *dtype.Strings:
			strings = append(strings, v.Elems...)
		case *tensor.Dense:
			raw = append(raw, dtype.Bytes(v)...)
		}
	}
	if t == dtype.String {
		return dtype.NewStrings(strings, count)
	}
	d := dtype.New(t, count)
	if copy(dtype.Bytes(d), raw) != len(raw) {
		return nil, fmt.Errorf("%d bytes for %d values", len(raw), count)
	}
	return d, nil
}

// encodeMap is the inverse of decodeMap: one tensor has all values.
func encodeMap(name string, m *dtype.Map) (*onnxpb.MapProto, error) {
	p := &onnxpb.MapProto{Name: proto.String(name), KeyType: proto.Int32(int32(dtype.DTypeOf(m.Keys)))}
	switch k := m.Keys.(type) {
	case *dtype.Strings:
		for _, s := range k.Elems {
			p.StringKeys = append(p.StringKeys, []byte(s))
		}
	case *tensor.Dense:
		p.Keys = append(p.Keys, dtype.Slice[int64](k)...)
	}
	var err error
	p.Values, err = encodeSequence("", &dtype.Sequence{Items: []dtype.Value{m.Values}})
	if err != nil {
		return nil, fmt.Errorf("map %q: %w", name, err)
	}
	return p, nil
}
