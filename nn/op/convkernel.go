package op

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/tensor"
)

func convKernel(c *Call) (engine.Kernel, error) {
	s, err := convShape(c)
	if err != nil {
		return nil, err
	}
	return convEnding(c.In[0].DType, s, ending{}), nil
}

// convAbsorb: normalizations by constants, residuals and activations end a convolution.
func convAbsorb(c *Call) func(self, next *engine.Core, slot int) *engine.Core {
	s, err := convShape(c)
	if err != nil {
		return nil
	}
	t := c.In[0].DType
	return absorber(t, s.OC, ending{affine: true}, func(e ending) engine.Kernel { return convEnding(t, s, e) }, nil)
}

func convEnding(t DType, s kernel.ConvShape, e ending) engine.Kernel {
	return perPrecision(t, convForward[float32](s, e), convForward[float64](s, e))
}

func convPlain[T kernel.Float](s kernel.ConvShape) engine.Kernel { return convForward[T](s, ending{}) }

// convKey tells apart the forms in which a convolution keeps its weights. They fit all sizes of images.
type convKey struct {
	group  int
	affine string
}

// convForward keeps packed weights where they, and all that scales and shifts the result, are parameters.
func convForward[T kernel.Float](s kernel.ConvShape, e ending) engine.Kernel {
	key := convKey{s.Group, e.affineKey()}
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		end, weight := finish[T](e, in), elems[T](in[1])
		fold := func() { end.Scale, end.Shift = scaleShift(x, e, s.OC, elemsAt[T](in, 2), in) }
		if kernel.ConvPacks[T](&s) {
			pack := func() any { fold(); return kernel.PackConv(x.Pool(), &s, weight, end) }
			if w, ok := x.Derived(key, pack, e.affineInputs(in, 1, 2)...).(*kernel.ConvWeights[T]); ok {
				end.Scale, end.Shift = nil, nil
				kernel.ConvForwardPacked(x.Pool(), &s, elems[T](in[0]), w, end, elems[T](out[0]), engine.Scratch[T](x))
				return nil
			}
		}
		fold()
		kernel.ConvForward(x.Pool(), &s, elems[T](in[0]), weight, end, elems[T](out[0]), engine.Scratch[T](x))
		return nil
	}
}
