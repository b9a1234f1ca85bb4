package data

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// NPY reads a NumPy array file (.npy, versions 1 to 3, plain or gzip). Bool, integer, floating-point and text arrays
// of either byte order are supported, float16 as float32, texts as a tensor of Go strings; arrays in Fortran order are
// rearranged.
func NPY(path string) (*tensor.Dense, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := readNPY(f)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	return t, nil
}

// Arrays reads all arrays of a NumPy archive (.npz), by name.
func Arrays(path string) (map[string]*tensor.Dense, error) {
	file, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	var list, kept budget.Tally
	defer func() {
		list.Free()
		kept.Free()
	}()
	archive := &archive{file, &list}
	z, err := zip.NewReader(archive, info.Size())
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	archive.list = nil
	out := make(map[string]*tensor.Dense)
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			continue
		}
		if out[name] != nil {
			return nil, fmt.Errorf("data: %s: two arrays have the name %s", path, name)
		}
		if err := kept.Add(perArray); err != nil {
			return nil, fmt.Errorf("data: %s: %d arrays: %w", path, len(out)+1, err)
		}
		f, err := e.Open()
		if err != nil {
			return nil, fmt.Errorf("data: %s: %s: %w", path, e.Name, err)
		}
		t, err := readNPY(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("data: %s: %s: %w", path, e.Name, err)
		}
		out[name] = t
	}
	for _, t := range out {
		budget.Transfer(&kept, t)
	}
	return out, nil
}

// perListed is about how many bytes package zip takes for each byte of an archive's list of files: some 300 for a file, of which 47 describe it.
// perArray is about how many an array takes beside its elements.
const perListed, perArray = 7, 512

// archive is a file of which the bytes that are read are counted, while there is a tally.
type archive struct {
	*disk.File
	list *budget.Tally
}

func (a *archive) ReadAt(b []byte, at int64) (int, error) {
	n, err := a.File.ReadAt(b, at)
	if a.list != nil {
		if full := a.list.Add(perListed * int64(n)); full != nil {
			return 0, fmt.Errorf("the list of its files: %w", full)
		}
	}
	return n, err
}

// NPZ reads a set from two arrays of a NumPy archive: sample i is row i of each. Element types are kept, except that
// integer targets become int64. Text arrays are refused: use Arrays.
func NPZ(path, x, y string) (Dataset[Sample], error) {
	all, err := Arrays(path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{x, y} {
		if all[name] != nil && all[name].Dtype() == tensor.String {
			return nil, fmt.Errorf("data: %s: array %q holds texts, want numbers", path, name)
		}
	}
	for _, name := range []string{x, y} {
		if all[name] == nil {
			return nil, fmt.Errorf("data: %s: no array %q; it has %s", path, name, names(all))
		}
	}
	target := all[y]
	class, ok, err := integers(target)
	if err != nil {
		return nil, fmt.Errorf("data: %s: array %q: %w", path, y, err)
	}
	if ok && len(class) > 0 {
		target = tensor.New(tensor.WithShape(target.Shape()...), tensor.WithBacking(class))
	}
	s, err := Tensors(all[x], target)
	if err != nil {
		return nil, fmt.Errorf("%w, in %s", err, path)
	}
	return s, nil
}

// readNPY reads an array of a type that samples may have.
func readNPY(r io.Reader) (*tensor.Dense, error) {
	v, err := npy.Read(r)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(*dtype.Strings); ok {
		return tensor.New(tensor.WithShape(s.Shape()...), tensor.WithBacking(s.Elems)), nil
	}
	t := v.(*tensor.Dense)
	switch dt := dtype.Of(t.Dtype()); {
	case dt == dtype.Float16:
		return dtype.ConvertTo(dtype.Float32, t)
	case dt.IsComplex():
		return nil, fmt.Errorf("element type %v is not supported", dt)
	}
	return t, nil
}

// names lists the keys of m for an error.
func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
