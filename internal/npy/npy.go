// Package npy reads and writes NumPy's .npy format, in which arrays are exchanged with Python.
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// codes are NumPy's type codes of element types, without the byte order.
var codes = map[dtype.DType]string{
	dtype.Bool: "b1", dtype.Float16: "f2", dtype.Float32: "f4", dtype.Float64: "f8",
	dtype.Int8: "i1", dtype.Int16: "i2", dtype.Int32: "i4", dtype.Int64: "i8",
	dtype.Uint8: "u1", dtype.Uint16: "u2", dtype.Uint32: "u4", dtype.Uint64: "u8",
	dtype.Complex64: "c8", dtype.Complex128: "c16",
}

const magic = "\x93NUMPY"

// Write writes v, a *tensor.Dense or *dtype.Strings, in NumPy's .npy format, version 1.0. It is an error if NumPy
// lacks the element type, such as bfloat16: convert it first.
func Write(w io.Writer, v dtype.Value) error {
	var code string
	var data []byte
	switch v := v.(type) {
	case *tensor.Dense:
		dt := dtype.Of(v.Dtype())
		code = codes[dt]
		if code == "" {
			return fmt.Errorf("NumPy has no element type %v", dt)
		}
		data = stored(v, dt)
	case *dtype.Strings:
		code, data = encodeTexts(v)
	default:
		return fmt.Errorf("%T cannot be written as .npy", v)
	}
	order := "<"
	if strings.HasSuffix(code, "1") && code != "U1" {
		order = "|"
	}
	dims := make([]string, 0, 4)
	for _, d := range v.Shape() {
		dims = append(dims, strconv.Itoa(d))
	}
	shape := strings.Join(dims, ", ")
	if len(dims) == 1 {
		shape += ","
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, code, shape)
	// The data start at a multiple of 64 bytes; the header ends in a newline.
	pad := 63 - (len(magic)+4+len(header))%64
	header += strings.Repeat(" ", pad) + "\n"
	var b bytes.Buffer
	b.WriteString(magic + "\x01\x00")
	if err := binary.Write(&b, binary.LittleEndian, uint16(len(header))); err != nil {
		return err
	}
	b.WriteString(header)
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// encodeTexts encodes strings as NumPy does: all as long as the longest, in UTF-32.
func encodeTexts(v *dtype.Strings) (code string, data []byte) {
	longest := 1
	for _, s := range v.Elems {
		longest = max(longest, utf8.RuneCountInString(s))
	}
	for _, s := range v.Elems {
		end := len(data) + 4*longest
		for _, r := range s {
			data = binary.LittleEndian.AppendUint32(data, uint32(r))
		}
		data = append(data, make([]byte, end-len(data))...)
	}
	return "U" + strconv.Itoa(longest), data
}

// stored returns the elements of d, little-endian: the memory of d itself where that is the same.
func stored(d *tensor.Dense, dt dtype.DType) []byte {
	if littleEndian() {
		return dtype.Bytes(d)
	}
	b := slices.Clone(dtype.Bytes(d))
	swapBytes(b, dt)
	return b
}

// swapBytes reverses the bytes of each number; a complex number is two.
func swapBytes(b []byte, dt dtype.DType) {
	width := dt.Size()
	if dt.IsComplex() {
		width /= 2
	}
	for number := range slices.Chunk(b, width) {
		slices.Reverse(number)
	}
}

// littleEndian reports whether the machine stores numbers with the least significant byte first.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
