package std

import (
	"errors"
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FakeQuantizeConfig computes QuantizeLinear to integers of type To followed by DequantizeLinear with the same scales and
// zero points. Its gradient flows straight through, as if nothing were rounded, except for elements that were clamped.
type FakeQuantizeConfig struct {
	Axis      *int     // that the scales are along; nil: one scale for all elements
	BlockSize int      // elements along Axis that share a scale; 0: one scale per index of Axis, or a single one
	To        op.DType // integer type to quantize to
}

// Operator makes FakeQuantizeConfig a Config.
func (FakeQuantizeConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "FakeQuantize"}
}

func fakeQuantize() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "FakeQuantize", Since: []int{1}, Doc: "Rounds to what integers with a scale can hold; the gradient passes straight through.",
		In: "x T, scale T given, zero_point Z", Out: "y T", Attrs: FakeQuantizeConfig{},
		Where:  op.Where{"T": {dtype.Float32, dtype.Float64}, "Z": quantized()},
		Infer:  inferFakeQuantize(0),
		Pinned: "stands for two operators", Scheduling: op.Scheduling{InPlace: []int{0}}, Traits: op.Traits{StraightThrough: true},
		Decompose: spelled(spellFakeQuantize),
		Kernel:    fakeQuantizeKernel(fakeQuantized[float32], fakeQuantized[float64]),
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.Apply1(fakeQuantizeGradConfig(c.Config.(FakeQuantizeConfig)), append(gorgonia.Nodes{in[0]}, append(in[1:], dout[0])...)...)
			return gorgonia.Nodes{d}, err
		},
	}
}

// fakeQuantizeGradConfig is the FakeQuantizeConfig whose gradient it is.
type fakeQuantizeGradConfig FakeQuantizeConfig

func (fakeQuantizeGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "FakeQuantizeGrad"}
}

func fakeQuantizeGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "FakeQuantizeGrad", Since: []int{1}, Doc: "Gradient of FakeQuantize.",
		In: "x T, scale T, zero_point Z, dY T", Out: "dX T", Attrs: fakeQuantizeGradConfig{},
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}, "Z": quantized()},
		Infer: inferFakeQuantize(3), Decompose: spelled(spellFakeQuantizeGrad),
		GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: fakeQuantizeKernel(straightThrough[float32], straightThrough[float64]),
	}
}

// oneScale refuses scales per axis: derived steps only have the single ones of DynamicQuantizeLinear.
func (n formula) oneScale(axis *int, block int) error {
	if axis != nil || block != 0 || n.rank(1) != 0 {
		return errors.New("with several scales cannot be written in ONNX operators")
	}
	return nil
}

func spellFakeQuantize(n formula) error {
	c := n.Config.(FakeQuantizeConfig)
	q := n.do(QuantizeLinearConfig{}, n.In...)
	n.Give(0, n.do(DequantizeLinearConfig{}, q, n.In[1], n.In[2]))
	return n.oneScale(c.Axis, c.BlockSize)
}

// spellFakeQuantizeGrad gates dY by a test whether x rounds to a number of the range.
func spellFakeQuantizeGrad(n formula) error {
	c := n.Config.(fakeQuantizeGradConfig)
	q := n.add(n.do(op.Plain("Round"), n.div(n.In[0], n.In[1])), n.cast(n.In[2], n.DType(0)))
	lo, hi := integerRange(c.To)
	inside := n.both(n.greater(q, n.num(q, lo-0.5)), n.less(q, n.num(q, hi+0.5)))
	n.Give(0, n.through(n.gated(n.In[3], inside)))
	return n.oneScale(c.Axis, c.BlockSize)
}

func inferFakeQuantize(like int) func(c *op.Call) ([]op.Type, error) {
	return func(c *op.Call) ([]op.Type, error) {
		axis, block, _ := fakeQuantizeOf(c)
		_, err := scaledOf(c, axis, block)
		return []op.Type{c.In[like]}, err
	}
}

func fakeQuantizeOf(c *op.Call) (axis *int, block int, to op.DType) {
	if g, ok := c.Config.(fakeQuantizeGradConfig); ok {
		return g.Axis, g.BlockSize, g.To
	}
	f := c.Config.(FakeQuantizeConfig)
	return f.Axis, f.BlockSize, f.To
}

// integers are the scales, zero points and ranges of quantized values.
type integers struct {
	scaled
	lo, hi float64
}

func fakeQuantizeKernel(f32, f64 func(integers) op.Kernel) func(c *op.Call) (op.Kernel, error) {
	return func(c *op.Call) (op.Kernel, error) {
		axis, block, to := fakeQuantizeOf(c)
		s, err := scaledOf(c, axis, block)
		if err != nil {
			return nil, err
		}
		lo, hi := integerRange(to)
		return floatKernel(c, f32(integers{s, lo, hi}), f64(integers{s, lo, hi})), nil
	}
}

// eachScaled calls f with every element, rounded by its scale but not cut off, its scale and its zero point.
func eachScaled[T kernel.Float](e *op.Exec, s scaled, in []*tensor.Dense, f func(i int, rounded float64, scale T, zero float64)) error {
	_, zero, err := scaleAndZero(in[:3])
	if err != nil {
		return err
	}
	x, scale := dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
	pool(e).Range(len(x), 4096, func(from, to int) {
		for i := from; i < to; i++ {
			k, z := s.at(i), 0.0
			if zero != nil {
				z = zero[k]
			}
			f(i, math.RoundToEven(float64(x[i]/scale[k]))+z, scale[k], z)
		}
	})
	return nil
}

func fakeQuantized[T kernel.Float](s integers) op.Kernel {
	return func(e *op.Exec, out, in []*tensor.Dense) error {
		y := dtype.Slice[T](out[0])
		return eachScaled(e, s.scaled, in, func(i int, q float64, scale T, zero float64) {
			if q != q {
				q = zero
			}
			y[i] = T(min(max(q, s.lo), s.hi)-zero) * scale
		})
	}
}

func straightThrough[T kernel.Float](s integers) op.Kernel {
	return func(e *op.Exec, out, in []*tensor.Dense) error {
		dx, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[3])
		return eachScaled(e, s.scaled, in, func(i int, q float64, _ T, _ float64) {
			dx[i] = 0
			if s.lo <= q && q <= s.hi {
				dx[i] = dy[i]
			}
		})
	}
}
