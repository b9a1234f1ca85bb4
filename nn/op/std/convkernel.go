package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

func convKernel(c *op.Call) (op.Kernel, error) {
	link, err := newConvStage(c)
	if err != nil {
		return nil, err
	}
	return convWithEpilogue(link), nil
}

func convWithEpilogue(l *convStage) op.Kernel {
	return perPrecision(l.dtype, convForward[float32](l), convForward[float64](l))
}

func convPlain[T kernel.Float](s convolution.Shape) op.Kernel {
	return convForward[T](&convStage{shape: s, weight: 1})
}

// convForward keeps packed weights where they, and all that scales and shifts the result, are parameters.
func convForward[T kernel.Float](l *convStage) op.Kernel {
	return withLists(&l.shape, func(x *op.Exec, out, in []*tensor.Dense) error {
		y, scratch := dtype.Elems[T](out[0])[l.at:], scratch[T](x)
		if convolution.Packs[T](&l.shape) {
			if w := keptConv[T](x, l, in); w != nil {
				convolution.ForwardPacked(pool(x), &l.shape, dtype.Elems[T](in[0]), w, epilogue.AfterAffine[T](l.end, in), y, scratch)
				return nil
			}
		}
		convolution.Forward(pool(x), &l.shape, dtype.Elems[T](in[0]), dtype.Elems[T](in[l.weight]), convEpilogue[T](x, l, in), y, scratch)
		return nil
	})
}

// withLists charges the lists of kernel points of a convolution while it is computed.
func withLists(s *convolution.Shape, run op.Kernel) op.Kernel {
	bytes := s.ListBytes()
	if bytes == 0 {
		return run
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(bytes)
		if err != nil {
			return err
		}
		defer release()
		return run(x, out, in)
	}
}

// convEpilogue returns the epilogue that is applied to the convolution.
func convEpilogue[T kernel.Float](x *op.Exec, l *convStage, in []*tensor.Dense) elementwise.Epilogue[T] {
	return epilogue.Steps(x, l.end, l.shape.OC, dtype.ElemsAt[T](in, l.weight+1), in)
}

// convKey tells apart the forms in which a convolution keeps its weights. They fit all sizes of images of which
// the same taps of the kernel read something.
type convKey struct {
	group  int
	affine string
	taps   convolution.Taps
}

// keptConv returns the cached weights of l, packed with the scale and shift of the epilogue; nil: they cannot be cached,
// or are not yet.
func keptConv[T kernel.Float](x *op.Exec, l *convStage, in []*tensor.Dense) *convolution.Weights[T] {
	pack := func() any { return packConv[T](x, l, in, nil) }
	of := l.end.AffineInputs(in, l.weight, l.weight+1)
	w, _ := x.Packed(convKey{l.shape.Group, l.end.AffineKey(), convolution.LiveTaps(&l.shape)}, pack, of...).(*convolution.Weights[T])
	return w
}

// packedConv returns the weights of l, packed now if none are kept.
func packedConv[T kernel.Float](x *op.Exec, l *convStage, in []*tensor.Dense) *convolution.Weights[T] {
	if w := keptConv[T](x, l, in); w != nil {
		return w
	}
	return packConv(x, l, in, scratch[T](x))
}

func packConv[T kernel.Float](x *op.Exec, l *convStage, in []*tensor.Dense, scratch kernel.Scratch[T]) *convolution.Weights[T] {
	return convolution.Pack(pool(x), &l.shape, dtype.Elems[T](in[l.weight]), convEpilogue[T](x, l, in), scratch)
}
