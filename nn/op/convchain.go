package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// convLink is a convolution with what it ends with, by itself or as a link of a chain that runs as one. It is what
// Core.Does holds for a convolution.
type convLink struct {
	dtype  DType
	shape  kernel.ConvShape
	end    ending
	weight int // which input of the kernel; the bias is the next
	at     int // the first element of the output
}

func newConvLink(c *Call) (*convLink, error) {
	s, err := convShape(c)
	return &convLink{dtype: c.In[0].DType, shape: s, end: ending{affine: true}, weight: 1}, err
}

func convDoes(c *Call) any {
	l, err := newConvLink(c)
	if err != nil {
		return nil
	}
	return l
}

// convAbsorb: normalizations by constants, residuals and activations end a convolution; a depthwise one runs together
// with the pointwise ones around it.
func convAbsorb(c *Call) func(self, next *engine.Core, slot int) *engine.Core {
	l, err := newConvLink(c)
	if err != nil || l.dtype != dtype.Float32 && l.dtype != dtype.Float64 {
		return nil // the steps between are rounded to a narrower type
	}
	return absorbConv([]*convLink{l})
}

// absorbConv makes the Absorb function of a chain.
func absorbConv(chain []*convLink) func(self, next *engine.Core, slot int) *engine.Core {
	last := chain[len(chain)-1]
	return func(self, next *engine.Core, slot int) *engine.Core {
		if j, ok := next.Does.(*joined); ok && len(chain) == 1 {
			return j.absorbed(last, self, slot)
		}
		if s, ok := next.Does.(*kernel.PoolShape); ok && len(chain) == 1 {
			return pooledConv(last, s)
		}
		longer := slices.Clone(chain)
		if l, ok := next.Does.(*convLink); ok {
			if slot != 0 || l.dtype != last.dtype || last.end.adds() {
				return nil
			}
			more := *l
			more.weight = self.Inputs
			longer = append(longer, &more)
		} else {
			ended := *last
			if ended.end, ok = last.end.absorbs(last.dtype, last.shape.OC, self, next, slot); !ok {
				return nil
			}
			longer[len(longer)-1] = &ended
		}
		run := convChain(longer)
		if run == nil {
			return nil
		}
		return &engine.Core{Kernel: run.engine(), Sides: true, Absorb: absorbConv(longer)}
	}
}

// pooledConv computes maxima of the convolution's result; nil: it cannot.
func pooledConv(l *convLink, s *kernel.PoolShape) *engine.Core {
	if l.dtype != dtype.Float32 || l.end.adds() {
		return nil
	}
	b := kernel.NewConvPool(&l.shape, s)
	if b == nil {
		return nil
	}
	return &engine.Core{Kernel: Kernel(func(x *Exec, out, in []*tensor.Dense) error {
		w := packedConv[float32](x, l, in)
		b.Forward(pool(x), elems[float32](in[0]), w, finish[float32](l.end, in), elems[float32](out[0]))
		return nil
	}).engine()}
}

// convChain is the kernel of a chain; nil if there is none for it.
func convChain(chain []*convLink) Kernel {
	if len(chain) == 1 {
		return convEnding(chain[0])
	}
	shapes := make([]*kernel.ConvShape, len(chain))
	for i, l := range chain {
		shapes[i] = &l.shape
	}
	b := kernel.NewBottleneck(shapes...)
	if b == nil || chain[0].dtype != dtype.Float32 {
		return nil
	}
	return func(x *Exec, out, in []*tensor.Dense) error {
		scratch := scratch[float32](x)
		weights, ends := make([]*kernel.ConvWeights[float32], len(chain)), make([]kernel.Epilogue[float32], len(chain))
		for i, l := range chain {
			weights[i] = packedConv[float32](x, l, in)
			ends[i] = finish[float32](l.end, in)
		}
		b.Forward(pool(x), elems[float32](in[0]), weights, ends, elems[float32](out[0]), scratch)
		return nil
	}
}
