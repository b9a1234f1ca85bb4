package std

import (
	"errors"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// QuantizeLinearConfig has the attributes of QuantizeLinear. Saturate is true when nil.
type QuantizeLinearConfig struct {
	Axis      *int     `onnx:"axis,since=13,nil=1"`           // that the scales are along; 1 when nil
	BlockSize int      `onnx:"block_size,default=0,since=21"` // elements along Axis that share a scale; 0: one scale per index of Axis, or a single one
	Output    op.DType `onnx:"output_dtype,since=21"`         // type of the output if there is no zero point; undefined: uint8
	Precision op.DType `onnx:"precision,since=23"`            // type in which x is divided by the scale; undefined: the scale's
	Saturate  *bool    `onnx:"saturate,since=19,nil=true"`    // float8: values out of range become the largest finite one; nil: true
}

// Operator makes QuantizeLinearConfig a Config.
func (QuantizeLinearConfig) Operator() op.Name { return op.Name{Name: "QuantizeLinear"} }

// quantized returns the element types that hold quantized numbers.
func quantized() []op.DType {
	return []op.DType{dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Int32, dtype.Int4, dtype.Uint4, dtype.Int2, dtype.Uint2,
		dtype.Float8E4M3FN, dtype.Float8E4M3FNUZ, dtype.Float8E5M2, dtype.Float8E5M2FNUZ, dtype.Float4E2M1}
}

// scales returns the types of scales.
func scales() []op.DType {
	return []op.DType{dtype.Float32, dtype.Float16, dtype.BFloat16, dtype.Int32, dtype.Float8E8M0, dtype.Float64}
}

func quantizeLinear() *op.Op {
	return &op.Op{
		Name: "QuantizeLinear", Since: []int{10, 13, 19, 21, 23, 24, 25}, Versions: quantizeVersions(), Doc: "Divides by a scale, adds a zero point and rounds to few bits.",
		In: "x T1, y_scale T2, y_zero_point? T3", Out: "y T3", Attrs: QuantizeLinearConfig{},
		Where: op.Where{"T1": {dtype.Float32, dtype.Float16, dtype.BFloat16, dtype.Int32, dtype.Float64}, "T2": scales(), "T3": quantized()},
		Infer: inferQuantize, Kernel: quantizeKernel, NoGrad: "rounds; with DequantizeLinear right after it, gradients pass straight through", Couple: coupleQuantize,
		Traits: op.Traits{StraightThrough: true, Moves: trait.Moved},
	}
}

// scaled describes the scale of every element: x is viewed as [outer, axis, inner], with a scale for
// each block of elements along the axis (Whole 0), or a single one.
type scaled struct {
	outer, axis, inner int
	block              int // number of elements along the axis per scale
	blocks             int // number of scales along the axis
	inOuter            bool
	single             bool
}

// at returns the index of the scale of element i.
func (s scaled) at(i int) int {
	if s.single {
		return 0
	}
	k := i / s.inner % s.axis / s.block
	if !s.inOuter {
		return k
	}
	return (i/s.inner/s.axis*s.blocks+k)*s.inner + i%s.inner
}

// scaledOf checks the shapes of scale and zero point; axis and block are attributes.
func scaledOf(c *op.Call, axisAttr *int, block int) (s scaled, err error) {
	if c.Has(2) && !c.In[2].Unranked && !c.In[1].Unranked {
		if len(c.In[2].Shape) != len(c.In[1].Shape) && c.In[2].Elements() != 1 {
			return s, c.Mismatch(2, c.In[1], c.In[2])
		}
		for a := range min(len(c.In[2].Shape), len(c.In[1].Shape)) {
			if c.In[2].Shape[a].Differ(c.In[1].Shape[a]) {
				return s, c.Mismatch(2, c.In[1], c.In[2])
			}
		}
	}
	rank, err := c.Rank(0)
	if err != nil {
		return s, err
	}
	sr, err := c.Rank(1)
	if err != nil {
		return s, err
	}
	if block < 0 {
		return s, c.Errorf("block_size %d is negative", block)
	}
	if block == 0 && (sr == 0 || sr == 1 && c.In[1].Shape[0].Size == 1) {
		return scaled{single: true}, nil
	}
	axis, err := c.Axis(orInt(axisAttr, 1), rank)
	if err != nil {
		return s, err
	}
	n, x := c.In[1].Shape, c.In[0].Shape
	s = scaled{block: max(block, 1)}
	switch {
	case block == 0 && sr == 1:
		if n[0].Differ(x[axis]) {
			return s, c.Mismatch(1, "a scale for each of "+x[axis].String(), c.In[1])
		}
	case block > 0 && sr == rank:
		for a := range x {
			want := x[a]
			if a == axis {
				want = want.Add(op.D(block - 1)).Div(op.D(block))
			}
			if want.Differ(n[a]) {
				return s, c.Mismatch(1, "a scale for each block of "+c.In[0].String(), c.In[1])
			}
		}
		s.inOuter = true
	default:
		return s, c.Mismatch(1, "one scale, one for each index of the axis, or one for each block", c.In[1])
	}
	if c.In[0].Static() {
		sh := c.In[0].Sizes()
		s.outer, s.inner = around(sh, axis)
		s.axis = sh[axis]
		s.blocks = (s.axis + s.block - 1) / s.block
	}
	return s, nil
}

func inferQuantize(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(QuantizeLinearConfig)
	t := dtype.Uint8
	if cfg.Output != dtype.Undefined {
		t = cfg.Output
	}
	if c.Has(2) {
		if cfg.Output != dtype.Undefined && cfg.Output != c.In[2].DType {
			return nil, c.Mismatch(2, cfg.Output, c.In[2])
		}
		t = c.In[2].DType
	}
	if !t.Valid() || t == dtype.String || t.IsComplex() || t == dtype.Bool {
		return nil, c.Errorf("cannot quantize to %v", t)
	}
	out := []op.Type{c.In[0].Of(t)}
	if c.In[0].Unranked || c.In[1].Unranked {
		return out, nil
	}
	_, err := scaledOf(c, cfg.Axis, cfg.BlockSize)
	return out, err
}

// integerRange returns the range of an integer type of at most 32 bits.
func integerRange(t op.DType) (lo, hi float64) {
	if t.IsUnsigned() {
		return 0, math.Ldexp(1, t.Bits()) - 1
	}
	return -math.Ldexp(1, t.Bits()-1), math.Ldexp(1, t.Bits()-1) - 1
}

func quantizeKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(QuantizeLinearConfig)
	s, err := scaledOf(c, cfg.Axis, cfg.BlockSize)
	if err != nil {
		return nil, err
	}
	to := c.Out[0].DType
	precision := cfg.Precision
	if precision == dtype.Undefined {
		precision = c.In[1].DType
	}
	if c.In[0].DType == dtype.Float32 && c.In[1].DType == dtype.Float32 && precision == dtype.Float32 {
		switch to {
		case dtype.Uint8:
			return quantizeFast[uint8](s, 0, 255), nil
		case dtype.Int8:
			return quantizeFast[int8](s, -128, 127), nil
		}
	}
	how := dtype.Cast{NoSaturate: cfg.Saturate != nil && !*cfg.Saturate}
	lo, hi := integerRange(to)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		scale, zero, err := scaleAndZero(in)
		if err != nil {
			return err
		}
		return inSegments(pool(x), out[0], in[0], func(first int, dst, src *tensor.Dense) error {
			v, err := dtype.Float64s(src)
			if err != nil {
				return err
			}
			for i := range v {
				k, z := s.at(first+i), 0.0
				v[i] = inPrecision(precision, v[i]/scale[k])
				if zero != nil {
					z = zero[k]
				}
				if to.IsInteger() {
					v[i] = min(max(math.RoundToEven(v[i])+z, lo), hi)
					if v[i] != v[i] {
						v[i] = 0
					}
				} else {
					v[i] += z
				}
			}
			d, err := dtype.FromFloats(dtype.Float64, v, dst.Shape()...)
			if err != nil {
				return err
			}
			return how.Convert(dst, d)
		})
	}, nil
}

