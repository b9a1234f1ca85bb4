package onnxio

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// convertedTest is a node test of ONNX's in another operator set. All inputs but the first are
// initializers, so that they may become attributes.
type convertedTest struct {
	name  string
	opset int
	file  []byte
	feed  nn.Feed
	want  nn.Feed
}

// convertNodeTests calls visit with every node test in every operator set that it can be written in.
func convertNodeTests(t *testing.T, opsets []int, visit func(c convertedTest)) {
	t.Helper()
	fsys, refused := nodeTests(t), map[string]int{}
	for model := range models(t, fsys) {
		g, feed := withInitializers(t, fsys, model)
		if g == nil {
			continue
		}
		want, err := g.Eval(t.Context(), feed)
		if err != nil || drawsRandom(g) {
			continue
		}
		for _, opset := range opsets {
			if opset == g.Opsets()[""] {
				continue
			}
			var b bytes.Buffer
			if err := (Saver{Opset: opset}).Write(&b, g); err != nil {
				if !strings.Contains(err.Error(), "cannot be written in operator set") {
					t.Errorf("%s in %d: %v", path.Dir(model), opset, err)
				}
				_, why, _ := strings.Cut(err.Error(), "operator set ")
				_, why, _ = strings.Cut(why, ": ")
				op, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "save: "), " ")
				refused[op+": "+why]++
				continue
			}
			visit(convertedTest{path.Base(path.Dir(model)), opset, b.Bytes(), feed, want})
		}
	}
	for why, n := range refused {
		t.Logf("refused %d: %s", n, why)
	}
}

// drawsRandom reports whether a node draws random numbers. A Dropout without a third input does not, outside of training.
func drawsRandom(g *nn.Graph) bool {
	for n := range g.Nodes() {
		if n.Op() != nil && n.Op().Random && (n.Type() != "Dropout" || n.In(2) != nil) {
			return true
		}
	}
	return false
}

// withInitializers loads a node test, nil where it has no data set that graft reads.
func withInitializers(t *testing.T, fsys fs.FS, model string) (*nn.Graph, nn.Feed) {
	t.Helper()
	file, err := fs.ReadFile(fsys, model)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Read(bytes.NewReader(file))
	if err != nil {
		return nil, nil
	}
	set, err := ReadDataSet(fsys, path.Dir(model)+"/test_data_set_0", typesOf(g.Inputs()), typesOf(g.Outputs()))
	if err != nil {
		return nil, nil
	}
	m, feed := &onnxpb.ModelProto{}, nn.Feed{}
	if err := proto.Unmarshal(file, m); err != nil {
		t.Fatal(err)
	}
	for i, v := range g.Inputs() {
		x := set.Inputs[i].Value
		p, err := encodeTensor(v.Name(), x)
		if i == 0 || err != nil {
			feed[v.Name()] = x
			continue
		}
		m.Graph.Initializer = append(m.Graph.Initializer, p)
		m.Graph.Input = slices.DeleteFunc(m.Graph.Input, func(info *onnxpb.ValueInfoProto) bool { return info.GetName() == v.Name() })
	}
	if file, err = proto.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if g, err = Read(bytes.NewReader(file)); err != nil {
		return nil, nil
	}
	return g, feed
}

// TestConvertNodes runs every node test of ONNX's in other operator sets: it computes the same.
func TestConvertNodes(t *testing.T) {
	opsets := []int{6, 7, 9, 10, 11, 12, 13, 15, 17, 19, 20, 23, std.Operators().Newest("")}
	if testing.Short() {
		opsets = []int{7, 11, 17}
	}
	count := 0
	convertNodeTests(t, opsets, func(c convertedTest) {
		count++
		g, err := Read(bytes.NewReader(c.file))
		if err != nil {
			t.Errorf("%s in %d: %v", c.name, c.opset, err)
			return
		}
		got, err := g.Eval(t.Context(), c.feed)
		if err != nil {
			t.Errorf("%s in %d: %v", c.name, c.opset, err)
			return
		}
		for name, want := range c.want {
			if _, err := (dtype.Tolerance{Rtol: 1e-5, Atol: 1e-6}).Compare(got[name], want); err != nil {
				t.Errorf("%s in %d: %s: %v", c.name, c.opset, name, err)
			}
		}
	})
	t.Logf("%d conversions", count)
}

// notInRuntime are what ONNX Runtime says of what it lacks.
var notInRuntime = []string{"NOT_IMPLEMENTED", "Could not find an implementation", "not implemented", "is not a registered function", "Unsupported data type",
	"temporarily not supported", "(layout == 1) are not supported", "min_ <= max_", "conv_integer.cc", "InsertedPrecisionFreeCast", "not offered by onnxruntime-node"}

// TestConvertedInRuntime lets ONNX Runtime run what it knows of the converted node tests.
func TestConvertedInRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of runs")
	}
	ort := oracle.ORT(t)
	ran, unknown := 0, 0
	convertNodeTests(t, []int{7, 8, 9, 10, 11, 12, 13, 15, 17, 18, 19, 21}, func(c convertedTest) {
		for _, f := range []nn.Feed{c.feed, c.want} {
			for _, x := range f {
				if d, ok := x.(*tensor.Dense); !ok || op.TypeSince(dtype.Of(d.Dtype())) > 1 {
					return // nothing that ONNX Runtime offers to node
				}
			}
		}
		if strings.Contains(c.name, "downsample_scales") && strings.Contains(c.name, "align_corners") {
			return // ONNX Runtime rounds the length of the result before it scales
		}
		in := map[string]oracle.Tensor{}
		for name, x := range c.feed {
			v, ok := toOracle(x)
			if !ok {
				return
			}
			in[name] = v
		}
		out, err := ort.Run(c.file, in)
		if err != nil {
			if slices.ContainsFunc(notInRuntime, func(s string) bool { return strings.Contains(err.Error(), s) }) {
				unknown++
				return
			}
			t.Errorf("%s in %d: %v", c.name, c.opset, err)
			return
		}
		ran++
		for name, x := range c.want {
			want, ok := toOracle(x)
			if !ok {
				continue
			}
			if err := oracle.Close(out[name], want, 1e-3, 5e-4); err != nil {
				t.Errorf("%s in %d: %s: %v", c.name, c.opset, name, err)
			}
		}
	})
	t.Logf("%d ran, %d are not implemented", ran, unknown)
}
