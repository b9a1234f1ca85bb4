package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// holds runs a case, which must hold.
func holds(t *testing.T, dir string) {
	t.Helper()
	conformance.Run(t, dir, conformance.Graft{}, nil)
}

// A program's runs become a test case: what it was given and answered, from several goroutines, and its failures.
func TestRecorder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	g := linear(t)
	r := &nn.Recorder{Graph: g, Keep: conformance.CaseWriter{}.Recorder(dir), Most: 4}
	unused, err := dtype.FromSlice([]int64{1, 2, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 3 {
		all.Go(func() {
			if _, err := r.Run(t.Context(), unused, ones(t, n+1, 5)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	holds(t, dir)
	if _, err := r.Eval(t.Context(), nn.Feed{"unused": unused, "x": ones(t, 2, 7)}); err == nil {
		t.Error("seven columns were accepted")
	}
	if r.Err() != nil || r.Kept() != 4 {
		t.Errorf("%d recordings, %v", r.Kept(), r.Err())
	}
	if set, err := onnxio.ReadDataSet(os.DirFS(dir), "test_data_set_0", nil, nil); err != nil || len(set.Gradients) > 0 || len(set.GradientInputs) > 0 {
		t.Errorf("gradients that nobody asked for: %v", err)
	}
	for _, name := range []string{"model.onnx", "test_data_set_2/output_0.pb", "test_data_set_3/input_0.pb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "test_data_set_3/output_0.pb")); err == nil {
		t.Error("the run that failed has an output")
	}
	meta, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil || !strings.Contains(string(meta), "error of test_data_set_3") {
		t.Errorf("%v: %s", err, meta)
	}
	if _, err := r.Run(t.Context(), unused, ones(t, 9, 5)); err != nil || r.Kept() != 4 {
		t.Errorf("%d recordings, want the four that are asked for: %v", r.Kept(), err)
	}
}

func TestRecorderRefuses(t *testing.T) {
	g := linear(t)
	feed := nn.Feed{"unused": ones(t, 3), "x": ones(t, 1, 5)}
	feed["unused"], _ = dtype.FromSlice([]int64{1, 2, 3}, 3)
	failed := &nn.Recorder{Graph: g, Keep: func(context.Context, nn.Recording) error { return errors.New("disk full") }}
	if _, err := failed.Eval(t.Context(), feed); err != nil || failed.Err() == nil || failed.Kept() != 0 {
		t.Errorf("%v, %v", err, failed.Err())
	}
	r := &nn.Recorder{Graph: g, Keep: conformance.CaseWriter{}.Recorder(filepath.Join(t.TempDir(), "a")), Only: func(r nn.Recording) bool { return r.Err == nil }}
	if _, err := r.Eval(t.Context(), nn.Feed{"x": ones(t, 1, 7), "unused": feed["unused"]}); err == nil || r.Kept() != 0 {
		t.Errorf("%v: a failure is among %d recordings", err, r.Kept())
	}
	if _, err := r.Eval(t.Context(), feed); err != nil || r.Kept() != 1 || r.Err() != nil {
		t.Error(err, r.Err())
	}
	if err := g.Edit(func(e *nn.Edit) { e.SetDoc("edited") }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Eval(t.Context(), feed); err != nil || r.Err() == nil || !strings.Contains(r.Err().Error(), "edited since the first recording") {
		t.Error(err, r.Err())
	}
}

// A function is traced and exported in one.
func TestExportTraced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	f := func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		w := gorgonia.NewMatrix(x[0].Graph(), gorgonia.Float32, gorgonia.WithName("w"), gorgonia.WithShape(5, 2), gorgonia.WithInit(gorgonia.Ones()))
		return nn.For(2, func(s ...*gorgonia.Node) (gorgonia.Nodes, error) {
			h, err := gorgonia.Add(s[1], gorgonia.Must(gorgonia.Mul(x[0], w)))
			return gorgonia.Nodes{h}, err
		}, gorgonia.Must(gorgonia.Mul(x[0], w)))
	}
	g, out, err := conformance.CaseWriter{Gradients: true}.Trace(t.Context(), f, []string{"x float32[N,5]"}, dir, nn.Feed{"x": ones(t, 3, 5)}, nn.Feed{"x": ones(t, 1, 5)})
	if err != nil {
		t.Fatal(err)
	}
	y := out[0][g.Outputs()[0].Name()].(*tensor.Dense)
	if dtype.Slice[float32](y)[0] != 15 {
		t.Errorf("got %v, want 15", y)
	}
	holds(t, dir)
	set, err := onnxio.ReadDataSet(os.DirFS(dir), "test_data_set_0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := dtype.Slice[float32](set.Gradients[0].Value.(*tensor.Dense)); d[0] != 9 { // three rows, three products
		t.Errorf("gradient %v, want 9", d)
	}
	if _, _, err := (conformance.CaseWriter{}).Trace(t.Context(), f, []string{"x float32[N,5]"}, dir, nn.Feed{"x": ones(t, 3, 5), "y": y}); err == nil {
		t.Error("an input that is not there was accepted")
	}
}

// TestExportTraining checks that in training mode the exported model normalizes by batch statistics,
// through which gradients flow.
func TestExportTraining(t *testing.T) {
	for _, opset := range []int{21, 9} {
		dir := filepath.Join(t.TempDir(), "case")
		g := nn.New("m")
		err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,2]")
			e.Output("y", e.Apply(nn.Sequential{layers.BatchNorm{}, layers.Dropout{P: 0.5}}, x))
			e.SetOpset(opset)
		})
		if err != nil {
			t.Fatal(err)
		}
		x, err := dtype.FromSlice([]float32{1, 10, 3, 30, 5, 80}, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (conformance.CaseWriter{Train: true}).Export(t.Context(), g, dir, nn.Feed{"x": x}); err != nil {
			t.Fatal(err)
		}
		holds(t, dir)
		again, err := onnxio.Load(filepath.Join(dir, "model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		inner := ""
		for n := range again.Nodes(nn.Ops("Dropout")) {
			inner = n.In(0).Name()
		}
		out, err := again.Eval(t.Context(), nn.Feed{"x": x}, inner)
		if err != nil {
			t.Fatal(err)
		}
		got := dtype.Slice[float32](out[inner].(*tensor.Dense))
		want := 2 / math.Sqrt(8.0/3+1e-5) // (5 − 3) by the deviation of 1, 3, 5
		if math.Abs(float64(got[4])-want) > 1e-5 || math.Abs(float64(got[0])+want) > 1e-5 {
			t.Errorf("operator set %d: normalized to %v, want ±%g at the ends", opset, got, want)
		}
		if v := g.Opsets()[""]; v != opset {
			t.Errorf("the graph itself is in operator set %d now", v)
		}
	}
}

// TestExportTrainingInRuntime checks that ONNX Runtime takes a model in training mode, and computes the outputs of the case.
func TestExportTrainingInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	g := nn.New("net")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 4}, layers.BatchNorm{}, layers.ReLU{}}, e.Input("x", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "case")
	x, err := dtype.FromSlice([]float32{1, 2, 3, -4, 5, 6, 7, 8, -9}, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	out, err := conformance.CaseWriter{Train: true}.Export(t.Context(), g, dir, nn.Feed{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ort.RunFile(filepath.Join(dir, "model.onnx"), map[string]oracle.Tensor{"x": {DType: "float32", Shape: []int{3, 3}, Data: dtype.Bytes(x)}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := got["y"].Float64s()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := dtype.Float64s(out[0]["y"].(*tensor.Dense))
	if err != nil {
		t.Fatal(err)
	}
	nntest.Near(t, "y", ours, want, 1e-5)
}

// TestExportOptional checks that what is given for an optional input, or not given, has the form of an optional in the file of a case and of
// a recording.
func TestExportOptional(t *testing.T) {
	g := nn.New("optional")
	if err := g.Edit(func(e *nn.Edit) {
		o := e.Input("o", "optional(float32[2,3])")
		e.Output("has", e.Node(op.Plain("OptionalHasElement"), o).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(dir string, feed nn.Feed) error{
		"export": func(dir string, feed nn.Feed) error {
			_, err := conformance.CaseWriter{KeepModel: true}.Export(t.Context(), g, dir, feed)
			return err
		},
		"recorder": func(dir string, feed nn.Feed) error {
			r := nn.Recorder{Graph: g, Keep: conformance.CaseWriter{}.Recorder(dir)}
			_, err := r.Eval(t.Context(), feed)
			return errors.Join(err, r.Err())
		},
	} {
		dir := filepath.Join(t.TempDir(), name)
		for i, feed := range []nn.Feed{{"o": ones(t, 2, 3)}, {}, {"o": &dtype.Optional{Elem: dtype.Float32, Item: ones(t, 2, 3)}}} {
			if err := write(dir, feed); err != nil {
				t.Fatal(name, err)
			}
			set, err := onnxio.ReadDataSet(os.DirFS(dir), fmt.Sprint("test_data_set_", i), []op.Type{g.Inputs()[0].Type()}, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			if o, ok := set.Inputs[0].Value.(*dtype.Optional); !ok || o.Elem != dtype.Float32 || (o.Item != nil) != (i != 1) {
				t.Errorf("%s %d: %v was written", name, i, set.Inputs[0].Value)
			}
		}
		holds(t, dir)
	}
}

// The stripped folders of pytorch-pfn-extras are written again from weights drawn as theirs were. Their own
// outputs hold for those weights alone: filled with others, as "unstripped" is, they cannot.
func TestExportStrippedAsUpstream(t *testing.T) {
	root := oracle.Shared(t, "testcases-pfn")
	lines := bytes.Split(bytes.TrimSpace(oracle.Torch(t, "testdata/stripped.py")), []byte("\n"))
	for _, line := range lines {
		var drawn struct {
			Folder  string
			Tensors map[string]struct {
				Shape []int
				Data  []float32
			}
		}
		if err := json.Unmarshal(line, &drawn); err != nil {
			t.Fatal(err)
		}
		t.Run(drawn.Folder, func(t *testing.T) {
			tensorOf := func(name string) *tensor.Dense {
				d, err := dtype.FromSlice(drawn.Tensors[name].Data, drawn.Tensors[name].Shape...)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			// Their model, filled with what it lost.
			file := filepath.Join(t.TempDir(), "model.onnx")
			if _, err := (onnxio.Unstripper{}).Unstrip(filepath.Join(root, drawn.Folder, "model.onnx"), file); err != nil {
				t.Fatal(err)
			}
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			err = g.Edit(func(e *nn.Edit) {
				for _, name := range []string{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"} {
					e.SetData(e.Value(name), tensorOf(name))
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			over, grads := 100, true
			if drawn.Folder == "stripped_t500" {
				over, grads = 500, false
			}
			dir := filepath.Join(t.TempDir(), "case")
			x := conformance.CaseWriter{Gradients: grads, Strip: &onnxio.Stripper{Over: over}}
			if _, err := x.Export(t.Context(), g, dir, nn.Feed{"input_0": tensorOf("input_0")}); err != nil {
				t.Fatal(err)
			}
			sameStripped(t, dir, filepath.Join(root, drawn.Folder))
			if grads { // the folder that upstream filled: the same outputs, beside other weights
				sameOutputs(t, dir, filepath.Join(root, "unstripped"))
			}
		})
	}
}

// valueIn reads a file of a case: a value, or what is known of one that was stripped.
func valueIn(t *testing.T, file string) (onnxio.NamedValue, *onnxio.StrippedError) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := onnxio.ReadValue(f, op.Type{})
	var gone *onnxio.StrippedError
	if err != nil && !errors.As(err, &gone) {
		t.Fatal(err)
	}
	return v, gone
}

// sameStripped compares the data sets of two cases: the files, and either the numbers or, where they are gone, the shape,
// the average and the variance. Upstream's averages come from float32.
func sameStripped(t *testing.T, got, want string) {
	t.Helper()
	list := func(dir string) (names []string) {
		files, err := filepath.Glob(filepath.Join(dir, "test_data_set_*", "*.pb"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, f := range files {
			name, err := filepath.Rel(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return names
	}
	if a, b := list(got), list(want); !slices.Equal(a, b) {
		t.Fatalf("the files are %v, want %v", a, b)
	}
	for _, name := range list(want) {
		a, agone := valueIn(t, filepath.Join(got, name))
		b, bgone := valueIn(t, filepath.Join(want, name))
		switch {
		case (agone == nil) != (bgone == nil):
			t.Errorf("%s: stripped %v, want %v", name, agone != nil, bgone != nil)
		case bgone == nil:
			if _, err := (dtype.Tolerance{Rtol: 1e-4, Atol: 1e-5}).Compare(a.Value, b.Value); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case agone.DType != bgone.DType || !slices.Equal(agone.Shape, bgone.Shape) ||
			math.Abs(agone.Average-bgone.Average) > 1e-6 || math.Abs(agone.Variance-bgone.Variance) > 1e-6:
			t.Errorf("%s: %v, want %v", name, agone, bgone)
		}
	}
}

func sameOutputs(t *testing.T, got, want string) {
	t.Helper()
	for _, name := range []string{"output_0.pb", "gradient_input_0.pb", "gradient_1.pb", "gradient_3.pb"} {
		a, _ := valueIn(t, filepath.Join(got, "test_data_set_0", name))
		b, _ := valueIn(t, filepath.Join(want, "test_data_set_0", name))
		if _, err := (dtype.Tolerance{Rtol: 1e-4, Atol: 1e-5}).Compare(a.Value, b.Value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
