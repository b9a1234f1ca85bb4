package nn_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestTraceModels lowers real models, traces the lowering, saves the trace and compares it, in
// graft and in ONNX Runtime, with what the model's data sets say, and with the model itself where
// symbolic dimensions are twice as long.
func TestTraceModels(t *testing.T) {
	dir := oracle.Shared(t, "models")
	fsys := os.DirFS(dir)
	files, err := fs.Glob(fsys, "*/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	ort := oracle.ORT(t)
	for _, file := range files {
		for _, keep := range []bool{true, false} {
			name := path.Dir(file)
			t.Run(fmt.Sprintf("%s keep=%v", name, keep), func(t *testing.T) { traceModel(t, ort, fsys, name, keep) })
		}
	}
}

func traceModel(t *testing.T, ort *oracle.Runtime, fsys fs.FS, name string, keep bool) {
	g, err := onnxio.Loader{FS: fsys}.Load(name + "/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	feed, want := dataSet(t, fsys, name+"/test_data_set_0", g)
	l, err := g.Lower(nn.LowerOptions{Keep: keep, Feed: feed})
	if err != nil {
		t.Fatal(err)
	}
	traced, err := l.Trace()
	if err != nil {
		t.Fatal(err)
	}
	var loose *nn.Graph // TraceNodes of what was folded: symbolic sizes are open in it, or it is refused
	if !keep {
		var list gorgonia.Nodes
		for _, n := range l.Inputs {
			if n != nil {
				list = append(list, n)
			}
		}
		if loose, err = (nn.Tracer{Inputs: list}).Nodes(l.Outputs...); err != nil && !strings.Contains(err.Error(), "lower with Keep") &&
			!strings.Contains(err.Error(), "needs operator set") { // parts of a composite operator are younger than the model
			t.Error(err)
		}
		if err != nil {
			loose = nil
		}
	}
	if err := traced.Check(); err != nil {
		t.Fatal(err)
	}
	for i, v := range traced.Inputs() {
		if o := g.Inputs()[i]; v.Name() != o.Name() || v.Type().String() != o.Type().String() {
			t.Errorf("input %s %v, want %s %v", v.Name(), v.Type(), o.Name(), o.Type())
		}
	}
	file := filepath.Join(t.TempDir(), "traced.onnx")
	if err := onnxio.Save(file, traced); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Eval(context.Background(), feed)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		compareTensors(t, name, got[name], w)
	}
	sets, err := onnxio.DataSets(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		feed, want := dataSet(t, fsys, set, g)
		inRuntime(t, ort, file, feed, want)
	}
	long, symbolic := lengthened(t, g, feed)
	if !symbolic {
		return
	}
	want, err = g.Eval(context.Background(), long)
	if err != nil {
		t.Log("the model itself does not take twice the size:", err)
		return
	}
	got, err = again.Eval(context.Background(), long)
	if err != nil {
		t.Fatal("at twice the size:", err)
	}
	for name, w := range want {
		compareTensors(t, name+" at twice the size", got[name], w)
	}
	inRuntime(t, ort, file, long, want)
	if loose == nil {
		return
	}
	for _, v := range g.Inputs() {
		if _, err := loose.Value(v.Name()); err != nil {
			delete(long, v.Name()) // folded
		}
	}
	if got, err = loose.Eval(context.Background(), long); err != nil {
		t.Fatal("TraceNodes, at twice the size:", err)
	}
	for i, v := range loose.Outputs() {
		compareTensors(t, v.Name()+" of TraceNodes at twice the size", got[v.Name()], want[g.Outputs()[i].Name()])
	}
}

// lengthened repeats the inputs along their symbolic axes.
func lengthened(t *testing.T, g *nn.Graph, feed nn.Feed) (nn.Feed, bool) {
	t.Helper()
	out, any := nn.Feed{}, false
	for _, v := range g.Inputs() {
		out[v.Name()] = feed[v.Name()]
		d, ok := feed[v.Name()].(*tensor.Dense)
		for axis, dim := range v.Type().Shape {
			if !ok || dim.Sym == "" {
				continue
			}
			any = true
			size := append([]int{}, d.Shape()...)
			row := int(d.Dtype().Size())
			for _, n := range size[axis:] {
				row *= n
			}
			size[axis] *= 2
			twice := dtype.New(dtype.Of(d.Dtype()), size...)
			for from, to := 0, 0; from < len(dtype.Bytes(d)); from += row {
				to += copy(dtype.Bytes(twice)[to:], dtype.Bytes(d)[from:from+row])
				to += copy(dtype.Bytes(twice)[to:], dtype.Bytes(d)[from:from+row])
			}
			d = twice
			out[v.Name()] = d
		}
	}
	return out, any
}

func dataSet(t *testing.T, fsys fs.FS, dir string, g *nn.Graph) (feed, want nn.Feed) {
	t.Helper()
	declared := func(list []*nn.Value) []op.Type {
		d := make([]op.Type, len(list))
		for i, v := range list {
			d[i] = v.Type()
		}
		return d
	}
	set, err := onnxio.ReadDataSet(fsys, dir, declared(g.Inputs()), declared(g.Outputs()))
	if err != nil {
		t.Fatal(err)
	}
	feed, want = nn.Feed{}, nn.Feed{}
	for i, v := range g.Inputs() {
		feed[v.Name()] = set.Inputs[i].Value
	}
	for i, v := range g.Outputs() {
		if i < len(set.Outputs) && set.Outputs[i].Value != nil {
			want[v.Name()] = set.Outputs[i].Value
		}
	}
	return feed, want
}

func inRuntime(t *testing.T, ort *oracle.Runtime, file string, feed, want nn.Feed) {
	t.Helper()
	in := map[string]oracle.Tensor{}
	for name, v := range feed {
		in[name] = packed(t, v)
	}
	out, err := ort.RunFile(file, in)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		if err := oracle.Close(out[name], packed(t, w), 1e-3, 1e-4); err != nil {
			t.Errorf("ONNX Runtime, output %s: %v", name, err)
		}
	}
}

func packed(t *testing.T, v dtype.Value) oracle.Tensor {
	t.Helper()
	d, ok := v.(*tensor.Dense)
	if !ok {
		t.Fatalf("%v is no tensor of numbers", op.TypeOf(v))
	}
	return oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
}

func compareTensors(t *testing.T, name string, got, want dtype.Value) {
	t.Helper()
	if got == nil {
		t.Errorf("no output %s", name)
		return
	}
	if err := oracle.Close(packed(t, got), packed(t, want), 1e-3, 1e-4); err != nil {
		t.Errorf("output %s: %v", name, err)
	}
}
