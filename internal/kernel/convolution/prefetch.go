package convolution

import "github.com/graft-ml/graft/internal/kernel"

// ahead is memory that will be read when kernels have fetched so many lines of it, bit by bit while they compute: what
// is not in a cache when its turn comes keeps a processor waiting, whereas arithmetic leaves memory idle.
type prefetch[T kernel.Float] struct {
	parts   [][]T
	left    int // elements of all parts
	fetches int
}

// newPrefetch is as much of the parts, one after the other, as the second cache level takes beside a piece.
func newPrefetch[T kernel.Float](fetches int, parts ...[]T) prefetch[T] {
	room := pieceElements
	if kernel.AVX512 {
		room *= 4 // such processors have more of it
	}
	a := prefetch[T]{parts: parts, fetches: fetches}
	for i, part := range parts {
		parts[i] = part[:min(len(part), room-a.left)]
		a.left += len(parts[i])
	}
	return a
}

// share is where a kernel that fetches so many lines starts, and how many bytes are from each to the next; idle is a
// place that costs nothing.
func (a *prefetch[T]) share(fetches int, idle *float32) (next *float32, pace int) {
	for len(a.parts) > 0 && len(a.parts[0]) == 0 {
		a.parts = a.parts[1:]
	}
	if len(a.parts) == 0 || fetches > a.fetches {
		return idle, 0
	}
	from := a.parts[0]
	n := min(a.left*fetches/a.fetches, len(from))
	a.parts[0], a.left, a.fetches = from[n:], a.left-n, a.fetches-fetches
	return &kernel.Float32s(from)[0], kernel.CeilDiv(4*n, fetches)
}

// tileFetches returns how many lines the kernels fetch for so many tiles with an inner dimension k, which they go through
// once for each half of the rows where the registers do not hold them together.
func tileFetches(tiles, k, rows, vecs int) int {
	if rows*vecs > 3*tileLanes()/2 {
		tiles *= 2
	}
	return max(1, tiles*(k/2))
}

// weightFetches returns how many lines a kernel of [weightTile] fetches for so many rows of n points.
func weightFetches(rows, n int) int {
	if kernel.AVX512 {
		return rows * n
	}
	return max(1, rows*(n/2))
}
