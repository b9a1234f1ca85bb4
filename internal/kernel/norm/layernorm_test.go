package norm

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// The gradients in float32 are those in float64, which TestLayerNorm compares with differences.
func TestLayerNormFloat32(t *testing.T) {
	for name, p := range kerneltest.Pools(t) {
		for _, cols := range []int{1, 5, 8, 15, 16, 17, 31, 33, 64, 300} {
			const rows = 7
			n := rows * cols
			x, scale, bias, dy := kerneltest.Random[float64](n, 1), kerneltest.Random[float64](cols, 2), kerneltest.Random[float64](cols, 3), kerneltest.Random[float64](n, 4)
			for i := range x {
				x[i] = float64(float32(x[i] + 3))
			}
			y, mean, invstd := make([]float64, n), make([]float64, rows), make([]float64, rows)
			dx, dscale, dbias := make([]float64, n), make([]float64, cols), make([]float64, cols)
			LayerNorm(p, rows, cols, 1e-2, x, scale, bias, y, mean, invstd)
			LayerNormGrad(p, rows, cols, x, scale, mean, invstd, dy, nil, dx, dscale, dbias, nil)
			y32, mean32, invstd32 := make([]float32, n), make([]float32, rows), make([]float32, rows)
			dx32, dscale32, dbias32 := make([]float32, n), make([]float32, cols), make([]float32, cols)
			LayerNorm(p, rows, cols, 1e-2, kerneltest.Narrow(x), kerneltest.Narrow(scale), kerneltest.Narrow(bias), y32, mean32, invstd32)
			LayerNormGrad(p, rows, cols, kerneltest.Narrow(x), kerneltest.Narrow(scale), mean32, invstd32, kerneltest.Narrow(dy), nil, dx32, dscale32, dbias32, nil)
			what := fmt.Sprint(name, " ", cols)
			kerneltest.Near(t, what+" y", kerneltest.Wide(y32), y, 1e-5)
			kerneltest.Near(t, what+" dx", kerneltest.Wide(dx32), dx, 1e-5)
			kerneltest.Near(t, what+" dscale", kerneltest.Wide(dscale32), dscale, 1e-5)
			kerneltest.Near(t, what+" dbias", kerneltest.Wide(dbias32), dbias, 1e-5)
			sum := kerneltest.Random[float32](n, 5)
			for i, v := range dx32 {
				sum[i] += v
			}
			LayerNormGrad(p, rows, cols, kerneltest.Narrow(x), kerneltest.Narrow(scale), mean32, invstd32, kerneltest.Narrow(dy), kerneltest.Random[float32](n, 5), dx32, nil, nil, nil)
			kerneltest.Near(t, what+" dx and a sum", dx32, sum, 0)
			for i := range dy { // in place
				y32[i] = float32(dy[i])
			}
			LayerNormGrad(p, rows, cols, kerneltest.Narrow(x), kerneltest.Narrow(scale), mean32, invstd32, y32, nil, y32, nil, nil, nil)
			kerneltest.Near(t, what+" dx in place", kerneltest.Wide(y32), dx, 1e-5)
		}
	}
}
