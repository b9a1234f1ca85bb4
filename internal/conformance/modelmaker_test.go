//go:build unix

package conformance_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/legacy"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
)

// operators are those that a model may have: ONNX's, those of its other domains, ONNX Runtime's, and the withdrawn ones.
var operators = func() (list []*op.Op) {
	set, err := contrib.With(std.Operators())
	if err == nil {
		set, err = legacy.With(set)
	}
	if err != nil {
		panic(err)
	}
	for _, o := range set.List() {
		if o.Domain != op.Internal {
			list = append(list, o)
		}
	}
	return list
}()

// numeric are the types of inputs.
var numeric = []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Int64, dtype.Int32, dtype.Int8, dtype.Uint8, dtype.Bool}

// modelMaker makes a model of a tape of bytes; after its end it reads zeros.
type modelMaker struct {
	tape   []byte
	model  *onnxpb.ModelProto
	base   []int64 // the shape that most tensors have, or fit
	names  int
	depth  int    // of bodies
	outer  []made // what a body may capture
	wanted []made // outputs that the next body begins with
	inputs []made // inputs of the next body
	length int    // number of outputs of the next body; 0: any
}

// made is a value that later nodes may read.
type made struct {
	name string
	typ  dtype.DType
	kind op.Kind
}

func (m *modelMaker) next() int {
	if len(m.tape) == 0 {
		return 0
	}
	b := m.tape[0]
	m.tape = m.tape[1:]
	return int(b)
}

// of returns a number below n.
func (m *modelMaker) of(n int) int {
	if n <= 1 {
		return 0
	}
	return m.next() % n
}

func (m *modelMaker) name() string { m.names++; return fmt.Sprint("v", m.names) }

// operator is one of all operators, or, more often, one of those that have bodies or take containers, or of any that convert or quantize.
func (m *modelMaker) operator() *op.Op {
	list := operators
	switch m.of(8) {
	case 6:
		list = nested
	case 7:
		list = narrow
	}
	return list[(m.next()+m.next()<<8)%len(list)]
}

// nested have bodies, or take or give sequences or optionals.
var nested = chosen(func(o *op.Op) bool {
	if t := reflect.TypeOf(o.Attrs); t != nil {
		for i := range t.NumField() {
			if t.Field(i).Type == reflect.TypeFor[op.Subgraph]() {
				return true
			}
		}
	}
	return strings.Contains(string(o.In+o.Out), "S") && o.Where["S"] == nil || strings.Contains(o.Name, "Optional") || strings.Contains(o.Name, "Sequence")
})

// narrow convert or quantize.
var narrow = chosen(func(o *op.Op) bool {
	for _, word := range []string{"Quant", "Integer", "Cast", "QLinear", "NBits"} {
		if strings.Contains(o.Name, word) {
			return true
		}
	}
	return false
})

func chosen(f func(o *op.Op) bool) (list []*op.Op) {
	for _, o := range operators {
		if f(o) {
			list = append(list, o)
		}
	}
	return list
}

func (m *modelMaker) make() *onnxpb.ModelProto {
	first := m.operator()
	version := int64([]int{21, 17, 13, 11, 9, 7, 22, 23}[m.of(8)])
	m.model = &onnxpb.ModelProto{IrVersion: proto.Int64(10), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: &version}}}
	for _, domain := range []string{"com.microsoft", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.ml"} {
		v := int64(1)
		if domain == "ai.onnx.ml" {
			v = int64(m.of(5) + 1)
		}
		m.model.OpsetImport = append(m.model.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: &domain, Version: &v})
	}
	g := &onnxpb.GraphProto{Name: proto.String("g")}
	m.model.Graph = g
	m.base = m.anyDims()
	pool := []made{m.input(g, dtype.Float32, op.Tensor)}
	if kinds := m.of(8); kinds > 3 {
		t := dtype.Float32
		if kinds == 4 {
			t = numeric[m.of(len(numeric))]
		}
		pool = append(pool, m.input(g, t, []op.Kind{op.Tensor, op.Sequence, op.Optional, op.Tensor}[kinds-4]))
	}
	m.nodes(g, pool, first)
	for n := m.of(16); n > 12; n-- { // functions within functions
		m.wrap(g)
	}
	return m.model
}

