package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/onnxio"
)

// TestTogetherKeepsOthersData: models that are saved together neither remove nor replace data that another model of the folder names.
func TestTogetherKeepsOthersData(t *testing.T) {
	dir := t.TempDir()
	first, renamed := filepath.Join(dir, "step.onnx"), filepath.Join(dir, "kept.onnx")
	_, g, _ := made(t, "lstm --input 6,3 --classes 2 --width 8", []int{1, 6, 3})
	if err := (onnxio.Saver{ExternalOver: 1}).Save(first, g); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(first, renamed); err != nil {
		t.Fatal(err)
	}
	save := func(path string) error { return onnxio.Save(path, g) }
	if err := saveTogether(t.Context(), dir, map[string]func(path string) error{"step.onnx": save, "step.start.onnx": save}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{first, renamed} {
		if _, err := onnxio.Load(path); err != nil {
			t.Error(err)
		}
	}
}

// TestPlanElsewhere: a plan is written in another folder than its model, and where nothing is replaced, too.
func TestPlanElsewhere(t *testing.T) {
	dir := t.TempDir()
	model, out, plan := filepath.Join(dir, "m.onnx"), filepath.Join(dir, "out.onnx"), filepath.Join(dir, "plans", "p.json")
	_, g, _ := made(t, "mlp --input 4 --classes 2", []int{1, 4})
	if err := errors.Join(onnxio.Save(model, g), os.Mkdir(filepath.Dir(plan), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{plan, out}, {"/dev/null", out}, {filepath.Join(dir, "p.json"), "/dev/null"}} {
		if _, err := command("edit", model, "--batch-dim", "M", "--plan", c[0], "-o", c[1]); err != nil {
			t.Errorf("%q: %v", c, err)
		}
		for _, path := range c {
			info, err := os.Stat(path)
			if err != nil || path != "/dev/null" && info.Size() == 0 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
			if path != "/dev/null" {
				os.Remove(path)
			}
		}
	}
	left, err := os.ReadDir("/dev")
	for _, e := range left {
		if err != nil || strings.HasPrefix(e.Name(), ".graft") {
			t.Errorf("/dev has %v, %v", e, err)
		}
	}
}
