package convolution

import "github.com/graft-ml/graft/internal/kernel"

// tileRows is the height of a tile: a block of output channels times up to three vectors of adjacent output
// points, whose sums are kept in registers. Weights are packed in panels of tileRows channels.
const tileRows = 8

// tilePrefetch is the number of offsets after the last that the kernels read, for prefetching.
const tilePrefetch = 12

// maxTile is the number of elements of the largest tile.
const maxTile = tileRows * 48

// tileLanes returns the length of a vector.
func tileLanes() int {
	if kernel.AVX512 {
		return 16
	}
	return 8
}

// tile computes rows ≤ tileRows rows of c, n ≤ 3*tileLanes() columns rounded up to vectors:
// c[i*ldc+j] = shift[i] + Σ a[step*l+i]*b[off[l]+j], then clipped unless clip is nil. With fewer rows than
// the kernel computes, a and c must nevertheless have space for the kernel's rows, tileRows at most.
func tile[T kernel.Float](rows, n int, a []T, step int, b []T, off []int32, c []T, ldc int, shift []T, clip *[2]T) {
	tiles(1, rows, n, a, step, b, off, c, ldc, shift, clip, nil)
}

// tiles computes count adjacent tiles of n columns each; with more than one, n is a multiple of the vector length.
// Meanwhile it prefetches the next part of later, unless that is nil.
func tiles[T kernel.Float](count, rows, n int, a []T, step int, b []T, off []int32, c []T, ldc int, shift []T, clip *[2]T, later *prefetch[T]) {
	_, _, _ = a[step*(len(off)-1)+tileRows-1], shift[tileRows-1], c[(rows-1)*ldc+count*n-1]
	if !kernel.Has(kernel.ConvGroup) || !kernel.IsFloat32[T]() {
		tileGo(rows, count*n, a, step, b, off, c, ldc, shift, clip)
		return
	}
	_ = off[:len(off)+tilePrefetch]
	var bounds *float32
	if clip != nil {
		bounds = kernel.Float32Pointer(&clip[0])
	}
	k, pa, pb, po, pc, ps := len(off), &kernel.Float32s(a)[0], &kernel.Float32s(b)[0], &off[0], &kernel.Float32s(c)[0], &kernel.Float32s(shift)[0]
	height, lanes := 8, tileLanes()
	for height/2 >= rows {
		height /= 2
	}
	vecs, next, pace := kernel.CeilDiv(n, lanes), pa, 0
	if later != nil {
		next, pace = later.share(tileFetches(count, k, height, vecs), pa)
	}
	if kernel.AVX512 {
		tilesZ(height, vecs, count, k, pa, step*4, pb, po, pc, ldc*4, ps, bounds, next, pace)
	} else {
		tilesY(height, vecs, count, k, pa, step*4, pb, po, pc, ldc*4, ps, bounds, next, pace)
	}
}

func tilesZ(rows, vecs, count, k int, a *float32, step int, b *float32, off *int32, c *float32, ldc int, shift, clip, next *float32, pace int) {
	switch 4*rows + vecs {
	case 4*8 + 3:
		convTileZ8x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*8 + 2:
		convTileZ8x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*8 + 1:
		convTileZ8x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*4 + 3:
		convTileZ4x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*4 + 2:
		convTileZ4x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*4 + 1:
		convTileZ4x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*2 + 3:
		convTileZ2x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*2 + 2:
		convTileZ2x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*2 + 1:
		convTileZ2x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*1 + 3:
		convTileZ1x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*1 + 2:
		convTileZ1x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*1 + 1:
		convTileZ1x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	}
}

