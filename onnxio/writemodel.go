package onnxio

import (
	"io"

	"github.com/graft-ml/graft/internal/onnxpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// writeModel writes m like Marshal, except that the raw data of large initializers are written to w without
// a copy: the memory needed is that of the model's structure, whatever its size.
func writeModel(w io.Writer, m *onnxpb.ModelProto) error {
	var raw [][]byte
	if m.Graph != nil {
		for _, t := range m.Graph.Initializer {
			raw = append(raw, nil)
			if len(t.RawData) >= skimFrom {
				raw[len(raw)-1] = t.RawData
				t.RawData = []byte{}
			}
		}
		defer func() {
			for i, t := range m.Graph.Initializer {
				if raw[i] != nil {
					t.RawData = raw[i]
				}
			}
		}()
	}
	if w == nil {
		return errNoWriter
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	s := &splicer{raw: raw}
	s.message(skimInModel, b)
	for _, part := range s.parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// splicer inserts raw data into a model that was marshalled without them.
type splicer struct {
	raw     [][]byte // by initializer; nil: its data were marshalled
	tensors int
	parts   [][]byte // of the file
}

// message appends the parts of a message and returns their length.
func (s *splicer) message(in skimIn, b []byte) (size int) {
	emit := func(part []byte) {
		s.parts = append(s.parts, part)
		size += len(part)
	}
	from := 0 // start of the data not yet written
	for at := 0; at < len(b); {
		num, typ, n := protowire.ConsumeTag(b[at:])
		field := at + n
		end := field + protowire.ConsumeFieldValue(num, typ, b[field:])
		inner := innerOf(in, num, typ)
		switch {
		case in == skimInTensor && num == tensorRawData && s.raw[s.tensors-1] != nil:
			data := s.raw[s.tensors-1]
			emit(b[from:field])
			emit(protowire.AppendVarint(nil, uint64(len(data))))
			emit(data)
			from = end
		case inner != in:
			if inner == skimInTensor {
				s.tensors++
			}
			emit(b[from:field])
			head := len(s.parts)
			s.parts = append(s.parts, nil)
			content, _ := protowire.ConsumeBytes(b[field:])
			n := s.message(inner, content)
			s.parts[head] = protowire.AppendVarint(nil, uint64(n))
			size += len(s.parts[head]) + n
			from = end
		}
		at = end
	}
	emit(b[from:])
	return size
}
