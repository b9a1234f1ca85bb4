//go:build unix

package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FuzzModel makes models of what the operators declare, valid and nearly valid: attributes at bounds, ranks from 0 to
// 6, axes of length 0, inputs that are absent, of another type or read twice, bodies within bodies, functions. No such
// model may panic, take more than two seconds of processor time or more memory than the budget; what loads is saved,
// and loads again the same; what runs gives Gorgonia's TapeMachine the same numbers.
func FuzzModel(f *testing.F) {
	for i := range len(standard) {
		f.Add([]byte{byte(i), byte(i >> 8), 1, 2, 3, 2, 1, 0, 5, 1, 4, 2, 7, 7, 3})
	}
	f.Fuzz(func(t *testing.T, tape []byte) {
		nn.LimitMemory(256 << 20)
		defer nn.LimitMemory(0)
		m := &modelMaker{tape: tape}
		b, err := proto.Marshal(m.model())
		if err != nil {
			t.Skip("not a model that a file can hold: ", err)
		}
		begin := spent(t)
		holdsUp(t, b)
		if took := spent(t) - begin; took > 2*time.Second {
			t.Errorf("took %v of processor time", took)
		}
	})
}

// spent is the processor time of the process.
func spent(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// holdsUp checks what is claimed of any model.
func holdsUp(t *testing.T, b []byte) {
	g, err := onnxio.Read(bytes.NewReader(b))
	if err != nil {
		panics(t, err)
		return
	}
	var first, second bytes.Buffer
	if err := onnxio.Write(&first, g); err != nil {
		t.Fatalf("loads but is not saved: %v", err)
	}
	again, err := onnxio.Read(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatalf("is saved but does not load: %v", err)
	}
	if err := onnxio.Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("a second time saved, other bytes: %v", err)
	}
	var in []*tensor.Dense
	for _, v := range g.Inputs() {
		typ := v.Type()
		shape := typ.Sizes()
		if typ.Kind != op.Tensor || typ.DType == dtype.String || len(shape) > 6 {
			return
		}
		for i, n := range shape {
			if shape[i] = max(n, 1); n > 64 {
				return
			}
		}
		in = append(in, dtype.New(typ.DType, shape...))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := g.Run(ctx, in...)
	if err != nil {
		panics(t, err)
		return
	}
	compareWithTape(t, g, in, out)
}

// panics fails for errors that are panics.
func panics(t *testing.T, err error) {
	if strings.Contains(err.Error(), "panic") || errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// compareWithTape runs the lowered graph on Gorgonia's own machine.
func compareWithTape(t *testing.T, g *nn.Graph, in, out []*tensor.Dense) {
	l, err := g.Lower(nn.LowerOptions{})
	if err != nil || l.Key != nil {
		return // values that only a run knows, random numbers
	}
	for i, n := range l.Inputs {
		if n != nil {
			if !n.Shape().Eq(in[i].Shape()) {
				return
			}
			op.Bind(n, in[i])
		}
	}
	var values []*gorgonia.Value
	for _, n := range l.Outputs {
		if n == nil || n.Op() == nil {
			return
		}
		v := new(gorgonia.Value)
		gorgonia.Read(n, v)
		values = append(values, v)
	}
	if len(values) == 0 {
		return
	}
	vm := gorgonia.NewTapeMachine(l.ExprGraph)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatalf("runs here and not on the TapeMachine: %v", err)
	}
	for i, v := range values {
		d, ok := (*v).(*tensor.Dense)
		if !ok {
			continue // a scalar of Gorgonia's
		}
		x, err1 := dtype.Float64s(d)
		y, err2 := dtype.Float64s(out[i])
		if err1 != nil || err2 != nil || len(x) != len(y) {
			continue
		}
		for k := range x {
			if d := math.Abs(x[k] - y[k]); d > 1e-3*max(1, math.Abs(x[k])) && !math.IsNaN(x[k]) && !math.IsInf(x[k], 0) {
				t.Fatalf("output %d, element %d: %v here, %v on the TapeMachine", i, k, y[k], x[k])
			}
		}
	}
}

// standard are ONNX's operators.
var standard = func() (list []*op.Op) {
	for _, o := range std.Operators().List() {
		if o.Domain == "" {
			list = append(list, o)
		}
	}
	return list
}()

// modelMaker makes a model of a tape of bytes; behind its end it reads zeros.
type modelMaker struct {
	tape  []byte
	names int
	depth int
}

func (m *modelMaker) next() int {
	if len(m.tape) == 0 {
		return 0
	}
	b := m.tape[0]
	m.tape = m.tape[1:]
	return int(b)
}

// of is a number below n.
func (m *modelMaker) of(n int) int {
	if n <= 1 {
		return 0
	}
	return m.next() % n
}

func (m *modelMaker) name() string { m.names++; return fmt.Sprint("v", m.names) }

// made is a value that later nodes may read.
type made struct {
	name string
	typ  dtype.DType
}

func (m *modelMaker) model() *onnxpb.ModelProto {
	first := m.next() + m.next()<<8
	version := int64([]int{21, 17, 13, 11, 9, 7, 22, 23}[m.of(8)])
	model := &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: &version}}}
	g := &onnxpb.GraphProto{Name: proto.String("g")}
	x := m.input(g, dtype.Float32)
	m.nodes(g, []made{x}, standard[first%len(standard)])
	if m.of(16) == 1 { // the nodes become a function
		fn := &onnxpb.FunctionProto{Name: proto.String("f"), Domain: proto.String("own"), Input: []string{x.name}, Node: g.Node, OpsetImport: model.OpsetImport}
		for _, i := range g.Initializer {
			fn.Node = append([]*onnxpb.NodeProto{{OpType: proto.String("Constant"), Output: []string{i.GetName()}, Attribute: []*onnxpb.AttributeProto{{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: i}}}}, fn.Node...)
		}
		call := &onnxpb.NodeProto{OpType: fn.Name, Domain: fn.Domain, Input: fn.Input}
		for _, o := range g.Output {
			fn.Output, call.Output = append(fn.Output, o.GetName()), append(call.Output, o.GetName())
		}
		model.OpsetImport = append(model.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: fn.Domain, Version: proto.Int64(1)})
		model.Functions, g.Node, g.Initializer = []*onnxpb.FunctionProto{fn}, []*onnxpb.NodeProto{call}, nil
	}
	model.Graph = g
	return model
}

