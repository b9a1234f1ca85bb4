package onnxio

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// unmarshal decodes a message. What it becomes is charged before, beside b, which is charged already, and for as long as m is reachable.
func unmarshal[T any, M interface {
	*T
	proto.Message
}](b []byte, m M) error {
	if err := chargeDecoded(b, m, (*T)(m)); err != nil {
		return err
	}
	return proto.Unmarshal(b, m)
}

// chargeDecoded charges what the message b becomes, of the type of m, for as long as kept is reachable.
func chargeDecoded[T any](b []byte, m proto.Message, kept *T) error {
	n := decodedSize(b, m.ProtoReflect().Descriptor(), 0)
	if n < chargeFrom {
		return nil
	}
	if err := budget.Keep(kept, n); err != nil {
		return fmt.Errorf("%d bytes, decoded: %w", len(b), err)
	}
	return nil
}

// isTooLarge reports whether an error is that of a message that would take more memory than is left.
func isTooLarge(err error) bool {
	_, is := errors.AsType[*budget.Error](err)
	return is
}

// chargeFrom is the size in bytes below which decoded messages are not charged.
const chargeFrom = 1 << 16

// decodedSize returns about how many bytes the messages of a serialized one take once they are decoded: a submessage of two bytes takes
// over a hundred, a number of one byte eight. What is wrong with b is left to package proto.
func decodedSize(b []byte, d protoreflect.MessageDescriptor, depth int) (size int64) {
	if depth > protowire.DefaultRecursionLimit {
		return 0
	}
	size = structSize(d)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return size
		}
		value := protowire.ConsumeFieldValue(num, typ, b[n:])
		if value < 0 {
			return size
		}
		content, whole := b[n:n+value], b[:n+value]
		b = b[n+value:]
		f := d.Fields().ByNumber(num)
		switch {
		case f == nil:
			size += 5 * int64(len(whole)) // unknown fields are kept, in bytes that grow
			continue
		case f.IsList():
			size += 3 * elementSize(f) // a slice that grows is copied to one of up to twice the size
		case f.Kind() == protoreflect.BytesKind:
		default:
			size += 16 // a pointer to a number or a string
		}
		if typ != protowire.BytesType {
			continue
		}
		inner, _ := protowire.ConsumeBytes(content)
		switch {
		case f.Message() != nil:
			size += decodedSize(inner, f.Message(), depth+1)
		case f.Kind() == protoreflect.BytesKind || f.Kind() == protoreflect.StringKind:
			n := int64(len(inner))
			size += n + min(n/8, 8<<10) + 8 // size classes, and pages of large ones
		default: // packed: at least one byte for each element
			size += int64(packedLength(f.Kind(), inner)) * elementSize(f)
		}
	}
	return size
}

// packedLength returns the number of elements in a packed list.
func packedLength(k protoreflect.Kind, b []byte) (n int) {
	switch k {
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return len(b) / 4
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return len(b) / 8
	}
	for _, c := range b {
		if c < 0x80 { // the last byte of a number
			n++
		}
	}
	return n
}

// elementSize returns the size of an element of a list.
func elementSize(f protoreflect.FieldDescriptor) int64 {
	switch f.Kind() {
	case protoreflect.BytesKind:
		return 24
	case protoreflect.StringKind:
		return 16
	case protoreflect.FloatKind, protoreflect.Int32Kind, protoreflect.EnumKind:
		return 4
	}
	return 8
}

// structSizes are the sizes of the Go types of messages, by name.
var structSizes sync.Map

func structSize(d protoreflect.MessageDescriptor) int64 {
	if n, ok := structSizes.Load(d.FullName()); ok {
		return n.(int64)
	}
	n := int64(0)
	if t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName()); err == nil {
		n = int64(reflect.TypeOf(t.Zero().Interface()).Elem().Size())
	}
	n += n / 8 // size classes
	structSizes.Store(d.FullName(), n)
	return n
}
