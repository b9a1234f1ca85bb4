package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

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
	if width, err := strconv.Atoi(kind[1:]); err == nil && (kind[0] == 'U' || kind[0] == 'S') {
		return readTexts(r, dims, kind[0] == 'U', width, order)
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

// readTexts reads texts of up to width characters, of four bytes if wide and of one else; those that are shorter end in zeros.
func readTexts(r io.Reader, dims []int, wide bool, width int, order binary.ByteOrder) (*tensor.Dense, error) {
	each := width
	if wide {
		each = 4 * width
	}
	if width < 1 || width > 1<<24 {
		return nil, fmt.Errorf("texts of %d characters", width)
	}
	n, err := size(dims, each)
	if err != nil {
		return nil, err
	}
	raw, err := exactly(r, n*each)
	if err != nil {
		return nil, err
	}
	list := make([]string, n)
	for i := range list {
		b := bytes.TrimRight(raw[i*each:(i+1)*each], "\x00")
		if !wide {
			list[i] = string(b)
			continue
		}
		var text strings.Builder
		for b = raw[i*each : (i+1)*each]; len(b) > 0; b = b[4:] {
			text.WriteRune(rune(order.Uint32(b))) // U+FFFD for what is no character
		}
		list[i] = strings.TrimRight(text.String(), "\x00")
	}
	return tensor.New(tensor.WithShape(dims...), tensor.WithBacking(list)), nil
}
