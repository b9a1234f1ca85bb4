package onnxio

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
)

// TestPythonNumbers: as json.dumps of Python prints them.
func TestPythonNumbers(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "1.0": 1, "-2.5": -2.5, "0.1": 0.1, "0.0001": 1e-4, "9e-05": 9e-5, "-9.5e-05": -9.5e-5,
		"1e+16": 1e16, "-1e+16": -1e16, "9999999999999998.0": 1e16 - 2, "1.5e+300": 1.5e300,
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
	} {
		if got := pythonNumber(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestMoments: those of the population.
func TestMoments(t *testing.T) {
	if s := moments([]float64{1, 2, 6, 7}); s != (Stripped{4, 6.5}) {
		t.Errorf("got %+v", s)
	}
}

// TestParseStripped: which entries of external data stand in for data that were stripped.
func TestParseStripped(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       Stripped
		ok         bool
	}{
		{"location", `{"type": "stripped", "average": 1.5, "variance": 2}`, Stripped{1.5, 2}, true},
		{"location", `{"type": "stripped", "average": Infinity, "variance": -Infinity}`, Stripped{math.Inf(1), math.Inf(-1)}, true},
		{"location", `{"type": "other", "average": 1.5, "variance": 2}`, Stripped{}, false},
		{"location", `{"type": "stripped", "average": "x", "variance": 2}`, Stripped{}, false},
		{"location", `"type": "stripped"`, Stripped{}, false},
		{"comment", `{"type": "stripped", "average": 1.5, "variance": 2}`, Stripped{}, false},
	} {
		p := &onnxpb.TensorProto{DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(), ExternalData: []*onnxpb.StringStringEntryProto{entry("offset", "0"), entry(c.key, c.value)}}
		if got, ok := parseStripped(p); got != c.want || ok != c.ok {
			t.Errorf("%s %s: got %v, %v", c.key, c.value, got, ok)
		}
		p.DataLocation = nil
		if _, ok := parseStripped(p); ok {
			t.Errorf("%s %s: the data are in the file", c.key, c.value)
		}
	}
}

// TestUnstrip: numbers of a normal distribution; a moment that is not a number counts as that of the standard one.
func TestUnstrip(t *testing.T) {
	normal := func(n int) []float64 {
		r, v := rand.New(rand.NewPCG(1, 2)), make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}(3)
	for _, c := range []struct {
		moments        string
		average, sigma float64
	}{
		{`"average": 100.0, "variance": 4.0`, 100, 2},
		{`"average": 5.0, "variance": 0.0`, 5, 0},
		{`"average": NaN, "variance": 1.0`, 0, 1},
		{`"average": Infinity, "variance": 4.0`, 0, 2},
		{`"average": 5.0, "variance": NaN`, 5, 1},
		{`"average": 5.0, "variance": Infinity`, 5, 1},
		{`"average": 5.0, "variance": -1.0`, 5, 1},
	} {
		p := &onnxpb.TensorProto{DataType: proto.Int32(int32(dtype.Float64)), Dims: []int64{3}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
			ExternalData: []*onnxpb.StringStringEntryProto{entry("location", `{"type": "stripped", `+c.moments+`}`)}}
		if ok, err := unstripTensor(p, rand.New(rand.NewPCG(1, 2))); !ok || err != nil {
			t.Fatal(c.moments, err)
		}
		v, err := decodeTensor(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := float64s(v)
		if err != nil {
			t.Fatal(err)
		}
		for i, z := range normal {
			if want := c.average + c.sigma*z; math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("%s: got %v, element %d should be %v", c.moments, got, i, want)
			}
		}
	}
}

// TestStripTypes: numbers and truth values are stripped and filled, complex numbers and strings stay.
func TestStripTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for _, dt := range dtype.All() {
		p, err := encodeTensor("w", random(t, dt, r, 40))
		if err != nil {
			t.Fatal(err)
		}
		want := !dt.IsComplex() && dt != dtype.String
		if done, err := stripTensor(p, 39); done != want || err != nil {
			t.Errorf("%v: stripped %v, %v", dt, done, err)
			continue
		}
		if !want {
			continue
		}
		if done, err := unstripTensor(p, r); !done || err != nil {
			t.Errorf("%v: %v", dt, err)
			continue
		}
		if v, err := decodeTensor(p, nil); err != nil || v.Size() != 40 {
			t.Errorf("%v: filled with %v, %v", dt, v, err)
		}
	}
	for _, dt := range []dtype.DType{dtype.String, dtype.Complex64} {
		p := &onnxpb.TensorProto{DataType: proto.Int32(int32(dt)), Dims: []int64{3}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
			ExternalData: []*onnxpb.StringStringEntryProto{entry("location", `{"type": "stripped", "average": 0, "variance": 1}`)}}
		done, err := unstripTensor(p, r)
		if dt == dtype.String && (err == nil || err.Error() != `tensor "": cannot fill a tensor of string`) {
			t.Errorf("%v: %v, %v", dt, done, err)
		}
	}
}