// inPrecision rounds a result to the precision of a type.
func inPrecision(t op.DType, v float64) float64 {
	switch t {
	case dtype.Float16:
		return float64(dtype.F16From(float32(v)).Float32())
	case dtype.BFloat16:
		return float64(dtype.BF16From(float32(v)).Float32())
	case dtype.Float64:
		return v
	}
	return float64(float32(v))
}

// scaleAndZero returns the elements of the second and third input; the zero points are nil when absent.
func scaleAndZero(in []*tensor.Dense) (scale, zero []float64, err error) {
	if scale, err = dtype.Float64s(in[1]); err != nil {
		return nil, nil, err
	}
	if len(in) > 2 && in[2] != nil {
		if zero, err = dtype.Float64s(in[2]); err != nil {
			return nil, nil, err
		}
		if len(zero) == 1 { // for all
			zero = slices.Repeat(zero, len(scale))
		}
	}
	return scale, zero, nil
}

func quantizeFast[T uint8 | int8](s scaled, lo, hi float32) op.Kernel {
	return func(e *op.Exec, out, in []*tensor.Dense) error {
		x, y, scale := dtype.Slice[float32](in[0]), dtype.Slice[T](out[0]), dtype.Slice[float32](in[1])
		zero := dtype.ElemsAt[T](in, 2)
		one := len(zero) == 1
		pool(e).Range(len(x), 4096, func(from, to int) {
			for i := from; i < to; i++ {
				k, z := s.at(i), float32(0)
				if one {
					z = float32(zero[0])
				} else if zero != nil {
					z = float32(zero[k])
				}
				v := float32(math.RoundToEven(float64(x[i]/scale[k]))) + z
				if v != v {
					v = z
				}
				y[i] = T(min(max(v, lo), hi))
			}
		})
		return nil
	}
}

