package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// The operators of this file compute with quantized numbers: products of integers, exact in
// float64, that are scaled and rounded at the end.

// QLinearConvConfig has the attributes of QLinearConv, which are those of Conv.
type QLinearConvConfig ConvConfig

// Operator makes QLinearConvConfig a Config.
func (QLinearConvConfig) Operator() op.Name { return op.Name{Name: "QLinearConv"} }

// ConvIntegerConfig has the attributes of ConvInteger, which are those of Conv.
type ConvIntegerConfig ConvConfig

// Operator makes ConvIntegerConfig a Config.
func (ConvIntegerConfig) Operator() op.Name { return op.Name{Name: "ConvInteger"} }

func bytesOnly() []op.DType { return []op.DType{dtype.Int8, dtype.Uint8} }

func integerProducts() []*op.Op {
	b8 := bytesOnly()
	f8 := append(bytesOnly(), dtype.Float8E4M3FN, dtype.Float8E4M3FNUZ, dtype.Float8E5M2, dtype.Float8E5M2FNUZ)
	sc := []op.DType{dtype.Float32, dtype.Float16, dtype.BFloat16}
	const pinned = "weights are integers with scales"
	return []*op.Op{
		{Name: "QLinearConv", Since: []int{10}, Doc: "Conv on quantized numbers.",
			In:  "x T1, x_scale float32, x_zero_point T1, w T2, w_scale float32, w_zero_point T2, y_scale float32, y_zero_point T3, B? int32",
			Out: "y T3", Where: op.Where{"T1": b8, "T2": b8, "T3": b8}, Attrs: QLinearConvConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				return inferProduct(c, ConvConfig(c.Config.(QLinearConvConfig)), inferConv, 3, c.In[7].DType)
			},
			Cost: productCost(convCost, 3), Lower: lowerQLinearConv, Pinned: pinned},
		{Name: "QLinearMatMul", Since: []int{10, 21}, Versions: []op.Version{{At: 21, New: op.Where{"TS": {dtype.Float16, dtype.BFloat16}}}}, Doc: "MatMul on quantized numbers.",
			In:  "a T1, a_scale TS, a_zero_point T1, b T2, b_scale TS, b_zero_point T2, y_scale TS, y_zero_point T3",
			Out: "y T3", Where: op.Where{"T1": f8, "T2": f8, "T3": f8, "TS": sc},
			Infer: func(c *op.Call) ([]op.Type, error) { return inferProduct(c, nil, inferMatMul, 3, c.In[7].DType) },
			Cost:  productCost(matMulCost, 3), Lower: lowerQLinearMatMul, Pinned: pinned},
		{Name: "ConvInteger", Since: []int{10}, Doc: "Conv on integers.",
			In: "x T1, w T2, x_zero_point? T1, w_zero_point? T2", Out: "y int32", Where: op.Where{"T1": b8, "T2": b8}, Attrs: ConvIntegerConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				return inferProduct(c, ConvConfig(c.Config.(ConvIntegerConfig)), inferConv, 1, dtype.Int32)
			},
			Cost: productCost(convCost, 1),
			Lower: func(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
				b := composeOn(c, in)
				y := b.do(ConvConfig(c.Config.(ConvIntegerConfig)), centered(c, b, in, 0, 2, 1), centered(c, b, in, 1, 3, 0))
				return b.results(in, b.cast(y, dtype.Int32))
			}, Pinned: pinned},
		{Name: "MatMulInteger", Since: []int{10}, Doc: "MatMul on integers.",
			In: "A T1, B T2, a_zero_point? T1, b_zero_point? T2", Out: "Y int32", Where: op.Where{"T1": b8, "T2": b8},
			Infer: func(c *op.Call) ([]op.Type, error) { return inferProduct(c, nil, inferMatMul, 1, dtype.Int32) },
			Cost:  productCost(matMulCost, 1),
			Lower: func(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
				b := composeOn(c, in)
				y := b.do(op.Plain("MatMul"), centered(c, b, in, 0, 2, -2), centered(c, b, in, 1, 3, -1))
				return b.results(in, b.cast(y, dtype.Int32))
			}, Pinned: pinned},
	}
}

