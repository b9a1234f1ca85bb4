package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// A line of cases.txt is a chain of nodes, separated by semicolons:
//
//	Operator attribute=value … : input input … -> number of outputs
//
// An attribute is an integer, a number with a point, a text, or a list of them in brackets. An input is a tensor of random elements, fed, such as f[2,3]
// or i64[5]<100 (elements below 100); a constant, i64(1,2) or, of rank 0, f=0.5; output j of node k, %k.j; or -, none.
type builder struct {
	graph *onnxpb.GraphProto
	feed  nn.Feed
	wrt   []string
	rand  *rand.Rand
}

var types = map[string]dtype.DType{
	"f": dtype.Float32, "p": dtype.Float32, "d": dtype.Float64, "h": dtype.Float16, "bf": dtype.BFloat16, "i64": dtype.Int64, "i32": dtype.Int32,
	"i16": dtype.Int16, "i8": dtype.Int8, "u8": dtype.Uint8, "u16": dtype.Uint16, "u32": dtype.Uint32, "u64": dtype.Uint64, "b": dtype.Bool, "s": dtype.String, "c": dtype.Complex64,
}

var tensorPattern = regexp.MustCompile(`^([a-z]+[0-9]*)(\[[0-9,]*\]|\([^)]*\)|=[^ ]+)(<[0-9]+)?$`)

// parse returns the model that a line describes, and what to feed to it.
func parse(line string) (*onnxpb.ModelProto, *builder, error) {
	b := &builder{graph: &onnxpb.GraphProto{Name: proto.String("g")}, feed: nn.Feed{}, rand: rand.New(rand.NewPCG(1, 2))}
	opset := map[string]int64{"": 26, "ai.onnx.ml": 5, "com.microsoft": 1, "com.microsoft.nchwc": 1, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
	for k, part := range strings.Split(line, ";") {
		if err := b.node(k, part, opset); err != nil {
			return nil, nil, err
		}
	}
	last := b.graph.Node[len(b.graph.Node)-1]
	for _, name := range last.Output {
		b.graph.Output = append(b.graph.Output, &onnxpb.ValueInfoProto{Name: proto.String(name)})
	}
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(10), Graph: b.graph}
	for domain, version := range opset {
		m.OpsetImport = append(m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(version)})
	}
	return m, b, nil
}

func (b *builder) node(k int, part string, opset map[string]int64) error {
	head, rest, _ := strings.Cut(part+" ", " : ")
	words := strings.Fields(head)
	if len(words) == 0 {
		return fmt.Errorf("no operator in %q", part)
	}
	name, version, _ := strings.Cut(words[0], "@")
	domain := ""
	if i := strings.LastIndex(name, "."); i >= 0 {
		domain, name = name[:i], name[i+1:]
	}
	if version != "" {
		opset[domain], _ = strconv.ParseInt(version, 10, 64)
	}
	n := &onnxpb.NodeProto{OpType: proto.String(name), Domain: proto.String(domain)}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("attribute %q", w)
		}
		n.Attribute = append(n.Attribute, attribute(key, value))
	}
	rest, count, _ := strings.Cut(rest, "->")
	outputs, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil {
		outputs = 1
	}
	for j := range outputs {
		n.Output = append(n.Output, fmt.Sprintf("o%d_%d", k, j))
	}
	for i, w := range strings.Fields(rest) {
		in, err := b.input(fmt.Sprintf("x%d_%d", k, i), w)
		if err != nil {
			return err
		}
		n.Input = append(n.Input, in)
	}
	b.graph.Node = append(b.graph.Node, n)
	return nil
}

func attribute(key, value string) *onnxpb.AttributeProto {
	a := &onnxpb.AttributeProto{Name: proto.String(key)}
	if list, ok := strings.CutPrefix(value, "["); ok {
		for _, w := range strings.Split(strings.TrimSuffix(list, "]"), ",") {
			if w == "" {
				continue
			}
			i, err := strconv.ParseInt(w, 10, 64)
			f, ferr := strconv.ParseFloat(w, 32)
			switch {
			case err == nil:
				a.Type, a.Ints = onnxpb.AttributeProto_INTS.Enum(), append(a.Ints, i)
			case ferr == nil:
				a.Type, a.Floats = onnxpb.AttributeProto_FLOATS.Enum(), append(a.Floats, float32(f))
			default:
				a.Type, a.Strings = onnxpb.AttributeProto_STRINGS.Enum(), append(a.Strings, []byte(w))
			}
		}
		return a
	}
	i, err := strconv.ParseInt(value, 10, 64)
	f, ferr := strconv.ParseFloat(value, 32)
	switch {
	case err == nil:
		a.Type, a.I = onnxpb.AttributeProto_INT.Enum(), proto.Int64(i)
	case ferr == nil:
		a.Type, a.F = onnxpb.AttributeProto_FLOAT.Enum(), proto.Float32(float32(f))
	default:
		a.Type, a.S = onnxpb.AttributeProto_STRING.Enum(), []byte(value)
	}
	return a
}

