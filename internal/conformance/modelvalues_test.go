//go:build unix

package conformance_test

import (
	"math"
	"reflect"
	"strings"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
)

// whole are numbers at which things go wrong.
var whole = []int64{1, 0, 2, -1, 3, -2, 4, 7, 64, 1 << 20, 1 << 31, -1 << 31, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 255}

var broken = []float64{1, 0, -1, 0.5, 2, 1e-7, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN(), 3}

func (m *modelMaker) tensor(name string, t dtype.DType, dims []int64) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(t)), Dims: dims}
	n := 1
	for _, d := range p.Dims {
		n *= int(d)
	}
	if n = min(n, 4096); t == dtype.String {
		for range n {
			p.StringData = append(p.StringData, []byte{byte('a' + m.of(3))})
		}
		return p
	}
	d := dtype.New(t, n)
	from := dtype.New(dtype.Float64, n)
	for i := range n {
		if x := m.next(); x < 200 {
			dtype.Slice[float64](from)[i] = float64(x%16 - 4)
		} else if t == dtype.Int64 {
			dtype.Slice[int64](d)[i] = whole[x%len(whole)]
		} else {
			dtype.Slice[float64](from)[i] = broken[x%len(broken)]
		}
	}
	if t != dtype.Int64 {
		_ = dtype.Convert(d, from)
	} else {
		for i, x := range dtype.Slice[float64](from) {
			if x != 0 {
				dtype.Slice[int64](d)[i] = int64(x)
			}
		}
	}
	p.RawData = dtype.Bytes(d)
	if per := 8 / max(t.Bits(), 1); per > 1 && n > 0 { // several to a byte
		packed := make([]byte, (n+per-1)/per)
		for i, x := range p.RawData {
			packed[i/per] |= x & (1<<t.Bits() - 1) << (i % per * t.Bits())
		}
		p.RawData = packed
	}
	return p
}

// attributes are some of those that o declares, near and beyond what they may be.
func (m *modelMaker) attributes(o *op.Op) (list []*onnxpb.AttributeProto) {
	if o.Attrs == nil {
		return nil
	}
	t := reflect.TypeOf(o.Attrs)
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("onnx")
		if !ok || m.of(2) == 0 && !strings.Contains(tag, ",required") {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		if a := m.attribute(tag, t.Field(i).Type); a != nil {
			a.Name = proto.String(name)
			list = append(list, a)
		}
	}
	return list
}

func (m *modelMaker) attribute(tag string, t reflect.Type) *onnxpb.AttributeProto {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	number := func() int64 {
		if m.of(4) == 3 {
			return whole[m.of(len(whole))]
		}
		return int64(m.of(5)) - 1
	}
	switch {
	case t == reflect.TypeFor[dtype.DType]():
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(int64(m.of(25)))}
	case t == reflect.TypeFor[dtype.Value]():
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_TENSOR.Enum(), T: m.tensor("", []dtype.DType{dtype.Float32, dtype.Int64, dtype.Bool, dtype.Float64}[m.of(4)], m.dims())}
	case t == reflect.TypeFor[op.Subgraph]():
		if m.depth > 2 {
			return nil
		}
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_GRAPH.Enum(), G: m.body()}
	}
	switch t.Kind() {
	case reflect.Int, reflect.Bool:
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(number())}
	case reflect.Float32:
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_FLOAT.Enum(), F: proto.Float32(float32(broken[m.of(len(broken))]))}
	case reflect.String:
		words := []string{"", "NOTSET", "SAME_UPPER", "linear", "constant", "sum", "DCR", "bilinear", "ij,jk->ik", "...i->i"}
		if _, def, ok := strings.Cut(tag, "default="); ok && m.of(2) == 0 {
			return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_STRING.Enum(), S: []byte(def)}
		}
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_STRING.Enum(), S: []byte(words[m.of(len(words))])}
	case reflect.Slice:
		n := []int{len(m.base), max(len(m.base)-2, 0), 2 * max(len(m.base)-2, 0), 1, m.of(7)}[m.of(5)]
		switch t.Elem().Kind() {
		case reflect.Int:
			a := &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_INTS.Enum()}
			for range n {
				a.Ints = append(a.Ints, number())
			}
			return a
		case reflect.Float32:
			a := &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_FLOATS.Enum()}
			for range n {
				a.Floats = append(a.Floats, float32(broken[m.of(len(broken))]))
			}
			return a
		case reflect.String:
			a := &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_STRINGS.Enum()}
			for range n {
				a.Strings = append(a.Strings, []byte{byte('a' + m.of(4))})
			}
			return a
		}
	}
	return nil
}
