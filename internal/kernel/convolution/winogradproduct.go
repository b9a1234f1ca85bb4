package convolution

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// productRows: products round the number of rows up to a multiple of it where there is assembly; grids have
// space for that.
const productRows = 4

// pointProduct computes the product of the matrices of a point: c = a·b, or c += a·b if add, for rows×kc elements of a
// and one or two column panels of 16 columns (b and b2), whose rows are rsB apart. The rows of a have stride stride;
// if transposed, its columns have, and its rows are contiguous. Up to a multiple of productRows rows are read and
// written. The operands of the next product, ahead[0] elements after a and ahead[1] after b and b2, are prefetched,
// since they are often in another core's cache or in the shared one.
func pointProduct[T kernel.Float](transposed bool, colPanels, rows, kc int, a []T, stride int, b, b2 []T, rsB int, c []T, ldc int, add bool, prefetch [2]int) {
	next, column := stride, 1
	if transposed {
		next, column = 1, stride
	}
	if !kernel.SIMD || !kernel.IsFloat32[T]() {
		pointProductGo(colPanels, rows, kc, a, next, column, b, b2, rsB, c, ldc, add)
		return
	}
	if colPanels == 2 && !kernel.AVX512 {
		pointProduct(transposed, 1, rows, kc, a, stride, b, b, rsB, c, ldc, add, prefetch)
		pointProduct(transposed, 1, rows, kc, a, stride, b2, b2, rsB, c[winogradLanes:], ldc, add, prefetch)
		return
	}
	rows = kernel.CeilDiv(rows, productRows) * productRows
	last := (kc-1)*rsB + winogradLanes - 1
	_, _, _, _ = a[(rows-1)*next+(kc-1)*column], b[last], b2[last], c[(rows-1)*ldc+colPanels*winogradLanes-1]
	flags := 0
	if add {
		flags = matmul.FlagAdd
	}
	x, y, y2, z := kernel.Float32s(a), &kernel.Float32s(b)[0], &kernel.Float32s(b2)[0], kernel.Float32s(c)
	for i := 0; i < rows; {
		height, blocks := productBlocks(rows - i)
		if transposed {
			productOfColumns(height, colPanels, blocks, kc, &x[i], stride*4, y, y2, rsB*4, &z[i*ldc], ldc*4, flags, prefetch[0]*4, prefetch[1]*4)
		} else {
			productOfRows(height, colPanels, blocks, kc, &x[i*stride], stride*4, y, y2, rsB*4, &z[i*ldc], ldc*4, flags, prefetch[0]*4, prefetch[1]*4)
		}
		i += height * blocks
	}
}

// productBlocks returns the height, and the number, of the first blocks of equal height for the given
// number of rows. A low last block would leave registers unused; two of medium height come last
// instead.
func productBlocks(rows int) (height, blocks int) {
	tall, middle := 6, 4
	if kernel.AVX512 {
		tall, middle = 12, 8
	}
	blocks = rows / tall
	if left := rows % tall; left > 0 && left < middle && blocks > 0 {
		blocks--
	}
	switch {
	case blocks > 0:
		return tall, blocks
	case rows >= middle:
		return middle, rows / middle
	}
	return rows, 1
}

func productOfRows(height, colPanels, blocks, kc int, a *float32, stride int, b, b2 *float32, rsB int, c *float32, ldc, add, nextA, nextB int) {
	switch {
	case !kernel.AVX512 && height == 6:
		winogradRows6x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case !kernel.AVX512:
		winogradRows4x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 12 && colPanels == 2:
		winogradRowsWide12x32(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 8 && colPanels == 2:
		winogradRowsWide8x32(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case colPanels == 2:
		winogradRowsWide4x32(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 12:
		winogradRowsWide12x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 8:
		winogradRowsWide8x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	default:
		winogradRowsWide4x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	}
}

func productOfColumns(height, colPanels, blocks, kc int, a *float32, stride int, b, b2 *float32, rsB int, c *float32, ldc, add, nextA, nextB int) {
	switch {
	case !kernel.AVX512 && height == 6:
		winogradColumns6x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case !kernel.AVX512:
		winogradColumns4x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 12 && colPanels == 2:
		winogradColumnsWide12x32(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 8 && colPanels == 2:
		winogradColumnsWide8x32(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case colPanels == 2:
		winogradColumnsWide4x32(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 12:
		winogradColumnsWide12x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	case height == 8:
		winogradColumnsWide8x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	default:
		winogradColumnsWide4x16(blocks, kc, a, stride, b, b2, rsB, c, ldc, add, nextA, nextB)
	}
}

// pointProductGo is pointProduct by the portable micro-kernels.
func pointProductGo[T kernel.Float](colPanels, rows, kc int, a []T, rsA, csA int, b, b2 []T, rsB int, c []T, ldc int, add bool) {
	flags := 0
	if add {
		flags = matmul.FlagAdd
	}
	for i, n := 0, 0; i < rows; i += n {
		n = min(matmul.MR, rows-i)
		matmul.Micro(n, kc, a[i*rsA:], nil, rsA, csA, b, rsB, c[i*ldc:], ldc, flags, nil)
		if colPanels == 2 {
			matmul.Micro(n, kc, a[i*rsA:], nil, rsA, csA, b2, rsB, c[i*ldc+winogradLanes:], ldc, flags, nil)
		}
	}
}
