package norm

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestLongRow: a row that is normalized in parts, and its gradients, are those of the formulas in float64.
func TestLongRow(t *testing.T) {
	const n = kernel.LongRow + 100
	x, dy, scale := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2), kerneltest.Random[float32](n, 3)
	x[n-1] = 100
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / n
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / n
	}
	inv := 1 / math.Sqrt(variance+1e-5)
	for _, scaled := range []bool{true, false} {
		var s []float32
		of := func(i int) float64 { return 1 }
		if scaled {
			s, of = scale, func(i int) float64 { return float64(scale[i]) }
		}
		a, b := 0.0, 0.0
		for i := range x {
			g := float64(dy[i]) * of(i)
			a, b = a+g/n, b+g*(float64(x[i])-mean)*inv/n
		}
		p := (*kernel.Pool)(nil).Stoppable()
		y, dx, ds, db, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, 1), make([]float32, 1)
		LayerNorm(p, 1, n, 1e-5, x, s, s, y, m, v)
		LayerNormGrad(p, 1, n, x, s, m, v, dy, nil, dx, ds, db, nil)
		for i := range x {
			if i%1000 != 0 && i < n-3 {
				continue
			}
			xhat := (float64(x[i]) - mean) * inv
			want := map[string][2]float64{
				"LayerNorm": {float64(y[i]), xhat}, "dx": {float64(dx[i]), inv * (float64(dy[i])*of(i) - a - xhat*b)},
				"dscale": {float64(ds[i]), float64(dy[i]) * xhat}, "dbias": {float64(db[i]), float64(dy[i])},
			}
			if scaled {
				want["LayerNorm"] = [2]float64{float64(y[i]), xhat*of(i) + of(i)}
			}
			for name, c := range want {
				if math.Abs(c[0]-c[1]) > 1e-3*(1+math.Abs(c[1])) {
					t.Fatalf("%s, scaled %v: element %d is %g, want %g", name, scaled, i, c[0], c[1])
				}
			}
		}
	}
}

// TestLongNormsStop: one long row, and a batch of many rows, end when the pool is stopped.
func TestLongNormsStop(t *testing.T) {
	const n = max(2*kernel.LongRow, 1<<22)
	x, y, one := make([]float32, n), make([]float32, n), make([]float32, 64)
	panel := func(p *kernel.Pool) *columnPanel[float32] {
		return &columnPanel[float32]{p, n / 64, 64, 0, 64, make([]float32, panelBuffers*panelColumns)}
	}
	for name, f := range map[string]func(p *kernel.Pool){
		"moments":  func(p *kernel.Pool) { moments(p, x) },
		"gradient": func(p *kernel.Pool) { layerNormRowGrad(p, x, x, x, 0, 1, y, make([]float32, n), make([]float32, n)) },
		"columns":  func(p *kernel.Pool) { panel(p).moments(x, one, make([]float32, 64)) },
		"normalize": func(p *kernel.Pool) {
			panel(p).normalize(&elementwise.Epilogue[float32]{}, 1, x, nil, nil, one, one, y)
		},
		"batch gradient": func(p *kernel.Pool) {
			panel(p).gradient(1, true, x, x, &Gate[float32]{}, nil, one, one, y, nil, nil)
		},
	} {
		if name == "gradient" && !kernel.SIMD {
			continue
		}
		kerneltest.Stops(t, name, f)
	}
}
