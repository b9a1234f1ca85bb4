package std

import (
	"fmt"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

func convTransposeKernel(c *op.Call) (op.Kernel, error) {
	s, err := convTransposeShape(c)
	if err != nil {
		return nil, err
	}
	return convTransposeWithEpilogue(c.In[0].DType, s, epilogue.List{Affine: true}), nil
}

func convTransposePatterns(c *op.Call) []op.Pattern {
	s, err := convTransposeShape(c)
	if err != nil {
		return nil
	}
	t := c.In[0].DType
	return []op.Pattern{&epilogue.Host{DType: t, Channels: s.C, Affine: true, Kernel: func(e epilogue.List) op.Kernel { return convTransposeWithEpilogue(t, s, e) }}}
}

func convTransposeWithEpilogue(t op.DType, s convolution.Shape, e epilogue.List) op.Kernel {
	return perPrecision(t, convTransposed[float32](s, e), convTransposed[float64](s, e))
}

// convTransposed keeps packed weights where they, and all that scales and shifts the result, are parameters.
func convTransposed[T kernel.Float](s convolution.Shape, e epilogue.List) op.Kernel {
	key := convTransposedKey{fmt.Sprint(s.Group, s.Stride, s.Dilation, s.PadBegin), e.AffineKey()}
	return withLists(&s, func(x *op.Exec, out, in []*tensor.Dense) error {
		data, weight, y, scratch := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](out[0]), scratch[T](x)
		whole := func() elementwise.Epilogue[T] { return epilogue.Steps(x, e, s.C, dtype.ElemsAt[T](in, 2), in) }
		if convolution.TransposedPacks[T](&s) {
			pack := func() any { return convolution.PackTransposed(pool(x), &s, weight, whole(), nil) }
			if w, _ := x.Packed(key, pack, e.AffineInputs(in, 1, 2)...).(*convolution.Weights[T]); w != nil {
				convolution.TransposedPacked(pool(x), &s, data, w, epilogue.AfterAffine[T](e, in), y, scratch)
				return nil
			}
		}
		convolution.Transposed(pool(x), &s, data, weight, whole(), y, scratch)
		return nil
	})
}

// convTransposedKey identifies a packed form of the weights of a transposed convolution.
type convTransposedKey struct{ geometry, affine string }
