package kernel

// rowMeans sets y[r] to the mean of row r of x [rows, cols].
func rowMeans[T Float](rows, cols int, x, y []T) {
	if rows == 0 {
		return
	}
	if x, y = x[:rows*cols], y[:rows]; simd && single[T]() && cols > 0 {
		count := float32(cols)
		meanRows(rows, cols, &as32(x)[0], &as32(y)[0], &count)
		return
	}
	for r := range y {
		y[r] = sum(x[r*cols:][:cols]) / T(cols)
	}
}