// nodes adds one to four nodes; the last one's outputs are the graph's.
func (m *modelMaker) nodes(g *onnxpb.GraphProto, pool []made, first *op.Op) {
	o := first
	for k := range 1 + m.of(4) {
		if k > 0 {
			o = standard[(m.next()+m.next()<<8)%len(standard)]
		}
		n := &onnxpb.NodeProto{OpType: proto.String(o.Name), Name: proto.String(fmt.Sprint("n", k))}
		types := map[string]dtype.DType{}
		for _, s := range o.In.List() {
			count := 1
			if s.Variadic {
				count = m.of(4)
			}
			for range count {
				n.Input = append(n.Input, m.operand(g, &pool, o, s, types))
			}
		}
		n.Attribute = m.attributes(o)
		var outs []made
		for _, s := range o.Out.List() {
			if s.Optional && m.of(2) == 0 {
				break
			}
			v := made{m.name(), types[s.Type]}
			n.Output, outs = append(n.Output, v.name), append(outs, v)
		}
		g.Node, pool = append(g.Node, n), append(pool, outs...)
		g.Output = nil
		for _, v := range outs {
			g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(v.name)})
		}
	}
}

// operand is what a node reads in a slot.
func (m *modelMaker) operand(g *onnxpb.GraphProto, pool *[]made, o *op.Op, s op.Slot, types map[string]dtype.DType) string {
	if s.Optional && m.of(3) == 0 {
		return ""
	}
	t, ok := types[s.Type]
	if !ok {
		t = dtype.Float32
		if list := o.Where[s.Type]; len(list) > 0 {
			t = list[m.of(min(len(list), 8))]
		} else if strings.EqualFold(s.Type, "int64") {
			t = dtype.Int64
		} else if strings.EqualFold(s.Type, "bool") {
			t = dtype.Bool
		}
		types[s.Type] = t
	}
	if m.of(2) == 0 {
		for i := range *pool {
			if v := (*pool)[len(*pool)-1-i]; v.typ == t || m.of(32) == 31 {
				return v.name
			}
		}
	}
	v := made{m.name(), t}
	g.Initializer = append(g.Initializer, m.tensor(v.name, t))
	*pool = append(*pool, v)
	return v.name
}

func (m *modelMaker) dims() []int64 {
	dims := make([]int64, m.of(7))
	for i := range dims {
		dims[i] = []int64{1, 2, 3, 4, 0, 5, 8}[m.of(7)]
	}
	return dims
}

func (m *modelMaker) input(g *onnxpb.GraphProto, t dtype.DType) made {
	v := made{m.name(), t}
	shape := &onnxpb.TensorShapeProto{}
	for i, d := range m.dims() {
		dim := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}}
		if m.of(4) == 1 {
			dim.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: fmt.Sprint("N", i)}
		}
		shape.Dim = append(shape.Dim, dim)
	}
	g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: proto.String(v.name), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: shape}}}})
	return v
}

// whole are numbers at which things go wrong.
var whole = []int64{1, 0, 2, -1, 3, -2, 4, 7, 64, 1 << 20, 1 << 31, -1 << 31, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 255}

var broken = []float64{1, 0, -1, 0.5, 2, 1e-7, 1e30, -1e30, math.Inf(1), math.Inf(-1), math.NaN(), 3}

func (m *modelMaker) tensor(name string, t dtype.DType) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(t)), Dims: m.dims()}
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
	number := func() int64 { return whole[m.of(len(whole))] }
	switch {
	case t == reflect.TypeFor[dtype.DType]():
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_INT.Enum(), I: proto.Int64(int64(m.of(25)))}
	case t == reflect.TypeFor[dtype.Value]():
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_TENSOR.Enum(), T: m.tensor("", []dtype.DType{dtype.Float32, dtype.Int64, dtype.Bool, dtype.Float64}[m.of(4)])}
	case t == reflect.TypeFor[op.Body]():
		if m.depth > 2 {
			return nil
		}
		m.depth++
		defer func() { m.depth-- }()
		g := &onnxpb.GraphProto{Name: proto.String(m.name())}
		var pool []made
		for _, t := range []dtype.DType{dtype.Int64, dtype.Bool, dtype.Float32}[:m.of(4)] {
			pool = append(pool, m.input(g, t))
		}
		m.nodes(g, pool, standard[(m.next()+m.next()<<8)%len(standard)])
		return &onnxpb.AttributeProto{Type: onnxpb.AttributeProto_GRAPH.Enum(), G: g}
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
		n := m.of(7)
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
