package kernel

// BinaryOp names an elementwise function of two operands a and b.
type BinaryOp uint8

const (
	OpAdd  BinaryOp = iota // a+b
	OpSub                  // a-b
	OpMul                  // a*b
	OpDiv                  // a/b
	OpMax                  // the larger, NaN if either is NaN
	OpMin                  // the smaller, NaN if either is NaN
	OpRSub                 // b-a
	OpRDiv                 // b/a
)

// Binary computes dst[i] = a[i] op b[i] for all i of dst; dst may be a or b.
func Binary[T Float](p *Pool, op BinaryOp, dst, a, b []T) {
	if len(dst) <= elementGrain { // without a closure: callers loop over rows
		binaryVV(op, dst, a[:len(dst)], b[:len(dst)])
		return
	}
	p.Range(len(dst), elementGrain, func(lo, hi int) { binaryVV(op, dst[lo:hi], a[lo:hi], b[lo:hi]) })
}

// BinaryScalar computes dst[i] = a[i] op s; dst may be a.
func BinaryScalar[T Float](p *Pool, op BinaryOp, dst, a []T, s T) {
	if len(dst) <= elementGrain {
		binaryVS(op, dst, a[:len(dst)], s)
		return
	}
	p.Range(len(dst), elementGrain, func(lo, hi int) { binaryVS(op, dst[lo:hi], a[lo:hi], s) })
}

// BinaryRow computes dst[r,c] = a[r,c] op b[c] for dst and a [rows, cols]; dst may be a.
func BinaryRow[T Float](p *Pool, op BinaryOp, rows, cols int, dst, a, b []T) {
	dst, a, b = dst[:rows*cols], a[:rows*cols], b[:cols]
	p.Range(rows, cdiv(elementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			binaryVV(op, dst[r*cols:][:cols], a[r*cols:][:cols], b)
		}
	})
}

// BinaryCol computes dst[r,c] = a[r,c] op b[r] for dst and a [rows, cols]; dst may be a.
func BinaryCol[T Float](p *Pool, op BinaryOp, rows, cols int, dst, a, b []T) {
	dst, a, b = dst[:rows*cols], a[:rows*cols], b[:rows]
	p.Range(rows, cdiv(elementGrain, max(cols, 1)), func(lo, hi int) {
		if op == OpMul {
			rowProducts(hi-lo, cols, a[lo*cols:], b[lo:], dst[lo*cols:])
			return
		}
		for r := lo; r < hi; r++ {
			binaryVS(op, dst[r*cols:][:cols], a[r*cols:][:cols], b[r])
		}
	})
}

// Add computes dst[i] = a[i] + b[i]; dst may be a or b.
func Add[T Float](p *Pool, dst, a, b []T) { Binary(p, OpAdd, dst, a, b) }

// Sub computes dst[i] = a[i] - b[i]; dst may be a or b.
func Sub[T Float](p *Pool, dst, a, b []T) { Binary(p, OpSub, dst, a, b) }

// Mul computes dst[i] = a[i] * b[i]; dst may be a or b.
func Mul[T Float](p *Pool, dst, a, b []T) { Binary(p, OpMul, dst, a, b) }

// Div computes dst[i] = a[i] / b[i]; dst may be a or b.
func Div[T Float](p *Pool, dst, a, b []T) { Binary(p, OpDiv, dst, a, b) }

// binaryVV is Binary on one thread, all slices of equal length.
func binaryVV[T Float](op BinaryOp, dst, a, b []T) {
	switch op {
	case OpRSub:
		op, a, b = OpSub, b, a
	case OpRDiv:
		op, a, b = OpDiv, b, a
	}
	n := len(dst)
	if n == 0 {
		return
	}
	_, _ = a[n-1], b[n-1]
	if !has(vectorGroup) || !single[T]() {
		binaryGo(op, dst, a, b)
		return
	}
	d, x, y := &as32(dst)[0], &as32(a)[0], &as32(b)[0]
	switch op {
	case OpAdd:
		addVV(n, d, x, y)
	case OpSub:
		subVV(n, d, x, y)
	case OpMul:
		mulVV(n, d, x, y)
	case OpDiv:
		divVV(n, d, x, y)
	case OpMax:
		maxVV(n, d, x, y)
	case OpMin:
		minVV(n, d, x, y)
	}
}

// binaryVS is BinaryScalar on one thread.
func binaryVS[T Float](op BinaryOp, dst, a []T, s T) {
	if op == OpSub {
		op, s = OpAdd, -s
	}
	n := len(dst)
	if n == 0 {
		return
	}
	_ = a[n-1]
	if !has(vectorGroup) || !single[T]() {
		binaryScalarGo(op, dst, a, s)
		return
	}
	v := float32(s)
	d, x, y := &as32(dst)[0], &as32(a)[0], &v
	switch op {
	case OpAdd:
		addVS(n, d, x, y)
	case OpMul:
		mulVS(n, d, x, y)
	case OpDiv:
		divVS(n, d, x, y)
	case OpMax:
		maxVS(n, d, x, y)
	case OpMin:
		minVS(n, d, x, y)
	case OpRSub:
		rsubVS(n, d, x, y)
	case OpRDiv:
		rdivVS(n, d, x, y)
	}
}

func binaryGo[T Float](op BinaryOp, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case OpAdd:
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	case OpSub:
		for i := range dst {
			dst[i] = a[i] - b[i]
		}
	case OpMul:
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
	case OpDiv:
		for i := range dst {
			dst[i] = a[i] / b[i]
		}
	case OpMax:
		for i := range dst {
			dst[i] = max(a[i], b[i])
		}
	case OpMin:
		for i := range dst {
			dst[i] = min(a[i], b[i])
		}
	}
}

func binaryScalarGo[T Float](op BinaryOp, dst, a []T, s T) {
	a = a[:len(dst)]
	switch op {
	case OpAdd:
		for i := range dst {
			dst[i] = a[i] + s
		}
	case OpMul:
		for i := range dst {
			dst[i] = a[i] * s
		}
	case OpDiv:
		for i := range dst {
			dst[i] = a[i] / s
		}
	case OpMax:
		for i := range dst {
			dst[i] = max(a[i], s)
		}
	case OpMin:
		for i := range dst {
			dst[i] = min(a[i], s)
		}
	case OpRSub:
		for i := range dst {
			dst[i] = s - a[i]
		}
	case OpRDiv:
		for i := range dst {
			dst[i] = s / a[i]
		}
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

// Scale computes dst[i] = alpha*x[i]; dst may be x.
func Scale[T Float](p *Pool, alpha T, dst, x []T) { BinaryScalar(p, OpMul, dst, x, alpha) }
