package kernel_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/internal/kernel/pooling"
	"github.com/graft-ml/graft/internal/kernel/reduce"
	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// triad adds two arrays of n elements for each thread (the triad of STREAM), turns times; what is
// read and written counts.
func triad(threads, n, turns int) kerneltest.Yardstick {
	x, y, z := kerneltest.Random[float32](threads*n, 1), kerneltest.Random[float32](threads*n, 2), make([]float32, threads*n)
	return kerneltest.Yardstick{Name: "%triad", Unit: "GB/s", Work: float64(12 * n * turns), Run: func(w int) {
		for range turns {
			elementwise.Add(nil, z[w*n:(w+1)*n], x[w*n:(w+1)*n], y[w*n:(w+1)*n])
		}
	}}
}

// BenchmarkMemory compares functions that do little for each element with the triad on arrays of
// the same size: in the second cache level, and in memory.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int // elements of each array
	}{{"cache", 1 << 15}, {"memory", 1 << 23}} {
		for _, c := range memoryFunctions(size.n) {
			for threads := 1; threads <= min(2, runtime.GOMAXPROCS(0)); threads++ {
				b.Run(fmt.Sprintf("%s/%s/threads=%d", size.name, c.name, threads), func(b *testing.B) {
					p := kernel.NewPool(threads)
					defer p.Close()
					turns := max(1, 1<<20/size.n)
					many := func() {
						for range turns {
							c.f(p)
						}
					}
					for b.Loop() {
						many()
					}
					triad(threads, size.n/threads, turns).Compare(b, p, float64(turns)*4*float64(size.n)*c.arrays, many)
				})
			}
		}
	}
}

// memoryFunction is a function on arrays of n elements, so many of which it reads or writes in full.
type memoryFunction struct {
	name   string
	arrays float64
	f      func(p *kernel.Pool)
}