// TestSectionMoments: data that are read in several blocks, of types of every width.
func TestSectionMoments(t *testing.T) {
	for _, dt := range []dtype.DType{dtype.Float64, dtype.Float16, dtype.Int8} {
		n := 1<<18/dt.Size() + 5 // five more than a block
		wide := dtype.New(dtype.Float64, n)
		for i := range n {
			dtype.Slice[float64](wide)[i] = float64(i % 4)
		}
		d, err := dtype.ConvertTo(dt, wide)
		if err != nil {
			t.Fatal(err)
		}
		p, err := encodeTensor("w", d)
		if err != nil {
			t.Fatal(err)
		}
		raw := p.RawData
		p.RawData = nil
		x := section{strings.NewReader("xyz" + string(raw)), 3, int64(len(raw)), tensorRawData}
		v, err := float64s(d)
		if err != nil {
			t.Fatal(err)
		}
		want := moments(v)
		got, err := sectionMoments(dt, n, x)
		if err != nil || math.Abs(got.Average-want.Average) > 1e-12 || math.Abs(got.Variance-want.Variance) > 1e-12 {
			t.Errorf("%v: got %v, %v, want %v", dt, got, err, want)
		}
		if _, err := sectionMoments(dt, n, section{strings.NewReader(string(raw)), 3, int64(len(raw)), tensorRawData}); err == nil {
			t.Errorf("%v: the file is three bytes short", dt)
		}
	}
}

// TestStripCase: a test case in another folder is whole, in its own folder only what changes is written.
func TestStripCase(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "case"), filepath.Join(dir, "copy")
	if err := (&DataSet{Inputs: []NamedValue{{"x", dtype.New(dtype.Float32, 200)}}, Outputs: []NamedValue{{"y", dtype.New(dtype.Float32, 2)}}}).Write(filepath.Join(from, "test_data_set_0")); err != nil {
		t.Fatal(err)
	}
	if err := Save(filepath.Join(from, "model.onnx"), manyWeights(t, 500)); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"meta.json": `{"a": 1, "strip_large_tensor_data": false, "z": 2}`, "notes.txt": "unchanged", "torch/meta.json": `{"a": 1}`}
	for name, text := range texts {
		os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755)
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := (Stripper{}).Strip(from, to); n != 2 || err != nil {
		t.Fatalf("%d tensors: %v", n, err)
	}
	texts["meta.json"] = strings.Replace(texts["meta.json"], "false", "true", 1)
	for name, want := range texts {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"model.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb"} {
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Size() > 300 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// In place: files that stay the same are the same files.
	kept := []string{"notes.txt", "torch/meta.json", "test_data_set_0/output_0.pb"}
	for round, changed := range []bool{true, false} {
		var before []os.FileInfo
		for _, name := range append(kept, "meta.json", "model.onnx") {
			info, err := os.Stat(filepath.Join(from, name))
			if err != nil {
				t.Fatal(err)
			}
			before = append(before, info)
		}
		if n, err := (Stripper{}).Strip(from, ""); n != 2*(1-round) || err != nil {
			t.Fatalf("round %d: %d tensors: %v", round, n, err)
		}
		for i, name := range append(kept, "meta.json", "model.onnx") {
			info, err := os.Stat(filepath.Join(from, name))
			if err != nil || os.SameFile(info, before[i]) == (changed && !slices.Contains(kept, name)) {
				t.Errorf("round %d: %s is rewritten: %v, %v", round, name, changed, err)
			}
		}
	}
}

