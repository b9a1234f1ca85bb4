package cli

import (
	"encoding/json"
	"fmt"
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

// twoAnswers writes a model with the outputs kind, three scores, and load, one number; its inputs are w and h, or both in x.
func twoAnswers(t *testing.T, path string, apart bool) {
	t.Helper()
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		var x *nn.Value
		if apart {
			x = e.Apply(layers.Concat{Axis: new(1)}, e.Input("w", "float32[N,1]"), e.Input("h", "float32[N,1]"))
		} else {
			x = e.Input("x", "float32[N,2]")
		}
		b := e.Apply(nn.Sequential{layers.Linear{Out: 12, Name: "body"}, layers.Tanh{}}, x)
		e.Output("kind", e.Apply(layers.Linear{Out: 3, Name: "a"}, b))
		e.Output("load", e.Apply(layers.Linear{Out: 1, Name: "b"}, b))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

// A target for each of several outputs comes by their names, from columns, objects or arrays, and so do the answers.
func TestTargetsByOutput(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	twoAnswers(t, at("apart.onnx"), true)
	twoAnswers(t, at("packed.onnx"), false)
	var csv, jsonl strings.Builder
	csv.WriteString("h,load,w,kind\n")
	kinds := []string{"tall", "flat", "wide"}
	xs, loads, numbers := []float32{}, []float32{}, []int64{}
	for i := range 90 {
		k := i % 3
		w, h := float64(k)-1+float64(i%7)/20, float64(i%5)/5
		fmt.Fprintf(&csv, "%g,%g,%g,%s\n", h, w-h, w, kinds[k])
		fmt.Fprintf(&jsonl, `{"w":[%g],"h":[%g],"kind":"%s","load":%g}`+"\n", w, h, kinds[k], w-h)
		xs, loads, numbers = append(xs, float32(h), float32(w)), append(loads, float32(w-h)), append(numbers, int64(k))
	}
	for name, text := range map[string]string{
		"a.csv": csv.String(), "a.jsonl": jsonl.String(), "new.csv": "w,h\n1.1,0.2\n-0.9,0.4\n",
		"odd.csv": "w,h,kind,load\n1,2,round,3\n", "gap.csv": "w,h,kind,load\n1,2,tall,3\n1,2,flat,\n", "hole.csv": "w,h,kind,load\n1,2,tall,3\n1,,flat,4\n",
		"four.csv":      "w,h,kind,load\n1,2,a,3\n1,2,b,3\n1,2,c,3\n1,2,d,3\n",
		"lacks.csv":     "w,kind,load\n1,tall,3\n2,flat,4\n",
		"unequal.jsonl": `{"w":[1],"h":[2],"kind":["tall","flat"],"load":3}` + "\n" + `{"w":[1],"h":[2],"kind":["tall"],"load":3}` + "\n",
		"one.jsonl":     `{"w":[1],"h":[2],"load":3}` + "\n", "odd.jsonl": `{"w":[1],"h":[2],"kind":"round","load":3}` + "\n",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	array := func(b any, shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(b))
	}
	archive(t, at("a.npz"), map[string]*tensor.Dense{"x": array(xs, 90, 2), "kind": array(numbers, 90), "load": array(loads, 90)})
	archive(t, at("one.npz"), map[string]*tensor.Dense{"x": array(xs, 90, 2), "load": array(loads, 90, 1)})
	for _, c := range []struct{ model, data string }{{"apart", "a.csv"}, {"packed", "a.csv"}, {"apart", "a.jsonl"}, {"packed", "a.npz"}} {
		out, err := in(dir, "train "+c.model+".onnx --data "+c.data+" --val 0 --epochs 20 --batch 10 --lr 4e-2 --force -o out.onnx")
		if err != nil {
			t.Fatal(c, out, err)
		}
		out, err = in(dir, "eval out.onnx --data "+c.data+" --json")
		var found struct{ Metrics map[string]float64 }
		if last(t, out, &found); err != nil || found.Metrics["kind/accuracy"] < 0.98 || found.Metrics["load/r2"] < 0.95 {
			t.Error(c, out, err)
		}
		if c.data == "a.npz" {
			out, err = in(dir, "predict out.onnx a.npz --json")
		} else if c.model == "apart" {
			out, err = in(dir, "predict out.onnx new.csv --json")
		} else {
			out, err = in(dir, "predict out.onnx a.csv --json")
		}
		if err != nil {
			t.Fatal(c, out, err)
		}
		type answer struct {
			Kind struct {
				Label       string
				Probability float64
				Top         []choice
			}
			Load struct{ Value float64 }
		}
		var list []answer
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			var x answer
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatal(err, line)
			}
			list = append(list, x)
		}
		first, want := list[0], "tall"
		value := -1.0
		switch {
		case c.data == "a.npz":
			want = "0"
		case c.model == "apart":
			want, value = "wide", 0.9
		}
		if first.Kind.Label != want || first.Kind.Probability < 0.5 || len(first.Kind.Top) != 3 || math.Abs(first.Load.Value-value) > 0.3 {
			t.Errorf("%v: %+v, want %s and %v", c, first, want, value)
		}
	}
	// The model of a.npz, which ran last, has classes without names.
	expect(t, dir, [][3]string{
		{"predict out.onnx a.npz --csv", "sample,kind,kind probability,load\n1,0,", ""},
		{"train apart.onnx --data a.jsonl --epochs 1 --force -o out.onnx", "2 targets: the sum of their losses is trained", ""},
		{"eval out.onnx --data odd.csv", "", `column kind: row 1: the target is "round", which is not among the classes flat, tall, wide`},
		{"eval out.onnx --data odd.jsonl", "", `object 1: the target is "round", which is not among the classes flat, tall, wide`},
		{"eval out.onnx --data gap.csv", "", "line 3, column load: the target is missing"},
		{"eval out.onnx --data hole.csv", "", "line 3, column h: the number is missing"},
		{"train apart.onnx --data four.csv -o out2.onnx", "", "four.csv: the target kind has 4 classes (a, b, c, d), the output gives 3 scores"},
		{"train apart.onnx --data lacks.csv -o out2.onnx", "", "the table the columns w, kind, load: want a column for each input"},
		{"train apart.onnx --data unequal.jsonl -o out2.onnx", "", "the target kind has lists of unequal length, which are for models with one output"},
		{"train apart.onnx --data one.jsonl -o out.onnx", "", "the only target, load, is for another output than the first, kind: want targets for all outputs"},
		{"train packed.onnx --data one.npz -o out.onnx", "", "or a model that ends there: graft extract MODEL --to load"},
	})
	s := service{batchSize: 1, queue: 1, top: 1, body: 1000, bodies: 1000, connections: 1, timeout: 1e9}
	h, err := s.handler(t.Context(), at("out.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for x, err := range h.together(t.Context(), []map[string]any{{"w": json.Number("1"), "h": json.Number("0")}}, 0) {
		if err != nil || len(x.parts["kind"].top) != 3 || len(x.parts["load"].values) != 1 {
			t.Error(x, err)
		}
	}
}

// TestOutputNamesTarget checks that if the last column is an input of the model, the target is the
// column with the output's name.
func TestOutputNamesTarget(t *testing.T) {
	dir := t.TempDir()
	g := nn.New("one")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Apply(layers.Concat{Axis: new(1)}, e.Input("w", "float32[N,1]"), e.Input("h", "float32[N,1]"))
		e.Output("load", e.Apply(layers.Linear{Out: 1, Name: "l"}, x))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(filepath.Join(dir, "one.onnx"), g); err != nil {
		t.Fatal(err)
	}
	for name, head := range map[string]string{"a.csv": "w,load,h", "b.csv": "w,h,load"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(head+strings.Repeat("\n0.5,1.5,2.5\n1,2,3.25\n2,0.5,1\n", 10)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.csv", "b.csv"} {
		if out, err := in(dir, "train one.onnx --data "+name+" --epochs 1 --force -o out.onnx"); err != nil || !strings.Contains(out, "target load: measurements") {
			t.Error(name, out, err)
		}
	}
}
