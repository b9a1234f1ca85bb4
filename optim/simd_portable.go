//go:build !amd64 || purego

package optim

// simd is false: there is no assembly for this processor, so the Go loops process all elements.
const simd = false

func sgdVec(n int, w, grad, b *float32, k *[4]float32) {}

func adamVec(n int, w, grad, m, v *float32, k *[9]float32) {}
