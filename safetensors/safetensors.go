// Package safetensors reads and writes the safetensors format: tensors by name in one file, as used by the tools around
// PyTorch for weights. A file has the length of its header (8 bytes, little endian), the header (JSON: name to element
// type, shape and position) and the elements of all tensors, row-major and little endian, without gaps.
//
// The format is described at https://github.com/huggingface/safetensors. Invalid files are errors, and memory is
// allocated only for bytes that are there. Tensors are charged to the memory budget while they are reachable.
package safetensors

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// maxHeader is the most bytes that a header may have, as in the reference implementation.
const maxHeader = 100 << 20

// types are the element types of the format by their names in it.
var types = map[string]dtype.DType{
	"BOOL": dtype.Bool, "U8": dtype.Uint8, "I8": dtype.Int8, "U16": dtype.Uint16, "I16": dtype.Int16,
	"U32": dtype.Uint32, "I32": dtype.Int32, "U64": dtype.Uint64, "I64": dtype.Int64,
	"F16": dtype.Float16, "BF16": dtype.BFloat16, "F32": dtype.Float32, "F64": dtype.Float64,
}

// entry is the header's description of one tensor.
type entry struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// metadata is the key under which a header keeps texts by name. Files of this package keep the checksums of tensors there, by their names after checked.
const (
	metadata = "__metadata__"
	checked  = "crc32c "
)

// checksum returns the CRC-32C of a tensor's type, shape and elements, in hexadecimal digits, unless ctx ends. Programs that generate writes compute it, too.
func (x entry) checksum(ctx context.Context, elements []byte) (string, error) {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum(fmt.Append(nil, x.Type, x.Shape), table)
	for part := range slices.Chunk(elements, 4<<20) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		sum = crc32.Update(sum, table, part)
	}
	return fmt.Sprintf("%08x", sum), nil
}

// contiguous reports whether the elements of d are stored in row-major order, without gaps.
func contiguous(d *tensor.Dense) bool {
	o := d.DataOrder()
	return len(d.Raw) == d.Shape().TotalSize()*int(d.Dtype().Size()) && !o.IsColMajor() && !o.IsNotContiguous() && !o.IsTransposed()
}

// Write writes tensors in the order of their names, so that equal tensors give equal files. Element types that the
// format lacks, and tensors that are nil, transposed or slices of others, are errors.
func Write(w io.Writer, tensors map[string]*tensor.Dense) error {
	return WriteUntil(context.Background(), w, tensors)
}

// WriteUntil is Write, ended by ctx, with its error.
func WriteUntil(ctx context.Context, w io.Writer, tensors map[string]*tensor.Dense) error {
	header, sums, at := map[string]entry{}, map[string]string{}, 0
	names := slices.Sorted(maps.Keys(tensors))
	for _, name := range names {
		d := tensors[name]
		if d == nil || !contiguous(d) {
			return fmt.Errorf("safetensors: tensor %q is nil, transposed or a slice of another one: want a contiguous one", name)
		}
		t, ok := nameOf(dtype.Of(d.Dtype()))
		if !ok || name == metadata {
			return fmt.Errorf("safetensors: tensor %q, of type %v, cannot be written: the format lacks the type or reserves the name", name, dtype.Of(d.Dtype()))
		}
		n := len(dtype.Bytes(d))
		x := entry{t, append([]int{}, d.Shape()...), [2]int{at, at + n}}
		sum, err := x.checksum(ctx, dtype.Bytes(d))
		if err != nil {
			return err
		}
		header[name], sums[checked+name] = x, sum
		at += n
	}
	if w == nil {
		return errors.New("safetensors: the writer is nil")
	}
	js, err := encode(ctx, header, sums)
	if err != nil {
		return err
	}
	w = disk.WriterUntil(ctx, w)
	if err := binary.Write(w, binary.LittleEndian, uint64(len(js))); err != nil {
		return err
	}
	if _, err := w.Write(js); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := w.Write(dtype.Bytes(tensors[name])); err != nil {
			return err
		}
	}
	return nil
}

// encode returns the header as JSON, of a length that aligns the elements.
func encode(ctx context.Context, header map[string]entry, sums map[string]string) ([]byte, error) {
	members, err := encoded(ctx, header)
	if err != nil {
		return nil, err
	}
	if len(header) > 0 {
		texts, err := encoded(ctx, sums)
		if err != nil {
			return nil, err
		}
		if members[metadata], err = object(ctx, texts); err != nil {
			return nil, err
		}
	}
	js, err := object(ctx, members)
	return append(js, bytes.Repeat([]byte(" "), (8-len(js)%8)%8)...), err
}

// encoded returns the JSON of each element.
func encoded[E any](ctx context.Context, of map[string]E) (map[string][]byte, error) {
	js := make(map[string][]byte, len(of)+1)
	for name, x := range of {
		err := ctx.Err()
		if err == nil {
			js[name], err = json.Marshal(x)
		}
		if err != nil {
			return nil, err
		}
	}
	return js, nil
}

// object returns the JSON object with the members, in the order of their names.
func object(ctx context.Context, members map[string][]byte) ([]byte, error) {
	b := []byte("{")
	for i, name := range slices.Sorted(maps.Keys(members)) {
		key, err := json.Marshal(name)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), members[name]...)
	}
	return append(b, '}'), nil
}