// wrap makes the nodes a function that the graph calls, with an attribute that one of its nodes refers to, or another value of it.
func (m *modelMaker) wrap(g *onnxpb.GraphProto) {
	fn := &onnxpb.FunctionProto{Name: proto.String(fmt.Sprint("f", len(m.model.Functions))), Domain: proto.String("own"), Node: g.Node, OpsetImport: slices.Clone(m.model.OpsetImport)}
	for _, in := range g.Input {
		fn.Input = append(fn.Input, in.GetName())
	}
	for _, i := range g.Initializer {
		fn.Node = append([]*onnxpb.NodeProto{{OpType: proto.String("Constant"), Output: []string{i.GetName()}, Attribute: []*onnxpb.AttributeProto{{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: i}}}}, fn.Node...)
	}
	call := &onnxpb.NodeProto{OpType: fn.Name, Domain: fn.Domain, Input: fn.Input}
	for _, o := range g.Output {
		fn.Output, call.Output = append(fn.Output, o.GetName()), append(call.Output, o.GetName())
	}
	for _, n := range fn.Node {
		for i, a := range n.Attribute {
			if a.GetType() == onnxpb.AttributeProto_INT && len(fn.Attribute)+len(fn.AttributeProto) == 0 && m.of(2) == 1 {
				passed := proto.Clone(a).(*onnxpb.AttributeProto)
				passed.Name = proto.String("a")
				if m.of(3) == 0 {
					fn.AttributeProto = append(fn.AttributeProto, passed) // its default
				} else {
					fn.Attribute, call.Attribute = []string{"a"}, []*onnxpb.AttributeProto{passed}
				}
				n.Attribute[i] = &onnxpb.AttributeProto{Name: a.Name, Type: a.Type, RefAttrName: proto.String("a")}
			}
		}
	}
	if len(m.model.Functions) == 0 {
		m.model.OpsetImport = append(m.model.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: fn.Domain, Version: proto.Int64(1)})
	}
	m.model.Functions, g.Node, g.Initializer = append(m.model.Functions, fn), []*onnxpb.NodeProto{call}, nil
}

// nodes adds one to four nodes; the last one's outputs are the graph's. Most nodes are tried several times, until the model loads: what
// is left is nearly valid, or valid.
func (m *modelMaker) nodes(g *onnxpb.GraphProto, pool []made, first *op.Op) []made {
	o, bound := first, len(pool)
	for k := range 1 + m.of(4) {
		if k > 0 {
			o = m.operator()
		}
		tries := []int{1, 3, 5, 5}[m.of(4)]
		for {
			values, constants := slices.Clone(pool), len(g.Initializer)
			n, outs := m.node(g, &values, o, k)
			g.Node, g.Output = append(g.Node, n), nil
			for _, v := range outs {
				g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(v.name)})
			}
			if tries--; tries <= 0 || len(m.tape) == 0 || m.loads(g, values[:bound]) {
				pool = append(values, outs...)
				break
			}
			g.Node, g.Initializer = g.Node[:len(g.Node)-1], g.Initializer[:constants]
		}
	}
	return pool
}

// loads reports whether the model loads, or, for a body that is not part of it yet, one of its nodes with what it reads as inputs.
func (m *modelMaker) loads(g *onnxpb.GraphProto, reads []made) bool {
	model := m.model
	if m.depth > 0 {
		alone := &onnxpb.GraphProto{Name: g.Name, Node: g.Node, Initializer: g.Initializer, Output: g.Output}
		for _, v := range reads {
			typ := tensorProto(v.typ, nil)
			alone.Input = append(alone.Input, &onnxpb.ValueInfoProto{Name: proto.String(v.name), Type: containerProto(v.kind, typ)})
		}
		model = &onnxpb.ModelProto{IrVersion: m.model.IrVersion, OpsetImport: m.model.OpsetImport, Graph: alone}
	}
	b, err := proto.Marshal(model)
	if err != nil {
		return false
	}
	_, err = onnxio.Read(bytes.NewReader(b))
	return err == nil
}

