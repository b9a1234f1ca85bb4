package resample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// someTaps are up to most taps of each new element, around where it is on the old axis or anywhere.
func someTaps(old, new, most int, anywhere bool) Taps {
	r := rand.New(rand.NewPCG(uint64(old), uint64(new)))
	index, weight := make([][]int, new), make([][]float64, new)
	for j := range new {
		for k := range r.IntN(most + 1) {
			at := min(j*old/new+k, old-1)
			if anywhere {
				at = r.IntN(old)
			}
			index[j], weight[j] = append(index[j], at), append(weight[j], float64(r.IntN(5)-2)/4)
		}
	}
	return func(j int) ([]int, []float64) { return index[j], weight[j] }
}

func testResampling[T kernel.Float](t *testing.T) {
	for name, p := range kerneltest.Pools(t) {
		for _, size := range [][2]int{{1, 1}, {1, 7}, {3, 2}, {7, 14}, {10, 33}, {32, 64}, {64, 32}, {40, 40}, {100, 17}, {31, 100}} {
			for _, inner := range []int{1, 3, 20} {
				for _, anywhere := range []bool{false, true} {
					old, new, outer := size[0], size[1], 5
					taps := someTaps(old, new, 4, anywhere)
					x, back := kerneltest.Random[T](outer*old*inner, 1), kerneltest.Random[T](outer*new*inner, 2)
					x[0], back[len(back)-1] = T(math.Inf(1)), T(math.NaN())
					got, gotBack := make([]T, len(back)), make([]T, len(x))
					want, wantBack := make([]T, len(back)), make([]T, len(x))
					for o := range outer {
						for j := range new {
							index, weight := taps(j)
							for k, i := range index {
								for n := 0; n < inner && weight[k] != 0; n++ {
									d, s := (o*new+j)*inner+n, (o*old+i)*inner+n
									want[d] += T(weight[k]) * x[s]
									wantBack[s] += T(weight[k]) * back[d]
								}
							}
						}
					}
					r := NewResampling[T](p, old, new, taps)
					r.Run(p, outer, inner, got, x)
					r.Back(p).Run(p, outer, inner, gotBack, back)
					what := fmt.Sprint(name, size, inner, anywhere)
					kerneltest.Near(t, what, got, want, 1e-6)
					kerneltest.Near(t, what+" back", gotBack, wantBack, 1e-5)
				}
			}
		}
	}
}

func TestResampling(t *testing.T) {
	t.Run("float32", testResampling[float32])
	t.Run("float64", testResampling[float64])
}

// TestResamplingNarrow runs the same tests with the assembly for older processors.
func TestResamplingNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Resampling": TestResampling,
	})
}
