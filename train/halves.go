package train

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
)

// halves sums float32 numbers over ranks, sending 16 bits of each: every rank receives one block of the numbers of all ranks,
// sums it in float32, and sends the sums to all in 16 bits. All ranks get the same bits. Each block has a scale, a power of two that
// moves its largest number to the upper range of float16: no number overflows, and numbers down to 2⁻²⁴ of the largest keep their
// precision.
type halves struct {
	wire  []byte
	sums  []float32
	other []float32
}

// scaled is the size of a block's header, its scale as a float32, in bytes.
const scaled = 4

// wireBlock returns how many of n numbers a rank sums, and the bytes that they are sent in.
func wireBlock(n, ranks int) (each, block int) {
	each = (n + ranks - 1) / ranks
	return each, (scaled + 2*each + 3) &^ 3
}

// reserve makes room for n numbers on a number of ranks, also if it returns the error that they do not fit in memory.
func (h *halves) reserve(n, ranks int) error {
	each, block := wireBlock(n, ranks)
	var errs [3]error
	h.wire, errs[0] = grown(h.wire, ranks*block)
	h.sums, errs[1] = grown(h.sums, each)
	h.other, errs[2] = grown(h.other, each)
	return errors.Join(errs[:]...)
}

// sum needs reserve(len(x), c.Size()), or of more.
func (h *halves) sum(c Communicator, x []float32, in dtype.DType) error {
	size, rank := c.Size(), c.Rank()
	n, block := wireBlock(len(x), size)
	h.wire = h.wire[:size*block]
	part := func(k int) []float32 { return x[min(k*n, len(x)):min((k+1)*n, len(x))] }
	for k := range size {
		pack(h.wire[k*block:][:block], part(k), in)
	}
	if err := c.AllToAll(h.wire); err != nil {
		return err
	}
	own := h.sums[:len(part(rank))]
	clear(own)
	for k := range size {
		unpack(h.other[:len(own)], h.wire[k*block:][:block], in)
		for i, v := range h.other[:len(own)] {
			own[i] += v
		}
	}
	pack(h.wire[rank*block:][:block], own, in)
	if err := c.AllGather(h.wire); err != nil {
		return err
	}
	for k := range size {
		unpack(part(k), h.wire[k*block:][:block], in)
	}
	return nil
}

// grown returns x with n elements, charged to the memory budget if they are new; with an error, beyond its limit.
func grown[T any](x []T, n int) ([]T, error) {
	if cap(x) >= n {
		return x[:n], nil
	}
	list, err := budget.Slice[T](n)
	if err != nil {
		list = make([]T, n)
	}
	return list, err
}

// pack writes a block's scale and its numbers in 16 bits. x is overwritten.
func pack(to []byte, x []float32, in dtype.DType) {
	scale := float32(1)
	if in == dtype.Float16 {
		scale = scaleOf(x)
		for i := range x {
			x[i] *= scale
		}
	}
	binary.LittleEndian.PutUint32(to, math.Float32bits(scale))
	if in == dtype.Float16 {
		elementwise.Float32ToFloat16(nil, packed[dtype.F16](to, len(x)), x)
	} else {
		elementwise.Float32ToBFloat16(nil, packed[dtype.BF16](to, len(x)), x)
	}
}

// unpack reads what pack wrote.
func unpack(to []float32, from []byte, in dtype.DType) {
	if in != dtype.Float16 {
		elementwise.BFloat16ToFloat32(nil, to, packed[dtype.BF16](from, len(to)))
		return
	}
	elementwise.Float16ToFloat32(nil, to, packed[dtype.F16](from, len(to)))
	if scale := math.Float32frombits(binary.LittleEndian.Uint32(from)); scale != 1 {
		for i := range to {
			to[i] /= scale
		}
	}
}

// packed returns the numbers of a block, in native byte order: all ranks have the same architecture.
func packed[T ~uint16](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b[scaled:]))), n)
}

// scaleOf returns the power of two that scales the largest magnitude to [2¹⁴, 2¹⁵); 1 if it is not finite.
func scaleOf(x []float32) float32 {
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	e := int(most >> 23)
	if e == 255 {
		return 1
	}
	// 2^(14-(e-127)), limited so that it and its inverse are normal float32 numbers.
	return math.Float32frombits(uint32(min(max(127+14-(e-127), 2), 252)) << 23)
}
