package elementwise

import "github.com/graft-ml/graft/internal/kernel"

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
func Binary[T kernel.Float](p *kernel.Pool, op BinaryOp, dst, a, b []T) {
	if len(dst) <= kernel.ElementGrain { // without a closure: callers loop over rows
		BinaryInto(op, dst, a[:len(dst)], b[:len(dst)])
		return
	}
	p.Range(len(dst), kernel.ElementGrain, func(lo, hi int) { BinaryInto(op, dst[lo:hi], a[lo:hi], b[lo:hi]) })
}

// BinaryScalar computes dst[i] = a[i] op s; dst may be a.
func BinaryScalar[T kernel.Float](p *kernel.Pool, op BinaryOp, dst, a []T, s T) {
	if len(dst) <= kernel.ElementGrain {
		BinaryScalarInto(op, dst, a[:len(dst)], s)
		return
	}
	p.Range(len(dst), kernel.ElementGrain, func(lo, hi int) { BinaryScalarInto(op, dst[lo:hi], a[lo:hi], s) })
}

// BinaryRow computes dst[r,c] = a[r,c] op b[c] for dst and a [rows, cols]; dst may be a.
func BinaryRow[T kernel.Float](p *kernel.Pool, op BinaryOp, rows, cols int, dst, a, b []T) {
	dst, a, b = dst[:rows*cols], a[:rows*cols], b[:cols]
	if cols > kernel.LongRow {
		for r := range rows {
			Binary(p, op, dst[r*cols:][:cols], a[r*cols:][:cols], b)
		}
		return
	}
	p.Range(rows, kernel.CeilDiv(kernel.ElementGrain, max(cols, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			BinaryInto(op, dst[r*cols:][:cols], a[r*cols:][:cols], b)
		}
	})
}

// BinaryCol computes dst[r,c] = a[r,c] op b[r] for dst and a [rows, cols]; dst may be a.
func BinaryCol[T kernel.Float](p *kernel.Pool, op BinaryOp, rows, cols int, dst, a, b []T) {
	dst, a, b = dst[:rows*cols], a[:rows*cols], b[:rows]
	if cols > kernel.LongRow {
		for r := range rows {
			BinaryScalar(p, op, dst[r*cols:][:cols], a[r*cols:][:cols], b[r])
		}
		return
	}
	p.Range(rows, kernel.CeilDiv(kernel.ElementGrain, max(cols, 1)), func(lo, hi int) {
		if op == OpMul {
			rowProducts(hi-lo, cols, a[lo*cols:], b[lo:], dst[lo*cols:])
			return
		}
		for r := lo; r < hi; r++ {
			BinaryScalarInto(op, dst[r*cols:][:cols], a[r*cols:][:cols], b[r])
		}
	})
}

// Add computes dst[i] = a[i] + b[i]; dst may be a or b.
func Add[T kernel.Float](p *kernel.Pool, dst, a, b []T) { Binary(p, OpAdd, dst, a, b) }

// Sub computes dst[i] = a[i] - b[i]; dst may be a or b.
func Sub[T kernel.Float](p *kernel.Pool, dst, a, b []T) { Binary(p, OpSub, dst, a, b) }

// Mul computes dst[i] = a[i] * b[i]; dst may be a or b.
func Mul[T kernel.Float](p *kernel.Pool, dst, a, b []T) { Binary(p, OpMul, dst, a, b) }

// Div computes dst[i] = a[i] / b[i]; dst may be a or b.
func Div[T kernel.Float](p *kernel.Pool, dst, a, b []T) { Binary(p, OpDiv, dst, a, b) }

// BinaryInto is Binary on one thread, all slices of equal length.
func BinaryInto[T kernel.Float](op BinaryOp, dst, a, b []T) {
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
	if !kernel.Has(kernel.VectorGroup) || !kernel.IsFloat32[T]() {
		binaryGo(op, dst, a, b)
		return
	}
	d, x, y := &kernel.Float32s(dst)[0], &kernel.Float32s(a)[0], &kernel.Float32s(b)[0]
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

// BinaryScalarInto is BinaryScalar on one thread.
func BinaryScalarInto[T kernel.Float](op BinaryOp, dst, a []T, s T) {
	if op == OpSub {
		op, s = OpAdd, -s
	}
	n := len(dst)
	if n == 0 {
		return
	}
	_ = a[n-1]
	if !kernel.Has(kernel.VectorGroup) || !kernel.IsFloat32[T]() {
		binaryScalarGo(op, dst, a, s)
		return
	}
	v := float32(s)
	d, x, y := &kernel.Float32s(dst)[0], &kernel.Float32s(a)[0], &v
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

func binaryGo[T kernel.Float](op BinaryOp, dst, a, b []T) {
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

func binaryScalarGo[T kernel.Float](op BinaryOp, dst, a []T, s T) {
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
func rowProducts[T kernel.Float](rows, cols int, x, f, y []T) {
	if rows*cols == 0 {
		return
	}
	if x, f, y = x[:rows*cols], f[:rows], y[:rows*cols]; kernel.SIMD && kernel.IsFloat32[T]() {
		scaleRowsBy(rows, cols, &kernel.Float32s(x)[0], &kernel.Float32s(f)[0], &kernel.Float32s(y)[0])
		return
	}
	for r, v := range f {
		BinaryScalarInto(OpMul, y[r*cols:][:cols], x[r*cols:][:cols], v)
	}
}

// Scale computes dst[i] = alpha*x[i]; dst may be x.
func Scale[T kernel.Float](p *kernel.Pool, alpha T, dst, x []T) {
	BinaryScalar(p, OpMul, dst, x, alpha)
}
