package conformance_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// linear is y = x·wᵀ with x [N,5] and w [10,5]; the input "unused" is read by nothing.
func linear(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("linear")
	err := g.Edit(func(e *nn.Edit) {
		e.Input("unused", "int64[3]")
		x := e.Input("x", "float32[N,5]")
		e.Output("y", e.Apply(layers.Linear{Out: 10, NoBias: true, Name: "fc"}, x))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ones(t *testing.T, dims ...int) *tensor.Dense {
	t.Helper()
	n, err := dtype.Count(dims)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dtype.FromFloats(dtype.Float32, slices.Repeat([]float64{1}, n), dims...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestExport checks gradients computed by hand: for x of ones with two rows, every gradient of w is 2;
// with 0.5 at the output it is 1.
func TestExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	half := ones(t, 2, 10)
	for i := range dtype.Slice[float32](half) {
		dtype.Slice[float32](half)[i] = 0.5
	}
	feed := nn.Feed{"x": ones(t, 2, 5)}
	now := func() time.Time { return time.Date(2026, 1, 31, 10, 0, 0, 5000, time.UTC) }
	for want, x := range map[float32]conformance.CaseWriter{
		2: {Gradients: true, UserMeta: map[string]any{"a": 1}, Now: now},
		1: {OutGrad: nn.Feed{"y": half}, Now: now},
	} {
		out, err := x.Export(t.Context(), linear(t), dir, feed, feed)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != 2 || out[0]["y"] == nil {
			t.Errorf("outputs %v", out)
		}
		var files []string
		if err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(dir, p); err == nil && !e.IsDir() && !strings.Contains(rel, "set_1") {
				files = append(files, filepath.ToSlash(rel))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		const set = "test_data_set_0/"
		if !slices.Equal(files, []string{"meta.json", "model.onnx", set + "gradient_0.pb", set + "gradient_input_0.pb", set + "input_0.pb", set + "output_0.pb"}) {
			t.Errorf("files %q", files)
		}
		got, err := onnxio.ReadDataSet(os.DirFS(dir), "test_data_set_0", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if g := got.Gradients[0]; g.Name != "fc_weight" && g.Name == "" || !slices.Equal(dtype.Slice[float32](g.Value.(*tensor.Dense)), slices.Repeat([]float32{want}, 50)) {
			t.Errorf("gradient %s is %v, want %v", g.Name, g.Value, want)
		}
		if got.Inputs[0].Name != "x" || got.Outputs[0].Name != "y" || got.GradientInputs[0].Name != "y" {
			t.Errorf("names %v", got)
		}
		text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		var meta map[string]any
		if err := json.Unmarshal(text, &meta); err != nil || meta["generated_at"] != "2026-01-31T10:00:00.000005" || meta["strip_large_tensor_data"] != false || (meta["user_meta"] != nil) != (want == 2) {
			t.Errorf("%v: %s", err, text)
		}
		if r := (conformance.Runner{}).RunCase(t.Context(), conformance.Case{Name: "c", Dir: dir}); !r.Passed() || r.Gradients != "ok" {
			t.Errorf("%+v", r)
		}
	}
}

// TestExportAgain checks that KeepModel keeps the model and adds data sets, and that Strip removes large tensors.
func TestExportAgain(t *testing.T) {
	dir := t.TempDir()
	g := linear(t)
	export := func(x conformance.CaseWriter) {
		t.Helper()
		if _, err := x.Export(t.Context(), g, dir, nn.Feed{"x": ones(t, 30, 5)}); err != nil {
			t.Fatal(err)
		}
	}
	export(conformance.CaseWriter{NoMeta: true})
	before, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(func(e *nn.Edit) { e.SetMeta("k", "v") }); err != nil {
		t.Fatal(err)
	}
	export(conformance.CaseWriter{NoMeta: true, KeepModel: true})
	after, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the model changed: %v", err)
	}
	sets, err := onnxio.DataSets(os.DirFS(dir), ".")
	if err != nil || len(sets) != 2 {
		t.Errorf("data sets %v: %v", sets, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); err == nil {
		t.Error("meta.json was written")
	}
	export(conformance.CaseWriter{Strip: &onnxio.Stripper{}})
	if _, err := onnxio.ReadDataSet(os.DirFS(dir), "test_data_set_0", nil, nil); err == nil || !strings.Contains(err.Error(), "graft unstrip") {
		t.Errorf("the input was not stripped: %v", err)
	}
	if n, err := (onnxio.Unstripper{}).Unstrip(dir, ""); err != nil || n != 2 { // x and y: w has 50 elements
		t.Errorf("%d tensors filled: %v", n, err)
	}
}

func TestExportRefused(t *testing.T) {
	x := nn.Feed{"x": ones(t, 2, 5)}
	for want, c := range map[string]struct {
		conformance.CaseWriter
		in []nn.Feed
	}{
		"no inputs to compute":   {},
		"UserMeta needs":         {conformance.CaseWriter{NoMeta: true, UserMeta: map[string]any{}}, []nn.Feed{x}},
		"there is no output z":   {conformance.CaseWriter{OutGrad: nn.Feed{"z": ones(t, 1)}}, []nn.Feed{x}},
		"gradient of output y":   {conformance.CaseWriter{OutGrad: nn.Feed{"y": ones(t, 1)}}, []nn.Feed{x}},
		"data set 1: run: input": {conformance.CaseWriter{}, []nn.Feed{x, {}}},
	} {
		dir := filepath.Join(t.TempDir(), "case")
		if _, err := c.Export(t.Context(), linear(t), dir, c.in...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the folder was made", want)
		}
	}
}

// TestRandomInputs checks that random inputs have the declared types; symbolic dimensions are 1 or the given size.
func TestRandomInputs(t *testing.T) {
	g := linear(t)
	a, err := conformance.RandomInputs(g, map[string]int{"N": 4}, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := conformance.RandomInputs(g, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s := a["x"].Shape(); s[0] != 4 || b["x"].Shape()[0] != 1 || dtype.DTypeOf(a["unused"]) != dtype.Int64 {
		t.Errorf("%v, %v, %v", s, b["x"].Shape(), a["unused"])
	}
	if _, err := (dtype.Tolerance{}).Compare(a["unused"], b["unused"]); err != nil {
		t.Error(err)
	}
	for _, d := range []dtype.DType{dtype.Float64, dtype.Float32, dtype.Int8, dtype.String} {
		large := nn.New("large")
		if err := large.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", d.String()+"[35184372088832]")).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := conformance.RandomInputs(large, nil, 1); err == nil || !strings.Contains(err.Error(), "input x: "+d.String()+"[35184372088832] does not fit into the ") {
			t.Errorf("2⁴⁵ numbers of %v: %v", d, err)
		}
	}
	if !conformance.Symbols(g)["N"] {
		t.Error("N is not listed")
	}
}

// TestRandomTypes checks random values of every type that an input may be declared with.
func TestRandomTypes(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float32, dtype.Float16, dtype.BFloat16, dtype.Float8E4M3FN, dtype.Int4, dtype.Uint4, dtype.Uint64, dtype.Bool, dtype.String, dtype.Complex64, dtype.Complex128} {
		g := nn.New("types")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", d.String()+"[N,3]")).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		feed, err := conformance.RandomInputs(g, map[string]int{"N": 2}, 1)
		if err != nil {
			t.Errorf("%v: %v", d, err)
			continue
		}
		if x := feed["x"]; dtype.DTypeOf(x) != d || !slices.Equal(x.Shape(), []int{2, 3}) {
			t.Errorf("%v: got %v%v", d, dtype.DTypeOf(x), x.Shape())
		}
	}
}

// TestExportAsUpstream exports again, from its model and inputs, a case written by pytorch-pfn-extras:
// files, types and values are equal.
func TestExportAsUpstream(t *testing.T) {
	root := oracle.Shared(t, "testcases-pfn")
	for _, name := range []string{"plain", "output_grad", "output_grad_custom", "multi", "annotate", "apply", "nested", "asout", "grad"} {
		t.Run(name, func(t *testing.T) {
			fsys := os.DirFS(filepath.Join(root, name))
			g, err := onnxio.Load(filepath.Join(root, name, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			names, err := onnxio.DataSets(fsys, ".")
			if err != nil {
				t.Fatal(err)
			}
			x := conformance.CaseWriter{}
			var sets []*onnxio.DataSet
			var feeds []nn.Feed
			for _, n := range names {
				set, err := onnxio.ReadDataSet(fsys, n, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				feed := nn.Feed{}
				for i, v := range g.Inputs() {
					feed[v.Name()] = set.Inputs[i].Value
				}
				for i, d := range set.GradientInputs {
					x.OutGrad = nn.Feed{g.Outputs()[i].Name(): d.Value}
				}
				sets, feeds = append(sets, set), append(feeds, feed)
			}
			dir := t.TempDir()
			if _, err := x.Export(t.Context(), g, dir, feeds...); err != nil {
				t.Fatal(err)
			}
			for k, want := range sets {
				got, err := onnxio.ReadDataSet(os.DirFS(dir), names[k], nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				compareNamed(t, "input", got.Inputs, want.Inputs)
				compareNamed(t, "output", got.Outputs[:len(want.Outputs)], want.Outputs)
				compareNamed(t, "gradient_input", got.GradientInputs, want.GradientInputs)
				compareNamed(t, "gradient", got.Gradients, want.Gradients)
			}
		})
	}
}

func compareNamed(t *testing.T, what string, got, want []onnxio.NamedValue) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d %ss, want %d", len(got), what, len(want))
		return
	}
	for i, w := range want {
		if w.Name != "" && got[i].Name != w.Name {
			t.Errorf("%s %d is %q, want %q", what, i, got[i].Name, w.Name)
		}
		if _, err := (dtype.Tolerance{Rtol: 1e-4, Atol: 1e-5}).Compare(got[i].Value, w.Value); err != nil {
			t.Errorf("%s %d: %v", what, i, err)
		}
	}
}
