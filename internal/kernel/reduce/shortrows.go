package reduce

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// RowMeans sets y[r] to the mean of row r of x [rows, cols].
func RowMeans[T kernel.Float](rows, cols int, x, y []T) {
	if rows == 0 {
		return
	}
	if x, y = x[:rows*cols], y[:rows]; kernel.SIMD && kernel.IsFloat32[T]() && cols > 0 {
		count := float32(cols)
		meanRows(rows, cols, &kernel.Float32s(x)[0], &kernel.Float32s(y)[0], &count)
		return
	}
	for r := range y {
		y[r] = vector.BlockSum(x[r*cols:][:cols]) / T(cols)
	}
}
