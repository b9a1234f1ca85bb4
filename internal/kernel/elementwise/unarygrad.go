package elementwise

import "github.com/graft-ml/graft/internal/kernel"

// ReluGrad computes dx[i] = dy[i] where y[i] > 0, else 0; y is Relu's input or its
// output. dx may be dy.
func ReluGrad[T kernel.Float](p *kernel.Pool, dx, dy, y []T) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	p.Range(len(dx), kernel.ElementGrain, func(lo, hi int) { reluGradInto(dx[lo:hi], dy[lo:hi], y[lo:hi]) })
}

// SigmoidGrad computes dx[i] = dy[i]*y[i]*(1-y[i]) from Sigmoid's output y. dx may be dy.
func SigmoidGrad[T kernel.Float](p *kernel.Pool, dx, dy, y []T) {
	gradient(p, dx, dy, y, sigmoidgradVV, func(dx, dy, y []T) {
		for i, v := range y {
			dx[i] = dy[i] * v * (1 - v)
		}
	})
}

// TanhGrad computes dx[i] = dy[i]*(1-y[i]²) from Tanh's output y. dx may be dy.
func TanhGrad[T kernel.Float](p *kernel.Pool, dx, dy, y []T) {
	gradient(p, dx, dy, y, tanhgradVV, func(dx, dy, y []T) {
		for i, v := range y {
			dx[i] = dy[i] * (1 - v*v)
		}
	})
}

// ClipGrad computes dx[i] = dy[i], 0 where x[i] is below lo or above hi. dx may be dy.
func ClipGrad[T kernel.Float](p *kernel.Pool, dx, dy, x []T, lo, hi T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	p.Range(len(dx), kernel.ElementGrain, func(from, to int) { ClipGradInto(dx[from:to], dy[from:to], x[from:to], lo, hi) })
}

// reluGradInto is ReluGrad on one thread.
func reluGradInto[T kernel.Float](dx, dy, y []T) {
	if kernel.Vectorizable(dx, y) {
		relugradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(y)[0])
		return
	}
	for i, v := range y {
		if v > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

// ClipGradInto is ClipGrad on one thread.
func ClipGradInto[T kernel.Float](dx, dy, x []T, lo, hi T) {
	if kernel.Vectorizable(dx, x) {
		s := [2]float32{float32(lo), float32(hi)}
		clipgradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(x)[0], &s[0])
		return
	}
	for i, v := range x {
		if dx[i] = dy[i]; v < lo || v > hi {
			dx[i] = 0
		}
	}
}

func gradient[T kernel.Float](p *kernel.Pool, dx, dy, y []T, asm func(n int, dst, a, b *float32), portable func(dx, dy, y []T)) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	p.Range(len(dx), kernel.ElementGrain, func(lo, hi int) {
		if kernel.Has(kernel.VectorGroup) && kernel.IsFloat32[T]() {
			asm(hi-lo, &kernel.Float32s(dx)[lo], &kernel.Float32s(dy)[lo], &kernel.Float32s(y)[lo])
			return
		}
		portable(dx[lo:hi], dy[lo:hi], y[lo:hi])
	})
}
