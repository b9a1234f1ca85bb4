package train

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// The layout of a state file is that of safetensors: a header whose length is a multiple of eight, then the tensors by name.
func TestStateLayout(t *testing.T) {
	var b bytes.Buffer
	tensors := map[string]*tensor.Dense{"b": of(t, []int32{1, 2}, 2), "a": of(t, []uint8{7}, 1), "c": of(t, []bool{true}, 1, 1)}
	for _, note := range []string{"", "1", "12", "123", "1234", "12345", "123456", "1234567"} {
		b.Reset()
		if err := writeState(&b, tensors, map[string]string{"k": note}); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSpace(fmt.Sprintf(`{"__metadata__":{"k":%q},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I32","shape":[2],"data_offsets":[1,9]},"c":{"dtype":"BOOL","shape":[1,1],"data_offsets":[9,10]}}`, note))
		n := (len(want) + 7) / 8 * 8
		got := b.Bytes()
		if binary.LittleEndian.Uint64(got) != uint64(n) || string(got[8:8+n]) != want+strings.Repeat(" ", n-len(want)) || !bytes.Equal(got[8+n:], []byte{7, 1, 0, 0, 0, 2, 0, 0, 0, 1}) {
			t.Errorf("%q, want a header of %d bytes: %s", got, n, want)
		}
	}
	for dt := range tensorNames {
		b.Reset()
		if err := writeState(&b, map[string]*tensor.Dense{"x": dtype.New(dt, 2, 3), "none": dtype.New(dt, 0, 3)}, nil); err != nil {
			t.Fatal(err)
		}
		got, _, err := decodeState("f", b.Bytes())
		if err != nil || len(got) != 2 || got["x"].dtype != dt || !slices.Equal(got["x"].shape, []int{2, 3}) || !slices.Equal(got["none"].shape, []int{0, 3}) {
			t.Errorf("%v: %v, %v", dt, got, err)
		}
	}
	if err := writeState(io.Discard, map[string]*tensor.Dense{"x": dtype.New(dtype.Complex64, 1)}, nil); err == nil || err.Error() != "train: state x is complex64, which a state file cannot hold" {
		t.Error(err)
	}
	for n := range 4 { // the length, the header, each of two tensors
		if err := writeState(&short{n}, map[string]*tensor.Dense{"a": tensors["a"], "b": tensors["b"]}, nil); err != io.ErrShortWrite {
			t.Errorf("write %d fails: %v", n, err)
		}
	}
}

// short fails once, after so many writes.
type short struct{ left int }

func (s *short) Write(b []byte) (int, error) {
	if s.left--; s.left == -1 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestStateRefused checks that the claims of a damaged file are compared with its contents.
func TestStateRefused(t *testing.T) {
	file := func(claim int, header string, data int) []byte {
		b := binary.LittleEndian.AppendUint64(nil, uint64(claim))
		return append(append(b, header...), make([]byte, data)...)
	}
	one := func(entry string, data int) []byte {
		header := `{"x":` + entry + `}`
		return file(len(header), header, data)
	}
	for want, b := range map[string][]byte{
		"is not a state file: 7 bytes":                             make([]byte, 7),
		"is not a state file: its header would be 3 bytes":         file(3, "{}", 0),
		"header: unexpected end of JSON input":                     make([]byte, 8),
		"header: unexpected end":                                   file(1, "{}", 0),
		"header: json: cannot unmarshal number into":               file(18, `{"__metadata__":3}`, 0),
		"tensor x: json: cannot unmarshal number":                  one("7", 0),
		`tensor x: dtype "F99" is unknown`:                         one(`{"dtype":"F99","shape":[3],"data_offsets":[0,24]}`, 24),
		"tensor x: bytes -8 to 16 of 24":                           one(`{"dtype":"F64","shape":[3],"data_offsets":[-8,16]}`, 24),
		"tensor x: bytes 8 to 4 of 24":                             one(`{"dtype":"F64","shape":[3],"data_offsets":[8,4]}`, 24),
		"tensor x: bytes 8 to 32 of 24":                            one(`{"dtype":"F64","shape":[3],"data_offsets":[8,32]}`, 24),
		"tensor x: 16 bytes for 3 elements of float64":             one(`{"dtype":"F64","shape":[3],"data_offsets":[8,24]}`, 24),
		"tensor x: 24 bytes for 4611686018427387904 elements":      one(`{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,24]}`, 24),
		"tensor x: 12 bytes for 1 elements of float64":             one(`{"dtype":"F64","shape":[1],"data_offsets":[6,18]}`, 18),
		"tensor x: 23 bytes for 2 elements of float64":             one(`{"dtype":"F64","shape":[2],"data_offsets":[1,24]}`, 24),
		"tensor x: 24 bytes for 1000000000000 elements of float64": one(`{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,24]}`, 24),
	} {
		if _, _, err := decodeState("f", b); err == nil || !strings.HasPrefix(err.Error(), "train: f: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	twice := `{"x":{"dtype":"U8","shape":[24],"data_offsets":[0,24]},"y":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}`
	if _, _, err := decodeState("f", file(len(twice), twice, 24)); err == nil || !strings.HasSuffix(err.Error(), " shares bytes with another") {
		t.Error(err)
	}
	b := one(`{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}`, 2)
	b[len(b)-1] = 7
	tensors, _, err := decodeState("f", b)
	if err != nil {
		t.Fatal(err)
	}
	truths := dtype.New(dtype.Bool, 2)
	if tensors["x"].copyTo(truths); !bytes.Equal(dtype.Bytes(truths), []byte{0, 1}) {
		t.Error(truths)
	}
	if tensors, text, err := decodeState("f", file(2, "{}", 0)); err != nil || len(tensors)+len(text) != 0 {
		t.Error(tensors, text, err)
	}
	if tensors, _, err := decodeState("f", one(`{"dtype":"F64","shape":[1],"data_offsets":[16,24]}`, 24)); err != nil || len(tensors) != 1 {
		t.Error(tensors, err)
	}
}
