package convolution

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestDepthPlanes checks planes of all small sizes that contain NaN and infinities, which must not
// affect adjacent planes.
func TestDepthPlanes(t *testing.T) {
	for i, stride := range [][]int{{1, 1}, {2, 2}, {1, 2}, {2, 1}, {1, 1}, {2, 2}, {1, 2}, {1, 1}} {
		kernel := []int{3, 3}
		if i > 3 {
			kernel = []int{5, 5}
		}
		if i > 6 {
			kernel = []int{7, 7}
		}
		for _, pad := range [][]int{{1, 1}, {0, 0}, {2, 3}} {
			for _, dilation := range [][]int{{1, 1}, {3, 1}} {
				for _, in := range [][]int{{1, 1}, {3, 3}, {6, 6}, {7, 5}, {3, 16}, {5, 17}, {9, 8}, {12, 12}, {2, 50}, {33, 3}} {
					s := convolution(2, 3, 3, 3, in, kernel, stride, dilation, pad)
					if s.Out[0] < 1 || s.Out[1] < 1 {
						continue
					}
					x, w := kerneltest.Small(s.N*s.C*kerneltest.Product1(in), 1, 11), kerneltest.Small(s.OC*kerneltest.Product1(kernel), 2, 0)
					what := fmt.Sprint("depthwise ", *s)
					n := s.N * s.OC * kerneltest.Product1(s.Out)
					kerneltest.Against(t, what, n, 0, func(y []float32) { Forward(nil, s, x, w, elementwise.Epilogue[float32]{}, y, nil) })
					e := elementwise.Epilogue[float32]{Scale: kerneltest.Small(3, 4, 0), Shift: kerneltest.Small(3, 5, 0), Act: elementwise.Activation{Kind: elementwise.ActClip, Alpha: 0, Beta: 6}}
					kerneltest.Against(t, what, n, 0, func(y []float32) { Forward(nil, s, x, w, e, y, nil) })
					dy := kerneltest.Small(n, 6, 0) // the order of sums differs
					kerneltest.Against(t, what+" backward", len(x), 0, func(dx []float32) { BackwardData(nil, s, dy, w, dx, nil) })
					finite := kerneltest.Small(len(x), 7, 0)
					finite[0] = float32(math.NaN()) // stays in its channel
					kerneltest.Against(t, what+" weights", len(w), 0, func(dw []float32) { BackwardWeight(nil, s, finite, dy, dw, nil) })
				}
			}
		}
	}
}
