package onnxio

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// DataSet holds the contents of a folder test_data_set_K of a test case: values by the number in their file's name. A
// number without a file leaves a NamedValue whose Value is nil.
type DataSet struct {
	Inputs  []NamedValue // input_N.pb
	Outputs []NamedValue // output_N.pb

	// GradientInputs are the gradients of the outputs, gradient_input_N.pb, and Gradients those of the parameters that follow
	// from them, gradient_N.pb, each under the name of its parameter.
	GradientInputs, Gradients []NamedValue

	// SequenceFiles makes Write write a file for each item of a sequence, input_0_00.pb, instead of one for all.
	SequenceFiles bool
}

var dataSetName = regexp.MustCompile(`^test_data_set_(\d+)$`)

// DataSets returns the names of the data sets of the test case in dir of fsys, in numeric order: test_data_set_2 precedes
// test_data_set_10.
func DataSets(fsys fs.FS, dir string) ([]string, error) {
	if fsys == nil {
		return nil, errNoFS
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	type numbered struct {
		name string
		n    int
	}
	var sets []numbered
	for _, e := range entries {
		if m := dataSetName.FindStringSubmatch(e.Name()); m != nil && e.IsDir() {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name(), err)
			}
			sets = append(sets, numbered{path.Join(dir, e.Name()), n})
		}
	}
	slices.SortStableFunc(sets, func(a, b numbered) int { return a.n - b.n })
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.name
	}
	return names, nil
}

// valueName matches the name of a value's file: its list, its number and, for a sequence in several files, the number of the item.
var valueName = regexp.MustCompile(`^(input|output|gradient_input|gradient)_(\d{1,6})(?:_(\d{1,6}))?\.pb$`)

// ReadDataSet reads the data set in dir of fsys. inputs and outputs are the declared types of the model's inputs and
// outputs; values beyond their ends are read as tensors. Other files are ignored.
func ReadDataSet(fsys fs.FS, dir string, inputs, outputs []op.Type) (*DataSet, error) {
	if fsys == nil {
		return nil, errNoFS
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	set := &DataSet{}
	for _, e := range entries { // sorted by name, so that the items of a sequence are in order
		m := valueName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if n >= len(entries)+1000 { // gaps are allowed, but not a list of a million of them
			return nil, fmt.Errorf("%s: %s is far beyond the number of files", dir, e.Name())
		}
		list := set.list(m[1])
		var want op.Type
		if m[1] == "input" && n < len(inputs) {
			want = inputs[n]
		} else if m[1] == "output" && n < len(outputs) {
			want = outputs[n]
		}
		for len(*list) <= n {
			*list = append(*list, NamedValue{})
		}
		if m[3] != "" {
			want = op.Type{}
		}
		v, err := readValueFile(fsys, path.Join(dir, e.Name()), want)
		if err != nil {
			return nil, err
		}
		if m[3] == "" {
			(*list)[n] = v
			continue
		}
		seq, ok := (*list)[n].Value.(*dtype.Sequence)
		if !ok {
			seq = &dtype.Sequence{Elem: dtype.DTypeOf(v.Value)}
			(*list)[n] = NamedValue{v.Name, seq}
		}
		seq.Items = append(seq.Items, v.Value)
	}
	return set, nil
}

func (s *DataSet) list(prefix string) *[]NamedValue {
	switch prefix {
	case "input":
		return &s.Inputs
	case "output":
		return &s.Outputs
	case "gradient_input":
		return &s.GradientInputs
	}
	return &s.Gradients
}

func readValueFile(fsys fs.FS, name string, want op.Type) (NamedValue, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return NamedValue{}, err
	}
	defer f.Close()
	v, err := ReadValue(f, want)
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// Write writes the values to dir, which is created if necessary, and removes value files that were there before. Values
// that are nil are left out. Either all files are written or none.
func (s *DataSet) Write(dir string) error {
	change, err := disk.Begin(context.Background(), dir)
	if err != nil {
		return err
	}
	defer change.Discard()
	err = s.each(func(name string, v NamedValue) error {
		return change.Write(name, func(w io.Writer) error { return WriteValue(w, v) })
	})
	if err == nil {
		err = change.RemoveOthers(".", valueName.MatchString)
	}
	if err != nil {
		return err
	}
	return change.Commit()
}

// each calls put with the files of the set.
func (s *DataSet) each(put func(name string, v NamedValue) error) error {
	for _, prefix := range []string{"input", "output", "gradient_input", "gradient"} {
		for i, v := range *s.list(prefix) {
			items, split := v.Value.(*dtype.Sequence)
			switch {
			case v.Value == nil:
			case split && s.SequenceFiles && len(items.Items) > 0:
				for k, item := range items.Items {
					if err := put(fmt.Sprintf("%s_%d_%02d.pb", prefix, i, k), NamedValue{v.Name, item}); err != nil {
						return err
					}
				}
			default:
				if err := put(fmt.Sprintf("%s_%d.pb", prefix, i), v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// MatchNames returns values in the order of names: by name if each of the names occurs once, and in the given order
// otherwise, since many programs do not write names. It is an error if their numbers differ.
func MatchNames(names []string, values []NamedValue) ([]NamedValue, error) {
	if len(names) != len(values) {
		return nil, fmt.Errorf("want a value for each of %q, got %d", names, len(values))
	}
	byName := map[string]NamedValue{}
	for _, v := range values {
		byName[v.Name] = v
	}
	out := make([]NamedValue, len(names))
	for i, name := range names {
		v, ok := byName[name]
		if !ok || len(byName) != len(names) {
			return slices.Clone(values), nil
		}
		out[i] = v
	}
	return out, nil
}