// input adds what a word describes, and returns the name under which a node reads it.
func (b *builder) input(name, w string) (string, error) {
	if w == "-" {
		return "", nil
	}
	if ref, ok := strings.CutPrefix(w, "%"); ok {
		k, j, ok := strings.Cut(ref, ".")
		if !ok {
			j = "0"
		}
		return "o" + k + "_" + j, nil
	}
	m := tensorPattern.FindStringSubmatch(w)
	if m == nil {
		return "", fmt.Errorf("input %q", w)
	}
	t, ok := types[m[1]]
	if !ok {
		return "", fmt.Errorf("type of input %q", w)
	}
	if m[2][0] == '[' {
		var shape []int
		for _, s := range strings.Split(strings.Trim(m[2], "[]"), ",") {
			if n, err := strconv.Atoi(s); err == nil {
				shape = append(shape, n)
			}
		}
		below, _ := strconv.Atoi(strings.TrimPrefix(m[3], "<"))
		return name, b.fed(name, m[1], t, shape, below)
	}
	values, shape := []string{strings.TrimPrefix(m[2], "=")}, []int{}
	if m[2][0] == '(' {
		values = strings.Split(strings.Trim(m[2], "()"), ",")
		if values[0] == "" {
			values = nil
		}
		shape = []int{len(values)}
	}
	p := &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(t))}
	for _, n := range shape {
		p.Dims = append(p.Dims, int64(n))
	}
	if t == dtype.String {
		for _, v := range values {
			p.StringData = append(p.StringData, []byte(v))
		}
	} else {
		d, from := dtype.New(t, shape...), dtype.New(dtype.Float64, shape...)
		for i, v := range values {
			dtype.Slice[float64](from)[i], _ = strconv.ParseFloat(v, 64)
		}
		if err := dtype.Convert(d, from); err != nil {
			return "", err
		}
		p.RawData = dtype.Bytes(d)
	}
	b.graph.Initializer = append(b.graph.Initializer, p)
	return name, nil
}

// fed adds an input of the graph with random elements.
func (b *builder) fed(name, kind string, t dtype.DType, shape []int, below int) error {
	v, err := random(b.rand, kind, t, shape, below)
	if err != nil {
		return err
	}
	s := &onnxpb.TensorShapeProto{}
	for _, n := range shape {
		s.Dim = append(s.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(n)}})
	}
	b.graph.Input = append(b.graph.Input, &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: s}}}})
	b.feed[name] = v
	if t == dtype.Float32 || t == dtype.Float64 {
		b.wrt = append(b.wrt, name)
	}
	return nil
}

// random returns a tensor whose elements repeat after about a million.
func random(r *rand.Rand, kind string, t dtype.DType, shape []int, below int) (dtype.Value, error) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	if t == dtype.String {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint("word ", r.IntN(1000), " and ", i)
		}
		return dtype.NewStrings(words, shape...)
	}
	period := make([]float64, min(n, 1<<20-1))
	for i := range period {
		switch {
		case below > 0:
			period[i] = float64(r.IntN(below))
		case kind == "p":
			period[i] = 0.01 + 0.98*r.Float64()
		case t == dtype.Float32 || t == dtype.Float64 || t == dtype.Float16 || t == dtype.BFloat16 || t == dtype.Complex64:
			period[i] = r.NormFloat64()
		default:
			period[i] = float64(r.IntN(2))
		}
	}
	d, from := dtype.New(t, shape...), tensor.New(tensor.WithShape(len(period)), tensor.WithBacking(period))
	first := dtype.New(t, len(period))
	if err := dtype.Convert(first, from); err != nil {
		return nil, err
	}
	for to, b := dtype.Bytes(d), dtype.Bytes(first); len(to) > 0; {
		to = to[copy(to, b):]
	}
	return d, nil
}
