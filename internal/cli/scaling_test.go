package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// total writes a model that adds up the three numbers of its input.
func total(t *testing.T, path string) {
	t.Helper()
	g := nn.New("total")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 1, NoBias: true, Name: "sum"}, e.Input("x", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		for i := range p.Data().Float32s() {
			p.Data().Float32s()[i] = 1
		}
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

// TestNumbersStayPrepared checks that the preprocessing of numbers given by --mean, --std and --range
// is stored in the model: eval, predict and serve apply it, for all forms of data.
func TestNumbersStayPrepared(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	total(t, at("sum.onnx"))
	archive(t, at("a.npz"), map[string]*tensor.Dense{
		"x": tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{101, 102, 103, 104, 108, 100})),
		"y": tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float32{3, 6})),
	})
	for name, text := range map[string]string{
		"a.csv":   "a,b,c,y\n101,102,103,3\n104,108,100,6\n",
		"a.jsonl": `{"x":[101,102,103],"y":[3]}` + "\n" + `{"x":[104,108,100],"y":[6]}` + "\n",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, data := range []string{"a.npz", "a.csv", "a.jsonl"} {
		out, err := in(dir, "train sum.onnx --data "+data+" --val 0 --epochs 1 --lr 0 --mean 100,101,100 --std 2 --range 1 --task regression --force -o kept.onnx")
		if err != nil {
			t.Fatal(data, out, err)
		}
		g, err := onnxio.Load(at("kept.onnx"))
		if err != nil || g.Meta()[metaScaling] != `{"range":1,"mean":[100,101,100],"std":[2]}` {
			t.Fatal(g.Meta(), err)
		}
		// (1+1+3)/2 and (4+7+0)/2
		check := func(what string, args string, want ...float64) {
			t.Helper()
			out, err := in(dir, "predict kept.onnx "+args+" --json")
			var got []float64
			for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
				var x struct{ Value float64 }
				if err := json.Unmarshal([]byte(line), &x); err != nil {
					t.Fatal(what, err, out)
				}
				got = append(got, x.Value)
			}
			if err != nil || len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-5 || math.Abs(got[1]-want[1]) > 1e-5 {
				t.Error(what, got, want, err)
			}
		}
		check(data, data, 2.5, 5.5)
		check(data, data+" --mean 0 --std 1", 306, 312)
		check(data, data+" --std 1 --range 2", 311, 323)
		out, err = in(dir, "eval kept.onnx --data "+data+" --task regression --metric deviation")
		if err != nil || !strings.Contains(out, "mae        0.5\n") {
			t.Error(data, out, err)
		}
	}
	expect(t, dir, [][3]string{
		{"predict kept.onnx a.npz --preset caffe", "", "--preset is for images, which "},
		{"predict kept.onnx a.npz --crop 1", "", "--crop is for images"},
		{"predict kept.onnx a.csv --size 8", "", "--size is for images"},
		{"predict kept.onnx a.jsonl --bgr", "", "--bgr is for images"},
		{"eval kept.onnx --data a.npz --bgr", "", "--bgr is for images"},
		{"predict kept.onnx a.npz --std 0", "", "--std [0]: want numbers that can be divided by"},
		{"predict kept.onnx a.npz --range NaN", "", "--range NaN: want a finite number"},
		{"train kept.onnx --data a.csv -o again.onnx", "", `the model was trained on numbers prepared by --mean, --std and --range ({"range":1,"mean":[100,101,100],"std":[2]}): give the same flags again`},
	})
	for args, want := range map[string]string{"": " 306 312", " --mean 100 --range 1": " 6 12", " --std 3": " 102 104"} {
		if out, err := in(dir, "run kept.onnx --input a.npz"+args); err != nil || !strings.Contains(strings.NewReplacer("[", " ", "]", " ", ",", "").Replace(out), want) {
			t.Error(args, out, err)
		}
	}
	expect(t, dir, [][3]string{{"run kept.onnx --input a.npz --preset caffe", "", "--preset is for images, which "}})
	s := service{batchSize: 1, queue: 1, top: 1, body: 1000, bodies: 1000, connections: 1, timeout: 1e9}
	h, err := s.handler(t.Context(), at("kept.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for x, err := range h.together(t.Context(), []map[string]any{{"x": []any{json.Number("101"), json.Number("102"), json.Number("103")}}}, 0) {
		if err != nil || len(x.values) != 1 || math.Abs(x.values[0]-2.5) > 1e-5 {
			t.Error(x, err)
		}
	}
}
