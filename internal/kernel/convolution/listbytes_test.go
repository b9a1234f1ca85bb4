package convolution

import (
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// TestListBytes: what a convolution with a large kernel allocates besides scratch memory is at most what ListBytes reports.
func TestListBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("measures what is allocated, which is more under the race detector")
	}
	p := kernel.NewPool(2)
	shape := func(in, ker, stride int) Shape {
		out := (in-ker)/stride + 1
		return Shape{N: 1, C: 1, OC: 1, Group: 1, In: []int{in, in}, Kernel: []int{ker, ker}, Out: []int{out, out}, Stride: []int{stride, stride}}
	}
	if small := shape(100, 64, 1); small.ListBytes() != 0 {
		t.Errorf("64²: %d", small.ListBytes())
	}
	for _, s := range []Shape{shape(140, 70, 1), shape(200, 72, 2)} {
		x, w, y := make([]float32, s.In[0]*s.In[1]), make([]float32, s.Kernel[0]*s.Kernel[1]), make([]float32, s.Out[0]*s.Out[1])
		var sizes []int
		scratch := kernel.Scratch[float32](func(n int) []float32 { sizes = append(sizes, n); return make([]float32, n) })
		for name, run := range map[string]func(){
			"forward":    func() { Forward(p, &s, x, w, elementwise.Epilogue[float32]{}, y, scratch) },
			"data":       func() { BackwardData(p, &s, y, w, x, scratch) },
			"weights":    func() { BackwardWeight(p, &s, x, y, w, scratch) },
			"transposed": func() { Transposed(p, &s, y, w, elementwise.Epilogue[float32]{}, x, scratch) },
		} {
			sizes = sizes[:0]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			run()
			runtime.ReadMemStats(&after)
			got := int64(after.TotalAlloc - before.TotalAlloc)
			for _, n := range sizes {
				got -= 4 * int64(n)
			}
			t.Logf("%s %v: %d for each point", name, s.Stride, got/int64(len(w)))
			if got > s.ListBytes()+1<<15 {
				t.Errorf("%s, stride %v: %d bytes for each kernel point, ListBytes %d", name, s.Stride, got/int64(len(w)), s.ListBytes()/int64(len(w)))
			}
		}
	}
}
