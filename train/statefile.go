package train

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// A state file has the layout of safetensors: the length of a header as eight bytes, the header
// as JSON (name → dtype, shape, offsets), then the tensors one after another, all little-endian.
// One entry, __metadata__, holds text, among it the checksum of the file: CRC-32C, as eight hexadecimal digits, of all that follows the
// length of the header, with zeros in the place of these digits.

type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

var tensorNames = map[dtype.DType]string{
	dtype.Float32: "F32", dtype.Float64: "F64", dtype.Float16: "F16", dtype.BFloat16: "BF16",
	dtype.Int64: "I64", dtype.Int32: "I32", dtype.Uint8: "U8", dtype.Bool: "BOOL",
}

const (
	checksum   = "graft.crc32c"
	noChecksum = `"` + checksum + `":"00000000"`
)

// writeState writes tensors and text.
func writeState(w io.Writer, tensors map[string]*tensor.Dense, text map[string]string) error {
	all := maps.Collect(maps.All(text))
	all[checksum] = "00000000"
	header := map[string]any{"__metadata__": all}
	names := slices.Sorted(maps.Keys(tensors))
	at := 0
	for _, n := range names {
		d := tensors[n]
		kind, ok := tensorNames[dtype.Of(d.Dtype())]
		if !ok {
			return fmt.Errorf("train: state %s is %v, which a state file cannot hold", n, dtype.Of(d.Dtype()))
		}
		size := len(dtype.Bytes(d))
		header[n] = entry{kind, append([]int{}, d.Shape()...), [2]int{at, at + size}}
		at += size
	}
	b, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	sum := crc32.Checksum(b, castagnoli)
	for _, n := range names {
		sum = crc32.Update(sum, castagnoli, dtype.Bytes(tensors[n]))
	}
	b = bytes.Replace(b, []byte(noChecksum), fmt.Appendf(nil, `"%s":"%08x"`, checksum, sum), 1)
	if err := binary.Write(w, binary.LittleEndian, uint64(len(b))); err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	for _, n := range names {
		if _, err := w.Write(dtype.Bytes(tensors[n])); err != nil {
			return err
		}
	}
	return nil
}

// storedTensor is a tensor in the content of a state file.
type storedTensor struct {
	dtype dtype.DType
	shape []int
	data  []byte // shares memory with the content
}

// copyTo sets the elements of d, which has the type and shape of s.
func (s storedTensor) copyTo(d *tensor.Dense) {
	to := dtype.Bytes(d)
	copy(to, s.data)
	if s.dtype == dtype.Bool { // a Go bool other than 0 and 1 breaks the program
		for i, v := range to {
			to[i] = min(v, 1)
		}
	}
}

// decodeState returns what writeState wrote, from the content of the file, and checks that it is what was written. It copies no tensors.
func decodeState(path string, b []byte) (map[string]storedTensor, map[string]string, error) {
	tensors, text, err := parseState(path, b)
	if err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint64(b)
	if err := check(b[8:8+n], b[8+n:], text); err != nil {
		return nil, nil, fmt.Errorf("train: %s: %w", path, err)
	}
	delete(text, checksum)
	return tensors, text, nil
}

// parseState is decodeState without the comparison of the checksum.
func parseState(path string, b []byte) (map[string]storedTensor, map[string]string, error) {
	bad := func(format string, args ...any) (map[string]storedTensor, map[string]string, error) {
		return nil, nil, fmt.Errorf("train: %s: %w", path, fmt.Errorf(format, args...))
	}
	if len(b) < 8 {
		return bad("is not a state file: %d bytes", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return bad("is not a state file: its header would be %d bytes", n)
	}
	head, rest := b[8:8+n], b[8+n:]
	raw := map[string]json.RawMessage{}
	if err := budget.Unmarshal(head, &raw); err != nil {
		return bad("header: %w", err)
	}
	text := map[string]string{}
	if m, ok := raw["__metadata__"]; ok {
		if err := budget.Unmarshal(m, &text); err != nil {
			return bad("header: %w", err)
		}
		delete(raw, "__metadata__")
	}
	tensors := map[string]storedTensor{}
	left := len(rest)
	var taken budget.Tally
	defer taken.Free()
	if err := taken.Add(perStored * int64(len(raw))); err != nil {
		return bad("header of %d tensors: %w", len(raw), err)
	}
	for name, m := range raw {
		var e entry
		if err := budget.Unmarshal(m, &e); err != nil {
			return bad("tensor %s: %w", name, err)
		}
		d, err := e.read(rest)
		if err != nil {
			return bad("tensor %s: %w", name, err)
		}
		if left -= e.Offsets[1] - e.Offsets[0]; left < 0 {
			return bad("tensor %s shares bytes with another", name)
		}
		tensors[name] = d
	}
	return tensors, text, nil
}

// perStored is about how many bytes an entry of a header takes when it is decoded.
const perStored = 256

// notes is the text that the trainer stores.
const notes = "graft.train"

// check compares the content of a state file, header and tensors, with its checksum. The first state files had none, and no text but the notes.
func check(head, rest []byte, text map[string]string) error {
	sum, ok := text[checksum]
	if _, noted := text[notes]; !ok && (len(text) == 0 || noted && len(text) == 1) {
		return nil
	}
	before, after, ok := bytes.Cut(head, []byte(`"`+checksum+`":"`+sum+`"`))
	if !ok {
		return fmt.Errorf("it has no checksum: the file is damaged")
	}
	got := crc32.Checksum(before, castagnoli)
	for _, part := range [][]byte{[]byte(noChecksum), after, rest} {
		got = crc32.Update(got, castagnoli, part)
	}
	if fmt.Sprintf("%08x", got) != sum {
		return fmt.Errorf("its content does not have the checksum %s that was stored with it: the file is damaged", sum)
	}
	return nil
}

func (e entry) read(b []byte) (storedTensor, error) {
	for t, name := range tensorNames {
		if name != e.DType {
			continue
		}
		from, to := e.Offsets[0], e.Offsets[1]
		count, err := dtype.Count(e.Shape)
		if err != nil {
			return storedTensor{}, err
		}
		if from < 0 || to < from || to > len(b) {
			return storedTensor{}, fmt.Errorf("bytes %d to %d of %d", from, to, len(b))
		}
		if size := t.Size(); (to-from)/size != count || (to-from)%size != 0 {
			return storedTensor{}, fmt.Errorf("%d bytes for %d elements of %v", to-from, count, t)
		}
		return storedTensor{t, e.Shape, b[from:to]}, nil
	}
	return storedTensor{}, fmt.Errorf("dtype %q is unknown", e.DType)
}
