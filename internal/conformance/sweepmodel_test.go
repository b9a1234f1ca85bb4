package conformance_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// model serializes the trial.
func (c trial) model(t *testing.T, r *draw) []byte { return network{c}.model(t, r) }

// network is a model of several nodes, each of which may read outputs of earlier ones.
type network []trial

// model serializes the network; the outputs of all nodes, but of inner ones, are the graph's. Input shapes are declared as they are, or as symbols, or not at all.
func (w network) model(t *testing.T, r *draw) []byte {
	t.Helper()
	graph := &onnxpb.GraphProto{Name: proto.String("g")}
	versions := map[string]int{"": 17}
	symbolic := r.IntN(3)
	for n, c := range w {
		node := &onnxpb.NodeProto{OpType: proto.String(c.op), Domain: proto.String(c.domain)}
		graph.Node = append(graph.Node, node)
		for i, a := range c.in {
			name := inputName(n*stride + i)
			switch {
			case c.from[i] != "":
				name = c.from[i]
			case a.value == nil:
				name = ""
			case a.constant:
				graph.Initializer = append(graph.Initializer, constantProto(name, a.value))
			default:
				graph.Input = append(graph.Input, inputProto(name, a.value, symbolic == 1))
			}
			node.Input = append(node.Input, name)
		}
		for i := range max(c.out, 1) {
			name := outputName(n*stride + i)
			node.Output = append(node.Output, name)
			if !c.inner {
				graph.Output = append(graph.Output, &onnxpb.ValueInfoProto{Name: proto.String(name)})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.attrs)) {
			node.Attribute = append(node.Attribute, attributeProto(t, name, c.attrs[name]))
		}
		versions[c.domain] = c.opset
	}
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(10), Graph: graph}
	for _, domain := range slices.Sorted(maps.Keys(versions)) {
		m.OpsetImport = append(m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(int64(versions[domain]))})
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// feeds returns the inputs, for graft and for ONNX Runtime.
func (w network) feeds() (nn.Feed, map[string]oracle.Tensor) {
	feed, in := nn.Feed{}, map[string]oracle.Tensor{}
	for n, c := range w {
		for k, a := range c.in {
			if a.value != nil && !a.constant && c.from[k] == "" {
				name := inputName(n*stride + k)
				feed[name], in[name] = a.value, packValue(a.value)
			}
		}
	}
	return feed, in
}

// inputProto declares an input of the graph with the shape of v, or with symbols for its lengths.
func inputProto(name string, v dtype.Value, symbolic bool) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for k, n := range v.Shape() {
		d := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(n)}}
		if symbolic {
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: fmt.Sprintf("d%s_%d", name[1:], k)}
		}
		shape.Dim = append(shape.Dim, d)
	}
	return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: tensorType(v, shape)}
}

func tensorType(v dtype.Value, shape *onnxpb.TensorShapeProto) *onnxpb.TypeProto {
	return &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(dtype.DTypeOf(v))), Shape: shape}}}
}

func constantProto(name string, v dtype.Value) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(dtype.DTypeOf(v)))}
	for _, n := range v.Shape() {
		p.Dims = append(p.Dims, int64(n))
	}
	switch v := v.(type) {
	case *dtype.Strings:
		for _, s := range v.Elems {
			p.StringData = append(p.StringData, []byte(s))
		}
	case *tensor.Dense:
		p.RawData = dtype.Bytes(v)
	}
	return p
}

func attributeProto(t *testing.T, name string, v any) *onnxpb.AttributeProto {
	t.Helper()
	a := &onnxpb.AttributeProto{Name: proto.String(name)}
	switch v := v.(type) {
	case int:
		a.Type, a.I = onnxpb.AttributeProto_INT.Enum(), proto.Int64(int64(v))
	case bool:
		a.Type, a.I = onnxpb.AttributeProto_INT.Enum(), proto.Int64(0)
		if v {
			a.I = proto.Int64(1)
		}
	case float64:
		a.Type, a.F = onnxpb.AttributeProto_FLOAT.Enum(), proto.Float32(float32(v))
	case string:
		a.Type, a.S = onnxpb.AttributeProto_STRING.Enum(), []byte(v)
	case []int:
		a.Type = onnxpb.AttributeProto_INTS.Enum()
		for _, n := range v {
			a.Ints = append(a.Ints, int64(n))
		}
	case []float32:
		a.Type, a.Floats = onnxpb.AttributeProto_FLOATS.Enum(), v
	case []string:
		a.Type = onnxpb.AttributeProto_STRINGS.Enum()
		for _, s := range v {
			a.Strings = append(a.Strings, []byte(s))
		}
	case dtype.Value:
		a.Type, a.T = onnxpb.AttributeProto_TENSOR.Enum(), constantProto(name, v)
	default:
		t.Fatalf("attribute %s: a %T", name, v)
	}
	return a
}