func tensorProto(t dtype.DType, shape *onnxpb.TensorShapeProto) *onnxpb.TypeProto {
	return &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: shape}}}
}

func containerProto(kind op.Kind, typ *onnxpb.TypeProto) *onnxpb.TypeProto {
	switch kind {
	case op.Sequence:
		return &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: typ}}}
	case op.Optional:
		return &onnxpb.TypeProto{Value: &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: typ}}}
	}
	return typ
}

func (m *modelMaker) node(g *onnxpb.GraphProto, pool *[]made, o *op.Op, k int) (*onnxpb.NodeProto, []made) {
	n := &onnxpb.NodeProto{OpType: proto.String(o.Name), Domain: proto.String(o.Domain), Name: proto.String(fmt.Sprint("n", k))}
	types := map[string]dtype.DType{}
	var read []made
	for _, s := range o.In.List() {
		count := 1
		if s.Variadic {
			count = m.of(4)
		}
		if s.Name == "captured" {
			count = 0 // bodies name what they capture
		}
		for range count {
			v := m.operand(g, pool, o, s, types)
			n.Input, read = append(n.Input, v.name), append(read, v)
		}
	}
	outputs := 1 + m.of(3)
	m.expect(o, read, outputs)
	saved := m.outer
	m.outer = append(slices.Clone(m.outer), *pool...)
	n.Attribute = m.attributes(o)
	m.outer, m.inputs, m.wanted, m.length = saved, nil, nil, 0
	var outs []made
	for _, s := range o.Out.List() {
		count := 1
		if s.Variadic {
			count = outputs
		} else if s.Optional && m.of(2) == 0 {
			break
		}
		for i := range count {
			v := made{m.name(), types[s.Type], m.kindOf(o, s)}
			if s.Type == "any" && i < len(read) {
				v.typ, v.kind = read[min(i+2, len(read)-1)].typ, read[min(i+2, len(read)-1)].kind
			}
			n.Output, outs = append(n.Output, v.name), append(outs, v)
		}
	}
	return n, outs
}

// expect says what the body of an operator is given and must give: a Loop the number of the iteration and the condition, both what is
// carried from one iteration to the next.
func (m *modelMaker) expect(o *op.Op, read []made, outputs int) {
	m.inputs, m.wanted, m.length = nil, nil, outputs
	switch o.Name {
	case "Loop":
		m.inputs = []made{{"", dtype.Int64, op.Tensor}, {"", dtype.Bool, op.Tensor}}
		m.inputs = append(m.inputs, read[min(2, len(read)):]...)
		m.length = 1 + max(outputs, len(read)-2)
		m.wanted = m.inputs[1:]
	case "Scan", "SequenceMap":
		m.inputs, m.wanted = read, nil
	}
	if m.of(8) == 7 { // nearly
		m.length = m.of(4)
	}
}

// body returns a subgraph that reads its inputs and what surrounds it.
func (m *modelMaker) body() *onnxpb.GraphProto {
	inputs, wanted, length := m.inputs, m.wanted, m.length
	m.depth++
	defer func() { m.depth--; m.inputs, m.wanted, m.length = inputs, wanted, length }()
	g := &onnxpb.GraphProto{Name: proto.String(m.name())}
	pool := slices.Clone(m.outer)
	var own []made
	for _, v := range inputs {
		v.name = m.name()
		g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: proto.String(v.name)})
		own = append(own, v)
	}
	pool = m.nodes(g, append(pool, own...), m.operator())
	made := pool[max(0, len(pool)-1):]
	g.Output = nil
	for i := range length {
		v := made[len(made)-1]
		if i < len(wanted) && m.of(3) > 0 {
			v = own[len(own)-len(wanted)+i]
		}
		copied := m.name() // an output is not an input's name
		g.Node = append(g.Node, &onnxpb.NodeProto{OpType: proto.String("Identity"), Input: []string{v.name}, Output: []string{copied}})
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(copied)})
	}
	return g
}

