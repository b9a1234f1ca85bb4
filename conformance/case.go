package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn/dtype"
)

// Case is an ONNX test case: a folder with model.onnx and test_data_set_0, …, perhaps with tolerances (data.json) and
// golden gradients (gradients.json, or gradient_N.pb in a data set). A folder with data sets and without a model is one, which fails.
type Case struct {
	Name string // in reports; elements are separated by slashes
	Dir  string // its folder
}

// Cases returns the test cases at or below the given folders, in the order of the folders and then by name. A case is
// named by its path below its folder; a folder that is itself a case, by the last two elements of its path, so that the
// suite is visible.
func Cases(dirs ...string) ([]Case, error) {
	var list []Case
	for _, dir := range dirs {
		if isCase(dir) {
			abs, err := filepath.Abs(dir)
			if err != nil {
				return nil, err
			}
			name := filepath.Base(abs)
			if up := filepath.Base(filepath.Dir(abs)); up != string(filepath.Separator) {
				name = up + "/" + name
			}
			list = append(list, Case{name, dir})
			continue
		}
		found := len(list)
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() || !isCase(p) {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			list = append(list, Case{filepath.ToSlash(rel), p})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(list) == found {
			return nil, fmt.Errorf("%s: no folder here has a model.onnx", dir)
		}
	}
	return list, nil
}

// isCase reports whether a folder is a test case, which fails if it has data sets but no model.
func isCase(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "model.onnx"))
	sets, _ := fs.Glob(disk.Dir(dir), "test_data_set_*")
	return err == nil && !info.IsDir() || len(sets) > 0
}

// tolerances are the tolerances in data.json.
type tolerances struct {
	dtype.Tolerance
	outputs map[int]float64
}

func (t tolerances) at(i int) dtype.Tolerance {
	tol := t.Tolerance
	if atol, ok := t.outputs[i]; ok {
		tol.Atol = atol
	}
	return tol
}

func readTolerances(fsys fs.FS) (tolerances, error) {
	t := tolerances{Tolerance: dtype.DefaultTolerance, outputs: map[int]float64{}}
	b, err := budget.ReadFile(fsys, "data.json")
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	var file struct {
		Rtol, Atol *float64
		Outputs    json.RawMessage `json:"atol_outputs"`
	}
	if err == nil {
		err = budget.Unmarshal(b, &file)
	}
	if err != nil {
		return t, fmt.Errorf("data.json: %w", err)
	}
	if file.Rtol != nil {
		t.Rtol = *file.Rtol
	}
	if file.Atol != nil {
		t.Atol = *file.Atol
	}
	if len(file.Outputs) == 0 {
		return t, nil
	}
	var list []float64 // a list by output number, or an object with output numbers as keys
	if budget.Unmarshal(file.Outputs, &list) == nil {
		for i, a := range list {
			t.outputs[i] = a
		}
		return t, nil
	}
	if err := budget.Unmarshal(file.Outputs, &t.outputs); err != nil {
		return t, fmt.Errorf("data.json: atol_outputs: %w", err)
	}
	return t, nil
}
