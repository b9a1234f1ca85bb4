package conformance_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
)

var mutations = flag.Int("mutations", 10, "changed copies of each real model that are compared with ONNX Runtime")

// TestMutatedModels changes real models at random places, an attribute, an edge, a shape, an operator, a weight, and compares what the copies
// compute with ONNX Runtime. What both run must agree, and what ONNX Runtime runs must not be refused.
func TestMutatedModels(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of models")
	}
	ort := oracle.ORT(t)
	files, err := filepath.Glob(filepath.Join(oracle.Shared(t, "models"), "*", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			g, err := onnxio.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			data, err := onnxio.ReadDataSet(os.DirFS(filepath.Dir(path)), "test_data_set_0", types(g.Inputs()), types(g.Outputs()))
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for i := range *mutations {
				m := new(onnxpb.ModelProto)
				if err := proto.Unmarshal(b, m); err != nil {
					t.Fatal(err)
				}
				r := &mutator{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i))), m: m}
				for range 1 + r.IntN(4)/3 {
					r.change()
				}
				if r.compare(t, ort, i, data.Inputs) {
					compared++
				}
			}
			t.Logf("%d of %d models compared", compared, *mutations)
		})
	}
}

// mutator changes a model.
type mutator struct {
	*rand.Rand
	m    *onnxpb.ModelProto
	what []string // what it changed
}

func (r *mutator) note(format string, a ...any) { r.what = append(r.what, fmt.Sprintf(format, a...)) }

func (r *mutator) change() {
	g := r.m.Graph
	n := g.Node[r.IntN(len(g.Node))]
	for range 20 { // until something can be changed
		before := len(r.what)
		switch r.IntN(10) {
		case 0, 1, 2:
			r.attribute(n)
		case 3, 4:
			r.edge(n)
		case 5, 6:
			r.initializer()
		case 7:
			r.bypass(n)
		case 8:
			r.operator(n)
		case 9:
			r.declared()
		}
		if len(r.what) > before {
			return
		}
	}
}

func (r *mutator) attribute(n *onnxpb.NodeProto) {
	if len(n.Attribute) == 0 {
		return
	}
	a := n.Attribute[r.IntN(len(n.Attribute))]
	if n.GetOpType() == "Squeeze" || strings.HasPrefix(n.GetOpType(), "TreeEnsemble") || a.GetName() == "keepdims" {
		return // ONNX Runtime takes no axes for all, keepdims −1 for 0, and the last of a leaf's weights or their sum
	}
	old := proto.Clone(a)
	switch a.GetType() {
	case onnxpb.AttributeProto_INT:
		a.I = proto.Int64([]int64{a.GetI() + 1, a.GetI() - 1, 0, 1, -1, 2, -a.GetI()}[r.IntN(7)])
	case onnxpb.AttributeProto_FLOAT:
		a.F = proto.Float32([]float32{0, 1, -1, 0.5, a.GetF() * 2, 1e-20, float32(math.NaN())}[r.IntN(7)])
	case onnxpb.AttributeProto_INTS:
		switch k := r.IntN(4); {
		case k == 0:
			a.Ints = append(a.Ints, 1)
		case len(a.Ints) == 0:
		case k == 1:
			a.Ints = a.Ints[:len(a.Ints)-1]
		default:
			a.Ints[r.IntN(len(a.Ints))] += []int64{1, -1, 2}[r.IntN(3)]
		}
	default:
		if r.IntN(3) > 0 {
			return
		}
		n.Attribute = slices.DeleteFunc(n.Attribute, func(x *onnxpb.AttributeProto) bool { return x == a })
		r.note("%s %s without %s", n.GetOpType(), n.GetName(), a.GetName())
		return
	}
	r.note("%s %s: %.100v becomes %.100v", n.GetOpType(), n.GetName(), old, a)
}

