package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
)

// eachDamage calls f with the file's content changed in one bit of every fifth byte, and restores it.
func eachDamage(t *testing.T, path string, f func(at int)) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(content); i += 5 {
		b := bytes.Clone(content)
		b[i] ^= 1 << (i / 5 % 8)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		f(i)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

// sameWeights reports whether the file has the weights of g.
func sameWeights(t *testing.T, path string, g *nn.Graph) bool {
	t.Helper()
	file, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string][]byte{}
	for p := range file.Params() {
		stored[p.Name()] = dtype.Bytes(p.Data())
	}
	for p := range g.Params() {
		if p.Role() != nn.Constant && !bytes.Equal(stored[p.Name()], dtype.Bytes(p.Data())) {
			return false
		}
	}
	return true
}

// A run is not resumed from a damaged model of its best epoch, whether it restores it at the end or only leaves it.
func TestBestDamaged(t *testing.T) {
	for _, restore := range []bool{false, true} {
		dir := t.TempDir()
		c := Config{Dir: dir, Epochs: 2, Rule: optim.SGD{LR: 10}, RestoreBest: restore, Log: Quiet}
		h, err := Fit(context.Background(), normalized(t), c, pairs(t, 4), nil)
		if err != nil || !h[0].Best || h[1].Best {
			t.Fatalf("%v, %v: the first epoch must be the best", h, err)
		}
		path := filepath.Join(dir, bestModel)
		best, err := onnxio.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		resume := func() error {
			tr, err := New(normalized(t), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.Restore(filepath.Join(dir, lastState)); err != nil {
				t.Fatal(err)
			}
			if restore {
				return tr.recall()
			}
			return tr.checkBest()
		}
		if err := resume(); err != nil {
			t.Fatal(err)
		}
		refused := 0
		eachDamage(t, path, func(at int) {
			if err := resume(); err != nil {
				if refused++; !strings.Contains(err.Error(), path) {
					t.Errorf("byte %d: the error does not name the file: %v", at, err)
				}
			} else if !sameWeights(t, path, best) {
				t.Errorf("byte %d: other weights are accepted", at)
			}
		})
		if refused == 0 {
			t.Error("nothing is refused")
		}
		if err := onnxio.Save(path, normalized(t)); err != nil {
			t.Fatal(err)
		}
		again := c
		again.Resume = true
		if _, err := Fit(context.Background(), normalized(t), again, pairs(t, 4), nil); err == nil || !strings.Contains(err.Error(), "best.onnx have the checksum ") {
			t.Errorf("a resumed run beside another model: %v", err)
		}
		tr, err := New(normalized(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Restore(filepath.Join(dir, lastState)); err != nil {
			t.Fatal(err)
		}
		tr.bestSum = "" // as in a state from before there were checksums
		if err := errors.Join(tr.checkBest(), tr.recall()); err != nil {
			t.Error(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := resume(); (err != nil) != restore { // needed only to restore it
			t.Errorf("without the file: %v", err)
		}
	}
}

// A run is not resumed from a damaged plan or a damaged model before all layers were trained.
func TestPlanDamaged(t *testing.T) {
	dir := t.TempDir()
	begun := &tuning{FineTuner: FineTuner{Config: Config{Dir: dir}}, g: normalized(t)}
	begun.plan = recipe{Rate: 0.015625, Spread: 0.1, Epochs: 12, Batch: 32, Head: map[string]float64{"accuracy": 0.5}}
	if err := begun.keepPlan(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lastState), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	resume := func() (*tuning, error) {
		tu := &tuning{FineTuner: FineTuner{Config: Config{Dir: dir, Resume: true}}, g: normalized(t)}
		if _, err := tu.resumed(); err != nil {
			return tu, err
		}
		_, err := tu.floor()
		return tu, err
	}
	if _, err := resume(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{planFile, headModel} {
		path := filepath.Join(dir, name)
		eachDamage(t, path, func(at int) {
			tu, err := resume()
			switch {
			case err != nil && !strings.Contains(err.Error(), name):
				t.Errorf("%s, byte %d: the error does not name the file: %v", name, at, err)
			case err != nil:
			case name == headModel && !sameWeights(t, path, begun.g):
				t.Errorf("%s, byte %d: other weights are accepted", name, at)
			default: // the name of a checksum may be damaged
				tu.plan.Sum, tu.plan.HeadSum = begun.plan.Sum, begun.plan.HeadSum
				was, _ := json.Marshal(begun.plan)
				if is, _ := json.Marshal(tu.plan); !bytes.Equal(was, is) {
					t.Errorf("%s, byte %d: another plan is accepted: %s", name, at, is)
				}
			}
		})
	}
	begun.plan.HeadSum, begun.plan.Sum = "", "" // one from before there were checksums
	b, err := json.Marshal(begun.plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, planFile), b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(filepath.Join(dir, headModel), normalized(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(); err != nil {
		t.Error(err)
	}
}
