package train

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
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
		sum := ""
		if _, text, err := parseState("f", b.Bytes()); err != nil {
			t.Fatal(err)
		} else {
			sum = text[checksum]
		}
		want := strings.TrimSpace(fmt.Sprintf(`{"__metadata__":{"graft.crc32c":%q,"k":%q},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I32","shape":[2],"data_offsets":[1,9]},"c":{"dtype":"BOOL","shape":[1,1],"data_offsets":[9,10]}}`, sum, note))
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
		if _, _, err := parseState("f", b); err == nil || !strings.HasPrefix(err.Error(), "train: f: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	twice := `{"x":{"dtype":"U8","shape":[24],"data_offsets":[0,24]},"y":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}`
	if _, _, err := parseState("f", file(len(twice), twice, 24)); err == nil || !strings.HasSuffix(err.Error(), " shares bytes with another") {
		t.Error(err)
	}
	b := one(`{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}`, 2)
	b[len(b)-1] = 7
	tensors, _, err := parseState("f", b)
	if err != nil {
		t.Fatal(err)
	}
	truths := dtype.New(dtype.Bool, 2)
	if tensors["x"].copyTo(truths); !bytes.Equal(dtype.Bytes(truths), []byte{0, 1}) {
		t.Error(truths)
	}
	if tensors, text, err := parseState("f", file(2, "{}", 0)); err != nil || len(tensors)+len(text) != 0 {
		t.Error(tensors, text, err)
	}
	if tensors, _, err := parseState("f", one(`{"dtype":"F64","shape":[1],"data_offsets":[16,24]}`, 24)); err != nil || len(tensors) != 1 {
		t.Error(tensors, err)
	}
}

// TestStateHeaderCharged: a header of many tensors is refused before their list is made.
func TestStateHeaderCharged(t *testing.T) {
	var header strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&header, `,"%d":{}`, i)
	}
	text := "{" + header.String()[1:] + "}"
	defer budget.Limit(0)
	budget.Limit(budget.Default() - budget.LeftCollected() + 7<<20)
	if _, _, err := parseState("f", append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); err == nil || !strings.Contains(err.Error(), "train: f: header of 20000 tensors: takes 5120000 bytes") {
		t.Error(err)
	}
}

// TestStateDamaged: a changed bit anywhere in a state file is an error that names the file, as is a file without a checksum. The checksum is
// that of hash/crc32 over the file with zeros in its place.
func TestStateDamaged(t *testing.T) {
	var b bytes.Buffer
	if err := writeState(&b, map[string]*tensor.Dense{"a": of(t, []float32{1, 2, 3}, 3), "b": of(t, []int64{4}, 1)}, map[string]string{"graft.train": `"graft.crc32c":"00000000"`}); err != nil {
		t.Fatal(err)
	}
	content := b.Bytes()
	if _, text, err := parseState("f", content); err != nil {
		t.Fatal(err)
	} else if zeroed := bytes.Replace(content[8:], []byte(text[checksum]), []byte("00000000"), 1); text[checksum] != fmt.Sprintf("%08x", crc32.Checksum(zeroed, crc32.MakeTable(crc32.Castagnoli))) {
		t.Errorf("the checksum %s", text[checksum])
	}
	for i := range content {
		for bit := range 8 {
			content[i] ^= 1 << bit
			if _, _, err := decodeState("f.state", content); err == nil || !strings.HasPrefix(err.Error(), "train: f.state: ") {
				t.Errorf("bit %d of byte %d, %q: %v", bit, i, content[i], err)
			}
			content[i] ^= 1 << bit
		}
	}
	for text, want := range map[string]string{
		`{"__metadata__":{"graft.train":"{}"}}`: "<nil>", `{"__metadata__":{"graft.train":"{}","graft.crc32d":"00000000"}}`: "train: f: it has no checksum: the file is damaged",
		`{"__metadata__":{"graft.train":"{}","graft.crc32c":"00000000"}}`: "train: f: its content does not have the checksum 00000000 that was stored with it: the file is damaged",
	} {
		if _, _, err := decodeState("f", append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
