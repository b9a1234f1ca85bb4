//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"golang.org/x/sys/unix"
	"gorgonia.org/tensor"
)

// TestOccupied: while a process trains in a folder, others neither train in it, nor resume its run, nor clear it.
func TestOccupied(t *testing.T) {
	dir := t.TempDir()
	scalar := func(x float32) []*tensor.Dense { return []*tensor.Dense{tensor.New(tensor.FromScalar(x))} }
	all := data.Of(data.Sample{X: scalar(1), Y: scalar(2)}, data.Sample{X: scalar(2), Y: scalar(3)})
	c := Config{Dir: dir, Epochs: 1, Log: Quiet, Rule: optim.SGD{LR: 0.1}, Loss: MSE{}}
	model := func() *nn.Graph {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", "float32[N]"), e.Param("w", initial.Ones{}, 1)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	before, err := New(model(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := before.Fit(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
	files := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	were := files()

	other, err := os.Open(filepath.Join(dir, ".")) // with a file of its own, as another process has
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Skip(err)
	}
	resumed := c
	resumed.Resume = true
	for name, f := range map[string]func() error{
		"New with Resume": func() error { _, err := New(model(), resumed); return err },
		"Fit":             func() error { _, err := before.Fit(t.Context(), all, nil); return err },
		"FineTune":        func() error { _, err := FineTuner{Config: c}.FineTune(t.Context(), model(), all, nil); return err },
		"ClearRun":        func() error { return ClearRun(dir) },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), dir+" is being written to by another process") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := files(); !slices.Equal(now, were) {
		t.Errorf("the folder had %v, now %v", were, now)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err := New(model(), resumed); err != nil {
		t.Errorf("after the other process: %v", err)
	}
	if err := ClearRun(dir); err != nil {
		t.Error(err)
	}
}
