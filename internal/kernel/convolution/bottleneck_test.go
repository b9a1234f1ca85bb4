package convolution

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// chainForward computes convolutions one after the other, in one go if it is a bottleneck.
func chainForward(p *kernel.Pool, layers []*Shape, x []float32, w [][]float32, e []elementwise.Epilogue[float32], y []float32) {
	if b := NewBottleneck(layers...); b != nil {
		packed, rest := make([]*Weights[float32], len(w)), make([]elementwise.Epilogue[float32], len(w))
		for i, s := range layers {
			packed[i] = Pack(p, s, w[i], e[i], nil)
			rest[i] = elementwise.Epilogue[float32]{Add: e[i].Add, Act: e[i].Act}
		}
		b.Forward(p, x, packed, rest, y, nil)
		return
	}
	for i, s := range layers {
		to := y
		if i < len(layers)-1 {
			to = make([]float32, s.N*s.OC*kerneltest.Product1(s.Out))
		}
		Forward(p, s, x, w[i], e[i], to, nil)
		x = to
	}
}

// TestBottleneck compares blocks of all small sizes, with and without the first and the last
// convolution, with separate convolutions.
func TestBottleneck(t *testing.T) {
	kerneltest.Poison[float32]()
	one, none := []int{1, 1}, []int{0, 0}
	acts := []elementwise.Activation{{}, {Kind: elementwise.ActRelu}, {Kind: elementwise.ActClip, Beta: 6}, {Kind: elementwise.ActLeakyRelu, Alpha: 0.25}}
	for name, p := range kerneltest.Pools(t) {
		for i, in := range [][]int{{1, 1}, {3, 3}, {7, 5}, {5, 17}, {6, 6}, {33, 3}, {24, 26}} {
			for _, n := range []int{1, 9} {
				for _, c := range [][]int{{3, 17, 5}, {16, 40, 33}} {
					stride := []int{1 + i%2, 1 + i%2}
					expand := convolution(n, c[0], c[1], 1, in, one, one, one, none)
					depth := convolution(n, c[1], c[1], c[1], in, []int{3, 3}, stride, one, one)
					if i%2 == n%4 {
						depth = convolution(n, c[1], c[1], c[1], in, []int{5, 5}, stride, one, []int{2, 2})
					}
					project := convolution(n, c[1], c[2], 1, depth.Out, one, one, one, none)
					all := []*Shape{expand, depth, project}
					for k, layers := range [][]*Shape{all, all[:2], all[1:]} {
						x, last := kerneltest.Small(n*layers[0].C*kerneltest.Product1(in), 1, 331), layers[len(layers)-1]
						size := n * last.OC * kerneltest.Product1(last.Out)
						var w [][]float32
						var e []elementwise.Epilogue[float32]
						for j, s := range layers {
							w = append(w, kerneltest.Signs(s.OC*s.C/max(s.Group, 1)*kerneltest.Product1(s.Kernel), 2+j, 1))
							e = append(e, elementwise.Epilogue[float32]{Scale: kerneltest.Signs(s.OC, 5+j, 0.5), Shift: kerneltest.Small(s.OC, 8+j, 0), Act: acts[(i+j+k)%len(acts)]})
						}
						if i%3 == 0 {
							e[len(e)-1].Add = kerneltest.Small(size, 12, 0)
						}
						what := fmt.Sprint(name, " ", in, n, c, k)
						if (NewBottleneck(layers...) == nil) == kernel.SIMD {
							t.Fatal(what, ": not recognized")
						}
						kerneltest.Against(t, what, size, 0, func(y []float32) { chainForward(p, layers, x, w, e, y) })
					}
				}
			}
		}
	}
}

func TestNoBottleneck(t *testing.T) {
	in, one, none := []int{8, 8}, []int{1, 1}, []int{0, 0}
	pointwise := convolution(2, 4, 4, 1, in, one, one, one, none)
	depth := convolution(2, 4, 4, 4, in, []int{3, 3}, one, one, one)
	for name, layers := range map[string][]*Shape{
		"two pointwise":     {pointwise, pointwise},
		"two depthwise":     {depth, depth},
		"one":               {depth},
		"three behind":      {depth, pointwise, pointwise},
		"four":              {pointwise, depth, pointwise, depth},
		"strided":           {convolution(2, 4, 4, 1, []int{16, 16}, one, []int{2, 2}, one, none), depth},
		"grouped":           {convolution(2, 4, 4, 2, in, one, one, one, none), depth},
		"more than 5×5":     {pointwise, convolution(2, 4, 4, 4, in, []int{7, 7}, one, one, []int{3, 3})},
		"more outputs":      {pointwise, convolution(2, 4, 8, 4, in, []int{3, 3}, one, one, one)},
		"one channel":       {convolution(2, 1, 1, 1, in, []int{3, 3}, one, one, one), convolution(2, 1, 2, 1, in, one, one, one, none)},
		"not of the result": {convolution(2, 4, 4, 1, []int{4, 16}, one, one, one, none), depth},
	} {
		if NewBottleneck(layers...) != nil {
			t.Errorf("%s: taken for a bottleneck", name)
		}
	}
}
