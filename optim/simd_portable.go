//go:build !amd64 || purego

package optim

// Without assembly the Go loops do everything.
const simd = false

func sgdVec(n int, w, grad, b *float32, k *[4]float32) {}

func adamVec(n int, w, grad, m, v *float32, k *[9]float32) {}
