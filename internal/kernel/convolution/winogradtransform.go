package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradLanes is the number of channels of a pixel of a band, which are contiguous and transformed together.
const winogradLanes = 16

// band is a block of an image's planes with channels last: rows of pitch pixels, each of winogradLanes
// channels.
type band[T kernel.Float] struct {
	px    []T
	pitch int // row stride in pixels
}

// row returns row i from pixel j on.
func (b *band[T]) row(i, j int) []T { return b.px[(i*b.pitch+j)*winogradLanes:] }

// transposeIn sets rows of w pixels, from pixel at of row on, from planes with stride plane and row stride stride. The
// pixels up to the next multiple of 8, and missing channels, are set to 0.
func (b *band[T]) transposeIn(rows, w, row, at, channels int, src []T, stride, plane int) {
	for half := 0; half < winogradLanes; half += 8 {
		live := min(8, channels-half)
		dst := b.row(row, at)[half:]
		if live == 8 && kernel.SIMD && kernel.IsFloat32[T]() {
			_ = dst[((rows-1)*b.pitch+(w-1)&^7+7)*winogradLanes+7]
			s := src[half*plane:]
			_ = s[7*plane+(rows-1)*stride+w-1]
			winogradTranspose(rows, w, &kernel.Float32s(s)[0], stride*4, plane*4, &kernel.Float32s(dst)[0], b.pitch*winogradLanes*4)
			continue
		}
		for i := range rows {
			for j := range kernel.CeilDiv(w, 8) * 8 {
				px := dst[(i*b.pitch+j)*winogradLanes:][:8]
				clear(px)
				if j < w {
					for l := 0; l < live; l++ {
						px[l] = src[(half+l)*plane+i*stride+j]
					}
				}
			}
		}
	}
}

// transposeOut copies w pixels of the first rows to planes.
func (b *band[T]) transposeOut(rows, w, channels int, dst []T, stride, plane int) {
	for half := 0; half < channels; half += 8 {
		live := min(8, channels-half)
		src := b.px[half:]
		if live == 8 && kernel.SIMD && kernel.IsFloat32[T]() {
			_ = src[((rows-1)*b.pitch+(w-1)&^7+7)*winogradLanes+7]
			d := dst[half*plane:]
			_ = d[7*plane+(rows-1)*stride+w-1]
			winogradTransposeBack(rows, w, &kernel.Float32s(src)[0], b.pitch*winogradLanes*4, &kernel.Float32s(d)[0], stride*4, plane*4)
			continue
		}
		for i := range rows {
			for j := range w {
				for l, v := range src[(i*b.pitch+j)*winogradLanes:][:live] {
					dst[(half+l)*plane+i*stride+j] = v
				}
			}
		}
	}
}

// clearAround sets the pixels of rows that are outside of the w pixels from at on to 0.
func (b *band[T]) clearAround(row, rows, at, w int) {
	for i := row; i < row+rows; i++ {
		clear(b.row(i, 0)[:at*winogradLanes])
		clear(b.row(i, at+w)[:(b.pitch-at-w)*winogradLanes])
	}
}

// grid is the transformed points of tiles: point p of channel c of tile t (in row-major order) is at
// [p*point + t*step + c/winogradLanes*group + c%winogradLanes]. Strides are not multiples of large powers of
// two, so that points and tiles do not map to the same cache sets.
type grid[T kernel.Float] struct {
	v                  []T
	point, step, group int
	size               int // number of elements of v
}

// newGrid lays out tiles with all channels of a tile contiguous.
func newGrid[T kernel.Float](points, tiles, channels int) grid[T] {
	step := roundLanes(channels) + winogradLanes
	point := oddLanes(kernel.CeilDiv(tiles, productRows) * productRows * step)
	return grid[T]{point: point, step: step, group: winogradLanes, size: points * point}
}

// newGroups lays out one group of winogradLanes channels after the other.
func newGroups[T kernel.Float](points, tiles, channels int) grid[T] {
	point := oddLanes(tiles * winogradLanes)
	group := points * point
	return grid[T]{point: point, step: winogradLanes, group: group, size: kernel.CeilDiv(channels, winogradLanes) * group}
}

// oddLanes rounds n, in groups of winogradLanes, up to an odd number of groups.
func oddLanes(n int) int { return (n/winogradLanes | 1) * winogradLanes }

func roundLanes(n int) int { return kernel.CeilDiv(n, winogradLanes) * winogradLanes }

