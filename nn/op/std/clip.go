package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/loops"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ClipConfig has the attributes of Clip. Before version 11 the bounds are attributes, later
// inputs of one element; a bound that is absent does not bound.
type ClipConfig struct {
	Min *float32 `onnx:"min,until=10"` // lower bound; nil: none
	Max *float32 `onnx:"max,until=10"` // upper bound; nil: none
}

// Operator makes ClipConfig a Config.
func (ClipConfig) Operator() op.Name { return op.Name{Name: "Clip"} }

func clip() *op.Op {
	return &op.Op{
		Name: "Clip", Since: []int{1, 6, 11, 12, 13}, Versions: clipVersions(), Doc: "Limits elements to an interval.",
		In: "input T, min? T, max? T", Out: "output T", Where: op.Where{"T": op.Numeric()}, Attrs: ClipConfig{},
		Check: func(c *op.Call) error {
			for i := 1; i < 3; i++ {
				if c.Has(i) && c.In[i].Static() && c.In[i].Elements() != 1 {
					return c.Mismatch(i, "one element", c.In[i])
				}
			}
			return nil
		},
		Infer: op.Same,
		Scheduling: op.Scheduling{
			InPlace: []int{0},
			Patterns: func(c *op.Call) []op.Pattern {
				lo, hi := bounds[float64](c.Config.(ClipConfig), nil, nil)
				return withLoop(actEpilogue(c, elementwise.Activation{Kind: elementwise.ActClip, Alpha: lo, Beta: hi}), clipLoop(c))
			},
		},
		Kernel: clipKernel, Grad: clipGrad,
		Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
		Traits: op.Traits{Zero: clipZero, Range: clipRange, Bounds: true, Activation: trait.ClampActivation, Keeps: clipKeeps},
	}
}

// clipLoop: the bounds are operands with one element.
func clipLoop(c *op.Call) *loops.Loop {
	n := loopable(c)
	if n == 0 {
		return nil
	}
	lo, hi := bounds[float32](c.Config.(ClipConfig), nil, nil)
	l := &loops.Loop{N: n, Reads: []loops.Access{{Slot: 0, Inner: 1, Count: n}}, InPlace: []int{0}}
	for i := 1; i < 3; i++ {
		if c.Has(i) {
			l.Reads = append(l.Reads, loops.Access{Slot: i, Inner: n, Count: 1})
		}
	}
	l.Run = func(dst []float32, in []loops.Block) {
		lo, hi := lo, hi
		for k, o := range in[1:] {
			if l.Reads[k+1].Slot == 1 {
				lo = o.Elems[0]
			} else {
				hi = o.Elems[0]
			}
		}
		clamp(dst, in[0].Elems, lo, hi)
	}
	return l
}

// clipGrad passes dy to the elements between the bounds; the sum of the others is the gradient of the
// bounds, including elements equal to a bound, as in PyTorch's relu6. It depends on the output only, so
// that the input need not be kept.
func clipGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	if !c.In[0].DType.IsFloat() {
		return nil, nil
	}
	args := append(gorgonia.Nodes{dout[0], out[0]}, in[1:]...)
	list, err := c.ApplyN(len(in), clipGradConfig{c.Config.(ClipConfig)}, args...)
	if err != nil {
		return nil, err
	}
	for i := range in {
		if in[i] == nil {
			list[i] = nil
		}
	}
	return list, nil
}

type clipGradConfig struct{ Of ClipConfig }

func (clipGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "ClipGrad"} }

func clipGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ClipGrad", Since: []int{1}, Decompose: spelled(spellClipGrad), Doc: "Gradient of Clip.",
		In: "dY T, Y T, min? T, max? T", Out: "dX T, dMin T, dMax T", Where: op.Where{"T": op.Floats()}, Attrs: clipGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			list := []op.Type{c.In[1]}
			for i := 2; i < len(c.In); i++ {
				list = append(list, c.In[i])
				if !c.Has(i) {
					list[i-1] = op.T(c.In[1].DType)
				}
			}
			return list, nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
		Scheduling: op.Scheduling{
			InPlace: []int{0},
			Patterns: func(c *op.Call) []op.Pattern {
				return []op.Pattern{&gate{dtype: c.In[0].DType, clip: true, bounds: c.Config.(clipGradConfig).Of}}
			},
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(clipGradConfig).Of
			return floatKernel(c, clipGradKernel[float32](cfg), clipGradKernel[float64](cfg)), nil
		},
	}
}

// bounds reads the interval of a floating type.
func bounds[T kernel.Float](cfg ClipConfig, low, high *tensor.Dense) (lo, hi T) {
	lo, hi = T(math.Inf(-1)), T(math.Inf(1))
	if cfg.Min != nil {
		lo = T(*cfg.Min)
	}
	if cfg.Max != nil {
		hi = T(*cfg.Max)
	}
	if v := dtype.Elems[T](low); len(v) > 0 {
		lo = v[0]
	}
	if v := dtype.Elems[T](high); len(v) > 0 {
		hi = v[0]
	}
	return lo, hi
}

