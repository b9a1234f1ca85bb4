package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// gate is the pattern of the gradient of an activation that passes or blocks each element of a gradient, so that the
// kernel that reads it can apply it: Relu's and Clip's. Its inputs are dY and the activation's output, and for Clip
// the bounds.
type gate struct {
	dtype  op.DType
	clip   bool
	bounds ClipConfig // of Clip, where inputs 2 and 3 are absent
	inputs int
}

func (*gate) PatternName() string { return "gate" }

// gated is the pattern of a gradient kernel that can apply a gate to its input 0: how to make that kernel, whose
// inputs are the gate's and then its own from 1 on.
type gated struct {
	dtype  op.DType
	kernel func(gate) op.Kernel
}

func (*gated) PatternName() string { return "gated gradient" }

// fuseGate lets a gradient kernel apply the gate that it reads.
func fuseGate(first *gate, second *gated, m op.Meeting) *op.Fused {
	if m.Slot != 0 || second.dtype != first.dtype {
		return nil
	}
	g := *first
	g.inputs = m.FirstInputs
	return &op.Fused{Kernel: second.kernel(g), InPlace: []int{0}}
}

// gateOf returns the gate for the inputs of a run.
func gateOf[T kernel.Float](g gate, in []*tensor.Dense) norm.Gate[T] {
	r := norm.Gate[T]{Y: dtype.Elems[T](in[1]), Lo: nextUp(T(0)), Hi: T(math.Inf(1))}
	if g.clip {
		r.Lo, r.Hi = within(bounds[T](g.bounds, inputAt(in[:g.inputs], 2), inputAt(in[:g.inputs], 3)))
	}
	return r
}

// within narrows the bounds of a clip to the open interval, since clipped elements equal a bound.
func within[T kernel.Float](lo, hi T) (T, T) {
	if !math.IsInf(float64(lo), 0) {
		lo = nextUp(lo)
	}
	if !math.IsInf(float64(hi), 0) {
		hi = -nextUp(-hi)
	}
	return lo, hi
}

// nextUp returns the next larger number.
func nextUp[T kernel.Float](x T) T {
	if v, ok := any(x).(float32); ok {
		return T(math.Nextafter32(v, float32(math.Inf(1))))
	}
	return T(math.Nextafter(float64(x), math.Inf(1)))
}