// allFinite reports whether all marks are still 0: transforms turn them into NaN when they read a
// value that is infinite or NaN.
func allFinite[T kernel.Float](marks []T) bool {
	for _, v := range marks {
		if v != v {
			return false
		}
	}
	return true
}

// kernels returns the assembly for the widest vectors of this processor, and their number of channels.
func (t *winogradTile) kernels() (k *winogradKernels, lanes int) {
	if kernel.AVX512 {
		return &t.wide, 16
	}
	return &t.narrow, 8
}

// inputs transforms rows×cols tiles of b: dst = Bᵀ·x·B.
func inputs[T kernel.Float](t *winogradTile, rows, cols int, b *band[T], dst grid[T]) {
	_ = b.row((rows-1)*t.step+t.reach-1, (cols-1)*t.step+t.reach-1)[winogradLanes-1]
	_ = dst.v[(t.points()-1)*dst.point+(rows*cols-1)*dst.step+winogradLanes-1]
	if !kernel.SIMD || !kernel.IsFloat32[T]() {
		eachTile(rows, cols, t.step, b, dst, func(px, v []T) {
			sandwich(t.bt, false, t.reach, t.side, winogradLanes, px, b.pitch*winogradLanes, winogradLanes, v, t.side*dst.point, dst.point)
		})
		return
	}
	k, lanes := t.kernels()
	px, v := kernel.Float32s(b.px), kernel.Float32s(dst.v)
	for at := 0; at < winogradLanes; at += lanes {
		k.input(rows, cols, &px[at], b.pitch*winogradLanes*4, &v[at], dst.point*4, dst.step*4)
	}
}

// deltas transforms rows×cols tiles of gradients of outputs: dst = A·dy·Aᵀ.
func deltas[T kernel.Float](t *winogradTile, rows, cols int, b *band[T], dst grid[T]) {
	_ = b.row(rows*t.m-1, cols*t.m-1)[winogradLanes-1]
	_ = dst.v[(t.points()-1)*dst.point+(rows*cols-1)*dst.step+winogradLanes-1]
	if !kernel.SIMD || !kernel.IsFloat32[T]() {
		eachTile(rows, cols, t.m, b, dst, func(px, v []T) {
			sandwich(t.at, true, t.m, t.side, winogradLanes, px, b.pitch*winogradLanes, winogradLanes, v, t.side*dst.point, dst.point)
		})
		return
	}
	k, lanes := t.kernels()
	px, v := kernel.Float32s(b.px), kernel.Float32s(dst.v)
	for at := 0; at < winogradLanes; at += lanes {
		k.delta(rows, cols, &px[at], b.pitch*winogradLanes*4, &v[at], dst.point*4, dst.step*4)
	}
}

// outputs transforms products M to rows×cols tiles of b: y = Aᵀ·M·A.
func outputs[T kernel.Float](t *winogradTile, rows, cols int, src grid[T], b *band[T], marks []T) {
	_ = b.row(rows*t.m-1, cols*t.m-1)[winogradLanes-1]
	_, _ = src.v[(t.points()-1)*src.point+(rows*cols-1)*src.step+winogradLanes-1], marks[winogradLanes-1]
	if !kernel.SIMD || !kernel.IsFloat32[T]() {
		eachTile(rows, cols, t.m, b, src, func(px, v []T) {
			sandwich(t.at, false, t.side, t.m, winogradLanes, v, t.side*src.point, src.point, px, b.pitch*winogradLanes, winogradLanes)
			for i := range t.m {
				for q, v := range px[i*b.pitch*winogradLanes:][:t.m*winogradLanes] {
					marks[q%winogradLanes] += v - v
				}
			}
		})
		return
	}
	k, lanes := t.kernels()
	px, v, not := kernel.Float32s(b.px), kernel.Float32s(src.v), kernel.Float32s(marks)
	for at := 0; at < winogradLanes; at += lanes {
		k.output(rows, cols, &v[at], src.point*4, src.step*4, &px[at], b.pitch*winogradLanes*4, &not[at])
	}
}

// eachTile calls f with the pixels and the points of each tile; adjacent tiles are step pixels apart.
func eachTile[T kernel.Float](rows, cols, step int, b *band[T], g grid[T], f func(px, v []T)) {
	for i := range rows {
		for j := range cols {
			f(b.row(i*step, j*step), g.v[(i*cols+j)*g.step:])
		}
	}
}
