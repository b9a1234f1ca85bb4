package npy

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestNumPyFiles reads files that NumPy wrote (testdata/make.py) and writes those that NumPy writes in the same way to the same bytes.
func TestNumPyFiles(t *testing.T) {
	var ints []int32
	var floats []float64
	for i := range 24 {
		ints, floats = append(ints, int32(i)), append(floats, float64(i))
	}
	words := []string{"", "äö", "z", "abc"}
	for name, want := range map[string]struct {
		v    dtype.Value
		same bool // bytes, too
	}{
		"scalar":        {dtype.Scalar(2.5), true},
		"vector":        {dense(t, []uint16{1, 2, 3}, 3), true},
		"bytes":         {dense(t, []uint8{1, 255}, 1, 2), true},
		"bools":         {dense(t, []bool{true, false, true}, 3), true},
		"letters":       {texted(t, []string{"a", "b"}, 2), true},
		"words":         {texted(t, words, 2, 2), true},
		"words_big":     {texted(t, words, 2, 2), false},
		"complex_big":   {dense(t, []complex64{1 + 2i, -3.5}, 2), false},
		"columns":       {dense(t, ints, 2, 3, 4), false},
		"columns_big":   {dense(t, floats, 2, 3, 4), false},
		"empty_columns": {dense(t, []float32{}, 0, 3), false},
		"version2":      {dense(t, []int64{7, -7}, 2), false},
	} {
		file, err := os.ReadFile("testdata/" + name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Read(bytes.NewReader(file)); err != nil || !same(got, want.v) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want.v)
		}
		var b bytes.Buffer
		if err := Write(&b, want.v); err != nil || want.same && !bytes.Equal(b.Bytes(), file) {
			t.Errorf("%s: %v\n%q, NumPy writes\n%q", name, err, b.Bytes(), file)
		}
	}
}

func dense[T any](t *testing.T, elems []T, shape ...int) dtype.Value {
	t.Helper()
	d, err := dtype.FromSlice(elems, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func texted(t *testing.T, elems []string, shape ...int) dtype.Value {
	t.Helper()
	s, err := dtype.NewStrings(elems, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The data start at a multiple of 64 bytes, however long the shape is.
func TestAlignment(t *testing.T) {
	shape := []int{}
	for range 40 {
		shape = append(shape, 1)
		var b bytes.Buffer
		if err := Write(&b, dtype.New(dtype.Float32, shape...)); err != nil {
			t.Fatal(err)
		}
		if at := b.Len() - 4; at%64 != 0 || at > 64*((10+53+3*len(shape)+64)/64) || b.Bytes()[at-1] != '\n' {
			t.Errorf("%d dimensions: the data start at byte %d", len(shape), at)
		}
	}
}

// TestLimits checks that the size claimed by a header is compared with the available memory before any
// is allocated; a header has at most 64 KiB.
func TestLimits(t *testing.T) {
	claim := func(shape string) string {
		header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }", shape)
		return magic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header
	}
	long := func(size string) string { return magic + "\x02\x00" + size }
	for _, c := range [][2]string{
		{claim(fmt.Sprint(budget.Left() / 2)), "bytes of memory"},
		{claim("4611686018427387904"), "impossible shape"},
		{long("\x00\x00\x01\x00"), "truncated in the header"},
		{long("\x01\x00\x01\x00"), "header of 65537 bytes"},
		{long("\x01\x00"), "truncated in the header"},
	} {
		if _, err := Read(strings.NewReader(c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: got %v, want %s", c[0], err, c[1])
		}
	}
}
