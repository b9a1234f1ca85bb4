package convolution

import "github.com/graft-ml/graft/internal/kernel"

// winogradTile is a bilinear algorithm for a 3×3 convolution, after Winograd: reach² inputs of a tile
// give m² outputs for side² multiplications. It is described in one dimension; both are treated alike.
// With x a tile of inputs and g the taps,
//
//	y = Aᵀ·((G·g·Gᵀ) ∘ (Bᵀ·x·B))·A
//
// and, dy being the gradient of y, that of g is Gᵀ·((A·dy·Aᵀ) ∘ (Bᵀ·x·B))·G. See Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015.
type winogradTile struct {
	m, side     int
	reach, step int       // inputs that a tile reads, and from tile to tile
	bt          []float64 // side×reach
	at          []float64 // m×side
	g           []float64 // kinds×3

	// Several points may be multiplied by the same weights: kind has the index of each point's weights, kinds their number.
	kind        []int
	kinds       int
	weightPoint []int // the same for the products of both dimensions; newTile sets it

	narrow, wide winogradKernels
}

// winogradKernels are the assembly of a tile, for vectors of 8 or of 16 channels.
type winogradKernels struct {
	input, delta func(rows, n int, src *float32, pitch int, dst *float32, point, step int)
	output       func(rows, n int, src *float32, point, step int, dst *float32, pitch int, bad *float32)
	weights      func(n int, w *float32, lane, step, flipped int, dst *float32, point int)
	gradient     func(n int, src *float32, point int, dst, bad *float32)
}

// points returns how many products of channels a tile takes, and weightPoints how many different weights.
func (t *winogradTile) points() int       { return t.side * t.side }
func (t *winogradTile) weightPoints() int { return t.kinds * t.kinds }

// newTile completes t.
func newTile(t *winogradTile) *winogradTile {
	for _, row := range t.kind {
		for _, column := range t.kind {
			t.weightPoint = append(t.weightPoint, row*t.kinds+column)
		}
	}
	return t
}

// sandwich computes lanes vectors side by side: dst = a·src·aᵀ with a to×from, or transposed from×to.
// Elements of src and dst have a stride for rows and one for columns.
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
