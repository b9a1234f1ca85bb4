package onnxio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk/disktest"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestFaults: models with and without external data, data sets and stripped test cases, on a disk that fails or a process that ends.
func TestFaults(t *testing.T) {
	inline, external := Saver{}, Saver{ExternalOver: 1000}
	loads := func(path string) error {
		if filepath.Ext(path) != ".onnx" {
			return nil
		}
		_, err := Load(path)
		return err
	}
	save := func(name string, old, new Saver) disktest.Case {
		return disktest.Case{
			Name: name, Apart: true,
			Prepare: func(dir string) error { return old.Save(filepath.Join(dir, "m.onnx"), constants(t, 1)) },
			Do: func(dir string) error {
				err := new.Save(filepath.Join(dir, "m.onnx"), constants(t, 2))
				if got := holds(filepath.Join(dir, "m.onnx")); err == nil && got != 2 || err != nil && got != 1 {
					t.Errorf("the model is %v, the error %v", got, err)
				}
				return err
			},
			Check: func(path string) error {
				if got := holds(path); filepath.Ext(path) == ".onnx" && got != 1 && got != 2 {
					return fmt.Errorf("the model is %v", got)
				}
				return nil
			},
			Same: func(name string, b []byte) []byte { // the data of the old and the new have other names by turns
				if strings.HasPrefix(name, ".") {
					return b
				}
				return nil
			},
		}
	}
	set := func(v float32, inputs int) *DataSet {
		s := &DataSet{}
		for range inputs {
			x := dtype.New(dtype.Float32, 20)
			dtype.Slice[float32](x)[3] = v
			s.Inputs = append(s.Inputs, NamedValue{"x", x})
		}
		return s
	}
	disktest.Sweep(t,
		disktest.Case{
			Name: "inline", Check: loads,
			Prepare: func(dir string) error { return Save(filepath.Join(dir, "m.onnx"), constants(t, 1)) },
			Do:      func(dir string) error { return Save(filepath.Join(dir, "m.onnx"), constants(t, 2)) },
		},
		save("inline to external", inline, external),
		save("external to external", external, external),
		save("external to inline", external, inline),
		disktest.Case{
			Name:    "data set",
			Prepare: func(dir string) error { return set(1, 3).Write(filepath.Join(dir, "test_data_set_0")) },
			Do:      func(dir string) error { return set(2, 2).Write(filepath.Join(dir, "test_data_set_0")) },
		},
		disktest.Case{
			Name: "strip", Check: loads,
			Prepare: func(dir string) error {
				if err := set(1, 2).Write(filepath.Join(dir, "case", "test_data_set_0")); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(dir, "case", "meta.json"), []byte(`{"strip_large_tensor_data": false}`), 0o644); err != nil {
					return err
				}
				return Save(filepath.Join(dir, "case", "model.onnx"), constants(t, 1))
			},
			Do: func(dir string) error {
				_, err := Stripper{Over: 10}.Strip(filepath.Join(dir, "case"), "")
				return err
			},
		},
	)
}

// TestSaveKeepsOthersData: a model that was renamed keeps the data that it names when another is saved under its old name.
func TestSaveKeepsOthersData(t *testing.T) {
	dir := t.TempDir()
	path, renamed := filepath.Join(dir, "m.onnx"), filepath.Join(dir, "before.bak")
	external := Saver{ExternalOver: 1000}
	if err := external.Save(path, constants(t, 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, renamed); err != nil {
		t.Fatal(err)
	}
	for v := range 3 {
		if err := external.Save(path, constants(t, float32(v+2))); err != nil {
			t.Fatal(err)
		}
		if got := holds(renamed); got != 1 {
			t.Fatalf("the renamed model is %v", got)
		}
		if got := holds(path); got != float32(v+2) {
			t.Fatalf("the model is %v", got)
		}
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 4 {
		t.Errorf("%v, %v", files, err)
	}
}
