package norm

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/epiloguetest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

func TestLayerNorm(t *testing.T) {
	const eps = 1e-3
	for name, p := range kerneltest.Pools(t) {
		for _, s := range [][2]int{{1, 1}, {3, 7}, {40, 100}, {200, 300}} {
			rows, cols := s[0], s[1]
			n := rows * cols
			x, scale, bias, dy := kerneltest.Random[float64](n, 1), kerneltest.Random[float64](cols, 2), kerneltest.Random[float64](cols, 3), kerneltest.Random[float64](n, 4)
			y, mean, invstd := make([]float64, n), make([]float64, rows), make([]float64, rows)
			LayerNorm(p, rows, cols, eps, x, scale, bias, y, mean, invstd)
			want := make([]float64, n)
			variance, means := make([]float64, rows), make([]float64, rows)
			RowMoments(p, rows, cols, x, means, variance)
			for i, v := range x {
				r, c := i/cols, i%cols
				want[i] = (v-means[r])/math.Sqrt(variance[r]+eps)*scale[c] + bias[c]
			}
			kerneltest.Near(t, name, y, want, 1e-12)
			x32, scale32, bias32, y32 := kerneltest.Narrow(x), kerneltest.Narrow(scale), kerneltest.Narrow(bias), make([]float32, n)
			LayerNorm(p, rows, cols, eps, x32, scale32, bias32, y32, nil, nil)
			kerneltest.Near(t, name+" float32", kerneltest.Wide(y32), want, 1e-5)

			dx, dscale, dbias := make([]float64, n), make([]float64, cols), make([]float64, cols)
			LayerNormGrad(p, rows, cols, x, scale, mean, invstd, dy, nil, dx, dscale, dbias, nil)
			loss := func() float64 {
				LayerNorm(nil, rows, cols, eps, x, scale, bias, y, nil, nil)
				return kerneltest.Weighted(y, dy)
			}
			kerneltest.Slope(t, "dx", x, dx, loss)
			kerneltest.Slope(t, "dscale", scale, dscale, loss)
			kerneltest.Slope(t, "dbias", bias, dbias, loss)
		}
	}
}

func TestBatchNorm(t *testing.T) {
	const eps = 1e-3
	for name, p := range kerneltest.Pools(t) {
		for _, s := range [][3]int{{2, 3, 5}, {7, 4, 1}, {3, 9, 700}, {64, 100, 1}} {
			n, c, space := s[0], s[1], s[2]
			size := n * c * space
			x, scale, bias, dy := kerneltest.Random[float64](size, 1), kerneltest.Random[float64](c, 2), kerneltest.Random[float64](c, 3), kerneltest.Random[float64](size, 4)
			y, mean, variance := make([]float64, size), make([]float64, c), make([]float64, c)
			ChannelMoments(p, n, c, space, x, mean, variance)
			m, v := make([]float64, c), make([]float64, c)
			for i, u := range x {
				m[i/space%c] += u / float64(n*space)
			}
			for i, u := range x {
				d := u - m[i/space%c]
				v[i/space%c] += d * d / float64(n*space)
			}
			kerneltest.Near(t, name+" mean", mean, m, 1e-12)
			kerneltest.Near(t, name+" variance", variance, v, 1e-12)
			BatchNorm(p, n, c, space, eps, x, scale, bias, mean, variance, y)
			want := make([]float64, size)
			for i, u := range x {
				q := i / space % c
				want[i] = (u-m[q])/math.Sqrt(v[q]+eps)*scale[q] + bias[q]
			}
			kerneltest.Near(t, name, y, want, 1e-12)
			y32 := make([]float32, size)
			BatchNorm(p, n, c, space, eps, kerneltest.Narrow(x), kerneltest.Narrow(scale), kerneltest.Narrow(bias), kerneltest.Narrow(mean), kerneltest.Narrow(variance), y32)
			kerneltest.Near(t, name+" float32", kerneltest.Wide(y32), want, 1e-5)

			for _, train := range []bool{true, false} {
				dx, dscale, dbias := make([]float64, size), make([]float64, c), make([]float64, c)
				BatchNormGrad(p, n, c, space, eps, train, x, dy, Gate[float64]{}, scale, mean, variance, dx, dscale, dbias)
				loss := func() float64 {
					if train {
						ChannelMoments(nil, n, c, space, x, m, v)
					}
					BatchNorm(nil, n, c, space, eps, x, scale, bias, m, v, y)
					return kerneltest.Weighted(y, dy)
				}
				what := fmt.Sprint(name, s, train)
				kerneltest.Slope(t, what+" dx", x, dx, loss)
				kerneltest.Slope(t, what+" dscale", scale, dscale, loss)
				kerneltest.Slope(t, what+" dbias", bias, dbias, loss)
				dx32, ds32, db32 := make([]float32, size), make([]float32, c), make([]float32, c)
				BatchNormGrad(p, n, c, space, eps, train, kerneltest.Narrow(x), kerneltest.Narrow(dy), Gate[float32]{}, kerneltest.Narrow(scale), kerneltest.Narrow(mean), kerneltest.Narrow(variance), dx32, ds32, db32)
				kerneltest.Near(t, what+" dx float32", kerneltest.Wide(dx32), dx, 1e-4)
				kerneltest.Near(t, what+" dscale float32", kerneltest.Wide(ds32), dscale, 1e-3)
				kerneltest.Near(t, what+" dbias float32", kerneltest.Wide(db32), dbias, 1e-3)
			}
		}
	}
}