// draw makes random values.
type draw struct {
	*rand.Rand
	smooth  bool // networks are in float64, without ties
	special bool // NaN, infinities, zeros of both signs, the smallest and largest numbers among them
}

// between returns an integer of lo … hi.
func (r *draw) between(lo, hi int) int { return lo + r.IntN(hi-lo+1) }

func (r *draw) flag() bool { return r.IntN(2) == 0 }

// rarely is true in one of n cases.
func (r *draw) rarely(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *draw, list ...T) T { return list[r.IntN(len(list))] }

// shape has sizes of lo … hi.
func (r *draw) shape(rank, lo, hi int) []int {
	s := make([]int, rank)
	for i := range s {
		s[i] = r.between(lo, hi)
	}
	return s
}

// maybeEmpty is shape with, rarely, an axis of length 0.
func (r *draw) maybeEmpty(rank, lo, hi int) []int {
	s := r.shape(rank, lo, hi)
	if rank > 0 && r.rarely(8) {
		s[r.IntN(rank)] = 0
	}
	return s
}

// axis is one of rank axes, counted from either end.
func (r *draw) axis(rank int) int { return r.between(-rank, rank-1) }

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// floats returns a float32 tensor of −3 … 3, whole numbers and halves among them.
func (r *draw) floats(shape ...int) dtype.Value {
	f := make([]float32, elements(shape))
	for i := range f {
		if r.special && r.rarely(4) {
			f[i] = pick(r, specials...)
			continue
		}
		switch r.IntN(8) {
		case 0:
			f[i] = float32(r.between(-6, 6)) / 2
		default:
			f[i] = r.Float32()*6 - 3
		}
	}
	return must(dtype.FromSlice(f, shape...))
}

var specials = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1)), 0, 1e-42, -1e-42, math.MaxFloat32, -math.MaxFloat32, 0.5, -0.5, 2.5, 1 << 31, -1 << 31, 1e10}

// distinct returns a float32 tensor without equal elements.
func (r *draw) distinct(shape ...int) dtype.Value {
	f := make([]float32, elements(shape))
	for i, k := range r.Perm(len(f)) {
		f[i] = float32(k)/4 - 2
	}
	return must(dtype.FromSlice(f, shape...))
}

// numbers returns a tensor of element type t with whole numbers of lo … hi.
func (r *draw) numbers(t dtype.DType, lo, hi int, shape ...int) dtype.Value {
	v := make([]int, elements(shape))
	for i := range v {
		v[i] = r.between(lo, hi)
	}
	return must(dtype.FromInts(t, v, shape...))
}

func (r *draw) bools(shape ...int) dtype.Value {
	v := make([]bool, elements(shape))
	for i := range v {
		v[i] = r.flag()
	}
	return must(dtype.FromSlice(v, shape...))
}

// any returns a tensor of any element type that ONNX Runtime's binding takes.
func (r *draw) any(shape ...int) dtype.Value {
	switch t := pick(r, dtype.Float32, dtype.Float64, dtype.Int8, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint64, dtype.Bool, dtype.String); t {
	case dtype.Float32:
		return r.floats(shape...)
	case dtype.Bool:
		return r.bools(shape...)
	case dtype.String:
		return r.words(shape...)
	default:
		return r.numbers(t, 0, 9, shape...)
	}
}

func (r *draw) words(shape ...int) dtype.Value {
	s := make([]string, elements(shape))
	for i := range s {
		s[i] = pick(r, "a", "b", "cde", "", "d e")
	}
	return must(dtype.NewStrings(s, shape...))
}

func ints(v ...int) dtype.Value {
	return must(dtype.FromInts(dtype.Int64, v, len(v)))
}

func scalar[T any](v T) dtype.Value { return dtype.Scalar(v) }

func list[T any](v ...T) dtype.Value { return must(dtype.FromSlice(v, len(v))) }

func must[T dtype.Value](v T, err error) dtype.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// fed and fixed make arguments: graph inputs, initializers.
func fed(v ...dtype.Value) []argument {
	a := make([]argument, len(v))
	for i := range v {
		a[i].value = v[i]
	}
	return a
}

// with appends what shapes may depend on: as an initializer or as a graph input.
func (r *draw) with(a []argument, v ...dtype.Value) []argument {
	for _, v := range v {
		a = append(a, argument{v, r.flag()})
	}
	return a
}

// subset returns a random non-empty choice of axes.
func (r *draw) subset(rank int) []int {
	var axes []int
	for i := range rank {
		if r.flag() {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		axes = []int{r.IntN(rank)}
	}
	for i := range axes {
		if r.rarely(3) {
			axes[i] -= rank
		}
	}
	r.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	return axes
}