func tilesY(rows, vecs, count, k int, a *float32, step int, b *float32, off *int32, c *float32, ldc int, shift, clip, next *float32, pace int) {
	switch 4*rows + vecs {
	case 4*8 + 3:
		convTileY8x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*8 + 2:
		convTileY8x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*8 + 1:
		convTileY8x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*4 + 3:
		convTileY4x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*4 + 2:
		convTileY4x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*4 + 1:
		convTileY4x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*2 + 3:
		convTileY2x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*2 + 2:
		convTileY2x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*2 + 1:
		convTileY2x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*1 + 3:
		convTileY1x3(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*1 + 2:
		convTileY1x2(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	case 4*1 + 1:
		convTileY1x1(count, k, a, step, b, off, c, ldc, shift, clip, next, pace)
	}
}

func tileGo[T kernel.Float](rows, n int, a []T, step int, b []T, off []int32, c []T, ldc int, shift []T, clip *[2]T) {
	for i := range rows {
		row := c[i*ldc:][:n]
		for j := range row {
			v := shift[i]
			for l, o := range off {
				v += a[step*l+i] * b[int(o)+j]
			}
			if clip != nil {
				v = between(v, clip)
			}
			row[j] = v
		}
	}
}

// between clips v to [clip[0], clip[1]]; NaN stays NaN.
func between[T kernel.Float](v T, clip *[2]T) T {
	if v < clip[0] {
		v = clip[0]
	}
	if v > clip[1] {
		v = clip[1]
	}
	return v
}

// tileRun is a run of columns of a tile that are contiguous in the output.
type tileRun struct {
	from, n int // first column in the tile, and number of columns
	to      int // offset of the first column in the output
}

// store copies the runs of the rows of a tile (row stride ld) to y (row stride ldy). Unless add is nil,
// it adds the elements of add at the same offsets and clips the sum.
func store[T kernel.Float](rows int, t []T, ld int, runs []tileRun, y []T, ldy int, add []T, clip *[2]T) {
	last := runs[len(runs)-1]
	end := (rows-1)*ldy + last.to + last.n
	y = y[:end]
	if kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() {
		src, run, dst := &kernel.Float32s(t)[0], &runs[0].from, &kernel.Float32s(y)[0]
		switch {
		case add != nil && kernel.AVX512:
			addRunsZ(rows, src, ld*4, run, len(runs), dst, ldy*4, &kernel.Float32s(add[:end])[0], kernel.Float32Pointer(&clip[0]))
		case add != nil:
			addRunsY(rows, src, ld*4, run, len(runs), dst, ldy*4, &kernel.Float32s(add[:end])[0], kernel.Float32Pointer(&clip[0]))
		case kernel.AVX512:
			storeRunsZ(rows, src, ld*4, run, len(runs), dst, ldy*4)
		default:
			storeRunsY(rows, src, ld*4, run, len(runs), dst, ldy*4)
		}
		return
	}
	for i := range rows {
		for _, r := range runs {
			d, s := y[i*ldy+r.to:][:r.n], t[i*ld+r.from:][:r.n]
			copy(d, s)
			if add != nil {
				for q, v := range add[i*ldy+r.to:][:r.n] {
					d[q] = between(v+d[q], clip)
				}
			}
		}
	}
}

// spread is store without add, for runs whose results are step elements apart in y.
func spread[T kernel.Float](rows int, t []T, ld int, runs []tileRun, y []T, ldy, step int) {
	if kernel.Has(kernel.ConvGroup) && kernel.IsFloat32[T]() && step == 2 {
		last := runs[len(runs)-1]
		y = y[:(rows-1)*ldy+last.to+(last.n-1)*step+1]
		if kernel.AVX512 {
			scatterRunsZ(rows, &kernel.Float32s(t)[0], ld*4, &runs[0].from, len(runs), &kernel.Float32s(y)[0], ldy*4)
		} else {
			scatterRunsY(rows, &kernel.Float32s(t)[0], ld*4, &runs[0].from, len(runs), &kernel.Float32s(y)[0], ldy*4)
		}
		return
	}
	for o := range rows {
		for _, r := range runs {
			to := y[o*ldy+r.to:]
			for q, v := range t[o*ld+r.from:][:r.n] {
				to[q*step] = v
			}
		}
	}
}