// productCost is that of the operator on floats, whose operands are input 0 and input second.
func productCost(cost func(*op.Call) (macs, bytes int64), second int) func(*op.Call) (macs, bytes int64) {
	return func(c *op.Call) (int64, int64) {
		f := *c
		f.In = []op.Type{c.In[0], c.In[second]}
		macs, _ := cost(&f)
		return macs, bytesMoved(c)
	}
}

// inferProduct infers as the operator on floats does: input 0 and input second are its operands.
func inferProduct(c *op.Call, cfg op.Config, infer func(*op.Call) ([]op.Type, error), second int, t op.DType) ([]op.Type, error) {
	if c.In[0].Unranked || c.In[second].Unranked {
		return []op.Type{{DType: t, Unranked: true}}, nil
	}
	f := *c
	f.Config = cfg
	f.In = []op.Type{c.In[0].Of(dtype.Float64), c.In[second].Of(dtype.Float64)}
	out, err := infer(&f)
	if err != nil {
		return nil, err
	}
	return []op.Type{out[0].Of(t)}, nil
}

// along1 reshapes input i, a scalar or a vector, so that it broadcasts along an axis of a tensor
// of the given rank. A vector along the last axis and tensors of more axes are unchanged.
func along1(c *op.Call, b *compose, n *gorgonia.Node, i, rank, axis int) *gorgonia.Node {
	s := c.In[i].Shape
	if axis < 0 {
		axis += rank
	}
	switch {
	case c.In[i].Elements() == 1:
		return b.reshape(n)
	case len(s) == 1 && axis >= 0:
		shape := make([]op.Dim, rank-axis)
		for a := range shape {
			shape[a] = op.D(1)
		}
		shape[0] = s[0]
		return b.reshape(n, shape...)
	}
	return n
}

// centered is input i minus its zero point, input zero, in float64.
func centered(c *op.Call, b *compose, in gorgonia.Nodes, i, zero, axis int) *gorgonia.Node {
	x := b.cast(in[i], dtype.Float64)
	if !c.Has(zero) {
		return x
	}
	z := along1(c, b, b.cast(in[zero], dtype.Float64), zero, len(c.In[i].Shape), axis)
	return b.do(op.Plain("Sub"), x, z)
}

// requantized scales the exact product y by sa·sb/sy, rounds it and adds the zero point.
func requantized(b *compose, y, sa, sb, sy, zero *gorgonia.Node, to op.DType) *gorgonia.Node {
	f := b.do(op.Plain("Div"), b.do(op.Plain("Mul"), sa, sb), sy)
	y = b.do(op.Plain("Mul"), b.cast(y, dtype.Float32), f)
	if !to.IsInteger() {
		return b.cast(b.do(op.Plain("Add"), y, zero), to)
	}
	lo, hi := integerRange(to)
	y = b.do(op.Plain("Add"), b.do(op.Plain("Round"), y), zero)
	return b.cast(b.do(op.Plain("Clip"), y, b.number(dtype.Float32, lo), b.number(dtype.Float32, hi)), to)
}

func lowerQLinearConv(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	b, rank := composeOn(c, in), len(c.In[0].Shape)
	operands := gorgonia.Nodes{centered(c, b, in, 0, 2, 1), centered(c, b, in, 3, 5, 0)}
	if c.Has(8) {
		operands = append(operands, b.cast(in[8], dtype.Float64))
	}
	y := b.do(ConvConfig(c.Config.(QLinearConvConfig)), operands...)
	f := func(i int) *gorgonia.Node { return along1(c, b, b.cast(in[i], dtype.Float32), i, rank, 1) }
	return b.results(in, requantized(b, y, f(1), f(4), f(6), f(7), c.In[7].DType))
}

func lowerQLinearMatMul(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	b, rank := composeOn(c, in), len(c.Out[0].Shape)
	y := b.do(op.Plain("MatMul"), centered(c, b, in, 0, 2, -2), centered(c, b, in, 3, 5, -1))
	f := func(i, axis int) *gorgonia.Node {
		return along1(c, b, b.cast(in[i], dtype.Float32), i, rank, axis)
	}
	return b.results(in, requantized(b, y, f(1, -2), f(4, -1), f(6, -2), f(7, -2), c.In[7].DType))
}
