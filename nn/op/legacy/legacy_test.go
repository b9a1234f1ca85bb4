package legacy_test

import (
	"encoding/json"
	"flag"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/legacy"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

var update = flag.Bool("update", false, "let ONNX Runtime compute testdata/golden.json again")

func set(t testing.TB) op.Set {
	t.Helper()
	s, err := legacy.With(std.Operators())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pointer(x float32) *float32 { return &x }

// inRuntime are uses of operators that ONNX Runtime still has.
func inRuntime() []optest.Case {
	in := func(v ...dtype.Value) []dtype.Value { return v }
	x, images := optest.Rand(1, 2, 3, 5), optest.Rand(2, 2, 3, 5, 6)
	return []optest.Case{
		{Name: "Affine", Config: legacy.AffineConfig{Alpha: pointer(0.5), Beta: 2}, In: in(x)},
		{Name: "Affine plain", Config: legacy.AffineConfig{}, In: in(x)},
		{Name: "Affine zero", Config: legacy.AffineConfig{Alpha: pointer(0), Beta: 1}, In: in(x)},
		{Name: "ScaledTanh", Config: legacy.ScaledTanhConfig{Alpha: pointer(1.7), Beta: pointer(0.6)}, In: in(x)},
		{Name: "ParametricSoftplus", Config: legacy.ParametricSoftplusConfig{Alpha: pointer(1.7), Beta: pointer(0.6)}, In: in(x)},
		{Name: "ImageScaler", Config: legacy.ImageScalerConfig{Bias: []float32{-1, 0.5, 2}, Scale: pointer(0.3)}, In: in(images)},
		{Name: "ImageScaler bias", Config: legacy.ImageScalerConfig{Bias: []float32{-1, 0.5, 2}}, In: in(images)},
		{Name: "Crop", Config: legacy.CropConfig{Border: []int{1, 2, 3, 0}}, In: in(images)},
		{Name: "Crop scale", Config: legacy.CropConfig{Border: []int{1, 2, 0, 0}, Scale: []int{3, 4}}, In: in(images)},
	}
}

// elsewhere returns the others; what they give is written here.
func elsewhere() []optest.Case {
	in := func(v ...dtype.Value) []dtype.Value { return v }
	x := optest.Floats([]int{3}, -1, 0.5, 2)
	want := func(v dtype.Value) []dtype.Value { return []dtype.Value{v} }
	return []optest.Case{
		{Name: "Scale", Config: legacy.ScaleConfig{Scale: pointer(-3)}, In: in(x), Want: want(optest.Floats([]int{3}, 3, -1.5, -6))},
		{Name: "ScaledTanh plain", Config: legacy.ScaledTanhConfig{}, In: in(x), Want: want(optest.Floats([]int{3}, -0.76159416, 0.46211716, 0.9640276))},
		{Name: "Scale plain", Config: legacy.ScaleConfig{}, In: in(x), Want: want(x)},
		{Name: "ImageScaler plain", Config: legacy.ImageScalerConfig{Scale: pointer(2)}, In: in(optest.Floats([]int{1, 1, 1, 2}, 3, 4)), Want: want(optest.Floats([]int{1, 1, 1, 2}, 6, 8))},
		{Name: "ConstantFill like", Config: legacy.ConstantFillConfig{Value: 1.5}, In: in(optest.Rand(1, 2, 2)), Want: want(optest.Floats([]int{2, 2}, 1.5, 1.5, 1.5, 1.5))},
		{Name: "ConstantFill extra", Config: legacy.ConstantFillConfig{Value: 2, DType: dtype.Int64, Extra: []int{2}}, In: in(optest.Rand(1, 2)), Want: want(optest.Tensor([]int64{2, 2, 2, 2}, 2, 2))},
		{Name: "ConstantFill elements", Config: legacy.ConstantFillConfig{Value: 7, DType: dtype.Int32, InputAsShape: true, Extra: []int{1}}, In: in(optest.Ints(2, 1)), Want: want(optest.Tensor([]int32{7, 7}, 2, 1, 1))},
		{Name: "ConstantFill bool", Config: legacy.ConstantFillConfig{Value: 1, DType: dtype.Bool}, In: in(optest.Rand(1, 2)), Want: want(optest.Tensor([]bool{true, true}, 2))},
		{Name: "GivenTensorFill like", Config: legacy.GivenTensorFillConfig{Values: []float32{1, 2, 3, 4}}, In: in(optest.Rand(1, 2, 2)), Want: want(optest.Floats([]int{2, 2}, 1, 2, 3, 4))},
		{Name: "GivenTensorFill elements", Config: legacy.GivenTensorFillConfig{Values: []float32{1, 2}, InputAsShape: true, Extra: []int{2}}, In: in(optest.Ints(1)), Want: want(optest.Floats([]int{1, 2}, 1, 2))},
	}
}

type expected struct {
	Shape []int     `json:"shape"`
	Data  []float32 `json:"data"`
}

const goldenFile = "testdata/golden.json"

// TestUses takes every use through the checks of operators.
func TestUses(t *testing.T) {
	golden := map[string]expected{}
	b, err := os.ReadFile(goldenFile)
	if err == nil {
		err = json.Unmarshal(b, &golden)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, c := range inRuntime() {
		if w, ok := golden[c.Name]; ok {
			c.Want = []dtype.Value{optest.Tensor(w.Data, w.Shape...)}
		} else if !*update {
			t.Errorf("%s has no expected values: go test -update", c.Name)
		}
		c.Ops = set(t)
		optest.Run(t, c)
	}
	for _, c := range elsewhere() {
		c.Ops = set(t)
		optest.Run(t, c)
	}
}

// TestInRuntime compares with ONNX Runtime, and with -update writes what it computes.
func TestInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	golden := map[string]expected{}
	for _, c := range inRuntime() {
		g := nn.NewGraph("one", set(t), map[string]int{"": 8})
		x := c.In[0].(*tensor.Dense)
		err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(c.Config, e.Input("x", op.TypeOf(x).String())).Out(0))
		})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		got, want := runBoth(t, ort, g, map[string]*tensor.Dense{"x": x})
		w := want["y"]
		if err := oracle.Close(packed(got["y"]), w, 1e-5, 1e-6); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		d := dtype.New(dtype.Float32, w.Shape...)
		copy(dtype.Bytes(d), w.Data)
		golden[c.Name] = expected{w.Shape, dtype.Slice[float32](d)}
	}
	if *update {
		b, err := json.Marshal(golden)
		if err == nil {
			err = os.WriteFile(goldenFile, append([]byte(strings.ReplaceAll(string(b), "},\"", "},\n\"")), '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func packed(v dtype.Value) oracle.Tensor {
	d := v.(*tensor.Dense)
	return oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
}

// runBoth saves a graph, and runs the file here, loaded with the set that loading has by default, and in ONNX Runtime.
func runBoth(t *testing.T, ort *oracle.Runtime, g *nn.Graph, in map[string]*tensor.Dense) (nn.Feed, map[string]oracle.Tensor) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	feed, theirs := nn.Feed{}, map[string]oracle.Tensor{}
	for name, d := range in {
		feed[name], theirs[name] = d, packed(d)
	}
	got, err := again.Eval(t.Context(), feed)
	if err != nil {
		t.Fatal(err)
	}
	if ort == nil {
		return got, nil
	}
	want, err := ort.RunFile(file, theirs)
	if err != nil {
		t.Fatal(err)
	}
	return got, want
}

// TestFillsWithoutInput checks that without an input the shape is an attribute, and the result is known before the run.
func TestFillsWithoutInput(t *testing.T) {
	g := nn.NewGraph("fills", set(t), map[string]int{"": 8})
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		a := e.Node(legacy.ConstantFillConfig{Value: 3, Shape: []int{2, 2}})
		b := e.Node(legacy.GivenTensorFillConfig{Values: []float32{1, 2, 3, 4}, Shape: []int{2, 2}})
		sum := e.Node(op.Plain("Add"), a.Out(0), b.Out(0))
		e.Output("y", e.Node(op.Plain("Add"), sum.Out(0), x).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := runBoth(t, nil, g, map[string]*tensor.Dense{"x": optest.Floats([]int{2}, 10, 20)})
	want := []float32{14, 25, 16, 27}
	for i, v := range dtype.Slice[float32](got["y"].(*tensor.Dense)) {
		if v != want[i] {
			t.Fatalf("got %v, want %v", got["y"], want)
		}
	}
}

// TestRefusals pins what is not taken.
func TestRefusals(t *testing.T) {
	x := optest.Rand(1, 1, 3, 4, 5)
	in := []dtype.Value{x}
	for _, c := range []struct {
		cfg     op.Config
		in      []dtype.Value
		refusal string
	}{
		{legacy.ImageScalerConfig{Bias: []float32{1, 2}}, in, "ImageScaler node: input is float32[1,3,4,5], but bias has 2 numbers, one for each channel"},
		{legacy.CropConfig{Border: []int{1, 2}}, in, "Crop node: border has 2 numbers, want left, top, right and bottom"},
		{legacy.CropConfig{Border: []int{1, 2, 0, 0}, Scale: []int{1}}, in, "scale has 1 numbers, want a height and a width"},
		{legacy.CropConfig{Border: []int{-1, 2, 0, 0}}, in, "border [-1 2 0 0] or scale [] is negative"},
		{legacy.CropConfig{Border: []int{0, 2, 0, 2}}, in, "cannot crop float32[1,3,4,5] with border [0 2 0 2] and scale []: the height"},
		{legacy.CropConfig{Border: []int{4, 0, 0, 0}, Scale: []int{2, 2}}, in, "scale [2 2]: the width"},
		{legacy.CropConfig{Border: []int{0, 0, 0, 0}}, []dtype.Value{optest.Rand(1, 3)}, "input is float32[3], want [batch, channels, height, width]"},
		{legacy.ConstantFillConfig{DType: dtype.Uint8}, in, "dtype is uint8, want float32, int32, int64 or bool"},
		{legacy.ConstantFillConfig{Shape: []int{2}}, in, "has shape [2] and an input, want one of them"},
		{legacy.ConstantFillConfig{Extra: []int{-2}}, in, "shape [] or extra_shape [-2] is negative"},
		{legacy.GivenTensorFillConfig{Values: []float32{1}}, in, "values has 1 numbers, which do not fill float32[1,3,4,5]"},
	} {
		optest.Fails(t, optest.Case{Name: c.cfg.Operator().Name, Ops: set(t), Config: c.cfg, In: c.in, Refusal: c.refusal})
	}
}

// A file with ATen is read and written back; running it is refused with what it is and what to do.
func TestATen(t *testing.T) {
	g := nn.NewGraph("aten", set(t), map[string]int{"": 8})
	err := g.Edit(func(e *nn.Edit) {
		y := e.Node(legacy.ATenConfig{Function: "embedding_bag"}, e.Input("x", "float32[2]"))
		e.Output("y", e.Node(op.Plain("Relu"), y.Out(0)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Eval(t.Context(), nn.Feed{"x": optest.Floats([]int{2}, 1, 2)})
	const want = "calls a function of PyTorch's library ATen (embedding_bag), which is not an ONNX operator and has no definition in the file; " +
		"export the model again with a newer PyTorch, without operator_export_type ONNX_ATEN or ONNX_ATEN_FALLBACK"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

// The package is written against the exported API alone, as one outside of this module is.
func TestImports(t *testing.T) {
	p, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Imports {
		if strings.Contains(path, "internal/") {
			t.Errorf("imports %s", path)
		}
	}
}
