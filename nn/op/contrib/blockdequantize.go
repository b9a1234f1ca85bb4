package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// blockDequantizeConfig has the attributes of BlockDequantize, an operator of lowerings only: (B − zero)·scale of a matrix of
// packed weights [N, blocks, bytes], whose scales and zero points are [N, blocks] each.
type blockDequantizeConfig struct{ Columns, Bits, BlockSize int }

// Operator names the operator.
func (blockDequantizeConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "BlockDequantize"}
}

func blockDequantize() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "BlockDequantize", Since: []int{1}, Doc: "Weights of packed bits as a matrix, blocks of whose rows have scales and zero points.",
		In: "B uint8, scales T, zero_points T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: blockDequantizeConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[1].With(c.In[0].Shape[0], op.D(c.Config.(blockDequantizeConfig).Columns))}, nil
		},
		Kernel: blockDequantizeKernel, Grad: blockDequantizeGrad, Pinned: "exists in lowerings only",
	}
}

func blockDequantizeKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(blockDequantizeConfig)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		packed, t := dtype.Slice[uint8](in[0]), c.In[1].DType
		switch t {
		case dtype.Float32:
			dequantizeRows(x, cfg, dtype.Slice[float32](out[0]), packed, dtype.Slice[float32](in[1]), dtype.Slice[float32](in[2]))
			return nil
		case dtype.Float64:
			dequantizeRows(x, cfg, dtype.Slice[float64](out[0]), packed, dtype.Slice[float64](in[1]), dtype.Slice[float64](in[2]))
			return nil
		}
		var wide [2][]float64
		for i := range wide {
			v, err := dtype.Float64s(in[1+i])
			if err != nil {
				return err
			}
			wide[i] = v
		}
		y := dtype.New(dtype.Float64, out[0].Shape()...)
		dequantizeRows(x, cfg, dtype.Slice[float64](y), packed, wide[0], wide[1])
		return dtype.Convert(out[0], y)
	}, nil
}

// dequantizeRows fills the rows of y.
func dequantizeRows[T float32 | float64](x *op.Exec, c blockDequantizeConfig, y []T, packed []uint8, scales, zeros []T) {
	if len(y) == 0 {
		return
	}
	blocks := (c.Columns + c.BlockSize - 1) / c.BlockSize
	bytes := c.BlockSize * c.Bits / 8
	x.Range(len(y)/c.Columns, 1+(1<<15)/c.Columns, func(lo, hi int) {
		whole := make([]T, c.BlockSize)
		for b := lo * blocks; b < hi*blocks; b++ {
			from := b/blocks*c.Columns + b%blocks*c.BlockSize
			end := min(from+c.BlockSize, (b/blocks+1)*c.Columns)
			to := y[from:end]
			if len(to) < c.BlockSize {
				to = whole
			}
			dequantizeBlock(to, packed[b*bytes:(b+1)*bytes], c.Bits, scales[b], zeros[b])
			if end-from < c.BlockSize {
				copy(y[from:end], to)
			}
		}
	})
}

// dequantizeBlock is (v − zero)·scale for each element of a block, those of the lowest bits first.
func dequantizeBlock[T float32 | float64](to []T, packed []uint8, bits int, scale, zero T) {
	if bits == 8 {
		for i, v := range packed {
			to[i] = (T(v) - zero) * scale
		}
		return
	}
	var of [16]T
	for v := range 1 << bits {
		of[v] = (T(v) - zero) * scale
	}
	if bits == 4 {
		to = to[:2*len(packed)]
		for i, v := range packed {
			to[2*i], to[2*i+1] = of[v&15], of[v>>4]
		}
		return
	}
	to = to[:4*len(packed)]
	for i, v := range packed {
		to[4*i], to[4*i+1], to[4*i+2], to[4*i+3] = of[v&3], of[v>>2&3], of[v>>4&3], of[v>>6]
	}
}

// blockDequantizeGrad sums over each block: the gradient of its scale is that of the result times the
// result for a scale of 1, that of its zero point is minus that of the result times the scale.
func blockDequantizeGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg, e := c.Config.(blockDequantizeConfig), &expression{c: c, g: dout[0].Graph()}
	of := func(n *gorgonia.Node) value { return value{typ: op.NodeType(n), node: n} }
	d, scales := of(dout[0]), of(in[1])
	n, blocks := scales.dim(0), scales.dim(1)
	sums := func(v value) value {
		v = e.do(std.PadConfig{}, v, e.ints(0, 0, 0, blocks.Size*cfg.BlockSize-cfg.Columns))
		return e.do(std.ReduceSumConfig{KeepDims: new(bool)}, e.reshape(v, n, blocks, op.D(cfg.BlockSize)), e.ints(2))
	}
	ones := e.expand(e.number(scales, 1), n, blocks)
	dScales := sums(e.mul(d, e.do(cfg, of(in[0]), ones, of(in[2]))))
	dZeros := e.do(op.Plain("Neg"), e.mul(sums(d), scales))
	return gorgonia.Nodes{nil, dScales.node, dZeros.node}, e.err
}
