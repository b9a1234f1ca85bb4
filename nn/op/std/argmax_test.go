package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestArgColumns: many columns that are side by side give what each of them gives alone.
func TestArgColumns(t *testing.T) {
	const outer, n, columns = 2, 5, 20
	x := make([]float32, outer*n*columns)
	for i := range x {
		x[i] = float32(i * 7 % 5 * (i % 3))
	}
	x[columns+3], x[3*columns+3], x[2*columns+4] = float32(math.NaN()), float32(math.NaN()), float32(math.Inf(-1))
	var list []optest.Case
	for _, last := range []bool{false, true} {
		for _, least := range []bool{false, true} {
			var want []int64
			for c := range outer * columns {
				at := c/columns*n*columns + c%columns
				best, where := x[at], int64(0)
				for i := 1; i < n; i++ {
					v := x[at+i*columns]
					better := v > best
					if least {
						better = v < best
					}
					if better || last && v == best || v != v && best == best {
						best, where = v, int64(i)
					}
				}
				want = append(want, where)
			}
			var config op.Config = std.ArgMaxConfig{Axis: 1, SelectLastIndex: last}
			if least {
				config = std.ArgMinConfig{Axis: 1, SelectLastIndex: last}
			}
			list = append(list, optest.Case{Config: config, In: []dtype.Value{optest.Floats([]int{outer, n, columns}, x...)},
				Want: []dtype.Value{optest.Tensor(want, outer, 1, columns)}})
		}
	}
	optest.Run(t, list...)
}
