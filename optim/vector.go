package optim

import "github.com/graft-ml/graft/internal/kernel"

// The functions below update the first elements of a weight with vector
// instructions and return how many they updated: 0 if there are no such
// instructions for F or on this machine. Their results are bit-identical to
// those of the Go loops.

func sgdVector[F float](w, g, b []F, lr, decay, momentum, take F) int {
	x, ok := any(&w).(*[]float32)
	n := len(w) &^ 7
	if !simd || !ok || n == 0 {
		return 0
	}
	k := [4]float32{float32(lr), float32(decay), float32(momentum), float32(take)}
	if n >= 2*spreadGrain {
		sgdSpread(*x, *any(&g).(*[]float32), *any(&b).(*[]float32), k)
		return n
	}
	sgdVec(n, &(*x)[0], first(&g), first(&b), &k)
	return n
}

func adamVector[F float](w, g, m, v []F, k [9]F) int {
	x, ok := any(&w).(*[]float32)
	n := len(w) &^ 7
	if !simd || !ok || n == 0 {
		return 0
	}
	var f [9]float32
	for i, c := range k {
		f[i] = float32(c)
	}
	if n >= 2*spreadGrain {
		adamSpread(*x, *any(&g).(*[]float32), *any(&m).(*[]float32), *any(&v).(*[]float32), f)
		return n
	}
	adamVec(n, &(*x)[0], first(&g), first(&m), first(&v), &f)
	return n
}

// first returns the address of the first element of a []float32.
func first[F float](v *[]F) *float32 { return &(*any(v).(*[]float32))[0] }

// spreadGrain is the smallest number of elements per thread.
const spreadGrain = 1 << 13

// spread runs f in parallel over ranges of whole vectors of n elements, without a remainder that does
// not fill a vector. The result for an element does not depend on its range.
func spread(n int, f func(lo, hi int)) {
	kernel.Default().Range(n/8, spreadGrain/8, func(lo, hi int) { f(8*lo, 8*hi) })
}

func sgdSpread(w, g, b []float32, k [4]float32) {
	spread(len(w), func(lo, hi int) { sgdVec(hi-lo, &w[lo], &g[lo], &b[lo], &k) })
}

func adamSpread(w, g, m, v []float32, k [9]float32) {
	spread(len(w), func(lo, hi int) { adamVec(hi-lo, &w[lo], &g[lo], &m[lo], &v[lo], &k) })
}
