package kernel

import "math"

// winogradTile is Winograd's F(m×m, 3×3): side = m+2 points in each dimension give m×m outputs of
// a 3×3 convolution with stride 1 for side² multiplications instead of 9m². With x a tile of side×side
// inputs and g the taps,
//
//	y = Aᵀ·((G·g·Gᵀ) ∘ (Bᵀ·x·B))·A
//
// and, dy being the gradient of y, that of g is Gᵀ·((A·dy·Aᵀ) ∘ (Bᵀ·x·B))·G. The matrices come from
// Toom and Cook's interpolation; see Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2015.
type winogradTile struct {
	m, side int
	bt      []float64 // side×side
	at      []float64 // m×side
	g       []float64 // side×3
}

func (t *winogradTile) points() int { return t.side * t.side }

// winograd2 interpolates at 0, ±1 and ∞.
var winograd2 = &winogradTile{
	m: 2, side: 4,
	bt: []float64{
		1, 0, -1, 0,
		0, 1, 1, 0,
		0, -1, 1, 0,
		0, 1, 0, -1,
	},
	at: []float64{
		1, 1, 1, 0,
		0, 1, -1, -1,
	},
	g: []float64{
		1, 0, 0,
		.5, .5, .5,
		.5, -.5, .5,
		0, 0, 1,
	},
}

const (
	rootHalf = math.Sqrt2 / 2
	rootTwo  = math.Sqrt2
)

// winograd4 interpolates at 0, ±1/√2, ±√2 and ∞, which lose less precision than the usual 0, ±1, ±2
// and ∞ because powers of the points and of their inverses are equally large.
var winograd4 = &winogradTile{
	m: 4, side: 6,
	bt: []float64{
		1, 0, -2.5, 0, 1, 0,
		0, -rootTwo, -2, rootHalf, 1, 0,
		0, rootTwo, -2, -rootHalf, 1, 0,
		0, -rootHalf, -.5, rootTwo, 1, 0,
		0, rootHalf, -.5, -rootTwo, 1, 0,
		0, 1, 0, -2.5, 0, 1,
	},
	at: []float64{
		1, 1, 1, 1, 1, 0,
		0, rootHalf, -rootHalf, rootTwo, -rootTwo, 0,
		0, .5, .5, 2, 2, 0,
		0, rootHalf / 2, -rootHalf / 2, 2 * rootTwo, -2 * rootTwo, 1,
	},
	g: []float64{
		1, 0, 0,
		-2. / 3, -2 * rootHalf / 3, -1. / 3,
		-2. / 3, 2 * rootHalf / 3, -1. / 3,
		1. / 6, rootTwo / 6, 1. / 3,
		1. / 6, -rootTwo / 6, 1. / 3,
		0, 0, 1,
	},
}

// sandwich computes lanes vectors side by side: dst = a·src·aᵀ with a to×from, or transposed from×to.
// Elements of src and dst have a stride for rows and one for columns.
func sandwich[T Float](a []float64, transposed bool, from, to, lanes int, src []T, srcRow, srcCol int, dst []T, dstRow, dstCol int) {
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