func nameOf(t dtype.DType) (string, bool) {
	for name, x := range types {
		if x == t {
			return name, true
		}
	}
	return "", false
}

// Read reads all tensors of a file. Those of a file that Write wrote are compared with their checksums.
func Read(r io.Reader) (map[string]*tensor.Dense, error) {
	if r == nil {
		return nil, errors.New("safetensors: the reader is nil")
	}
	var taken budget.Tally
	defer taken.Free()
	header, sums, err := readHeader(r, &taken)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	summed := len(sums) > 0
	names := slices.SortedFunc(maps.Keys(header), func(a, b string) int {
		x, y := header[a].Offsets, header[b].Offsets
		return slices.Compare(x[:], y[:]) // a tensor without elements begins where the next one does
	})
	out, at := map[string]*tensor.Dense{}, 0
	for _, name := range names {
		x := header[name]
		if x.Offsets[0] != at {
			return nil, fmt.Errorf("safetensors: tensor %s begins at byte %d, want %d", quoted(name), x.Offsets[0], at)
		}
		d, err := x.read(r)
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %s: %w", quoted(name), err)
		}
		if sum, _ := x.checksum(context.Background(), dtype.Bytes(d)); summed && sums[name] != sum {
			return nil, fmt.Errorf("safetensors: tensor %s is damaged: its checksum is %s, want %s", quoted(name), sum, quoted(sums[name]))
		}
		out[name], at = d, x.Offsets[1]
		delete(sums, name)
	}
	for name := range sums {
		return nil, fmt.Errorf("safetensors: tensor %s is missing, the file has a checksum of it", quoted(name))
	}
	for _, d := range out {
		budget.Transfer(&taken, d)
	}
	return out, nil
}

// perTensor is about how many bytes a tensor takes beside its elements, with its entry and its places in maps and lists.
const perTensor = 768

// longestShown is how many bytes of a text from a header are shown in errors: it may have millions.
const longestShown = 256

// quoted returns a text from a header for an error.
func quoted(text string) string {
	if len(text) > longestShown {
		return fmt.Sprintf("%q… (%d bytes)", text[:longestShown], len(text))
	}
	return fmt.Sprintf("%q", text)
}

// mostAxes limits the axes of a tensor.
const mostAxes = 64

// readHeader reads names, types, shapes and offsets, and the checksums. taken counts what that becomes, tensors included.
func readHeader(r io.Reader, taken *budget.Tally) (header map[string]entry, sums map[string]string, err error) {
	var n uint64
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return nil, nil, fmt.Errorf("the length of the header is missing: %w", err)
	}
	if n > maxHeader {
		return nil, nil, fmt.Errorf("a header of %d bytes: at most %d are read", n, maxHeader)
	}
	js, err := budget.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint64(len(js)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the header is cut off: %w", err)
	}
	raw := map[string]json.RawMessage{}
	if err := budget.Unmarshal(js, &raw); err != nil {
		return nil, nil, fmt.Errorf("the header is not JSON: %w", err)
	}
	texts := map[string]string{}
	if text, ok := raw[metadata]; ok {
		if err := budget.Unmarshal(text, &texts); err != nil {
			return nil, nil, fmt.Errorf("the header's %s: %w", metadata, err)
		}
	}
	sums = map[string]string{}
	for key, text := range texts {
		if name, ok := strings.CutPrefix(key, checked); ok {
			sums[name] = text
		}
	}
	delete(raw, metadata)
	if err := taken.Add(perTensor * int64(len(raw))); err != nil {
		return nil, nil, fmt.Errorf("the header of %d tensors: %w", len(raw), err)
	}
	header = make(map[string]entry, len(raw))
	for name, text := range raw {
		var x entry
		err := budget.Unmarshal(text, &x)
		if err == nil && len(x.Shape) > mostAxes {
			err = fmt.Errorf("%d axes, at most %d are read", len(x.Shape), mostAxes)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the header of tensor %s: %w", quoted(name), err)
		}
		header[name] = x
	}
	return header, sums, nil
}

// read reads the tensor's elements, which come next.
func (x entry) read(r io.Reader) (*tensor.Dense, error) {
	t, ok := types[x.Type]
	if !ok {
		return nil, fmt.Errorf("element type %s is not supported", quoted(x.Type))
	}
	n, err := dtype.Count(x.Shape)
	if err != nil {
		return nil, err
	}
	size := x.Offsets[1] - x.Offsets[0]
	if size/t.Size() != n || size%t.Size() != 0 {
		return nil, fmt.Errorf("%v%v does not match the %d bytes of its data_offsets %v", t, x.Shape, size, x.Offsets)
	}
	var d *tensor.Dense
	b, err := budget.Read(r, size, func() []byte {
		d = dtype.New(t, x.Shape...)
		return dtype.Bytes(d)
	})
	if err != nil {
		return nil, err
	}
	if t == dtype.Bool {
		if i := slices.IndexFunc(b, func(c byte) bool { return c > 1 }); i >= 0 {
			return nil, fmt.Errorf("the byte %d is not a bool", b[i])
		}
	}
	return d, nil
}
