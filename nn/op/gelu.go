package op

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// GeluConfig has the attributes of Gelu: Approximate is "none" (the error function) or "tanh".
type GeluConfig struct {
	Approximate string `onnx:"approximate,default=none"`
}

// Op makes GeluConfig a Config.
func (GeluConfig) Op() *Op { return standard("", "Gelu") }

func gelu() []*Op {
	list := pointwiseOp{
		name: "Gelu", doc: "x·Φ(x), Φ the normal distribution function.", since: []int{20}, attrs: GeluConfig{},
		of: func(c Config) pointwise {
			if c.(GeluConfig).Approximate == "tanh" {
				return pointwise{f: geluTanh, need: "x", grad: geluTanhGrad,
					f32: geluTanhInto[float32], f64: geluTanhInto[float64], g32: geluTanhGradInto[float32], g64: geluTanhGradInto[float64]}
			}
			return pointwise{f: geluErf, need: "x", grad: geluErfGrad,
				f32: geluErfInto[float32], f64: geluErfInto[float64], g32: geluErfGradInto[float32], g64: geluErfGradInto[float64]}
		},
	}.ops()
	list[0].Check = func(c *Call) error {
		if a := c.Config.(GeluConfig).Approximate; a != "none" && a != "tanh" {
			return c.Errorf("approximate is %q, want none or tanh", a)
		}
		return nil
	}
	return list
}

func geluErf(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) }

func geluErfGrad(x, _, dy float64) float64 {
	return dy * (0.5*(1+math.Erf(x/math.Sqrt2)) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
}

// The argument of the hyperbolic tangent is c·(x + 0.044715·x³).
var geluC = math.Sqrt(2 / math.Pi)

const geluCube = 0.044715

func geluTanh(x float64) float64 { return 0.5 * x * (1 + math.Tanh(geluC*(x+geluCube*x*x*x))) }

func geluTanhGrad(x, _, dy float64) float64 {
	t := math.Tanh(geluC * (x + geluCube*x*x*x))
	return dy * (0.5*(1+t) + 0.5*x*(1-t*t)*geluC*(1+3*geluCube*x*x))
}

// geluBlock is how many elements pass through the kernels of package kernel at a time.
const geluBlock = 512

// inBlocks calls f for pieces of n elements with a buffer of the piece's length.
func inBlocks[T kernel.Float](p *kernel.Pool, n int, f func(lo, hi int, buf []T)) {
	p.Range(n, 4*geluBlock, func(lo, hi int) {
		var buf [geluBlock]T
		for ; lo < hi; lo += geluBlock {
			end := min(hi, lo+geluBlock)
			f(lo, end, buf[:end-lo])
		}
	})
}

func geluErfInto[T kernel.Float](p *kernel.Pool, dst, src []T) {
	inBlocks(p, len(dst), func(lo, hi int, b []T) {
		for i := range b {
			b[i] = src[lo+i] * T(1/math.Sqrt2)
		}
		kernel.Erf(nil, b, b)
		for i := range b {
			dst[lo+i] = src[lo+i] * 0.5 * (1 + b[i])
		}
	})
}

func geluErfGradInto[T kernel.Float](p *kernel.Pool, dx, dy, x []T) {
	inBlocks(p, len(dx), func(lo, hi int, b []T) {
		var e [geluBlock]T
		g := e[:len(b)]
		for i := range b {
			v := x[lo+i]
			b[i], g[i] = v*T(1/math.Sqrt2), -0.5*v*v
		}
		kernel.Erf(nil, b, b)
		kernel.Exp(nil, g, g)
		s := T(1 / math.Sqrt(2*math.Pi))
		for i := range b {
			dx[lo+i] = dy[lo+i] * (0.5*(1+b[i]) + x[lo+i]*g[i]*s)
		}
	})
}

func geluTanhInto[T kernel.Float](p *kernel.Pool, dst, src []T) {
	inBlocks(p, len(dst), func(lo, hi int, b []T) {
		for i := range b {
			v := src[lo+i]
			b[i] = T(geluC) * (v + geluCube*v*v*v)
		}
		kernel.Tanh(nil, b, b)
		for i := range b {
			dst[lo+i] = 0.5 * src[lo+i] * (1 + b[i])
		}
	})
}

func geluTanhGradInto[T kernel.Float](p *kernel.Pool, dx, dy, x []T) {
	inBlocks(p, len(dx), func(lo, hi int, b []T) {
		for i := range b {
			v := x[lo+i]
			b[i] = T(geluC) * (v + geluCube*v*v*v)
		}
		kernel.Tanh(nil, b, b)
		for i, t := range b {
			v := x[lo+i]
			dx[lo+i] = dy[lo+i] * (0.5*(1+t) + 0.5*v*(1-t*t)*T(geluC)*(1+3*geluCube*v*v))
		}
	})
}
