package train

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// A run ends where one of the files of a checkpoint cannot be written, since a folder stands in its place.
func TestCheckpointFilesInTheWay(t *testing.T) {
	run := func(file string) (string, error) {
		dir := t.TempDir()
		if file != "" {
			if err := os.MkdirAll(filepath.Join(dir, file, "in it"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", "float32[N]"), e.Param("w", initial.Ones{}, 1)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		tr, err := New(g, Config{Dir: dir, Epochs: 1, Keep: 1, Log: Quiet, Rule: optim.SGD{LR: 0.1}, Loss: MSE{}})
		if err != nil {
			t.Fatal(err)
		}
		scalar := func(x float32) []*tensor.Dense { return []*tensor.Dense{tensor.New(tensor.FromScalar(x))} }
		all := data.Of(data.Sample{X: scalar(1), Y: scalar(2)}, data.Sample{X: scalar(2), Y: scalar(3)})
		_, err = tr.Fit(t.Context(), all, all)
		return dir, err
	}
	dir, err := run("")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 6 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		if _, err := run(e.Name()); err == nil {
			t.Errorf("%s could not be written, and the run went on", e.Name())
		}
	}
}
