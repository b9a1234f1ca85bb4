package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

func dynamicQuantizeLinear() *op.Op {
	return &op.Op{
		Name: "DynamicQuantizeLinear", Since: []int{11}, Doc: "Quantizes to uint8 with the scale that the values at hand need.",
		In: "x float32", Out: "y uint8, y_scale float32, y_zero_point uint8",
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].Of(dtype.Uint8), op.T(dtype.Float32), op.T(dtype.Uint8)}, nil
		},
		Kernel:      func(*op.Call) (op.Kernel, error) { return dynamicQuantize, nil },
		GradMissing: "it gives integers: freeze what comes before it, or train the model as it was before quantization", Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
		Traits: op.Traits{StraightThrough: true},
	}
}

func dynamicQuantize(e *op.Exec, out, in []*tensor.Dense) error {
	x := dtype.Slice[float32](in[0])
	lo, hi := extent(pool(e), x)
	scale := (hi - lo) / 255
	if scale == 0 {
		scale = 1 // as in ONNX Runtime; ONNX's formulas and its reference implementation disagree
	}
	zero := float32(math.RoundToEven(float64(min(max(-lo/scale, 0), 255))))
	if out[0] != nil {
		y := dtype.Slice[uint8](out[0])
		pool(e).Range(len(x), 8192, func(from, to int) {
			for i := from; i < to; i++ {
				y[i] = uint8(min(max(zero+float32(math.RoundToEven(float64(x[i]/scale))), 0), 255))
			}
		})
	}
	if s := dtype.ElemsAt[float32](out, 1); s != nil {
		s[0] = scale
	}
	if z := dtype.ElemsAt[uint8](out, 2); z != nil {
		z[0] = uint8(zero)
	}
	return nil
}

// extent returns the smallest range that holds x and 0.
func extent(p *kernel.Pool, x []float32) (lo, hi float32) {
	parts := kernel.CeilDiv(len(x), maxRun)
	ends := make([][2]float32, parts)
	p.Range(parts, 1, func(from, to int) {
		for k := from; k < to; k++ {
			e := &ends[k]
			for _, v := range x[k*maxRun : min(len(x), (k+1)*maxRun)] {
				e[0], e[1] = min(e[0], v), max(e[1], v)
			}
		}
	})
	for _, e := range ends {
		lo, hi = min(lo, e[0]), max(hi, e[1])
	}
	return lo, hi
}
