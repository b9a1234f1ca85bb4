package convolution

import "github.com/graft-ml/graft/internal/kernel"

// prefetch is a list of memory that kernels prefetch in small steps while they compute: data that are
// not cached when they are needed stall the processor, whereas arithmetic leaves the memory bus idle.
type prefetch[T kernel.Float] struct {
	parts   [][]T
	left    int // number of elements left in all parts
	fetches int
}

// newPrefetch returns the parts to prefetch, limited to the space that a block leaves in the L2 cache.
func newPrefetch[T kernel.Float](fetches int, parts ...[]T) prefetch[T] {
	room := cacheBlockElements
	if kernel.AVX512 {
		room *= 4 // such processors have larger L2 caches
	}
	a := prefetch[T]{parts: parts, fetches: fetches}
	for i, part := range parts {
		parts[i] = part[:min(len(part), room-a.left)]
		a.left += len(parts[i])
	}
	return a
}

// share returns the address at which a kernel that prefetches the given number of lines starts, and the stride between them
// in bytes. idle is a cached address for when nothing is left.
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

// tileFetches returns the number of lines that kernels prefetch for the given number of tiles with inner dimension k. Kernels
// loop over k once, or once for each half of the rows if the registers do not hold all.
func tileFetches(tiles, k, rows, vecs int) int {
	if rows*vecs > 3*tileLanes()/2 {
		tiles *= 2
	}
	return max(1, tiles*(k/2))
}

// weightFetches returns the number of lines that a kernel of [weightTile] prefetches for the given number of rows of n points.
func weightFetches(rows, n int) int {
	if kernel.AVX512 {
		return rows * n
	}
	return max(1, rows*(n/2))
}
