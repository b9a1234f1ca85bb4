package onnxio

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// writeModel writes m like Marshal, except that the raw data of large initializers are written to w without
// a copy: the memory needed is that of the model's structure, whatever its size.
func writeModel(w io.Writer, m *onnxpb.ModelProto) error {
	return (&encoded{ModelProto: m}).write(context.Background(), w)
}

// write is writeModel, with the data of converted weights, ended by ctx.
func (m *encoded) write(ctx context.Context, w io.Writer) error {
	s := &serializer{look: look{ctx: ctx}, raw: map[*onnxpb.TensorProto]rawSource{}, fields: m.fields}
	restore := map[*onnxpb.TensorProto][]byte{}
	defer func() {
		for t, raw := range restore {
			t.RawData = raw
		}
	}()
	for _, t := range m.GetGraph().GetInitializer() {
		if x := m.data(t); len(t.RawData) >= skimFrom || x.size() > int64(len(t.RawData)) {
			s.raw[t], restore[t] = x, t.RawData
			t.RawData = []byte{}
		}
	}
	if w == nil {
		return errNoWriter
	}
	n, err := s.sizeOf(m.ModelProto)
	if err != nil {
		return err
	}
	n += int64(2 * protowire.SizeVarint(1<<62) * len(s.raw)) // lengths that the raw data change
	if s.b, err = budget.Bytes(int(n)); err != nil {
		return fmt.Errorf("%d bytes, serialized: %w", n, err)
	}
	s.b = s.b[:0]
	if _, err := s.message(m.ModelProto); err != nil {
		return err
	}
	s.cut()
	w = disk.WriterUntil(ctx, w)
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

// look checks a context every so many turns.
type look struct {
	ctx   context.Context
	turns int
}

// turnsBetween is the number of turns, of some microseconds each, between two looks.
const turnsBetween = 1 << 8

func (l *look) turn() error {
	if l.turns++; l.turns%turnsBetween != 0 {
		return nil
	}
	return l.ctx.Err()
}

// serializer serializes a model field by field: package proto, which serializes a message as a whole, has no context.
type serializer struct {
	look
	raw map[*onnxpb.TensorProto]rawSource // data of initializers, which are empty in the model
	fields
	b     []byte      // all but these data
	from  int         // where in b the next part begins
	parts []rawSource // of the file
}

var deterministic = proto.MarshalOptions{Deterministic: true, UseCachedSize: true} // of a message of which Size was called

// splits reports whether a message may have many parts.
func splits(m proto.Message) bool {
	switch m := m.(type) {
	case *onnxpb.ModelProto, *onnxpb.GraphProto, *onnxpb.TrainingInfoProto, *onnxpb.FunctionProto:
		return true
	case *onnxpb.NodeProto:
		return slices.ContainsFunc(m.Attribute, func(a *onnxpb.AttributeProto) bool { return splits(a) })
	case *onnxpb.AttributeProto:
		return m.G != nil || len(m.Graphs) > 0
	}
	return false
}

// fieldsOf yields the fields of m in the order in which they are serialized: messages, those in lists one by one, with the number of their field, and the others,
// with 0, as a message like m that has nothing else.
func fieldsOf(m proto.Message) iter.Seq2[protowire.Number, proto.Message] {
	return func(yield func(protowire.Number, proto.Message) bool) {
		r := m.ProtoReflect()
		var fields []protoreflect.FieldDescriptor
		r.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			fields = append(fields, f)
			return true
		})
		slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
		for _, f := range fields {
			switch v := r.Get(f); {
			case f.Message() == nil:
				x := r.New()
				x.Set(f, v)
				if !yield(0, x.Interface()) {
					return
				}
			case f.IsList():
				for i := range v.List().Len() {
					if !yield(f.Number(), v.List().Get(i).Message().Interface()) {
						return
					}
				}
			default:
				if !yield(f.Number(), v.Message().Interface()) {
					return
				}
			}
		}
		if len(r.GetUnknown()) > 0 {
			x := r.New()
			x.SetUnknown(r.GetUnknown())
			yield(0, x.Interface())
		}
	}
}

// sizeOf returns how many bytes m has when it is serialized.
func (l *look) sizeOf(m proto.Message) (size int64, err error) {
	if !splits(m) {
		return int64(proto.Size(m)), l.turn()
	}
	for num, x := range fieldsOf(m) {
		if num == 0 {
			size += int64(proto.Size(x))
			continue
		}
		n, err := l.sizeOf(x)
		if err != nil {
			return 0, err
		}
		size += int64(protowire.SizeTag(num)+protowire.SizeVarint(uint64(n))) + n
	}
	return size, nil
}

// message serializes m and returns its length.
func (s *serializer) message(m proto.Message) (size int64, err error) {
	for num, x := range fieldsOf(m) {
		if err := s.turn(); err != nil {
			return 0, err
		}
		began := len(s.b)
		if num != 0 {
			s.b = protowire.AppendTag(s.b, num, protowire.BytesType)
		}
		t, _ := x.(*onnxpb.TensorProto)
		switch raw := s.raw[t]; {
		case raw != nil:
			if err = s.tensor(t, raw); err == nil {
				size += raw.size()
			}
		case num != 0 && splits(x):
			s.cut()
			head := len(s.parts)
			s.parts = append(s.parts, nil)
			tag := int64(len(s.b) - began)
			var n int64
			n, err = s.message(x)
			s.parts[head] = rawBytes(protowire.AppendVarint(nil, uint64(n)))
			size += tag + s.parts[head].size() + n
			began = len(s.b)
		default:
			n := proto.Size(x)
			if num != 0 {
				s.b = protowire.AppendVarint(s.b, uint64(n))
			}
			s.b, err = deterministic.MarshalAppend(s.b, x)
		}
		if err != nil {
			return 0, err
		}
		size += int64(len(s.b) - began)
	}
	return size, nil
}

// tensor serializes a tensor, with its length, whose raw data are still empty.
func (s *serializer) tensor(t *onnxpb.TensorProto, raw rawSource) (err error) {
	length := protowire.AppendVarint(nil, uint64(raw.size()))
	s.b = protowire.AppendVarint(s.b, uint64(proto.Size(t)-1+len(length))+uint64(raw.size()))
	at := len(s.b)
	if s.b, err = deterministic.MarshalAppend(s.b, t); err != nil {
		return err
	}
	for {
		num, typ, tag := protowire.ConsumeTag(s.b[at:])
		if num == tensorRawData {
			if field, ok := s.fields[t]; ok {
				s.b = slices.Replace(s.b, at, at+tag, protowire.AppendTag(nil, field, protowire.BytesType)...) // of one byte, like that of raw_data
			}
			at += tag // where the length of no data is
			break
		}
		at += tag + protowire.ConsumeFieldValue(num, typ, s.b[at+tag:])
	}
	s.b = slices.Replace(s.b, at, at+1, length...)
	at += len(length)
	s.parts = append(s.parts, rawBytes(s.b[s.from:at]), raw)
	s.from = at
	return nil
}

// cut ends a part.
func (s *serializer) cut() {
	if s.from < len(s.b) {
		s.parts = append(s.parts, rawBytes(s.b[s.from:]))
		s.from = len(s.b)
	}
}
