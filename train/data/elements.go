package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"gorgonia.org/tensor"
)

// readElements reads the elements of a tensor to the end of r. kind is the
// letter and byte width of numpy: f4, i8, u1, b1 …
func readElements(r io.Reader, dims []int, kind string, order binary.ByteOrder) (*tensor.Dense, error) {
	switch kind {
	case "f4":
		return read[float32](r, dims, 4, order)
	case "f8":
		return read[float64](r, dims, 8, order)
	case "i1":
		return read[int8](r, dims, 1, order)
	case "i2":
		return read[int16](r, dims, 2, order)
	case "i4":
		return read[int32](r, dims, 4, order)
	case "i8":
		return read[int64](r, dims, 8, order)
	case "u1":
		return read[uint8](r, dims, 1, order)
	case "u2":
		return read[uint16](r, dims, 2, order)
	case "u4":
		return read[uint32](r, dims, 4, order)
	case "u8":
		return read[uint64](r, dims, 8, order)
	case "b1":
		return read[bool](r, dims, 1, order)
	}
	return nil, fmt.Errorf("element type %q is not supported", kind)
}

func read[T any](r io.Reader, dims []int, width int, order binary.ByteOrder) (*tensor.Dense, error) {
	n, err := size(dims, width)
	if err != nil {
		return nil, err
	}
	raw, err := exactly(r, n*width)
	if err != nil {
		return nil, err
	}
	v := make([]T, n)
	if b, ok := any(v).([]uint8); ok {
		copy(b, raw)
	} else if err := binary.Read(bytes.NewReader(raw), order, v); err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(dims...), tensor.WithBacking(v)), nil
}
