package onnxio

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// storedBytes returns the number of bytes that n elements take in a file.
func storedBytes(dt dtype.DType, n int) (int64, error) {
	if n > math.MaxInt/(dt.Bits()+8) {
		return 0, fmt.Errorf("%d elements of %v are too many", n, dt)
	}
	return (int64(n)*int64(dt.Bits()) + 7) / 8, nil
}

// packed reports whether elements share a byte in a file.
func packed(dt dtype.DType) bool { return dt.Bits() < 8 }

// checkBytes compares the length of stored data with what n elements take.
func checkBytes(dt dtype.DType, n int, have int64) error {
	want, err := storedBytes(dt, n)
	if err == nil && have != want {
		err = fmt.Errorf("%d elements of %v take %d bytes, found %d", n, dt, want, have)
	}
	return err
}

// copyRaw sets the elements of d from the bytes of a file, whose number checkBytes has checked.
func copyRaw(d *tensor.Dense, dt dtype.DType, raw []byte) {
	dst := dtype.Bytes(d)
	if packed(dt) {
		unpack(dst, raw, dt.Bits(), dt.IsSigned())
		return
	}
	copy(dst, raw)
	fixRaw(dst, dt)
}

// fixRaw converts the bytes of a file to the representation in memory, for types of eight bits and more.
func fixRaw(b []byte, dt dtype.DType) {
	if dt == dtype.Bool { // a Go bool must be 0 or 1
		for i, v := range b {
			b[i] = min(v, 1)
		}
	}
	swapBytes(b, dt)
}

// swapBytes reverses the bytes of each number on big-endian machines.
func swapBytes(b []byte, dt dtype.DType) {
	if !littleEndian() {
		reverseEach(b, dt)
	}
}

// reverseEach reverses the bytes of each number, for complex numbers those of each part.
func reverseEach(b []byte, dt dtype.DType) {
	width := dt.Size()
	if dt.IsComplex() {
		width /= 2
	}
	for number := range slices.Chunk(b, width) {
		slices.Reverse(number)
	}
}

// littleEndian reports whether the machine is little-endian, like files.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// unpack unpacks elements of fewer than eight bits, the first one in the lowest bits, to one per byte
// of dst.
func unpack(dst, stored []byte, bits int, signed bool) {
	per, shift := 8/bits, 8-bits
	for i := range dst {
		v := stored[i/per] >> (i % per * bits) << shift
		if signed {
			dst[i] = byte(int8(v) >> shift)
		} else {
			dst[i] = v >> shift
		}
	}
}

// pack is the inverse of unpack; unused bits of the last byte are zero.
func pack(elems []byte, bits int) []byte {
	per, mask := 8/bits, byte(1<<bits-1)
	stored := make([]byte, (len(elems)+per-1)/per)
	for i, v := range elems {
		stored[i/per] |= (v & mask) << (i % per * bits)
	}
	return stored
}

// rawData returns the elements of d in the representation of files. The result may share the memory of d
// and must not be written to.
func rawData(d *tensor.Dense, dt dtype.DType) []byte {
	if packed(dt) {
		return pack(dtype.Bytes(d), dt.Bits())
	}
	if len(d.Raw) > 0 && littleEndian() {
		return dtype.Bytes(d)
	}
	b := append([]byte{}, dtype.Bytes(d)...)
	swapBytes(b, dt)
	return b
}

// typedLen returns how many numbers p has in the field for dt.
func typedLen(p *onnxpb.TensorProto, dt dtype.DType) int {
	switch dt {
	case dtype.Float32, dtype.Complex64:
		return len(p.FloatData)
	case dtype.Float64, dtype.Complex128:
		return len(p.DoubleData)
	case dtype.Int64:
		return len(p.Int64Data)
	case dtype.Uint32, dtype.Uint64:
		return len(p.Uint64Data)
	}
	return len(p.Int32Data)
}

// typedWant returns how many numbers of that field n elements need.
func typedWant(dt dtype.DType, n int) int {
	switch {
	case dt.IsComplex() && n <= math.MaxInt/2:
		return 2 * n
	case packed(dt):
		per := 8 / dt.Bits()
		return n/per + min(n%per, 1)
	}
	return n
}

// checkTyped returns an error for a number in the field of p for dt that the type cannot hold. Of floats and packed elements the fields
// have the bits, with or without sign.
func checkTyped(dt dtype.DType, p *onnxpb.TensorProto) error {
	low, high := int64(math.MinInt32), int64(math.MaxInt32)
	switch bits := max(8, dt.Bits()); {
	case dt == dtype.Uint32:
		for _, v := range p.Uint64Data {
			if v > math.MaxUint32 {
				return fmt.Errorf("%d is not a %v", v, dt)
			}
		}
		return nil
	case dt == dtype.Bool || bits > 16:
		return nil
	case dt.IsSigned() && !packed(dt):
		low, high = -1<<(bits-1), 1<<(bits-1)-1
	case dt.IsUnsigned() && !packed(dt):
		low, high = 0, 1<<bits-1
	default:
		low, high = -1<<(bits-1), 1<<bits-1
	}
	for _, v := range p.Int32Data {
		if int64(v) < low || int64(v) > high {
			return fmt.Errorf("%d is not a %v", v, dt)
		}
	}
	return nil
}

// copyTyped sets the elements of d from the field of p for dt; their number must have been checked.
func copyTyped(d *tensor.Dense, dt dtype.DType, p *onnxpb.TensorProto) {
	switch dt {
	case dtype.Float32:
		copy(dtype.Slice[float32](d), p.FloatData)
	case dtype.Float64:
		copy(dtype.Slice[float64](d), p.DoubleData)
	case dtype.Int64:
		copy(dtype.Slice[int64](d), p.Int64Data)
	case dtype.Uint64:
		copy(dtype.Slice[uint64](d), p.Uint64Data)
	case dtype.Uint32:
		convert(dtype.Slice[uint32](d), p.Uint64Data)
	case dtype.Complex64:
		dst := dtype.Slice[complex64](d)
		for i := range dst {
			dst[i] = complex(p.FloatData[2*i], p.FloatData[2*i+1])
		}
	case dtype.Complex128:
		dst := dtype.Slice[complex128](d)
		for i := range dst {
			dst[i] = complex(p.DoubleData[2*i], p.DoubleData[2*i+1])
		}
	case dtype.Int32:
		copy(dtype.Slice[int32](d), p.Int32Data)
	default:
		copyInt32(d, dt, p.Int32Data)
	}
}

// copyInt32 copies the types that share int32_data: integers, the bits of small floats, or bytes of
// packed elements, one in each number.
func copyInt32(d *tensor.Dense, dt dtype.DType, src []int32) {
	dst := dtype.Bytes(d)
	switch {
	case packed(dt):
		stored := make([]byte, len(src))
		convert(stored, src)
		unpack(dst, stored, dt.Bits(), dt.IsSigned())
	case dt == dtype.Bool:
		for i, v := range src {
			dtype.Slice[bool](d)[i] = v != 0
		}
	case dt.Size() == 1:
		convert(dst, src)
	default:
		for i, v := range src {
			binary.NativeEndian.PutUint16(dst[2*i:], uint16(v))
		}
	}
}

func convert[D byte | uint32, S int32 | uint64](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}
