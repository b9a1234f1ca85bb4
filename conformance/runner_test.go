package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// writeCase makes a test case: a model and its files by name.
func writeCase(t testing.TB, dir string, model []byte, files map[string]any) {
	t.Helper()
	files["model.onnx"] = model
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		err := onnxio.WriteFile(file, func(w io.Writer) error {
			switch c := content.(type) {
			case []byte:
				_, err := w.Write(c)
				return err
			case string:
				_, err := io.WriteString(w, c)
				return err
			}
			return onnxio.WriteValue(w, content.(onnxio.NamedValue))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func vector(name string, v ...float32) onnxio.NamedValue {
	d, err := dtype.FromSlice(v, len(v))
	if err != nil {
		panic(err)
	}
	return onnxio.NamedValue{Name: name, Value: d}
}

func squareModel(t testing.TB) []byte {
	return textModel(t, "input "+float("a", "2")+"input "+float("b", "2")+"output "+float("y", "2")+
		`node { op_type: "Mul" input: "a" input: "b" output: "h" } node { op_type: "Mul" input: "h" input: "w" output: "y" }
		 initializer { name: "w" data_type: 1 dims: 2 float_data: [2, 3] }`)
}

func TestVerify(t *testing.T) {
	const set = "test_data_set_0/"
	a, b := vector("a", 1, 2), vector("b", 3, 4)
	good := map[string]any{set + "input_0.pb": a, set + "input_1.pb": b, set + "output_0.pb": vector("y", 6, 24)}
	with := func(more map[string]any) map[string]any {
		m := map[string]any{}
		for _, from := range []map[string]any{good, more} {
			for k, v := range from {
				if v == nil {
					delete(m, k)
				} else {
					m[k] = v
				}
			}
		}
		return m
	}
	for name, c := range map[string]struct {
		files            map[string]any
		ok               bool
		gradients, error string
	}{
		"good":         {with(nil), true, "none", ""},
		"by name":      {with(map[string]any{set + "input_0.pb": b, set + "input_1.pb": a}), true, "none", ""},
		"wrong":        {with(map[string]any{set + "output_0.pb": vector("y", 6, 25)}), false, "none", "output 0 (y): 1 of 2 elements differ: element 1: want 25, got 24"},
		"shape":        {with(map[string]any{set + "output_0.pb": vector("y", 6)}), false, "none", "want float32[1], got float32[2]"},
		"type":         {with(map[string]any{set + "output_0.pb": onnxio.NamedValue{Name: "y", Value: dtype.New(dtype.Float64, 2)}}), false, "none", "want float64[2], got float32[2]"},
		"tolerance":    {with(map[string]any{set + "output_0.pb": vector("y", 6, 25), "data.json": `{"rtol": 0, "atol": 0, "atol_outputs": {"0": 1}}`}), true, "none", ""},
		"list":         {with(map[string]any{set + "output_0.pb": vector("y", 6, 25), "data.json": `{"rtol": 0, "atol": 1, "atol_outputs": [0.5]}`}), false, "none", "want 25"},
		"second set":   {with(map[string]any{"test_data_set_1/input_0.pb": a, "test_data_set_1/input_1.pb": b, "test_data_set_1/output_0.pb": vector("y", 0, 0)}), false, "none", "test_data_set_1: output 0"},
		"input":        {with(map[string]any{set + "input_1.pb": nil}), false, "none", `inputs: want a value for each of ["a" "b"], got 1`},
		"no model":     {with(map[string]any{"broken": ""}), false, "none", "not an ONNX model"},
		"gradient":     {with(map[string]any{set + "gradient_0.pb": vector("w", 3, 8)}), true, "ok", ""},
		"upstream":     {with(map[string]any{set + "gradient_0.pb": vector("w", 30, 8), set + "gradient_input_0.pb": vector("y", 10, 1)}), true, "ok", ""},
		"bad gradient": {with(map[string]any{set + "gradient_0.pb": vector("w", 3, 9)}), true, "fail", "gradient of w: 1 of 2 elements differ"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			model := squareModel(t)
			if _, broken := c.files["broken"]; broken {
				model = []byte("broken")
			}
			writeCase(t, dir, model, c.files)
			r := conformance.Runner{}.RunCase(context.Background(), conformance.Case{Name: "suite/case", Dir: dir})
			if r.Case != "suite/case" || r.OK != c.ok || r.Gradients != c.gradients || !strings.Contains(r.Error, c.error) || (c.error == "") != (r.Error == "") {
				t.Errorf("got %+v, want %+v", r, c)
			}
			if r.Passed() != (c.error == "") {
				t.Errorf("passed %v with error %q", r.Passed(), r.Error)
			}
		})
	}
}

// A gradients.json as PyTorch's exports have it: cross-entropy of y = [[1, 0]]·w, label 1.
func TestVerifyGolden(t *testing.T) {
	model := textModel(t, "input "+float("x", "1 1")+"output "+float("y", "1 2")+
		`node { op_type: "MatMul" input: "x" input: "w" output: "y" } initializer { name: "w" data_type: 1 dims: 1 dims: 2 float_data: [0, 0] }`)
	x := onnxio.NamedValue{Name: "x", Value: dtype.New(dtype.Float32, 1, 1)}
	dtype.Slice[float32](x.Value.(*tensor.Dense))[0] = 4
	golden := func(head float64) string {
		b, err := json.Marshal(map[string]any{
			"loss": "mean over the batch of the softmax cross-entropy of output 0 with the labels", "loss_value": 0.6931471805599453, "labels": []int{1},
			"initializers": map[string]any{"w": map[string]any{"shape": []int{1, 2}, "l1": 4, "l2": 2.8284271247461903, "sum": 0, "max_abs": 2, "head": []float64{head, -2}}},
			"inputs":       map[string]any{"x": map[string]any{"shape": []int{1, 1}, "l1": 0, "l2": 0, "sum": 0, "max_abs": 0, "head": []float64{0}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for head, want := range map[float64]string{2: "ok", 2.1: "fail"} {
		dir, dump := t.TempDir(), t.TempDir()
		writeCase(t, dir, model, map[string]any{
			"test_data_set_0/input_0.pb": x, "test_data_set_0/output_0.pb": onnxio.NamedValue{Name: "y", Value: dtype.New(dtype.Float32, 1, 2)}, "gradients.json": golden(head),
		})
		r := conformance.Runner{Dump: dump}.RunCase(context.Background(), conformance.Case{Name: "a/b", Dir: dir})
		if !r.OK || r.Gradients != want {
			t.Errorf("head %v: %+v", head, r)
		}
		f, err := os.Open(filepath.Join(dump, "a", "b", "gradients", "0.pb"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if v, err := onnxio.ReadTensor(f); err != nil || v.Name != "w" || v.Value.Size() != 2 {
			t.Errorf("%v, %v", v, err)
		}
		if _, err := os.Stat(filepath.Join(dump, "a", "b", "test_data_set_0", "output_0.pb")); err != nil {
			t.Error(err)
		}
	}
}

// A panic in one case, here in an operator of the program's own, leaves the others alone.
func TestVerifyPanic(t *testing.T) {
	bad := &op.Op{
		Name: "Bad", Domain: "test", Since: []int{1}, Doc: "Panics.", In: "x T", Out: "y T", NoGrad: "a test", Pinned: "a test", Infer: op.Same,
		Func: func(*op.Call, []dtype.Value) ([]dtype.Value, error) { panic("at the disco") },
	}
	ops, err := std.Operators().With(bad)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, operator := range map[string]string{"a": `op_type: "Bad" domain: "test"`, "b": `op_type: "Abs"`} {
		model := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+"node { "+operator+` input: "x" output: "y" }`)
		writeCase(t, filepath.Join(root, "suite", name), model, map[string]any{
			"test_data_set_0/input_0.pb": vector("x", -1, 2), "test_data_set_0/output_0.pb": vector("y", 1, 2),
		})
	}
	cases, err := conformance.Cases(root, filepath.Join(root, "suite", "b"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := range (conformance.Runner{Backend: conformance.Graft{Loader: onnxio.Loader{Ops: ops}}}).Run(context.Background(), cases) {
		if r.OK != strings.HasSuffix(r.Case, "/b") || !r.OK && !strings.Contains(r.Error, "at the disco") {
			t.Errorf("%+v", r)
		}
		got = append(got, r.Case)
	}
	if s := strings.Join(got, " "); s != "suite/a suite/b suite/b" {
		t.Errorf("cases %s", s)
	}
	if _, err := conformance.Cases(t.TempDir()); err == nil || !strings.Contains(err.Error(), "model.onnx") {
		t.Errorf("got %v", err)
	}
}

// TestVerifyRandom checks that random outputs are compared by type and shape only.
func TestVerifyRandom(t *testing.T) {
	for mode, want := range map[string]bool{`int32_data: 1`: true, `int32_data: 0`: false} {
		dir := t.TempDir()
		model := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+`node { op_type: "Dropout" input: "x" input: "r" input: "m" output: "y" }
			initializer { name: "r" data_type: 1 float_data: 0.5 } initializer { name: "m" data_type: 9 `+mode+` }`)
		writeCase(t, dir, model, map[string]any{"test_data_set_0/input_0.pb": vector("x", 1, 2), "test_data_set_0/output_0.pb": vector("y", 8, 9)})
		if r := (conformance.Runner{}).RunCase(context.Background(), conformance.Case{Name: "c", Dir: dir}); r.OK != want {
			t.Errorf("training mode %s: %+v", mode, r)
		}
	}
}

func textModel(t testing.TB, graph string) []byte {
	t.Helper()
	m := &onnxpb.ModelProto{}
	if err := prototext.Unmarshal([]byte(`ir_version: 8 opset_import { version: 17 } graph { name: "g" `+graph+` }`), m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func float(name, dims string) string {
	var shape strings.Builder
	for _, d := range strings.Fields(dims) {
		if d[0] >= '0' && d[0] <= '9' || d[0] == '-' {
			fmt.Fprintf(&shape, "dim { dim_value: %s } ", d)
		} else {
			fmt.Fprintf(&shape, "dim { dim_param: %q } ", d)
		}
	}
	return fmt.Sprintf("{ name: %q type { tensor_type { elem_type: 1 shape { %s } } } } ", name, shape.String())
}
