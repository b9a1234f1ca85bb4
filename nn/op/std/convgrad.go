package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

// convGradConfig is the configuration of the convolutions that gradients need: the geometry of the
// forward convolution and the shape of the result.
type convGradConfig struct {
	Name  string
	Conv  convolution.Shape
	Shape []op.Dim
}

func (s convGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: s.Name} }

// convGradConfigs returns the operators of the gradients of Conv and ConvTranspose. The inputs of ConvDataGrad
// are dY and W, those of ConvWeightGrad X and dY; ConvOf is the forward convolution, which is the data
// gradient of ConvTranspose.
func convGradConfigs() []*op.Op {
	step := func(name, in, doc string, spell func(*op.Spelling) error, f32, f64 func(convolution.Shape) op.Kernel) *op.Op {
		return &op.Op{
			Domain: op.Internal, Name: name, Since: []int{1}, Doc: doc, Decompose: spell,
			In: op.Slots(in), Out: "Z T", Where: op.Where{"T": op.Floats()}, Attrs: convGradConfig{},
			GradMissing: op.NotTwice, Pinned: "gradient", Scheduling: op.Scheduling{Bilinear: func(*op.Call) bool { return true }, NoError: true},
			Infer: func(c *op.Call) ([]op.Type, error) {
				return []op.Type{c.In[0].With(c.Config.(convGradConfig).Shape...)}, nil
			},
			Kernel: func(c *op.Call) (op.Kernel, error) {
				s := c.Config.(convGradConfig).Conv
				return floatKernel(c, f32(s), f64(s)), nil
			},
			Cost: func(c *op.Call) (int64, int64) { return convMacs(c.Config.(convGradConfig).Conv), bytesMoved(c) },
		}
	}
	data := step("ConvDataGrad", "dY T, W T", "Gradient of Conv with respect to its data.", spelled(spellConvDataGrad), convData[float32], convData[float64])
	data.Scheduling.Patterns = convDataPatterns
	return []*op.Op{
		data,
		step("ConvWeightGrad", "X T, dY T", "Gradient of Conv with respect to its weight.", spelled(spellConvWeightGrad), convWeightGrad[float32], convWeightGrad[float64]),
		step("ConvOf", "X T, W T", "Convolution of a given geometry.", spelled(spellConvOf), convPlain[float32], convPlain[float64]),
	}
}

func convMacs(s convolution.Shape) int64 {
	n := int64(s.N) * int64(s.OC) * int64(s.C/s.Group)
	for i := range s.Out {
		n *= int64(s.Out[i]) * int64(s.Kernel[i])
	}
	return n
}

func convData[T kernel.Float](s convolution.Shape) op.Kernel {
	return withLists(&s, func(x *op.Exec, out, in []*tensor.Dense) error {
		convolution.BackwardData(pool(x), &s, dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](out[0]), scratch[T](x))
		return nil
	})
}

// convDataPatterns: if the kernel supports it, it adds its result to another gradient of the same
// data, for example that of a shortcut, instead of setting most of its own result to 0.
func convDataPatterns(c *op.Call) []op.Pattern {
	s, t := c.Config.(convGradConfig).Conv, c.In[0].DType
	if t != dtype.Float32 || !convolution.DataAdds[float32](&s) {
		return nil
	}
	return []op.Pattern{&epilogue.Host{
		DType: t, SumOnly: true,
		Kernel:  func(e epilogue.List) op.Kernel { return convDataAdd(s, e) },
		InPlace: func(epilogue.List) []int { return []int{2} }, // the other gradient
	}}
}

// convDataAdd overwrites the other gradient if it may.
func convDataAdd(s convolution.Shape, e epilogue.List) op.Kernel {
	return withLists(&s, func(x *op.Exec, out, in []*tensor.Dense) error {
		dx, other := dtype.Elems[float32](out[0]), epilogue.AfterAffine[float32](e, in).Add
		if &dx[0] != &other[0] {
			pool(x).Range(len(dx), 1<<14, func(lo, hi int) { copy(dx[lo:hi], other[lo:hi]) })
		}
		convolution.BackwardDataAdd(pool(x), &s, dtype.Elems[float32](in[0]), dtype.Elems[float32](in[1]), dx, scratch[float32](x))
		return nil
	})
}

func convWeightGrad[T kernel.Float](s convolution.Shape) op.Kernel {
	return withLists(&s, func(x *op.Exec, out, in []*tensor.Dense) error {
		convolution.BackwardWeight(pool(x), &s, dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](out[0]), scratch[T](x))
		return nil
	})
}

// channelSum adds up everything but the channels: the gradient of a bias.
func channelSum() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ChannelSum", Since: []int{1}, Decompose: spelled(spellChannelSum),
		Doc: "Sum over batch and space.", In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()},
		GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) {
			rank, err := c.Rank(0)
			if err != nil || rank < 2 {
				return nil, c.Mismatch(0, "batch and channels", c.In[0])
			}
			return []op.Type{c.In[0].With(c.In[0].Shape[1])}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			n, ch, space := channels(c.In[0])
			return floatKernel(c, sumChannels[float32](n, ch, space), sumChannels[float64](n, ch, space)), nil
		},
	}
}

func sumChannels[T kernel.Float](n, c, space int) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		norm.ChannelSum(pool(x), n, c, space, dtype.Elems[T](in[0]), dtype.Elems[T](out[0]))
		return nil
	}
}

// channels splits a static shape into batch, channels (1 if there is no such axis), and elements per channel.
func channels(t op.Type) (n, c, space int) {
	n, c, space = 1, 1, 1
	for i, d := range t.Shape {
		switch i {
		case 0:
			n = d.Size
		case 1:
			c = d.Size
		default:
			space *= d.Size
		}
	}
	return n, c, space
}
