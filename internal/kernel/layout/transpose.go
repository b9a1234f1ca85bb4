package layout

import (
	"fmt"
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
)

// Transpose copies src, of the given shape, to dst with its dimensions in the order
// perm: dimension d of dst is dimension perm[d] of src. It works on any element type.
func Transpose[E any](p *kernel.Pool, dst, src []E, shape, perm []int) {
	dims, strides := collapse(shape, perm)
	n := 1
	for _, d := range dims {
		n *= d
	}
	dst, src = dst[:n], src[:n]
	if n == 0 {
		return
	}
	last := len(dims) - 1
	if last <= 0 {
		p.Range(n, 1<<16, func(lo, hi int) { copy(dst[lo:hi], src[lo:hi]) })
		return
	}
	if strides[last] == 1 {
		copyRows(p, dst, src, dims, strides)
		return
	}
	// Some other dimension of dst walks src by 1: together with the last one it forms
	// planes that are turned tile by tile.
	fast := 0
	for strides[fast] != 1 {
		fast++
	}
	transposePlanes(p, dst, src, dims, strides, fast)
}

// collapse drops dimensions of 1 and joins neighbours that stay neighbours. It
// returns the dimensions of dst and the step of each in src.
func collapse(shape, perm []int) (dims, strides []int) {
	if len(shape) != len(perm) {
		panic(fmt.Sprintf("kernel: Transpose: shape %v, permutation %v", shape, perm))
	}
	step := make([]int, len(shape))
	n := 1
	for d := len(shape) - 1; d >= 0; d-- {
		step[d] = n
		n *= shape[d]
	}
	for _, d := range perm {
		if shape[d] == 1 {
			continue
		}
		if last := len(dims) - 1; last >= 0 && strides[last] == step[d]*shape[d] {
			dims[last], strides[last] = dims[last]*shape[d], step[d]
			continue
		}
		dims, strides = append(dims, shape[d]), append(strides, step[d])
	}
	if len(dims) == 0 {
		return []int{n}, []int{1}
	}
	return dims, strides
}

// copyRows handles permutations that leave the last dimension in place.
func copyRows[E any](p *kernel.Pool, dst, src []E, dims, strides []int) {
	last := len(dims) - 1
	cols := dims[last]
	p.Range(len(dst)/cols, kernel.CeilDiv(1<<14, cols), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			from := offsetOf(r, dims[:last], strides[:last])
			copy(dst[r*cols:][:cols], src[from:])
		}
	})
}

// offsetOf returns the offset of the flat index i over dims.
func offsetOf(i int, dims, strides []int) int {
	at := 0
	for d := len(dims) - 1; d >= 0; d-- {
		at += i % dims[d] * strides[d]
		i /= dims[d]
	}
	return at
}

// tileSide is the side of the square tiles of a turned plane; two of them fit in
// the first cache level for elements of 8 bytes.
const tileSide = 32

// maxColumns is the number of columns that a tile of rows takes at a time, so that a worker looks at its context often enough.
const maxColumns = 1 << 12

// transposePlanes transposes the planes of dimensions fast (contiguous in src) and the
// last (contiguous in dst).
func transposePlanes[E any](p *kernel.Pool, dst, src []E, dims, strides []int, fast int) {
	last := len(dims) - 1
	rows, cols := dims[fast], dims[last]
	ld, ls := 1, strides[last] // elements from row to row in dst, from column to column in src
	for _, d := range dims[fast+1:] {
		ld *= d
	}
	var outerDims, outerSrc, outerDst []int
	at := len(dst)
	for d, n := range dims {
		at /= n
		if d != fast && d != last {
			outerDims, outerSrc, outerDst = append(outerDims, n), append(outerSrc, strides[d]), append(outerDst, at)
		}
	}
	tiles, parts := kernel.CeilDiv(rows, tileSide), kernel.CeilDiv(cols, maxColumns)
	planes := len(dst) / (rows * cols)
	p.Range(planes*tiles*parts, kernel.CeilDiv(1<<14, tileSide*min(cols, maxColumns)), func(lo, hi int) {
		pace := p.Pace()
		for t := lo; t < hi; t++ {
			pace.Did(8 * tileSide * min(cols, maxColumns)) // elements may be a memory access each
			plane, r0, c0 := t/parts/tiles, t/parts%tiles*tileSide, t%parts*maxColumns
			s := src[offsetOf(plane, outerDims, outerSrc)+c0*ls:]
			d := dst[offsetOf(plane, outerDims, outerDst)+c0:]
			transposeTiles(d, s, r0, min(rows, r0+tileSide), min(cols-c0, maxColumns), ld, ls)
		}
	})
}

// transposeTiles copies rows r0 to r1 of a plane: dst[r*ld+c] = src[c*ls+r].
func transposeTiles[E any](dst, src []E, r0, r1, cols, ld, ls int) {
	if n8 := (r1 - r0) / 8; kernel.Has(kernel.TurnGroup) && n8 > 0 && cols >= 8 && unsafe.Sizeof(src[0]) == 4 {
		// All but an edge of fewer than eight rows and one of fewer than eight columns.
		edge := cols &^ 7
		for c := 0; c < edge; c += 8 {
			from, to := src[c*ls+r0:][:7*ls+8*n8], dst[r0*ld+c:][:(8*n8-1)*ld+8]
			TransposeRows8(n8, (*float32)(unsafe.Pointer(&from[0])), ls*4, (*float32)(unsafe.Pointer(&to[0])), ld*4)
		}
		transposeEdge(dst, src, r0, r0+8*n8, edge, cols, ld, ls)
		r0 += 8 * n8
	}
	transposeEdge(dst, src, r0, r1, 0, cols, ld, ls)
}

// transposeEdge is transposeTiles for columns c to cols, element by element.
func transposeEdge[E any](dst, src []E, r0, r1, c, cols, ld, ls int) {
	for c0 := c; c0 < cols; c0 += tileSide {
		c1 := min(cols, c0+tileSide)
		for r := r0; r < r1; r++ {
			d := dst[r*ld+c0:][:c1-c0]
			from := c0*ls + r
			for i := range d {
				d[i] = src[from]
				from += ls
			}
		}
	}
}

// TransposeRows8 transposes 8 rows of 8*n8 four-byte elements, with the row strides srcStride and dstStride in bytes. It
// requires the kernels of TurnGroup.
func TransposeRows8(n8 int, src *float32, srcStride int, dst *float32, dstStride int) {
	transposeRows8(n8, src, srcStride, dst, dstStride)
}