// memoryFunctions are functions on arrays of n elements: 4 images of 16 channels, or rows of 512
// columns.
func memoryFunctions(n int) []memoryFunction {
	const channels, images, cols = 16, 4, 512
	x, y, z := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2), make([]float32, n)
	c1, c2, c3, c4, c5 := kerneltest.Random[float32](channels, 3), kerneltest.Random[float32](channels, 4), make([]float32, channels), make([]float32, channels), make([]float32, channels)
	w1, w2, w3, w4 := kerneltest.Random[float32](cols, 5), kerneltest.Random[float32](cols, 6), make([]float32, cols), make([]float32, cols)
	rows, space := n/cols, n/channels/images
	m1, m2 := make([]float32, rows), make([]float32, rows)
	variance := kerneltest.Random[float32](channels, 7)
	for i, v := range variance {
		variance[i] = v*v + 1
	}
	pool := &pooling.Shape{N: images, C: channels, In: []int{space / 32, 32}, Out: []int{space / 64, 16}, Kernel: []int{2, 2}, Stride: []int{2, 2}}
	relu := elementwise.Epilogue[float32]{Act: elementwise.Activation{Kind: elementwise.ActRelu}}
	return []memoryFunction{
		{"Copy", 2, func(p *kernel.Pool) { p.Range(n, 1<<14, func(lo, hi int) { copy(z[lo:hi], x[lo:hi]) }) }},
		{"Add", 3, func(p *kernel.Pool) { elementwise.Add(p, z, x, y) }},
		{"Scale", 2, func(p *kernel.Pool) { elementwise.Scale(p, 3, z, x) }},
		{"Div", 3, func(p *kernel.Pool) { elementwise.Div(p, z, x, y) }},
		{"AddRow", 2, func(p *kernel.Pool) { elementwise.BinaryRow(p, elementwise.OpAdd, rows, cols, z, x, w1) }},
		{"AddColumn", 2, func(p *kernel.Pool) { elementwise.BinaryCol(p, elementwise.OpAdd, rows, cols, z, x, m1) }},
		{"Axpy", 3, func(p *kernel.Pool) { vector.Axpy(p, 0.5, x, z) }},
		{"Relu", 2, func(p *kernel.Pool) { elementwise.Relu(p, z, x) }},
		{"ReluGrad", 3, func(p *kernel.Pool) { elementwise.ReluGrad(p, z, x, y) }},
		{"Exp", 2, func(p *kernel.Pool) { elementwise.Exp(p, z, x) }},
		{"Log", 2, func(p *kernel.Pool) { elementwise.Log(p, z, x) }},
		{"Erf", 2, func(p *kernel.Pool) { elementwise.Erf(p, z, x) }},
		{"Tanh", 2, func(p *kernel.Pool) { elementwise.Tanh(p, z, x) }},
		{"Sigmoid", 2, func(p *kernel.Pool) { elementwise.Sigmoid(p, z, x) }},
		{"Gelu", 2, func(p *kernel.Pool) { elementwise.Gelu(p, z, x) }},
		{"GeluGrad", 3, func(p *kernel.Pool) { elementwise.GeluGrad(p, z, x, y) }},
		{"Swish", 2, func(p *kernel.Pool) { elementwise.Swish(p, 1, z, x) }},
		{"HardSwish", 2, func(p *kernel.Pool) { elementwise.HardSwish(p, z, x) }},
		{"Sum", 1, func(p *kernel.Pool) { vector.Sum(p, x) }},
		{"Dot", 2, func(p *kernel.Pool) { vector.Dot(p, x, y) }},
		{"Max", 1, func(p *kernel.Pool) { vector.Max(p, x) }},
		{"ReduceRows", 1, func(p *kernel.Pool) { reduce.Reduce(p, reduce.ReduceMean, rows, cols, 1, m1, x) }},
		{"ReduceColumns", 1, func(p *kernel.Pool) { reduce.Reduce(p, reduce.ReduceSum, 1, rows, cols, w3, x) }},
		{"ReduceMax", 1, func(p *kernel.Pool) { reduce.Reduce(p, reduce.ReduceMax, rows, cols, 1, m1, x) }},
		{"Softmax", 2, func(p *kernel.Pool) { softmax.Softmax(p, rows, cols, 1, z, x) }},
		{"SoftmaxGrad", 3, func(p *kernel.Pool) { softmax.SoftmaxGrad(p, rows, cols, 1, z, x, y) }},
		{"LayerNorm", 2, func(p *kernel.Pool) { norm.LayerNorm(p, rows, cols, 1e-5, x, w1, w2, z, m1, m2) }},
		{"LayerNormGrad", 3, func(p *kernel.Pool) { norm.LayerNormGrad(p, rows, cols, x, w1, m1, m2, y, nil, z, w3, w4, nil) }},
		{"BatchNorm", 2, func(p *kernel.Pool) { norm.BatchNorm(p, images, channels, space, 1e-5, x, c1, c2, c1, variance, z) }},
		{"BatchNormTrain", 2, func(p *kernel.Pool) {
			norm.BatchNormTrain(p, images, channels, space, 1e-5, x, c1, c2, relu, c3, c4, z)
		}},
		{"BatchNormGrad", 3, func(p *kernel.Pool) {
			norm.BatchNormGrad(p, images, channels, space, 1e-5, true, x, y, norm.Gate[float32]{}, c1, c2, variance, z, c4, c5)
		}},
		{"ChannelSum", 1, func(p *kernel.Pool) { norm.ChannelSum(p, images, channels, space, x, c3) }},
		{"MaxPool", 1.25, func(p *kernel.Pool) { pooling.Max(p, pool, x, z[:n/4], nil) }},
		{"AveragePool", 1.25, func(p *kernel.Pool) { pooling.Average(p, pool, x, z[:n/4], nil) }},
		{"Transpose", 2, func(p *kernel.Pool) { layout.Transpose(p, z, x, []int{rows, cols}, []int{1, 0}) }},
	}
}
