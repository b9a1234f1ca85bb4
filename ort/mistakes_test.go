package ort_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/ort"
)

// mistake checks that an error is one line that has the words.
func mistake(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: got %v, want %q in it", what, err, words)
	}
}

// TestOpeningMistakes checks the messages about mistakes with the library, the provider and the
// device, where a library is available.
func TestOpeningMistakes(t *testing.T) {
	r := runtime(t)
	d, err := r.Open()
	if err != nil {
		t.Fatal(err)
	}
	library, version := d.Library()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	with := func(change func(r *ort.Runtime)) ort.Runtime {
		x := r
		change(&x)
		return x
	}
	for what, c := range map[string]struct {
		r     ort.Runtime
		words string
	}{
		"no such provider":            {with(func(r *ort.Runtime) { r.Provider = "gpu" }), `ort: provider "gpu": want one of coreml, cpu, cuda, directml, migraphx`},
		"a provider of others":        {with(func(r *ort.Runtime) { r.Provider = "QNN" }), "ort: ONNX Runtime " + version + " at " + library + " has no provider QNN, it has "},
		"a second CPU":                {with(func(r *ort.Runtime) { r.Device = 3 }), "ort: provider CPU takes no device number: want 0, got 3"},
		"a negative device":           {with(func(r *ort.Runtime) { r.Provider, r.Device = "cuda", -1 }), "ort: device -1, 0 threads: want 0 or more"},
		"negative threads":            {with(func(r *ort.Runtime) { r.Threads = -2 }), "ort: device 0, -2 threads: want 0 or more"},
		"options of the CPU":          {with(func(r *ort.Runtime) { r.Options = map[string]string{"arena": "1"} }), "ort: provider CPU takes no options"},
		"no file":                     {with(func(r *ort.Runtime) { r.Library = filepath.Join(dir, "none.so") }), "none.so: cannot open shared object file"},
		"a text":                      {with(func(r *ort.Runtime) { r.Library = text }), text},
		"a folder without":            {with(func(r *ort.Runtime) { r.Library = dir }), "would be in " + dir},
		"a library of something else": {with(func(r *ort.Runtime) { r.Library = filepath.Join(filepath.Dir(library), "onnxruntime_binding.node") }), "onnxruntime_binding.node: "},
	} {
		_, err := c.r.Open()
		mistake(t, what, err, c.words)
	}
	r.Provider = "cuda" // where its libraries are missing, the error names them and no source line of the runtime
	if _, err := r.Open(); err != nil && (!strings.Contains(err.Error(), "ort: provider CUDA: ") && !strings.Contains(err.Error(), "has no provider") || strings.Contains(err.Error(), "onnxruntime_src")) {
		t.Error(err)
	}
}

// TestRunningMistakes checks the messages about mistakes with models and their feeds.
func TestRunningMistakes(t *testing.T) {
	r := runtime(t)
	joined := graph(t, func(e *nn.Edit) {
		e.Output("y", e.Node(std.ConcatConfig{}, e.Input("a", "float32[?,2]"), e.Input("b", "float32[?,2]")).Out(0))
	})
	sum := graph(t, func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Add"), e.Input("a", "float32[?]"), e.Input("b", "float32[?]")).Out(0))
	})
	packed := graph(t, func(e *nn.Edit) {
		e.Output("y", e.Node(std.CastConfig{To: dtype.Float32}, e.Input("a", "int4[?]")).Out(0))
	})
	ops, err := contrib.With(std.Operators())
	if err != nil {
		t.Fatal(err)
	}
	foreign := nn.NewGraph("net", ops, map[string]int{"": 17, contrib.Domain: 1})
	if err := foreign.Edit(func(e *nn.Edit) {
		skip := e.Input("a", "float32[1,2]")
		e.Output("y", e.Node(op.Name{Domain: contrib.Domain, Name: "BiasAdd"}, skip, e.Input("b", "float32[2]"), skip).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x := func(dims ...int) dtype.Value { return dtype.New(dtype.Float32, dims...) }
	for what, c := range map[string]struct {
		g     *nn.Graph
		feed  nn.Feed
		words string
	}{
		"nothing for b":  {joined, nn.Feed{"a": x(1, 2)}, "ort: input b has no value"},
		"another name":   {joined, nn.Feed{"a": x(1, 2), "b": x(1, 2), "c": x(1)}, "ort: the model has no input c, it has a, b"},
		"another length": {joined, nn.Feed{"a": x(1, 3), "b": x(1, 2)}, "ort: input a: want float32[?,2], got float32[1,3]"},
		"another rank":   {joined, nn.Feed{"a": x(2), "b": x(1, 2)}, "ort: input a: want float32[?,2], got float32[2]"},
		"another type":   {joined, nn.Feed{"a": dtype.New(dtype.Int64, 1, 2), "b": x(1, 2)}, "ort: input a: want float32[?,2], got int64[1,2]"},
		"unequal sums":   {sum, nn.Feed{"a": x(2), "b": x(3)}, "ort: run: "},
		"half bytes":     {packed, nn.Feed{"a": dtype.New(dtype.Int4, 2)}, "input a: ort: int4 is stored in another layout in ONNX Runtime: convert the values to another type"},
		"no kernel":      {foreign, nn.Feed{"a": x(1, 2), "b": x(2)}, "ort: load: Could not find an implementation for BiasAdd"},
	} {
		_, err := r.Run(t.Context(), c.g, c.feed)
		mistake(t, what, err, c.words)
	}
	// afterwards all is as before
	out, err := r.Run(t.Context(), joined, nn.Feed{"a": x(1, 2), "b": x(3, 2)})
	if err != nil || !op.TypeOf(out["y"]).Static() || op.TypeOf(out["y"]).Elements() != 8 {
		t.Errorf("%v, %v", out, err)
	}
}
