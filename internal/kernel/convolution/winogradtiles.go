package convolution

import "math"

// Tiles with stride 1 are F(m×m, 3×3), whose matrices are those of Toom-Cook interpolation.

// winograd2 is F(2×2, 3×3), interpolated at 0, ±1 and ∞.
var winograd2 = newTile(&winogradTile{
	m: 2, side: 4, reach: 4, step: 2,
	kind: []int{0, 1, 2, 3}, kinds: 4,
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
	narrow: winogradKernels{winograd2Input8, winograd2Delta8, winograd2Output8, winograd2Weights8, winograd2Gradient8},
	wide:   winogradKernels{winograd2Input16, winograd2Delta16, winograd2Output16, winograd2Weights16, winograd2Gradient16},
})

const (
	rootHalf = math.Sqrt2 / 2
	rootTwo  = math.Sqrt2
)

// winograd4 is F(4×4, 3×3), interpolated at 0, ±1/√2, ±√2 and ∞. This is more accurate than the usual points
// 0, ±1, ±2 and ∞, since the powers of the points and of their inverses have the same magnitudes.
var winograd4 = newTile(&winogradTile{
	m: 4, side: 6, reach: 6, step: 4,
	kind: []int{0, 1, 2, 3, 4, 5}, kinds: 6,
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
	narrow: winogradKernels{winograd4Input8, winograd4Delta8, winograd4Output8, winograd4Weights8, winograd4Gradient8},
	wide:   winogradKernels{winograd4Input16, winograd4Delta16, winograd4Output16, winograd4Weights16, winograd4Gradient16},
})

// winogradHalving is for stride 2: two outputs y₀ = w₀x₀ + w₁x₁ + w₂x₂ and y₁ = w₀x₂ + w₁x₃ + w₂x₄. The
// inputs at even positions are multiplied by the outer taps, F(2, 2) with points 0, 1 and ∞; those at odd positions
// by the middle tap, and their points share its weights.
var winogradHalving = newTile(&winogradTile{
	m: 2, side: 5, reach: 5, step: 4,
	kind: []int{0, 1, 2, 3, 3}, kinds: 4,
	bt: []float64{
		1, 0, -1, 0, 0,
		0, 0, 1, 0, 0,
		0, 0, -1, 0, 1,
		0, 1, 0, 0, 0,
		0, 0, 0, 1, 0,
	},
	at: []float64{
		1, 1, 0, 1, 0,
		0, 1, 1, 0, 1,
	},
	g: []float64{
		1, 0, 0,
		1, 0, 1,
		0, 0, 1,
		0, 1, 0,
	},
	narrow: winogradKernels{winogradHalvingInput8, winogradHalvingDelta8, winogradHalvingOutput8, winogradHalvingWeights8, winogradHalvingGradient8},
	wide:   winogradKernels{winogradHalvingInput16, winogradHalvingDelta16, winogradHalvingOutput16, winogradHalvingWeights16, winogradHalvingGradient16},
})

// winogradDoubling is the gradient with respect to the input of a convolution with stride 2, with taps
// rotated by 180°: four outputs y₀ = w₁x₀, y₁ = w₀x₀ + w₂x₁, y₂ = w₁x₁, y₃ = w₀x₁ + w₂x₂.
var winogradDoubling = newTile(&winogradTile{
	m: 4, side: 5, reach: 3, step: 2,
	kind: []int{0, 1, 2, 3, 3}, kinds: 4,
	bt: []float64{
		1, -1, 0,
		0, 1, 0,
		0, -1, 1,
		1, 0, 0,
		0, 1, 0,
	},
	at: []float64{
		0, 0, 0, 1, 0,
		1, 1, 0, 0, 0,
		0, 0, 0, 0, 1,
		0, 1, 1, 0, 0,
	},
	g:      winogradHalving.g,
	narrow: winogradKernels{input: winogradDoublingInput8, output: winogradDoublingOutput8, weights: winogradHalvingWeights8},
	wide:   winogradKernels{input: winogradDoublingInput16, output: winogradDoublingOutput16, weights: winogradHalvingWeights16},
})

// winogradQuad is for planes of 2×2 points with a border of zeros, whose products it skips: two
// outputs y₀ = w₁x₀ + w₂x₁ and y₁ = w₀x₀ + w₁x₁.
var winogradQuad = newTile(&winogradTile{
	m: 2, side: 3, reach: 2, step: 2,
	kind: []int{0, 1, 2}, kinds: 3,
	bt: []float64{
		1, 1,
		0, 1,
		1, 0,
	},
	at: []float64{
		1, 1, 0,
		1, 0, 1,
	},
	g: []float64{
		0, 1, 0,
		0, -1, 1,
		1, -1, 0,
	},
	narrow: winogradKernels{winogradQuadInput8, winogradQuadDelta8, winogradQuadOutput8, winogradQuadWeights8, winogradQuadGradient8},
	wide:   winogradKernels{winogradQuadInput16, winogradQuadDelta16, winogradQuadOutput16, winogradQuadWeights16, winogradQuadGradient16},
})