func inputAt(list []*tensor.Dense, i int) *tensor.Dense {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func clipKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(ClipConfig)
	switch t := c.In[0].DType; t {
	case dtype.Int8:
		return clipInts[int8](), nil
	case dtype.Int16:
		return clipInts[int16](), nil
	case dtype.Int32:
		return clipInts[int32](), nil
	case dtype.Int64:
		return clipInts[int64](), nil
	case dtype.Uint8:
		return clipInts[uint8](), nil
	case dtype.Uint16:
		return clipInts[uint16](), nil
	case dtype.Uint32:
		return clipInts[uint32](), nil
	case dtype.Uint64:
		return clipInts[uint64](), nil
	default:
		return perPrecision(t, clipFloats[float32](cfg), clipFloats[float64](cfg)), nil
	}
}

// clipFloats: if the minimum is above the maximum, the result is the maximum; NaN is preserved.
func clipFloats[T kernel.Float](cfg ClipConfig) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		lo, hi := bounds[T](cfg, inputAt(in, 1), inputAt(in, 2))
		dst, src := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
		pool(x).Range(len(dst), 1<<13, func(a, b int) {
			for ; a < b; a += blockSize {
				e := min(a+blockSize, b)
				clamp(dst[a:e], src[a:e], lo, hi)
			}
		})
		return nil
	}
}

func clipInts[T integer]() op.Kernel {
	return func(_ *op.Exec, out, in []*tensor.Dense) error {
		dst, low, high := dtype.Slice[T](out[0]), dtype.ElemsAt[T](in, 1), dtype.ElemsAt[T](in, 2)
		for i, v := range dtype.Slice[T](in[0]) {
			if len(low) > 0 {
				v = max(v, low[0])
			}
			if len(high) > 0 {
				v = min(v, high[0])
			}
			dst[i] = v
		}
		return nil
	}
}

func clipGradKernel[T kernel.Float](cfg ClipConfig) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		lo, hi := within(bounds[T](cfg, inputAt(in, 2), inputAt(in, 3)))
		dy, y := dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
		below, above := dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, 2)
		clear(below)
		clear(above)
		if len(below)+len(above) > 0 {
			for i, v := range y { // before dx overwrites dy
				if v > hi && len(above) > 0 {
					above[0] += dy[i]
				} else if v < lo && v <= hi && len(below) > 0 {
					below[0] += dy[i]
				}
			}
		}
		if dx := dtype.Elems[T](out[0]); dx != nil {
			elementwise.ClipGrad(pool(x), dx, dy, y, lo, hi)
		}
		return nil
	}
}

// limits returns the intervals of the call's bounds, given those of its inputs.
func limits(c *op.Call, in func(i int) trait.Interval) (lo, hi trait.Interval) {
	l, h := bounds[float64](c.Config.(ClipConfig), nil, nil)
	lo, hi = trait.Interval{Lo: l, Hi: l}, trait.Interval{Lo: h, Hi: h}
	if c.Has(1) {
		lo = in(1)
	}
	if c.Has(2) {
		hi = in(2)
	}
	return lo, hi
}

// knownLimits is limits for bounds whose values are known.
func knownLimits(c *op.Call) (lo, hi trait.Interval) {
	return limits(c, func(i int) trait.Interval {
		if x, ok := c.Uniform(i); ok {
			return trait.Interval{Lo: x, Hi: x}
		}
		return trait.Anywhere()
	})
}

func clipRange(c *op.Call, in func(i int) trait.Interval) trait.Interval {
	lo, hi := limits(c, in)
	return in(0).Clamped(lo, hi)
}

func clipKeeps(c *op.Call, r trait.Interval) bool {
	lo, hi := knownLimits(c)
	return lo.Hi <= r.Lo && hi.Lo >= r.Hi
}

// clipZero: zeros are preserved if both bounds allow them.
func clipZero(c *op.Call, in op.ZeroInputs) bool {
	lo, hi := knownLimits(c)
	return lo.Hi <= 0 && hi.Lo >= 0 && op.ZeroFirst(c, in)
}

// clipVersions: before version 11 the bounds are attributes.
func clipVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *ClipConfig) error {
		for i, x := range []*float32{c.Min, c.Max} {
			if x == nil {
				continue
			}
			bound, err := n.Filled([]string{"min", "max"}[i], n.DType(0), float64(*x))
			if err != nil {
				return err
			}
			n.Put(1+i, bound)
		}
		c.Min, c.Max = nil, nil
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *ClipConfig) (err error) {
		if c.Min, err = n.Number(1); err != nil {
			return err
		}
		c.Max, err = n.Number(2)
		n.Cut(1)
		return err
	})
	return []op.Version{{At: 11, Up: up, Down: down}, {At: 12, New: op.Where{"T": op.Integers()}}}
}