// TestStripExternal: data in another file stay there, so the stripped model must stay in their folder.
func TestStripExternal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.onnx")
	if err := (Saver{ExternalOver: 100}).Save(file, manyWeights(t, 500)); err != nil {
		t.Fatal(err)
	}
	if _, err := (Stripper{}).Strip(file, filepath.Join(t.TempDir(), "m.onnx")); err == nil || err.Error() != file+`: tensor "w" is stored in another file: the result must be in the same folder` {
		t.Error(err)
	}
	if n, err := (Stripper{}).Strip(file, filepath.Join(dir, "n.onnx")); n != 0 || err != nil {
		t.Error(n, err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "none.onnx"): "no such file", filepath.Join(dir, "m.onnx.data"): "not an ONNX model"} {
		if _, err := (Stripper{}).Strip(path, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestStripRefused: tensors whose data do not fit their shape, wherever they are.
func TestStripRefused(t *testing.T) {
	const bad = `{ name: "w" data_type: 1 dims: 200 float_data: 1 }`
	branch := func(inner string) string {
		return `node { op_type: "If" attribute { name: "then_branch" type: GRAPH g { ` + inner + ` } } }`
	}
	file := filepath.Join(t.TempDir(), "model.onnx")
	for name, model := range map[string][]byte{
		"graph":     textModel(t, `initializer `+bad),
		"subgraph":  textModel(t, branch(`initializer `+bad)),
		"deeper":    textModel(t, branch(branch(`initializer `+bad))),
		"attribute": textModel(t, `node { op_type: "Constant" attribute { name: "value" t `+bad+` } }`),
		"algorithm": fullModel(t, `graph { } training_info { algorithm { initializer `+bad+` } }`),
		"function":  fullModel(t, `graph { } functions { name: "F" node { op_type: "Constant" attribute { name: "value" t `+bad+` } } }`),
		"large":     textModel(t, `initializer { name: "w" data_type: 1 dims: 5000 raw_data: "`+strings.Repeat("abcd", 4000)+`" }`),
	} {
		if err := os.WriteFile(file, model, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (Stripper{Constants: true}).Strip(file, ""); err == nil || !strings.Contains(err.Error(), `tensor "w": `) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(model) {
			t.Errorf("%s: the file has changed: %v", name, err)
		}
	}
	value := filepath.Join(t.TempDir(), "value.pb")
	if err := os.WriteFile(value, []byte("\xff"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Stripper{}).Strip(value, ""); err == nil || !strings.HasPrefix(err.Error(), value+": not a value: ") {
		t.Error(err)
	}
}

// TestStripFlag: the entry of meta.json, whatever stands around it.
func TestStripFlag(t *testing.T) {
	for text, want := range map[string]string{
		`{"strip_large_tensor_data": false}`:         `{"strip_large_tensor_data": true}`,
		`"strip_large_tensor_data" : true, "x": 1`:   `"strip_large_tensor_data" : true, "x": 1`,
		"{\n \"strip_large_tensor_data\":\tfalse\n}": "{\n \"strip_large_tensor_data\":\ttrue\n}",
		`{"other": false}`:                           `{"other": false}`,
	} {
		if got, err := setStripFlag([]byte(text), true); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
