package npy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// random returns a tensor of random bits, or of texts.
func random(t *testing.T, dt dtype.DType, r *rand.Rand, shape ...int) dtype.Value {
	t.Helper()
	if dt == dtype.String {
		elems := make([]string, dtype.Product(shape))
		for i := range elems {
			elems[i] = strings.Repeat("aé", r.IntN(3))
		}
		return texted(t, elems, shape...)
	}
	d := dtype.New(dt, shape...)
	for i := range dtype.Bytes(d) {
		dtype.Bytes(d)[i] = byte(r.Uint32())
		if dt == dtype.Bool {
			dtype.Bytes(d)[i] &= 1
		}
	}
	return d
}

// same reports whether two arrays have the same type, shape and bits.
func same(a, b dtype.Value) bool {
	if a == nil || b == nil || dtype.DTypeOf(a) != dtype.DTypeOf(b) || !slices.Equal(a.Shape(), b.Shape()) {
		return false
	}
	if s, ok := a.(*dtype.Strings); ok {
		return slices.Equal(s.Elems, b.(*dtype.Strings).Elems)
	}
	return bytes.Equal(dtype.Bytes(a.(*tensor.Dense)), dtype.Bytes(b.(*tensor.Dense)))
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, dt := range dtype.All() {
		for _, shape := range [][]int{nil, {0, 3}, {5}, {2, 3, 4}} {
			v := random(t, dt, r, shape...)
			var b bytes.Buffer
			err := Write(&b, v)
			if dt != dtype.String && codes[dt] == "" {
				if err == nil || !strings.Contains(err.Error(), "NumPy has no element type "+dt.String()) {
					t.Errorf("%v: got %v", dt, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := Read(&b)
			if err != nil || !same(got, v) {
				t.Errorf("%v%v: got %v, want %v: %v", dt, shape, got, v, err)
			}
		}
	}
}

func TestRead(t *testing.T) {
	file := func(header, data string) string {
		return magic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header + data
	}
	want, err := dtype.FromSlice([]int16{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{
		"big":     file("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }", "\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06"),
		"fortran": file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", "\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06\x00"),
	} {
		if got, err := Read(strings.NewReader(header)); err != nil || !same(got, want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for want, text := range map[string]string{
		"not a numpy array file":                   "PK\x03\x04....",
		"truncated in the header":                  magic + "\x01\x00\xff\x00{",
		"truncated: 1 bytes of data, want 24":      file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "x"),
		"too many elements":                        file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", ""),
		"unsupported header \"{'descr'":            file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", ""),
		"holds Python objects":                     file("{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
		"reading 4611686018427387904 bytes: takes": file("{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904,), }", ""),
		"65 axes, want at most 64":                 file("{'descr': '|u1', 'fortran_order': True, 'shape': ("+strings.Repeat("1,", 65)+"), }", "x"),
		"texts of 0 characters":                    file("{'descr': '<U0', 'fortran_order': False, 'shape': (4611686018427387904,), }", ""),
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s", err, want)
		}
	}
}

// TestShortTexts checks that the memory of short strings, many times that of their characters, is accounted for.
func TestShortTexts(t *testing.T) {
	budget.Limit(1 << 20)
	t.Cleanup(func() { budget.Limit(0) })
	for n, ok := range map[int]bool{1 << 15: true, 1 << 17: false} {
		header := fmt.Sprintf("{'descr': '|S1', 'fortran_order': False, 'shape': (%d,), }", n)
		text := magic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("a", n)
		v, err := Read(strings.NewReader(text))
		if ok && (err != nil || v.Size() != n) || !ok && (err == nil || !strings.Contains(err.Error(), "131072 texts: takes 2097152 bytes of memory")) {
			t.Errorf("%d texts: %v", n, err)
		}
	}
}

// TestColumns: elements of which the first axis varies fastest take memory once, and fewer or more of them than the header says are errors.
func TestColumns(t *testing.T) {
	shape := []int{3, 2, 1 << 17}
	n := shape[0] * shape[1] * shape[2]
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2, %d), }", shape[2])
	data := make([]byte, n)
	want := dtype.New(dtype.Uint8, shape...)
	for i := range shape[0] {
		for j := range shape[1] {
			for k := range shape[2] {
				v := byte(i + 5*j + 11*k)
				data[i+3*(j+2*k)], want.Uint8s()[(i*2+j)*shape[2]+k] = v, v
			}
		}
	}
	before := budgettest.Used()
	budget.Limit(before + int64(n)*5/4)
	t.Cleanup(func() { budget.Limit(0) })
	for text, message := range map[string]string{
		string(data): "", string(data[:n-1]): fmt.Sprintf("truncated: %d bytes of data, want %d", n-1, n), string(data[:5]): "truncated: 5 bytes", string(data) + "x": "more data than the header says",
	} {
		got, err := Read(strings.NewReader(magic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header + text))
		if message == "" && (err != nil || !same(got, want)) || message != "" && (err == nil || !strings.Contains(err.Error(), message)) {
			t.Errorf("%d bytes: %v, want %s", len(text), err, message)
		}
	}
	budget.Limit(before + int64(n)/2)
	if _, err := Read(strings.NewReader(magic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header + string(data))); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("reading %d bytes: takes", n)) {
		t.Error(err)
	}
}
