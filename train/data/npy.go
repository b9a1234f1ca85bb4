package data

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"gorgonia.org/tensor"
)

// NPY reads a NumPy array file (.npy, versions 1 to 3, plain or gzip). Bool, integer, float32, float64 and text arrays
// of either byte order are supported, texts as a tensor of Go strings; arrays in Fortran order are rearranged.
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
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	defer z.Close()
	out := make(map[string]*tensor.Dense)
	var taken int64 // all arrays together are within the budget
	defer func() { budget.Discharge(taken) }()
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			continue
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
		n := int64(t.MemSize())
		if err := budget.Charge(n); err != nil {
			return nil, fmt.Errorf("data: %s: %s: %w", path, e.Name, err)
		}
		out[name], taken = t, taken+n
	}
	return out, nil
}

// NPZ reads a set from two arrays of a NumPy archive: sample i is row i of each. Element types are kept, except that
// integer targets become int64. Text arrays are refused: use Arrays.
func NPZ(path, x, y string) (Set[Sample], error) {
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
	if class, ok := integers(target); ok && len(class) > 0 {
		target = tensor.New(tensor.WithShape(target.Shape()...), tensor.WithBacking(class))
	}
	s, err := Tensors(all[x], target)
	if err != nil {
		return nil, fmt.Errorf("%w, in %s", err, path)
	}
	return s, nil
}

var npyField = struct{ descr, fortran, shape *regexp.Regexp }{
	regexp.MustCompile(`'descr'\s*:\s*'([<>|=]?)([a-zUS]\d+)'`),
	regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`),
	regexp.MustCompile(`'shape'\s*:\s*\(([\d,\sL]*)\)`),
}

func readNPY(r io.Reader) (*tensor.Dense, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:6]) != "\x93NUMPY" {
		return nil, fmt.Errorf("not a numpy array file")
	}
	size := make([]byte, 2)
	if head[6] > 1 {
		size = make([]byte, 4)
	}
	if _, err := io.ReadFull(r, size); err != nil {
		return nil, fmt.Errorf("truncated in the header")
	}
	n := 0
	for i, b := range size {
		n |= int(b) << (8 * i)
	}
	if n > 1<<16 {
		return nil, fmt.Errorf("header of %d bytes, too long for an array of numbers", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("truncated in the header")
	}
	descr, fortran := npyField.descr.FindSubmatch(text), npyField.fortran.FindSubmatch(text)
	shape := npyField.shape.FindSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		if bytes.Contains(text, []byte("'|O'")) {
			return nil, fmt.Errorf("holds Python objects: want an array of numbers or texts, as numpy.array(list, dtype=str) makes it")
		}
		return nil, fmt.Errorf("unsupported header %q", strings.TrimSpace(string(text)))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(descr[1]) == ">" {
		order = binary.BigEndian
	}
	dims := []int{}
	for _, d := range strings.FieldsFunc(string(shape[1]), func(c rune) bool { return c < '0' || c > '9' }) {
		v, err := strconv.Atoi(d)
		if err != nil {
			return nil, fmt.Errorf("shape (%s): %w", shape[1], err)
		}
		dims = append(dims, v)
	}
	t, err := readElements(r, dims, string(descr[2]), order)
	if err != nil || string(fortran[1]) != "True" || len(dims) < 2 || elements(dims) == 0 {
		return t, err
	}
	return rowMajor(t), nil
}

// rowMajor rearranges elements that were stored with the first axis fastest.
func rowMajor(t *tensor.Dense) *tensor.Dense {
	shape := t.Shape()
	from := backing(t)
	out := tensor.New(tensor.WithShape(shape...), tensor.Of(t.Dtype()))
	to := backing(out)
	at := make([]int, len(shape))
	for i := range to.Len() {
		k := 0
		for a := len(shape) - 1; a >= 0; a-- {
			k = k*shape[a] + at[a]
		}
		to.Index(i).Set(from.Index(k))
		for a := len(shape) - 1; a >= 0; a-- {
			if at[a]++; at[a] < shape[a] {
				break
			}
			at[a] = 0
		}
	}
	return out
}

// names lists the keys of m for an error.
func names[V any](m map[string]V) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
