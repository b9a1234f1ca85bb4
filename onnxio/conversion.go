package onnxio

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// encoded is the message of a model, in which the raw data of converted weights are empty.
type encoded struct {
	*onnxpb.ModelProto
	converted conversions
	fields    fields
	most      int64 // number of bytes that the model may have
}

// conversions are the weights that are stored in another element type, by their message. They are converted block by block while
// they are written: all at once would take another half of the model's memory.
type conversions map[*onnxpb.TensorProto]conversion

// fields are those of large tensors to which their raw data are written instead of raw_data.
type fields map[*onnxpb.TensorProto]protowire.Number

// data returns the raw data of a tensor.
func (m *encoded) data(t *onnxpb.TensorProto) rawSource {
	if c, ok := m.converted[t]; ok {
		return c
	}
	return rawBytes(t.RawData)
}

// tensorSize returns the number of bytes of a tensor's message.
func (m *encoded) tensorSize(t *onnxpb.TensorProto) int64 {
	return int64(proto.Size(t)) + m.data(t).size() - int64(len(t.RawData))
}

// size returns the largest number of bytes that the model may have.
func (m *encoded) size(ctx context.Context) (int64, error) {
	n, err := (&look{ctx: ctx}).sizeOf(m.ModelProto)
	for _, c := range m.converted {
		n += c.size() + 3*binary.MaxVarintLen32 // the lengths of the data, of the tensor and of the graph grow
	}
	return n, err
}

// rawSource is a part of a file.
type rawSource interface {
	size() int64 // in bytes
	write(w io.Writer) error
}

// rawBytes is a part in memory.
type rawBytes []byte

func (b rawBytes) size() int64 { return int64(len(b)) }

func (b rawBytes) write(w io.Writer) error {
	_, err := w.Write(b)
	return err
}

// conversion is a tensor in another element type.
type conversion struct {
	from *tensor.Dense
	to   dtype.DType
}

func (c conversion) size() int64 { return int64(c.from.Shape().TotalSize()) * int64(c.to.Size()) }

func (c conversion) write(w io.Writer) error {
	return c.blocks(func(_, to *tensor.Dense) error {
		_, err := w.Write(rawData(to, c.to))
		return err
	})
}

// conversionBlock is the number of elements that are converted at a time.
const conversionBlock = 1 << 16

// blocks calls use for each block of elements, in order, as they are and converted.
func (c conversion) blocks(use func(from, to *tensor.Dense) error) error {
	n := c.from.Shape().TotalSize()
	flat, err := dtype.View(c.from, n)
	if err != nil {
		return err
	}
	to := dtype.New(c.to, min(n, conversionBlock))
	for i := 0; i < n && err == nil; i += conversionBlock {
		var from *tensor.Dense
		if from, err = dtype.Rows(flat, i, min(i+conversionBlock, n)); err != nil {
			return err
		}
		if to, err = dtype.Rows(to, 0, from.Shape()[0]); err != nil {
			return err
		}
		if err = dtype.Convert(to, from); err == nil {
			err = use(from, to)
		}
	}
	return err
}
