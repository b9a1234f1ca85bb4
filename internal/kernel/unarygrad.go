package kernel

// ReluGrad computes dx[i] = dy[i] where y[i] > 0, else 0; y is Relu's input or its
// output. dx may be dy.
func ReluGrad[T Float](p *Pool, dx, dy, y []T) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	p.Range(len(dx), elementGrain, func(lo, hi int) { reluGradInto(dx[lo:hi], dy[lo:hi], y[lo:hi]) })
}

// SigmoidGrad computes dx[i] = dy[i]*y[i]*(1-y[i]) from Sigmoid's output y. dx may be dy.
func SigmoidGrad[T Float](p *Pool, dx, dy, y []T) {
	gradient(p, dx, dy, y, sigmoidgradVV, func(dx, dy, y []T) {
		for i, v := range y {
			dx[i] = dy[i] * v * (1 - v)
		}
	})
}

// TanhGrad computes dx[i] = dy[i]*(1-y[i]²) from Tanh's output y. dx may be dy.
func TanhGrad[T Float](p *Pool, dx, dy, y []T) {
	gradient(p, dx, dy, y, tanhgradVV, func(dx, dy, y []T) {
		for i, v := range y {
			dx[i] = dy[i] * (1 - v*v)
		}
	})
}

// ClipGrad computes dx[i] = dy[i], 0 where x[i] is below lo or above hi. dx may be dy.
func ClipGrad[T Float](p *Pool, dx, dy, x []T, lo, hi T) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	p.Range(len(dx), elementGrain, func(from, to int) { clipGradInto(dx[from:to], dy[from:to], x[from:to], lo, hi) })
}

// reluGradInto is ReluGrad on one thread.
func reluGradInto[T Float](dx, dy, y []T) {
	if vectorizable(dx, y) {
		relugradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(y)[0])
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

// clipGradInto is ClipGrad on one thread.
func clipGradInto[T Float](dx, dy, x []T, lo, hi T) {
	if vectorizable(dx, x) {
		s := [2]float32{float32(lo), float32(hi)}
		clipgradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(x)[0], &s[0])
		return
	}
	for i, v := range x {
		if dx[i] = dy[i]; v < lo || v > hi {
			dx[i] = 0
		}
	}
}

func gradient[T Float](p *Pool, dx, dy, y []T, asm func(n int, dst, a, b *float32), portable func(dx, dy, y []T)) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	p.Range(len(dx), elementGrain, func(lo, hi int) {
		if has(vectorGroup) && single[T]() {
			asm(hi-lo, &as32(dx)[lo], &as32(dy)[lo], &as32(y)[lo])
			return
		}
		portable(dx[lo:hi], dy[lo:hi], y[lo:hi])
	})
}
