package onnxio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Skimming decodes a model file without the data of its large initializers, which are then read from
// the file directly into their final memory: decoding the whole file would take two more copies.

// skimFrom is the size in bytes below which the data of initializers are decoded with the rest.
const skimFrom = 1 << 12

// section is a range of a file with the elements of a tensor, in the layout of raw_data, which float_data and double_data share.
type section struct {
	file           io.ReaderAt
	offset, length int64
	field          protowire.Number
}

// sections are the raw data of initializers that are still in the file.
type sections map[*onnxpb.TensorProto]section

// errSkim reports that a file cannot be skimmed; decoding the whole file then reports what is wrong, if
// anything.
var errSkim = errors.New("cannot be skimmed")

// Numbers of the fields on the way to an initializer's raw data.
const (
	modelGraph       protowire.Number = 7
	graphInitializer protowire.Number = 5
	tensorFloatData  protowire.Number = 4
	tensorRawData    protowire.Number = 9
	tensorDoubleData protowire.Number = 10
)

// skimModel decodes the model in f, except for the sections it returns.
func skimModel(f *disk.File) (*onnxpb.ModelProto, sections, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errSkim
	}
	s := &skimmer{file: f, buffered: bufio.NewReaderSize(f, 1<<16), found: map[int]section{}}
	b, err := s.skim(skimInModel, info.Size())
	if err != nil {
		return nil, nil, err
	}
	m := &onnxpb.ModelProto{}
	if err := unmarshal(b, m); isTooLarge(err) {
		return nil, nil, err
	} else if err != nil || m.Graph == nil || len(m.Graph.Initializer) != s.tensors {
		return nil, nil, errSkim
	}
	raw := sections{}
	for i, x := range s.found {
		t := m.Graph.Initializer[i]
		if !x.fits(t) {
			return nil, nil, errSkim
		}
		if raw[t] = x; x.field == tensorRawData {
			t.RawData = []byte{} // present, thus not nil
		}
	}
	return m, raw, nil
}

// skimTensor decodes the tensor in f, except for its data if they are large.
func skimTensor(f *disk.File) (*onnxpb.TensorProto, section, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, section{}, errSkim
	}
	s := &skimmer{file: f, buffered: bufio.NewReaderSize(f, 1<<16), found: map[int]section{}, tensors: 1}
	b, err := s.skim(skimInTensor, info.Size())
	if err != nil {
		return nil, section{}, err
	}
	x, ok := s.found[0]
	t := &onnxpb.TensorProto{}
	if err := unmarshal(b, t); err != nil || !ok || !x.fits(t) {
		return nil, section{}, errSkim
	}
	return t, x, nil
}

// fits reports whether the data are in a field that holds elements of the tensor's type.
func (x section) fits(t *onnxpb.TensorProto) bool {
	switch dt := dtype.DType(t.GetDataType()); x.field {
	case tensorFloatData:
		return dt == dtype.Float32 || dt == dtype.Complex64
	case tensorDoubleData:
		return dt == dtype.Float64 || dt == dtype.Complex128
	}
	return true
}

// restore reads the data into the field of t that they were skipped from.
func (x section) restore(t *onnxpb.TensorProto) error {
	b := make([]byte, x.length)
	if _, err := x.file.ReadAt(b, x.offset); err != nil {
		return err
	}
	if x.field == tensorRawData {
		t.RawData = b
		return nil
	}
	t.RawData = nil
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(protowire.AppendBytes(protowire.AppendTag(nil, x.field, protowire.BytesType), b), t)
}

// skimIn is the type of the message being read.
type skimIn int

const (
	skimInModel skimIn = iota
	skimInGraph
	skimInTensor
)

// innerOf returns the type of the message in a field if it may contain raw data, otherwise that of the current message.
func innerOf(in skimIn, num protowire.Number, typ protowire.Type) skimIn {
	switch {
	case typ != protowire.BytesType:
	case in == skimInModel && num == modelGraph:
		return skimInGraph
	case in == skimInGraph && num == graphInitializer:
		return skimInTensor
	}
	return in
}

// A skimmer finds the data that are skipped, and copies the rest.
type skimmer struct {
	file     *disk.File
	buffered *bufio.Reader
	at       int64
	tensors  int             // number of initializers so far
	found    map[int]section // by initializer
	cuts     []cut           // what is copied otherwise than it is, in order
}

// cut is a range of the file that is replaced: data that are skipped, and the lengths of the messages around them.
type cut struct {
	from, to int64
	by       []byte
}