// kindOf returns the kind of values that a slot usually takes.
func (m *modelMaker) kindOf(o *op.Op, s op.FormalParameter) op.Kind {
	switch {
	case s.Type == "S" && len(o.Where["S"]) == 0:
		return op.Sequence
	case s.Type == "O" && len(o.Where["O"]) == 0:
		return op.Optional
	}
	return op.Tensor
}

// operand is what a node reads in a slot.
func (m *modelMaker) operand(g *onnxpb.GraphProto, pool *[]made, o *op.Op, s op.FormalParameter, types map[string]dtype.DType) made {
	if s.Optional && m.of(3) == 0 {
		return made{}
	}
	kind := m.kindOf(o, s)
	t, ok := types[s.Type]
	if !ok || s.Type == "any" {
		t = dtype.Float32
		if list := o.Where[s.Type]; len(list) > 0 {
			t = list[m.of(len(list))]
			if m.of(2) == 0 {
				t = list[m.of(min(len(list), 8))]
			}
		} else if strings.EqualFold(s.Type, "int64") {
			t = dtype.Int64
		} else if strings.EqualFold(s.Type, "bool") {
			t = dtype.Bool
		}
		types[s.Type] = t
	}
	if kind != op.Tensor || m.of(2) == 0 {
		for i := range *pool {
			if v := (*pool)[len(*pool)-1-i]; v.typ == t && v.kind == kind || m.of(32) == 31 {
				return v
			}
		}
	}
	v := made{m.name(), t, kind}
	if kind != op.Tensor {
		v.typ = dtype.Float32
		n := &onnxpb.NodeProto{OpType: proto.String("SequenceConstruct"), Output: []string{v.name}}
		if kind == op.Optional {
			n.OpType = proto.String("Optional")
		}
		for range 1 + m.of(2)*m.of(3) {
			x := made{m.name(), dtype.Float32, op.Tensor}
			g.Initializer = append(g.Initializer, m.tensor(x.name, x.typ, m.dims()))
			if n.Input = append(n.Input, x.name); kind == op.Optional {
				break
			}
		}
		g.Node, *pool = append(g.Node, n), append(*pool, v)
		return v
	}
	dims := m.dims()
	if s.Role == op.Shape {
		dims = [][]int64{{}, {int64(len(m.base))}, {1}, {2}, dims}[m.of(5)]
	}
	g.Initializer = append(g.Initializer, m.tensor(v.name, t, dims))
	*pool = append(*pool, v)
	return v
}

// dims returns a shape that fits the base, or any.
func (m *modelMaker) dims() []int64 {
	d := slices.Clone(m.base)
	switch m.of(8) {
	case 0, 1, 2:
		return d
	case 3:
		return d[m.of(len(d)+1):]
	case 4:
		if len(d) > 0 {
			d[m.of(len(d))] = 1
		}
		return d
	case 5:
		return []int64{d0(d, 1)}
	case 6:
		if n := len(d); n > 1 {
			d[n-1], d[n-2] = d[n-2], d[n-1]
		}
		return d
	}
	return m.anyDims()
}

// d0 returns the length of axis i, 1 where there is none.
func d0(d []int64, i int) int64 {
	if i < len(d) {
		return d[i]
	}
	return 1
}

func (m *modelMaker) anyDims() []int64 {
	dims := make([]int64, m.of(7))
	if m.of(64) == 63 { // of a rank that no kernel was made for
		dims = make([]int64, 7+m.of(40))
		for i := range dims {
			dims[i] = 1 + int64(m.of(16)/15)
		}
		return dims
	}
	for i := range dims {
		dims[i] = []int64{1, 2, 3, 4, 0, 5, 8, 2, 3, 4}[m.of(10)]
	}
	return dims
}

// input returns an input of the graph, of the base shape; some of its lengths are open.
func (m *modelMaker) input(g *onnxpb.GraphProto, t dtype.DType, kind op.Kind) made {
	v := made{m.name(), t, kind}
	shape := &onnxpb.TensorShapeProto{}
	for i, d := range m.base {
		dim := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}}
		if m.of(4) == 1 {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: fmt.Sprint("N", i)}
		}
		shape.Dim = append(shape.Dim, dim)
	}
	g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: proto.String(v.name), Type: containerProto(kind, tensorProto(t, shape))})
	return v
}
