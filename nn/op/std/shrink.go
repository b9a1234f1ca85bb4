package std

import (
	"math"

	"github.com/graft-ml/graft/nn/op"
)

// ShrinkConfig has the attributes of Shrink.
type ShrinkConfig struct {
	Bias  float32  `onnx:"bias"`          // subtracted from elements above Lambd, added to those below −Lambd
	Lambd *float32 `onnx:"lambd,nil=0.5"` // elements from −Lambd to Lambd become 0; 0.5 when nil
}

// Operator makes ShrinkConfig a Config.
func (ShrinkConfig) Operator() op.Name { return op.Name{Name: "Shrink"} }

func shrink() []*op.Op {
	return pointwiseOp{
		name: "Shrink", doc: "Pulls elements towards 0 by bias; those within lambd of it become 0.", since: []int{9}, types: op.Numeric(), attrs: ShrinkConfig{},
		traits: op.Traits{Zero: op.ZeroFirst},
		of: func(c op.Config) pointwise {
			cfg := c.(ShrinkConfig)
			bias, lambd := float64(cfg.Bias), orFloat(cfg.Lambd, 0.5)
			f := func(x float64) float64 {
				switch {
				case x < -lambd:
					return x + bias
				case x > lambd:
					return x - bias
				}
				return 0
			}
			return pointwise{f: f, need: "x", ints: func(x int64) int64 { return int64(f(float64(x))) },
				grad: func(x, _, dy float64) float64 {
					if math.Abs(x) > lambd {
						return dy
					}
					return 0
				}}
		},
	}.ops()
}
