package kernel

// winogradLanes is how many channels lie side by side in a pixel of a band, and are transformed together.
const winogradLanes = 16

// band is a piece of an image's planes with channels last: rows of pixels, pitch of them, each of
// winogradLanes channels.
type band[T Float] struct {
	px    []T
	pitch int // pixels
}

// row is row i from pixel j on.
func (b *band[T]) row(i, j int) []T { return b.px[(i*b.pitch+j)*winogradLanes:] }

// turnIn sets w pixels of rows from pixel at on, and those up to the next multiple of 8 to 0, from
// planes that are plane elements apart and stride elements wide; channels beyond those given are 0.
func (b *band[T]) turnIn(rows, w, row, at, channels int, src []T, stride, plane int) {
	for half := 0; half < winogradLanes; half += 8 {
		live := min(8, channels-half)
		dst := b.row(row, at)[half:]
		if live == 8 && simd && single[T]() {
			_ = dst[((rows-1)*b.pitch+(w-1)&^7+7)*winogradLanes+7]
			s := src[half*plane:]
			_ = s[7*plane+(rows-1)*stride+w-1]
			winogradTurn(rows, w, &as32(s)[0], stride*4, plane*4, &as32(dst)[0], b.pitch*winogradLanes*4)
			continue
		}
		for i := range rows {
			for j := range cdiv(w, 8) * 8 {
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

// turnOut copies w pixels of the first rows to planes.
func (b *band[T]) turnOut(rows, w, channels int, dst []T, stride, plane int) {
	for half := 0; half < channels; half += 8 {
		live := min(8, channels-half)
		src := b.px[half:]
		if live == 8 && simd && single[T]() {
			_ = src[((rows-1)*b.pitch+(w-1)&^7+7)*winogradLanes+7]
			d := dst[half*plane:]
			_ = d[7*plane+(rows-1)*stride+w-1]
			winogradUnturn(rows, w, &as32(src)[0], b.pitch*winogradLanes*4, &as32(d)[0], stride*4, plane*4)
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

// clearAround sets rows to 0 outside of w pixels from at on.
func (b *band[T]) clearAround(row, rows, at, w int) {
	for i := row; i < row+rows; i++ {
		clear(b.row(i, 0)[:at*winogradLanes])
		clear(b.row(i, at+w)[:(b.pitch-at-w)*winogradLanes])
	}
}

// grid is points of tiles: tile t, of a tile row and column in this order, has its point p at
// [p*point+t*step], channels side by side.
type grid[T Float] struct {
	v           []T
	point, step int
}

// newGrid lays out tiles of a number of channels, rounded up to whole lanes. Distances are no
// multiples of large powers of two, so that points and tiles do not compete for sets of a cache.
func newGrid[T Float](t *winogradTile, tiles, channels int) grid[T] {
	g := grid[T]{step: roundLanes(channels) + winogradLanes}
	g.point = cdiv(tiles, productRows) * productRows * g.step
	if g.point/winogradLanes%2 == 0 {
		g.point += winogradLanes
	}
	return g
}

// size is how many elements the grid takes.
func (g *grid[T]) size(t *winogradTile) int { return t.points() * g.point }

func roundLanes(n int) int { return cdiv(n, winogradLanes) * winogradLanes }

// finite is 0 in all lanes until something infinite or NaN came by.
type finite[T Float] [winogradLanes]T

func (f *finite[T]) ok() bool {
	for _, v := range f {
		if v != v {
			return false
		}
	}
	return true
}

// inputs transforms rows×cols tiles of b to the first tiles of dst: Bᵀ·x·B.
func inputs[T Float](t *winogradTile, rows, cols int, b *band[T], dst grid[T]) {
	_ = b.row((rows-1)*t.m+t.side-1, (cols-1)*t.m+t.side-1)[winogradLanes-1]
	_ = dst.v[(t.points()-1)*dst.point+(rows*cols-1)*dst.step+winogradLanes-1]
	if !simd || !single[T]() {
		eachTile(t, rows, cols, b, dst, func(px, v []T) {
			sandwich(t.bt, false, t.side, t.side, winogradLanes, px, b.pitch*winogradLanes, winogradLanes, v, t.side*dst.point, dst.point)
		})
		return
	}
	var tmp [6 * 6 * winogradLanes]float32
	px, v := as32(b.px), as32(dst.v)
	pitch, point, step := b.pitch*winogradLanes*4, dst.point*4, dst.step*4
	switch {
	case avx512 && t.m == 4:
		winograd4Input16(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
	case avx512:
		winograd2Input16(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
	case t.m == 4:
		winograd4Input8(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
		winograd4Input8(rows, cols, &px[8], pitch, &v[8], point, step, &tmp[0])
	default:
		winograd2Input8(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
		winograd2Input8(rows, cols, &px[8], pitch, &v[8], point, step, &tmp[0])
	}
}

// deltas transforms rows×cols tiles of gradients of outputs: A·dy·Aᵀ.
func deltas[T Float](t *winogradTile, rows, cols int, b *band[T], dst grid[T]) {
	_ = b.row(rows*t.m-1, cols*t.m-1)[winogradLanes-1]
	_ = dst.v[(t.points()-1)*dst.point+(rows*cols-1)*dst.step+winogradLanes-1]
	if !simd || !single[T]() {
		eachTile(t, rows, cols, b, dst, func(px, v []T) {
			sandwich(t.at, true, t.m, t.side, winogradLanes, px, b.pitch*winogradLanes, winogradLanes, v, t.side*dst.point, dst.point)
		})
		return
	}
	var tmp [6 * 6 * winogradLanes]float32
	px, v := as32(b.px), as32(dst.v)
	pitch, point, step := b.pitch*winogradLanes*4, dst.point*4, dst.step*4
	switch {
	case avx512 && t.m == 4:
		winograd4Delta16(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
	case avx512:
		winograd2Delta16(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
	case t.m == 4:
		winograd4Delta8(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
		winograd4Delta8(rows, cols, &px[8], pitch, &v[8], point, step, &tmp[0])
	default:
		winograd2Delta8(rows, cols, &px[0], pitch, &v[0], point, step, &tmp[0])
		winograd2Delta8(rows, cols, &px[8], pitch, &v[8], point, step, &tmp[0])
	}
}

// outputs makes rows×cols tiles of b from products: Aᵀ·M·A.
func outputs[T Float](t *winogradTile, rows, cols int, src grid[T], b *band[T], bad *finite[T]) {
	_ = b.row(rows*t.m-1, cols*t.m-1)[winogradLanes-1]
	_ = src.v[(t.points()-1)*src.point+(rows*cols-1)*src.step+winogradLanes-1]
	if !simd || !single[T]() {
		eachTile(t, rows, cols, b, src, func(px, v []T) {
			sandwich(t.at, false, t.side, t.m, winogradLanes, v, t.side*src.point, src.point, px, b.pitch*winogradLanes, winogradLanes)
			for i := range t.m {
				for q, v := range px[i*b.pitch*winogradLanes:][:t.m*winogradLanes] {
					bad[q%winogradLanes] += v - v
				}
			}
		})
		return
	}
	var tmp [6 * 6 * winogradLanes]float32
	px, v, not := as32(b.px), as32(src.v), as32(bad[:])
	pitch, point, step := b.pitch*winogradLanes*4, src.point*4, src.step*4
	switch {
	case avx512 && t.m == 4:
		winograd4Output16(rows, cols, &v[0], point, step, &px[0], pitch, &tmp[0], &not[0])
	case avx512:
		winograd2Output16(rows, cols, &v[0], point, step, &px[0], pitch, &tmp[0], &not[0])
	case t.m == 4:
		winograd4Output8(rows, cols, &v[0], point, step, &px[0], pitch, &tmp[0], &not[0])
		winograd4Output8(rows, cols, &v[8], point, step, &px[8], pitch, &tmp[0], &not[8])
	default:
		winograd2Output8(rows, cols, &v[0], point, step, &px[0], pitch, &tmp[0], &not[0])
		winograd2Output8(rows, cols, &v[8], point, step, &px[8], pitch, &tmp[0], &not[8])
	}
}

// eachTile calls f with the pixels and the points of each tile.
func eachTile[T Float](t *winogradTile, rows, cols int, b *band[T], g grid[T], f func(px, v []T)) {
	for i := range rows {
		for j := range cols {
			f(b.row(i*t.m, j*t.m), g.v[(i*cols+j)*g.step:])
		}
	}
}

// winogradTaps describes 3×3 weights: those of output lane l and input channel k begin at l*lane + k*step.
type winogradTaps[T Float] struct {
	w          []T
	lane, step int
	turned     bool // by 180°
	lanes      int  // how many there are
}

// weights transforms the taps of winogradLanes lanes from lane on and of n channels from k on,
// G·g·Gᵀ: a strip for each point, winogradLanes for each channel, point elements apart.
func (s *winogradTaps[T]) weights(t *winogradTile, lane, k, n int, dst []T, point int) {
	_ = dst[(t.points()-1)*point+n*winogradLanes-1]
	for half := 0; half < winogradLanes; half += 8 {
		live := max(0, min(8, s.lanes-lane-half))
		if live == 8 && simd && single[T]() {
			wide := avx512 && half == 0 && lane+winogradLanes <= s.lanes
			w := s.w[(lane+half)*s.lane+k*s.step:]
			_ = w[7*s.lane+(n-1)*s.step+8]
			var tmp [(9 + 6*3) * winogradLanes]float32
			turned := 0
			if s.turned {
				turned = 1
			}
			switch {
			case wide && t.m == 4:
				winograd4Weights16(n, &as32(w)[0], s.lane*4, s.step*4, turned, &as32(dst)[half], point*4, &tmp[0])
			case wide:
				winograd2Weights16(n, &as32(w)[0], s.lane*4, s.step*4, turned, &as32(dst)[half], point*4, &tmp[0])
			case t.m == 4:
				winograd4Weights8(n, &as32(w)[0], s.lane*4, s.step*4, turned, &as32(dst)[half], point*4, &tmp[0])
			default:
				winograd2Weights8(n, &as32(w)[0], s.lane*4, s.step*4, turned, &as32(dst)[half], point*4, &tmp[0])
			}
			if wide {
				break
			}
			continue
		}
		for i := range n {
			var g [9 * 8]T // [tap][lane]
			for l := range live {
				for tap, v := range s.w[(lane+half+l)*s.lane+(k+i)*s.step:][:9] {
					if s.turned {
						tap = 8 - tap
					}
					g[tap*8+l] = v
				}
			}
			sandwich(t.g, false, 3, t.side, 8, g[:], 3*8, 8, dst[i*winogradLanes+half:], t.side*point, point)
		}
	}
}

// gradients makes the taps of n lanes from products: Gᵀ·M·G, nine for each lane.
func gradients[T Float](t *winogradTile, n int, src []T, point int, dst []T, bad *finite[T]) {
	_, _ = src[(t.points()-1)*point+n-1], dst[9*n-1]
	done := 0
	if simd && single[T]() {
		var tmp [(9 + 3*6) * winogradLanes]float32
		not := &as32(bad[:])[0]
		if avx512 && n >= 16 {
			done = n &^ 15
			if t.m == 4 {
				winograd4Gradient16(n/16, &as32(src)[0], point*4, &as32(dst)[0], &tmp[0], not)
			} else {
				winograd2Gradient16(n/16, &as32(src)[0], point*4, &as32(dst)[0], &tmp[0], not)
			}
		}
		if n8 := (n - done) / 8; n8 > 0 {
			from, to := &as32(src)[done], &as32(dst)[9*done]
			done += 8 * n8
			if t.m == 4 {
				winograd4Gradient8(n8, from, point*4, to, &tmp[0], not)
			} else {
				winograd2Gradient8(n8, from, point*4, to, &tmp[0], not)
			}
		}
	}
	for l := done; l < n; l++ {
		taps := dst[9*l:][:9]
		sandwich(t.g, true, t.side, 3, 1, src[l:], t.side*point, point, taps, 3, 1)
		for _, v := range taps {
			bad[0] += v - v
		}
	}
}
