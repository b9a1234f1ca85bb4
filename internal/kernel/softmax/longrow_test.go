package softmax

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestLongRow: rows that are computed in parts are those of the formulas, in float64.
func TestLongRow(t *testing.T) {
	const n = kernel.LongRow + 100
	x, dy := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2)
	x[n-1] = 30 // the last part has the largest element
	total, dot, sum := 0.0, 0.0, 0.0
	for _, v := range x {
		total += math.Exp(float64(v) - 30)
	}
	p := (*kernel.Pool)(nil).Stoppable()
	y, logy, dx, dlog := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	Softmax(p, 1, n, 1, y, x)
	LogSoftmax(p, 1, n, 1, logy, x)
	SoftmaxGrad(p, 1, n, 1, dx, dy, y)
	LogSoftmaxGrad(p, 1, n, 1, dlog, dy, logy)
	for i := range x {
		dot += float64(dy[i]) * float64(y[i])
		sum += float64(dy[i])
	}
	for i, v := range x {
		want := math.Exp(float64(v)-30) / total
		if i%1000 != 0 && i < n-3 {
			continue
		}
		for name, c := range map[string][3]float64{
			"Softmax":        {float64(y[i]), want, want},
			"LogSoftmax":     {float64(logy[i]), math.Log(want), 30},
			"SoftmaxGrad":    {float64(dx[i]), float64(y[i]) * (float64(dy[i]) - dot), math.Abs(float64(y[i]))},
			"LogSoftmaxGrad": {float64(dlog[i]), float64(dy[i]) - want*sum, 1 + want*math.Abs(sum)},
		} {
			if math.Abs(c[0]-c[1]) > 1e-4*c[2] {
				t.Fatalf("%s: element %d is %g, want %g", name, i, c[0], c[1])
			}
		}
	}
}

// TestLongRowStops: a row that is computed in parts ends when its pool is stopped.
func TestLongRowStops(t *testing.T) {
	const n = 2 * kernel.LongRow
	x, y := make([]float32, n), make([]float32, n)
	for name, f := range map[string]func(p *kernel.Pool){
		"Softmax":        func(p *kernel.Pool) { softmaxLongRow(p, y, x) },
		"LogSoftmax":     func(p *kernel.Pool) { logSoftmaxLongRow(p, y, x) },
		"SoftmaxGrad":    func(p *kernel.Pool) { softmaxLongRowGrad(p, y, x, x) },
		"LogSoftmaxGrad": func(p *kernel.Pool) { logSoftmaxLongRowGrad(p, y, x, x) },
	} {
		kerneltest.Stops(t, name, f)
	}
}