// coupleQuantize ties the axes of the data, and scale and zero point where they go along.
func coupleQuantize(c *op.Call) []coupling.Coupling {
	list := op.CoupleAll(c, 0)
	for i := 1; i < len(c.In); i++ {
		if !c.Has(i) || c.In[i].Rank() < 1 || c.In[i].Elements() == 1 {
			continue
		}
		if len(c.In[i].Shape) == 1 {
			axis := 1
			switch cfg := c.Config.(type) {
			case QuantizeLinearConfig:
				axis = orInt(cfg.Axis, 1)
			case DequantizeLinearConfig:
				axis = orInt(cfg.Axis, 1)
			}
			if axis, err := c.Axis(axis, len(c.In[0].Shape)); err == nil {
				list = append(list, op.Couple(coupling.In(i, 0), coupling.Out(0, axis)))
			}
			continue
		}
		for a, d := range c.In[i].Shape {
			if a < len(c.In[0].Shape) && d.Same(c.In[0].Shape[a]) {
				list = append(list, op.Couple(coupling.In(i, a), coupling.Out(0, a)))
			}
		}
	}
	return withoutBlocks(c, list)
}

// withoutBlocks excludes an axis whose elements share scales.
func withoutBlocks(c *op.Call, list []coupling.Coupling) []coupling.Coupling {
	kept := list[:0]
	for _, k := range list {
		a := k.To.Axis
		if len(c.In[1].Shape) == len(c.In[0].Shape) && len(c.In[1].Shape) > 1 && c.In[1].Shape[a].Differ(c.In[0].Shape[a]) {
			continue
		}
		kept = append(kept, k)
	}
	return kept
}

// quantizeVersions: there is one scale before version 13; the result has the type of the zero point before 21.
func quantizeVersions() []op.Version {
	one := op.OnConfig(func(n *op.Spelling, c *QuantizeLinearConfig) error { c.Axis = nil; return oneScale(n) })
	plain := op.OnConfig(func(n *op.Spelling, c *QuantizeLinearConfig) error {
		if t := n.Out[0].Type; t.Present() {
			c.Saturate = saturated(c.Saturate, t.DType)
		}
		return nil
	})
	zero := op.OnConfig(func(n *op.Spelling, c *QuantizeLinearConfig) error {
		t := c.Output
		c.Output = dtype.Undefined
		if t == dtype.Undefined || n.Has(2) {
			return nil
		}
		shape, err := n.Sizes(1)
		if err == nil {
			n.Put(2, n.Tensor("zero_point", dtype.New(t, shape...)))
		}
		return err
	})
	precision := op.OnConfig(func(n *op.Spelling, c *QuantizeLinearConfig) error {
		if c.Precision == n.DType(1) {
			c.Precision = dtype.Undefined
		}
		return nil
	})
	return []op.Version{{At: 13, Down: one}, {At: 19, Down: plain}, {At: 21, Down: zero}, {At: 23, Down: precision}}
}

// oneScale: there is one scale for all elements before version 13.
func oneScale(n *op.Spelling) error {
	s, err := n.Sizes(1)
	if err == nil && (len(s) > 1 || len(s) == 1 && s[0] != 1) {
		err = errors.New("that version has a single scale")
	}
	return err
}
