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

// rowProducts sets y[r,c] to x[r,c]*f[r] for x and y [rows, cols]; y may be x.
func rowProducts[T Float](rows, cols int, x, f, y []T) {
	if rows*cols == 0 {
		return
	}
	if x, f, y = x[:rows*cols], f[:rows], y[:rows*cols]; simd && single[T]() {
		scaleRowsBy(rows, cols, &as32(x)[0], &as32(f)[0], &as32(y)[0])
		return
	}
	for r, v := range f {
		binaryVS(OpMul, y[r*cols:][:cols], x[r*cols:][:cols], v)
	}
}
