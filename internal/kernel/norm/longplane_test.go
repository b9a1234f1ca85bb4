package norm

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// TestLongPlanes: channels that are computed in parts, of several images and of one, have the mean, variance, results and gradients of the definition.
func TestLongPlanes(t *testing.T) {
	for _, s := range [][2]int{{3, kernel.LongRow/2 + 5}, {1, kernel.LongRow + 7}} {
		n, space := s[0], s[1]
		const c, eps = 2, 1e-5
		x, dy := make([]float32, n*c*space), make([]float32, n*c*space)
		for i := range x {
			x[i], dy[i] = float32(i%7)-2, float32(i%5)-1
		}
		y, dx := make([]float32, len(x)), make([]float32, len(x))
		mean, variance, scale, bias := make([]float32, c), make([]float32, c), []float32{2, 3}, []float32{1, -1}
		dscale, dbias := make([]float32, c), make([]float32, c)
		BatchNormTrain(nil, n, c, space, eps, x, scale, bias, elementwise.Epilogue[float32]{}, mean, variance, y)
		BatchNormGrad(nil, n, c, space, eps, true, x, dy, Gate[float32]{}, scale, mean, variance, dx, dscale, dbias)
		for ch := range c {
			each := func(f func(i int)) {
				for img := range n {
					for k := range space {
						f((img*c+ch)*space + k)
					}
				}
			}
			var m, v, b, g float64
			count := float64(n * space)
			each(func(i int) { m += float64(x[i]) / count })
			each(func(i int) { v += (float64(x[i]) - m) * (float64(x[i]) - m) / count })
			r := 1 / math.Sqrt(v+eps)
			each(func(i int) {
				b += float64(dy[i])
				g += float64(dy[i]) * (float64(x[i]) - m) * r
			})
			worst := 0.0
			each(func(i int) {
				xhat := (float64(x[i]) - m) * r
				worst = max(worst, math.Abs(float64(y[i])-(xhat*float64(scale[ch])+float64(bias[ch]))),
					math.Abs(float64(dx[i])-float64(scale[ch])*r*(float64(dy[i])-b/count-xhat*g/count)))
			})
			if worst > 1e-3 || math.Abs(float64(dbias[ch])-b) > 1e-4*count || math.Abs(float64(dscale[ch])-g) > 1e-4*count {
				t.Errorf("%d×%d, channel %d: off by %g, dscale %v not %v, dbias %v not %v", n, space, ch, worst, dscale[ch], g, dbias[ch], b)
			}
		}
	}
}
