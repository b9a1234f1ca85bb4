package op

import (
	"fmt"

	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/tensor"
)

func convTransposeKernel(c *Call) (Kernel, error) {
	s, err := convTransposeShape(c)
	if err != nil {
		return nil, err
	}
	return convTransposeEnding(c.In[0].DType, s, Epilogues{affine: true}), nil
}

func convTransposePatterns(c *Call) []Pattern {
	s, err := convTransposeShape(c)
	if err != nil {
		return nil
	}
	t := c.In[0].DType
	return []Pattern{&EpilogueHost{DType: t, Channels: s.C, Affine: true, Kernel: func(e Epilogues) Kernel { return convTransposeEnding(t, s, e) }}}
}

func convTransposeEnding(t DType, s kernel.ConvShape, e Epilogues) Kernel {
	return perPrecision(t, convTransposed[float32](s, e), convTransposed[float64](s, e))
}

// convTransposed keeps packed weights where they, and all that scales and shifts the result, are parameters.
func convTransposed[T kernel.Float](s kernel.ConvShape, e Epilogues) Kernel {
	key := convTransposedKey{fmt.Sprint(s.Group, s.Stride, s.Dilation, s.PadBegin), e.affineKey()}
	return func(x *Exec, out, in []*tensor.Dense) error {
		data, weight, y, scratch := elems[T](in[0]), elems[T](in[1]), elems[T](out[0]), scratch[T](x)
		whole := func() kernel.Epilogue[T] { return epilogue(x, e, s.C, elemsAt[T](in, 2), in) }
		if kernel.ConvTransposedPacks[T](&s) {
			pack := func() any { return kernel.PackConvTransposed(pool(x), &s, weight, whole(), nil) }
			if w, _ := x.Packed(key, pack, e.affineInputs(in, 1, 2)...).(*kernel.ConvWeights[T]); w != nil {
				kernel.ConvTransposedPacked(pool(x), &s, data, w, finish[T](e, in), y, scratch)
				return nil
			}
		}
		kernel.ConvTransposed(pool(x), &s, data, weight, whole(), y, scratch)
		return nil
	}
}

// convTransposedKey tells apart the forms in which a transposed convolution keeps its weights.
type convTransposedKey struct{ geometry, affine string }
