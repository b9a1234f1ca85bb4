package onnxio

import (
	"fmt"
	"io"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/onnxpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// writeModel writes m like Marshal, except that the raw data of large initializers are written to w without
// a copy: the memory needed is that of the model's structure, whatever its size.
func writeModel(w io.Writer, m *onnxpb.ModelProto) error { return (&encoded{ModelProto: m}).write(w) }

// write is writeModel, with the data of converted weights.
func (m *encoded) write(w io.Writer) error {
	var data []rawSource
	if m.Graph != nil {
		restore := map[*onnxpb.TensorProto][]byte{}
		for _, t := range m.Graph.Initializer {
			data = append(data, nil)
			if x := m.data(t); len(t.RawData) >= skimFrom || x.size() > int64(len(t.RawData)) {
				data[len(data)-1], restore[t] = x, t.RawData
				t.RawData = []byte{}
			}
		}
		defer func() {
			for t, raw := range restore {
				t.RawData = raw
			}
		}()
	}
	if w == nil {
		return errNoWriter
	}
	b, err := marshal(m.ModelProto)
	if err != nil {
		return err
	}
	s := &splicer{raw: data}
	s.message(skimInModel, b)
	for _, part := range s.parts {
		if err := part.write(w); err != nil {
			return err
		}
	}
	return nil
}

// marshal serializes m deterministically, in memory that is charged before.
func marshal(m proto.Message) ([]byte, error) {
	n := proto.Size(m)
	b, err := budget.Bytes(n)
	if err != nil {
		return nil, fmt.Errorf("%d bytes, serialized: %w", n, err)
	}
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(b[:0], m)
}

// splicer inserts raw data into a model that was marshalled without them.
type splicer struct {
	raw     []rawSource // by initializer; nil: its data were marshalled
	tensors int
	parts   []rawSource // of the file
}

// message appends the parts of a message and returns their length.
func (s *splicer) message(in skimIn, b []byte) (size int64) {
	add := func(part rawSource) {
		s.parts = append(s.parts, part)
		size += part.size()
	}
	emit := func(part []byte) { add(rawBytes(part)) }
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
			emit(protowire.AppendVarint(nil, uint64(data.size())))
			add(data)
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
			s.parts[head] = rawBytes(protowire.AppendVarint(nil, uint64(n)))
			size += s.parts[head].size() + n
			from = end
		}
		at = end
	}
	emit(b[from:])
	return size
}