func (r *mutator) values() (names []string) {
	g := r.m.Graph
	for _, v := range g.Input {
		names = append(names, v.GetName())
	}
	for _, v := range g.Initializer {
		names = append(names, v.GetName())
	}
	for _, n := range g.Node {
		names = append(names, n.Output...)
	}
	return names
}

func (r *mutator) edge(n *onnxpb.NodeProto) {
	if len(n.Input) == 0 {
		return
	}
	i := r.IntN(len(n.Input))
	old := slices.Clone(n.Input)
	switch r.IntN(5) {
	case 0:
		n.Input = slices.Delete(n.Input, i, i+1)
	case 1:
		j := r.IntN(len(n.Input))
		n.Input[i], n.Input[j] = n.Input[j], n.Input[i]
	case 2:
		v := r.values()
		n.Input[i] = v[r.IntN(len(v))]
	case 3:
		n.Input = append(n.Input, n.Input[i])
	case 4:
		n.Input[i] = ""
	}
	if !slices.Equal(old, n.Input) {
		r.note("%s %s: inputs %q become %q", n.GetOpType(), n.GetName(), old, n.Input)
	}
}

func (r *mutator) initializer() {
	list := r.m.Graph.Initializer
	if len(list) == 0 {
		return
	}
	x := list[r.IntN(len(list))]
	old := slices.Clone(x.Dims)
	switch {
	case x.GetDataType() == int32(onnxpb.TensorProto_INT64) && (len(x.RawData) >= 8 || len(x.Int64Data) > 0):
		d := []byte{1, 255, 2, 0}[r.IntN(4)]
		if len(x.RawData) >= 8 {
			at := 8 * r.IntN(len(x.RawData)/8)
			x.RawData = slices.Clone(x.RawData)
			for i := range 8 {
				x.RawData[at+i] = map[bool]byte{true: 255}[d == 255]
			}
			x.RawData[at] = d
		} else {
			x.Int64Data[r.IntN(len(x.Int64Data))] = int64(int8(d))
		}
		r.note("%s: an element becomes %d", x.GetName(), int8(d))
	case len(x.Dims) == 0:
		x.Dims = []int64{1}
	case r.IntN(3) == 0:
		slices.Reverse(x.Dims)
	case r.IntN(2) == 0:
		x.Dims = append(x.Dims, 1)
	default:
		x.Dims = append([]int64{1}, x.Dims...)
	}
	if !slices.Equal(old, x.Dims) {
		r.note("%s: shape %v becomes %v", x.GetName(), old, x.Dims)
	}
}

// bypass removes a node: what reads its first output reads its first input.
func (r *mutator) bypass(n *onnxpb.NodeProto) {
	g := r.m.Graph
	if len(n.Input) == 0 || n.Input[0] == "" || len(g.Node) < 2 {
		return
	}
	for _, o := range g.Output {
		if slices.Contains(n.Output, o.GetName()) {
			return
		}
	}
	for _, x := range g.Node {
		for i, v := range x.Input {
			if v == n.Output[0] {
				x.Input[i] = n.Input[0]
			}
		}
	}
	g.Node = slices.DeleteFunc(g.Node, func(x *onnxpb.NodeProto) bool { return x == n })
	r.note("without %s %s", n.GetOpType(), n.GetName())
}

func (r *mutator) operator(n *onnxpb.NodeProto) {
	old := n.GetOpType()
	list := []string{"Relu", "Sigmoid", "Neg", "Identity", "Softmax", "Shape", "Transpose", "Abs", "Flatten", "Cast", "ReduceMean", "Not", "Tanh"}
	if len(n.Input) == 2 {
		list = []string{"Add", "Sub", "Mul", "MatMul", "Gemm", "Pow", "Mod", "Equal", "Reshape", "Gather", "Concat", "Max", "Expand", "Where"}
	}
	if len(n.Input) > 2 {
		list = []string{"Sum", "Concat", "Gemm", "Where", "Clip", "Conv", "ConvTranspose"}
	}
	n.OpType = proto.String(list[r.IntN(len(list))])
	if n.GetOpType() != old {
		r.note("%s %s becomes %s", old, n.GetName(), n.GetOpType())
	}
}

