package std_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestTopK has rows with ties, both zeros and infinities, as many elements as each way to find the highest is for.
func TestTopK(t *testing.T) {
	const rows, n = 3, 200
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, rows*n)
	for i := range x {
		x[i] = float32(r.IntN(40) - 20)
		if x[i] == 0 && i%2 == 0 {
			x[i] = float32(math.Copysign(0, -1))
		}
	}
	x[5], x[n+7], x[n+9] = float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Inf(1))
	var list []optest.Case
	for _, k := range []int{1, 2, 16, 17, 60, n} {
		for _, most := range []bool{true, false} {
			var values []float32
			var places []int64
			for row := range rows {
				line := x[row*n:][:n]
				order := make([]int64, n)
				for i := range order {
					order[i] = int64(i)
				}
				slices.SortStableFunc(order, func(a, b int64) int {
					switch va, vb := line[a], line[b]; {
					case va == vb:
						return 0
					case va > vb == most:
						return -1
					}
					return 1
				})
				for _, at := range order[:k] {
					values, places = append(values, line[at]), append(places, at)
				}
			}
			list = append(list, optest.Case{Config: std.TopKConfig{Largest: truth(most)}, Outputs: 2, NoGrad: "ties",
				In:   []dtype.Value{optest.Floats([]int{rows, n}, x...), optest.Ints(int64(k))},
				Want: []dtype.Value{optest.Floats([]int{rows, k}, values...), optest.Tensor(places, rows, k)}})
		}
	}
	optest.Run(t, list...)
}
