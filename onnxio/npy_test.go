package onnxio

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
)

func TestNPYRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, dt := range dtype.All() {
		for _, shape := range [][]int{nil, {0, 3}, {5}, {2, 3, 4}} {
			v := random(t, dt, r, shape...)
			var b bytes.Buffer
			err := WriteNPY(&b, v)
			if dt != dtype.String && npyCodes[dt] == "" {
				if err == nil || !strings.Contains(err.Error(), "NumPy has no element type "+dt.String()) {
					t.Errorf("%v: got %v", dt, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadNPY(&b)
			if err != nil || !same(got, v) {
				t.Errorf("%v%v: got %v, want %v: %v", dt, shape, got, v, err)
			}
		}
	}
}

func TestReadNPY(t *testing.T) {
	file := func(header, data string) string {
		return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), 0}) + header + data
	}
	want, err := dtype.FromSlice([]int16{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{
		"big":     file("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }", "\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06"),
		"fortran": file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", "\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06\x00"),
	} {
		if got, err := ReadNPY(strings.NewReader(header)); err != nil || !same(got, want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for want, text := range map[string]string{
		"not a .npy file":             "PK\x03\x04....",
		"header is cut off":           npyMagic + "\x01\x00\xff\x00{",
		"takes 24 bytes: found 1":     file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", "x"),
		"too many elements":           file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", ""),
		"header \"{'descr'":           file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", ""),
		"\"O8\" is not supported":     file("{'descr': '|O8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
		"4611686018427387904] takes ": file("{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904,), }", ""),
		"0 bytes for each element":    file("{'descr': '<U0', 'fortran_order': False, 'shape': (4611686018427387904,), }", ""),
	} {
		if _, err := ReadNPY(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ...%s", err, want)
		}
	}
}
