package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

var tile4 = tile{
	name: "4", reach: 6, step: 4, points: 6, classes: 6, outs: 4,
	pixels:    []float64{2, 0.5, 2.5, rootHalf, rootTwo},
	sums:      []float64{2, 0.5, rootHalf, rootTwo, rootHalf / 2, 2 * rootTwo},
	factors:   []float64{0.5, 2, -2. / 3, 1. / 6, -2 * rootHalf / 3, rootTwo / 6},
	quotients: []float64{-2. / 3, 1. / 6, 1. / 3, -2 * rootHalf / 3, rootTwo / 6},
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VADDPS(x[4], x[0], x[0])
		VFNMADD231PS(v.c(2.5), x[2], x[0])
		put(0, x[0])
		VADDPS(x[1], x[5], x[5])
		VFNMADD231PS(v.c(2.5), x[3], x[5])
		put(5, x[5])
		even, odd := v.copy(x[4]), v.copy(x[3])
		VFNMADD231PS(v.c(2), x[2], even)
		VFNMADD231PS(v.c(2), x[1], odd)
		v.both(1, even, rootHalf, odd, put)
		VFNMADD231PS(v.c(0.5), x[2], x[4])
		VFNMADD231PS(v.c(0.5), x[1], x[3])
		v.both(3, x[4], rootTwo, x[3], put)
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s, t := sumAndDifference(v, x[1], x[2]), sumAndDifference(v, x[3], x[4])
		VADDPS(s, x[0], x[0])
		VADDPS(t, x[0], x[0])
		put(0, x[0])
		VMULPS(v.c(0.5), s, s)
		VFMADD231PS(v.c(2), t, s)
		put(2, s)
		VFMADD231PS(v.c(rootHalf/2), x[1], x[5])
		VFMADD231PS(v.c(2*rootTwo), x[3], x[5])
		put(3, x[5])
		VMULPS(v.c(rootHalf), x[1], x[1])
		VFMADD231PS(v.c(rootTwo), x[3], x[1])
		put(1, x[1])
	},
	delta: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		v.both(1, v.plus(x[0], 0.5, x[2]), rootHalf, v.plus(x[1], 0.5, x[3]), put)
		v.both(3, v.plus(x[0], 2, x[2]), rootTwo, v.plus(x[1], 2, x[3]), put)
		put(0, x[0])
		put(5, x[3])
	},
	weights: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		even := v.plus(x[0], 0.5, x[2])
		VMULPS(v.c(-2./3), even, even)
		v.both(1, even, -2*rootHalf/3, x[1], put)
		even = v.plus(x[0], 2, x[2])
		VMULPS(v.c(1./6), even, even)
		v.both(3, even, rootTwo/6, x[1], put)
		put(0, x[0])
		put(5, x[2])
	},
	taps: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s, t := sumAndDifference(v, x[1], x[2]), sumAndDifference(v, x[3], x[4])
		VFMADD231PS(v.c(-2./3), s, x[0])
		VFMADD231PS(v.c(1./6), t, x[0])
		put(0, x[0])
		VSUBPS(s, t, t)
		VFMADD231PS(v.c(1./3), t, x[5])
		put(2, x[5])
		VMULPS(v.c(-2*rootHalf/3), x[1], x[1])
		VFMADD231PS(v.c(rootTwo/6), x[3], x[1])
		put(1, x[1])
	},
}