// declared changes what the model declares of an input or output.
func (r *mutator) declared() {
	g := r.m.Graph
	list := slices.Concat(g.Input, g.Output, g.ValueInfo)
	v := list[r.IntN(len(list))]
	d := v.GetType().GetTensorType().GetShape().GetDim()
	if len(d) == 0 {
		return
	}
	i := r.IntN(len(d))
	old := d[i].String()
	d[i].Reset()
	switch r.IntN(3) {
	case 0:
		d[i].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: fmt.Sprint("open_", len(r.what))}
	case 1:
		d[i].Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(r.IntN(5))}
	}
	r.note("%s: dimension %d: %s becomes %s", v.GetName(), i, old, d[i])
}

// ortAlone are reasons why graft refuses what ONNX Runtime runs: it pools windows longer than their axis, multiplies vectors by
// Gemm, and takes an axis twice.
var ortAlone = []string{"is shorter than the kernel", "want a matrix", "is given twice"}

// compare runs the model with both, and reports whether both ran it.
func (r *mutator) compare(t *testing.T, ort *oracle.Runtime, i int, in []onnxio.NamedValue) bool {
	b, err := proto.Marshal(r.m)
	if err != nil {
		t.Fatal(err)
	}
	feed, packed := nn.Feed{}, map[string]oracle.Tensor{}
	for _, v := range r.m.Graph.Input {
		if name := v.GetName(); len(in) > 0 && !slices.ContainsFunc(r.m.Graph.Initializer, func(x *onnxpb.TensorProto) bool { return x.GetName() == name }) {
			feed[name], packed[name] = in[0].Value, packValue(in[0].Value)
			in = in[1:]
		}
	}
	want, ortErr := ort.Run(b, packed)
	got, err := evaluate(t, b, feed)
	what := strings.Join(r.what, "; ")
	if ortErr != nil {
		if err == nil && testing.Verbose() {
			t.Logf("%d: %s: ONNX Runtime refuses it: %v", i, what, ortErr)
		}
		return false
	}
	if err != nil {
		if !slices.ContainsFunc(ortAlone, func(s string) bool { return strings.Contains(err.Error(), s) }) {
			t.Errorf("%d: %s: ONNX Runtime runs it: %v", i, what, err)
		}
		return false
	}
	for name, w := range want {
		g := packValue(got[name])
		scale := 1.0 // that of the largest element: what is changed may be ill-conditioned
		if w.DType == "float32" {
			x, err := dtype.Float64s(dense(t, got[name]))
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(x, math.IsNaN) {
				return false // ONNX Runtime's kernels take NaN for a bound at places
			}
			for _, x := range x {
				if a := math.Abs(x); !math.IsInf(a, 0) {
					scale = max(scale, a)
				}
			}
		}
		if err := oracle.Close(g, w, 1e-2, 1e-3*scale); err != nil {
			t.Errorf("%d: %s: %s: %v", i, what, name, err)
		}
	}
	simple, err := onnxio.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := simple.Edit(func(e *nn.Edit) { e.Simplify() }); err != nil {
		t.Errorf("%d: %s: %v", i, what, err)
		return true
	}
	var saved bytes.Buffer
	if err := onnxio.Write(&saved, simple); err != nil {
		t.Fatal(err)
	}
	again, err := evaluate(t, saved.Bytes(), feed)
	if err != nil {
		t.Errorf("%d: %s: simplified: %v", i, what, err)
		return true
	}
	for name, v := range got {
		if err := oracle.Close(packValue(again[name]), packValue(v), 1e-6, 1e-6); err != nil {
			t.Errorf("%d: %s: simplified: %s: %v", i, what, name, err)
		}
	}
	return true
}

func types(list []*nn.Value) (types []op.Type) {
	for _, v := range list {
		types = append(types, v.Type())
	}
	return types
}
