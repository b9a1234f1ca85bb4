package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// HardSigmoidConfig has the attributes of HardSigmoid, max(0, min(1, Alpha·x + Beta)).
type HardSigmoidConfig struct {
	Alpha *float32 `onnx:"alpha,nil=0.2"` // 0.2 when nil
	Beta  *float32 `onnx:"beta,nil=0.5"`  // 0.5 when nil
}

// Operator makes HardSigmoidConfig a Config.
func (HardSigmoidConfig) Operator() op.Name { return op.Name{Name: "HardSigmoid"} }

func hardSigmoid() []*op.Op {
	return pointwiseOp{
		name: "HardSigmoid", doc: "max(0, min(1, alpha·x + beta)).", since: []int{1, 6, 22}, attrs: HardSigmoidConfig{},
		traits: op.Traits{Range: op.RangeOf(0, 1), Activation: trait.GateActivation, Sigmoid: trait.UnitSigmoid},
		of: func(c op.Config) pointwise {
			cfg := c.(HardSigmoidConfig)
			a, b := orFloat(cfg.Alpha, 0.2), orFloat(cfg.Beta, 0.5)
			p := slopes("y", ramp(float32(a), float32(b)), ramp(a, b), rampGrad(float32(a)), rampGrad(a))
			p.f32 = blocked(rampBlock(float32(a), float32(b)))
			p.g32 = blockedGrad(rampGradBlock(float32(a)))
			p.act = elementwise.Activation{Kind: elementwise.ActHardSigmoid, Alpha: a, Beta: b}
			return p
		},
	}.ops()
}

func ramp[T kernel.Float](a, b T) func(x T) T {
	return func(x T) T { return max(0, min(1, a*x+b)) }
}

func rampGrad[T kernel.Float](a T) func(dy, y T) T {
	return func(dy, y T) T {
		if y > 0 && y < 1 {
			return a * dy
		}
		return 0
	}
}