// skim returns the message in f without large data, charged for as long as it is reachable.
func (s *skimmer) skim(in skimIn, size int64) ([]byte, error) {
	less, err := s.message(in, size)
	if err != nil {
		return nil, err
	}
	out, err := budget.Bytes(int(size - less))
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w", size-less, err)
	}
	to, at := out, int64(0)
	for _, c := range append(s.cuts, cut{from: size, to: size}) {
		n := int(c.from - at)
		if _, err := s.file.ReadAt(to[:n], at); err != nil {
			return nil, errSkim
		}
		to, at = to[n+copy(to[n:], c.by):], c.to
	}
	return out, nil
}

// message skips the fields up to end and returns by how many bytes the message is shorter without large data.
func (s *skimmer) message(in skimIn, end int64) (less int64, err error) {
	raws := 0
	for s.at < end {
		from := s.at
		tag, err := s.varint()
		if err != nil {
			return 0, err
		}
		num, typ := protowire.DecodeTag(tag)
		lengthAt, size := s.at, int64(0)
		switch typ {
		case protowire.VarintType:
			if _, err := s.varint(); err != nil {
				return 0, err
			}
			continue
		case protowire.Fixed32Type:
			size = 4
		case protowire.Fixed64Type:
			size = 8
		case protowire.BytesType:
			v, err := s.varint()
			if err != nil || v > uint64(end) {
				return 0, errSkim
			}
			size = int64(v)
		default:
			return 0, errSkim
		}
		if size > end-s.at {
			return 0, errSkim
		}
		if inner := innerOf(in, num, typ); inner != in {
			if inner == skimInTensor {
				s.tensors++
			}
			k, content := len(s.cuts), s.at
			s.cuts = append(s.cuts, cut{from: lengthAt, to: content})
			shorter, err := s.message(inner, s.at+size)
			if err != nil {
				return 0, err
			}
			if shorter == 0 {
				s.cuts = s.cuts[:k]
				continue
			}
			s.cuts[k].by = protowire.AppendVarint(nil, uint64(size-shorter))
			less += shorter + content - lengthAt - int64(len(s.cuts[k].by))
			continue
		}
		if in == skimInTensor && (num == tensorRawData || typ == protowire.BytesType && (num == tensorFloatData || num == tensorDoubleData)) {
			if raws++; raws > 1 || typ != protowire.BytesType {
				return 0, errSkim
			}
			if size >= skimFrom {
				s.found[s.tensors-1] = section{s.file, s.at, size, num}
				s.cuts = append(s.cuts, cut{from: from, to: s.at + size})
				less += s.at + size - from
			}
		}
		if err := s.skip(size); err != nil {
			return 0, err
		}
	}
	if s.at != end {
		return 0, errSkim
	}
	return less, nil
}

// varint reads a number.
func (s *skimmer) varint() (uint64, error) {
	v, err := binary.ReadUvarint(s)
	if err != nil {
		return 0, errSkim
	}
	return v, nil
}

// ReadByte makes a skimmer an io.ByteReader.
func (s *skimmer) ReadByte() (byte, error) {
	b, err := s.buffered.ReadByte()
	if err == nil {
		s.at++
	}
	return b, err
}

// skip skips n bytes.
func (s *skimmer) skip(n int64) error {
	s.at += n
	if n <= int64(s.buffered.Buffered()) {
		_, err := s.buffered.Discard(int(n))
		return err
	}
	if _, err := s.file.Seek(s.at, io.SeekStart); err != nil {
		return err
	}
	s.buffered.Reset(s.file)
	return nil
}

// tensor decodes an initializer; its data may still be in the file.
func (r *reader) tensor(t *onnxpb.TensorProto) (dtype.Value, error) {
	if _, stripped := parseStripped(t); !stripped {
		if err := r.charge(dtype.DType(t.GetDataType()), t.Dims); err != nil {
			return nil, tensorError(t, "%w", err)
		}
	}
	raw, ok := r.raw[t]
	if !ok || t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL || t.Segment != nil {
		return decodeTensor(t, r.ext)
	}
	dt, shape, err := tensorType(t)
	if err != nil || dt == dtype.String {
		return decodeTensor(t, r.ext)
	}
	n, err := dtype.Count(shape)
	if in := dataFields(t); len(in) > 0 {
		err = fmt.Errorf("data are in two fields, raw_data and %s", in[0])
	}
	if err == nil {
		err = checkBytes(dt, n, raw.length)
	}
	if err != nil {
		return nil, tensorError(t, "%w", err)
	}
	d := dtype.New(dt, shape...)
	to := dtype.Bytes(d)
	if packed(dt) {
		to = make([]byte, raw.length)
	}
	if _, err := raw.file.ReadAt(to, raw.offset); err != nil {
		return nil, tensorError(t, "%w", fmt.Errorf("reading %d bytes: %w", raw.length, err))
	}
	if packed(dt) {
		copyRaw(d, dt, to)
	} else {
		fixRaw(to, dt)
	}
	return d, nil
}