// TestBatchNormEnding checks the addition and activation after the normalization, and their gradients.
func TestBatchNormEnding(t *testing.T) {
	const eps = 1e-3
	for name, p := range kerneltest.Pools(t) {
		for _, s := range [][3]int{{5, 3, 1}, {33, 70, 1}, {300, 129, 1}, {3, 5, 37}} {
			n, c, space := s[0], s[1], s[2]
			size := n * c * space
			x, dy := kerneltest.Random[float32](size, 1), kerneltest.Random[float32](size, 4)
			scale, bias, add := kerneltest.Random[float32](c, 2), kerneltest.Random[float32](c, 3), kerneltest.Random[float32](size, 5)
			mean, variance, plain, y := make([]float32, c), make([]float32, c), make([]float32, size), make([]float32, size)
			ChannelMoments(p, n, c, space, x, mean, variance)
			BatchNorm(p, n, c, space, eps, x, scale, bias, mean, variance, plain)
			what := fmt.Sprint(name, s)
			for _, a := range []elementwise.Activation{{}, {Kind: elementwise.ActRelu}, {Kind: elementwise.ActTanh}, {Kind: elementwise.ActSelu, Alpha: 1.5, Beta: 1.1}} {
				e := elementwise.Epilogue[float32]{Add: add, Act: a}
				want := make([]float64, size)
				for i, v := range plain {
					want[i] = epiloguetest.Finished(&e, float64(v), 0, i)
				}
				m, v := make([]float32, c), make([]float32, c)
				BatchNormTrain(p, n, c, space, eps, x, scale, bias, e, m, v, y)
				kerneltest.Near(t, fmt.Sprint(what, a), kerneltest.Wide(y), want, 1e-5)
				kerneltest.Near(t, what+" mean", m, mean, 1e-6)
				kerneltest.Near(t, what+" variance", v, variance, 1e-5)
				again := make([]float32, size)
				BatchNormRematerialize(p, n, c, space, eps, x, scale, bias, e, m, v, again)
				kerneltest.Near(t, fmt.Sprint(what, a, " again"), again, y, 0)
			}
			BatchNormTrain(p, n, c, space, eps, x, scale, bias, elementwise.Epilogue[float32]{Act: elementwise.Activation{Kind: elementwise.ActRelu}}, mean, variance, y)
			through := make([]float32, size)
			elementwise.ReluGrad(nil, through, dy, y)
			var grads [2][3][]float32
			for i := range grads {
				grads[i] = [3][]float32{make([]float32, size), make([]float32, c), make([]float32, c)}
			}
			BatchNormGrad(p, n, c, space, eps, true, x, through, Gate[float32]{}, scale, mean, variance, grads[0][0], grads[0][1], grads[0][2])
			gate := Gate[float32]{Y: y, Lo: math.SmallestNonzeroFloat32, Hi: float32(math.Inf(1))}
			BatchNormGrad(p, n, c, space, eps, true, x, dy, gate, scale, mean, variance, grads[1][0], grads[1][1], grads[1][2])
			for i, g := range grads[1] {
				kerneltest.Near(t, fmt.Sprint(what, " gated gradient ", i), g, grads[0][i], 1e-5)
			}
		}
	}
}

// TestNormNarrow runs the same tests with the assembly for older processors.
func TestNormNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"BatchNorm":         TestBatchNorm,
		"BatchNormEpilogue": TestBatchNormEnding,
		"LayerNorm":         TestLayerNorm,
	})
}