// The points of F(2×2, 3×3) are 0, ±1 and ∞.
var tile2 = tile{
	name: "2", reach: 4, step: 2, points: 4, classes: 4, outs: 2,
	factors: []float64{0.5}, quotients: []float64{0.5},
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VSUBPS(x[2], x[0], x[0])
		put(0, x[0])
		VSUBPS(x[3], x[1], x[3])
		put(3, x[3])
		put(1, sumAndDifference(v, x[2], x[1]))
		put(2, x[2])
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s := sumAndDifference(v, x[1], x[2])
		VADDPS(s, x[0], x[0])
		put(0, x[0])
		VSUBPS(x[3], x[1], x[1])
		put(1, x[1])
	},
	delta: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		y := v.copy(x[0])
		put(1, sumAndDifference(v, y, x[1]))
		put(2, y)
		put(0, x[0])
		z := v.new()
		v.clear(z)
		VSUBPS(x[1], z, z)
		put(3, z)
	},
	weights: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		even := v.new()
		VADDPS(x[2], x[0], even)
		VMULPS(v.c(0.5), even, even)
		v.both(1, even, 0.5, x[1], put)
		put(0, x[0])
		put(3, x[2])
	},
	taps: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		s := sumAndDifference(v, x[1], x[2])
		VFMADD231PS(v.c(0.5), s, x[0])
		put(0, x[0])
		VFMADD231PS(v.c(0.5), s, x[3])
		put(2, x[3])
		VMULPS(v.c(0.5), x[1], x[1])
		put(1, x[1])
	},
}

// halving is a convolution with stride 2. Of the inputs x₀ … x₄ of two outputs, those at even positions
// are multiplied by the outer taps, F(2, 2) with points 0, 1 and ∞, and those at odd positions by the middle one.
var halving = tile{
	name: "Halving", reach: 5, step: 4, points: 5, classes: 4, outs: 2,
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VSUBPS(x[2], x[0], x[0])
		put(0, x[0])
		put(1, x[2])
		VSUBPS(x[2], x[4], x[4])
		put(2, x[4])
		put(3, x[1])
		put(4, x[3])
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VADDPS(x[1], x[0], x[0])
		VADDPS(x[3], x[0], x[0])
		put(0, x[0])
		VADDPS(x[1], x[2], x[2])
		VADDPS(x[4], x[2], x[2])
		put(1, x[2])
	},
	delta: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, x[0])
		put(3, x[0])
		put(2, x[1])
		put(4, x[1])
		VADDPS(x[1], x[0], x[0])
		put(1, x[0])
	},
	weights: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, x[0])
		put(2, x[2])
		put(3, x[1])
		VADDPS(x[2], x[0], x[0])
		put(1, x[0])
	},
	taps: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VADDPS(x[1], x[0], x[0])
		put(0, x[0])
		VADDPS(x[1], x[2], x[2])
		put(2, x[2])
		put(1, x[3])
	},
}

// doubling is the gradient of such a convolution by data: four outputs of three inputs. Its weights are
// those of halving, of taps turned by 180°.
var doubling = tile{
	name: "Doubling", reach: 3, step: 2, points: 5, classes: 4, outs: 4,
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(1, x[1])
		put(4, x[1])
		put(3, x[0])
		VSUBPS(x[1], x[0], x[0])
		put(0, x[0])
		VSUBPS(x[1], x[2], x[2])
		put(2, x[2])
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, x[3])
		put(2, x[4])
		VADDPS(x[1], x[0], x[0])
		put(1, x[0])
		VADDPS(x[1], x[2], x[2])
		put(3, x[2])
	},
}

// quad makes planes of 2×2 outputs from planes of 2×2 inputs with a border of zeros, which the outer
// taps multiply: in one dimension y₀ = w₁x₀ + w₂x₁ and y₁ = w₀x₀ + w₁x₁.
var quad = tile{
	name: "Quad", reach: 2, step: 2, points: 3, classes: 3, outs: 2,
	input: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(1, x[1])
		put(2, x[0])
		VADDPS(x[1], x[0], x[0])
		put(0, x[0])
	},
	output: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		VADDPS(x[0], x[1], x[1])
		put(0, x[1])
		VADDPS(x[0], x[2], x[2])
		put(1, x[2])
	},
	delta: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(1, x[0])
		put(2, x[1])
		VADDPS(x[1], x[0], x[0])
		put(0, x[0])
	},
	weights: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, x[1])
		VSUBPS(x[1], x[2], x[2])
		put(1, x[2])
		VSUBPS(x[1], x[0], x[0])
		put(2, x[0])
	},
	taps: func(v *vectors, x []reg.VecVirtual, put func(int, reg.VecVirtual)) {
		put(0, x[2])
		put(2, x[1])
		VSUBPS(x[1], x[0], x[0])
		VSUBPS(x[2], x[0], x[0])
		put(1, x[0])
	},
}
