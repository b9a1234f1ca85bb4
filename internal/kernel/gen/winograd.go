package main

import (
	"math"

	"github.com/mmcloughlin/avo/reg"
)

// winograd makes the transforms of 3×3 convolutions. All have channels in their lanes: pixels are 16
// floats (64 bytes) apart, as winogradTranspose writes them.
func winograd() {
	for _, t := range []tile{tile2, tile4, halving, doubling, quad} {
		for _, lanes := range []int{8, 16} {
			winogradPixels(t, lanes, "Input", t.reach, t.step, t.input)
			winogradOutput(t, lanes)
			if t.weights == nil {
				continue // it has those of another tile
			}
			winogradPixels(t, lanes, "Delta", t.outs, t.outs, t.delta)
			winogradWeights(t, lanes)
			winogradGradient(t, lanes)
		}
	}
	winogradTranspose()
	winogradTransposeBack()
	winogradProducts()
}

// line transforms in one dimension; it may clobber x and calls put for each result. put does not change y.
type line func(v *vectors, x []reg.VecVirtual, put func(i int, y reg.VecVirtual))

// tile is a bilinear algorithm for a 3×3 convolution, as it is in one dimension: of reach inputs, step
// of them from tile to tile, it makes points, and of products at these points outs outputs. 3 weights
// make a number of classes of points, equal to points except where the last of them share weights.
type tile struct {
	name                               string
	reach, step, points, classes, outs int
	input                              line      // Bᵀ: reach to points
	output                             line      // Aᵀ: points to outs
	delta                              line      // A: outs to points
	weights                            line      // G: 3 to classes
	taps                               line      // Gᵀ: classes to 3
	pixels, sums, factors, quotients   []float64 // constants of input and delta, output, weights, taps
}

// The points of F(4×4, 3×3) are 0, ±1/√2, ±√2 and ∞, which lose less precision than 0, ±1, ±2, ∞.
var (
	rootHalf = math.Sqrt(0.5)
	rootTwo  = math.Sqrt2
)
