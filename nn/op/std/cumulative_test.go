package std_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestCumSumOfManyLanes checks that the sums along an outer axis, computed row by row, are the same.
func TestCumSumOfManyLanes(t *testing.T) {
	const outer, n, inner = 3, 7, 37
	for _, cfg := range []std.CumSumConfig{{}, {Reverse: true}, {Exclusive: true}, {Exclusive: true, Reverse: true}} {
		t.Run(fmt.Sprint(cfg), func(t *testing.T) {
			x := optest.Rand(1, outer, n, inner)
			g := gorgonia.NewGraph()
			in := make(gorgonia.Nodes, 2)
			for i, v := range []*tensor.Dense{x, dtype.Scalar(int64(1))} {
				var err error
				if in[i], err = op.Const(g, v); err != nil {
					t.Fatal(err)
				}
			}
			y, err := std.Operators().Apply1(cfg, in...)
			if err != nil {
				t.Fatal(err)
			}
			p, err := engine.Compile(engine.Options{}, y)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, src := dtype.Slice[float32](p.Value(y).(*tensor.Dense)), dtype.Slice[float32](x)
			for lane := range outer * inner {
				at := func(i int) int { return (lane/inner*n+i)*inner + lane%inner }
				sum := 0.0
				for i := range n {
					k := i
					if cfg.Reverse {
						k = n - 1 - i
					}
					want := sum
					if sum += float64(src[at(k)]); !cfg.Exclusive {
						want = sum
					}
					if math.Abs(float64(got[at(k)])-want) > 1e-5 {
						t.Fatalf("element %d of lane %d is %v, want %v", k, lane, got[at(k)], want)
					}
				}
			}
		})
	}
}
