package op

import (
	"github.com/graft-ml/graft/internal/kernel"
)

// SwishConfig has the attributes of Swish. Alpha is 1 when nil.
type SwishConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Op makes SwishConfig a Config.
func (SwishConfig) Op() *Op { return standard("", "Swish") }

func swish() []*Op {
	return pointwiseOp{
		name: "Swish", doc: "x·sigmoid(alpha·x).", since: []int{24}, attrs: SwishConfig{},
		of: func(c Config) pointwise {
			a := orFloat(c.(SwishConfig).Alpha, 1)
			return pointwise{f: func(x float64) float64 { return x * sigmoid(a*x) }, need: "x",
				grad: func(x, _, dy float64) float64 {
					s := sigmoid(a * x)
					return dy * (s + a*x*s*(1-s))
				},
				f32: swishInto(float32(a)), f64: swishInto(a), g32: swishGradInto(float32(a)), g64: swishGradInto(a)}
		},
	}.ops()
}

func swishInto[T kernel.Float](a T) func(p *kernel.Pool, dst, src []T) {
	return func(p *kernel.Pool, dst, src []T) {
		inBlocks(p, len(dst), func(lo, hi int, b []T) {
			for i := range b {
				b[i] = a * src[lo+i]
			}
			kernel.Sigmoid(nil, b, b)
			for i := range b {
				dst[lo+i] = src[lo+i] * b[i]
			}
		})
	}
}

func swishGradInto[T kernel.Float](a T) func(p *kernel.Pool, dx, dy, x []T) {
	return func(p *kernel.Pool, dx, dy, x []T) {
		inBlocks(p, len(dx), func(lo, hi int, b []T) {
			for i := range b {
				b[i] = a * x[lo+i]
			}
			kernel.Sigmoid(nil, b, b)
			for i, s := range b {
				dx[lo+i] = dy[lo+i] * (s + a*x[lo+i]*s*(1-s))
			}
		})
	}
}
