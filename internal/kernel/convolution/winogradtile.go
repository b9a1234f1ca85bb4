package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradTile is a bilinear algorithm for a 3×3 convolution, after Winograd: from the reach² inputs of a tile it
// computes m² outputs with side² multiplications. The matrices are those of one dimension; both dimensions use
// the same. With x the inputs of a tile and g the taps,
//
//	y = Aᵀ·((G·g·Gᵀ) ∘ (Bᵀ·x·B))·A
//
// and the gradient of g is Gᵀ·((A·dy·Aᵀ) ∘ (Bᵀ·x·B))·G. See Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015.
type winogradTile struct {
	m, side     int
	reach, step int       // inputs per dimension that a tile reads, and the step from tile to tile
	bt          []float64 // side×reach
	at          []float64 // m×side
	g           []float64 // kinds×3

	// Several points may use the same weights: kind has the index of each point's weights, kinds is their number.
	kind        []int
	kinds       int
	weightPoint []int // the same for both dimensions together; set by newTile

	narrow, wide winogradKernels
}

// winogradKernels is the assembly of a tile's transforms, for vectors of 8 or of 16 channels.
type winogradKernels struct {
	input, delta func(rows, n int, src *float32, pitch int, dst *float32, point, step int)
	output       func(rows, n int, src *float32, point, step int, dst *float32, pitch int, bad *float32)
	weights      func(n int, w *float32, lane, step, flipped int, dst *float32, point int)
	gradient     func(n int, src *float32, point int, dst, bad *float32)
}

// points returns the number of multiplications per tile and pair of channels, weightPoints the number
// of different weights.
func (t *winogradTile) points() int       { return t.side * t.side }
func (t *winogradTile) weightPoints() int { return t.kinds * t.kinds }

// newTile completes t with fields derived from its matrices.
func newTile(t *winogradTile) *winogradTile {
	for _, row := range t.kind {
		for _, column := range t.kind {
			t.weightPoint = append(t.weightPoint, row*t.kinds+column)
		}
	}
	return t
}

// sandwich computes dst = a·src·aᵀ for lanes independent vectors, with a to×from, or its transpose from×to.
// src and dst have a row stride and a column stride each.
func sandwich[T kernel.Float](a []float64, transposed bool, from, to, lanes int, src []T, srcRow, srcCol int, dst []T, dstRow, dstCol int) {
	var buffer [6 * 6 * winogradLanes]T
	at := func(i, k int) T {
		if transposed {
			return T(a[k*to+i])
		}
		return T(a[i*from+k])
	}
	for i := range to {
		for j := range from {
			sum := buffer[(i*from+j)*lanes:][:lanes]
			for k := range from {
				if f := at(i, k); f != 0 {
					for l, v := range src[k*srcRow+j*srcCol:][:lanes] {
						sum[l] += f * v
					}
				}
			}
		}
	}
	for i := range to {
		for j := range to {
			sum := dst[i*dstRow+j*dstCol:][:lanes]
			clear(sum)
			for k := range from {
				if f := at(j, k); f != 0 {
					for l, v := range buffer[(i*from+k)*lanes:][:lanes] {
						sum[l] += f * v
					}
				}
			}
		}
	}
}
