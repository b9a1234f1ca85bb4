package nn_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestFusionOfModels runs real models with and without fusion, and differentiates them where they
// can be differentiated.
func TestFusionOfModels(t *testing.T) {
	fsys := os.DirFS(oracle.Shared(t, "models"))
	files, err := fs.Glob(fsys, "*/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, file := range files {
		t.Run(path.Dir(file), func(t *testing.T) {
			g, err := onnxio.Loader{FS: fsys}.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			feed, _ := dataSet(t, fsys, path.Dir(file)+"/test_data_set_0", g)
			sameModel(t, g, feed)
			in := map[*nn.Value]dtype.Value{}
			for _, v := range g.Inputs() {
				in[v] = feed[v.Name()]
			}
			g.SetFusion(true)
			list, err := g.Operators(in, g.Outputs()...)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range list {
				found[o]++
			}
		})
	}
	for _, o := range []string{"PackedAttention", "Gelu", "LayerNormalization", "Gemm"} {
		if found[o] == 0 {
			t.Errorf("no %s in any model: the patterns of today's exporters are not recognized", o)
		}
	}
}

// sameModel compares outputs and the gradients of all weights, for a loss over the first
// floating-point output, of a run with fusion and one without.
func sameModel(t *testing.T, g *nn.Graph, feed nn.Feed) {
	t.Helper()
	var outputs []string
	loss := ""
	for _, v := range g.Outputs() {
		outputs = append(outputs, v.Name())
		if loss == "" && v.Type().DType == dtype.Float32 && v.Type().Kind == op.Tensor {
			loss = v.Name()
		}
	}
	if loss != "" {
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("sum of squares", e.Node(op.Plain("ReduceSumSquare"), e.Value(loss)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
	}
	var runs [2]nn.Feed
	var refused [2]error
	for i, on := range []bool{false, true} {
		g.SetFusion(on)
		out, err := g.Eval(t.Context(), feed, outputs...)
		if err != nil {
			t.Fatal(err)
		}
		if runs[i] = out; loss != "" {
			var grads nn.Feed
			if grads, refused[i] = g.Grad(t.Context(), feed, "sum of squares"); refused[i] == nil {
				for name, d := range grads {
					runs[i]["gradient of "+name] = d
				}
			}
		}
	}
	if (refused[0] == nil) != (refused[1] == nil) {
		t.Errorf("gradients: without fusion %v, with %v", refused[0], refused[1])
	}
	if len(runs[0]) != len(runs[1]) {
		t.Errorf("%d results without fusion, %d with", len(runs[0]), len(runs[1]))
	}
	for name, a := range runs[0] {
		if _, ok := a.(*tensor.Dense); !ok {
			continue // strings, sequences
		}
		tol := 2e-5
		if strings.HasPrefix(name, "gradient of ") {
			tol = 1e-4 // sums over all positions may nearly cancel
		}
		if err := closeTo(runs[1][name], a, tol); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
