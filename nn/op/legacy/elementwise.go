package legacy

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// AffineConfig has the attributes of Affine: alpha·x + beta.
type AffineConfig struct {
	Alpha *float32 `onnx:"alpha"` // nil: 1
	Beta  float32  `onnx:"beta"`  // 0 when absent
}

// Operator names the operator.
func (AffineConfig) Operator() op.Name { return op.Name{Name: "Affine"} }

// ScaledTanhConfig has the attributes of ScaledTanh: alpha·tanh(beta·x). Both are 1 when nil.
type ScaledTanhConfig struct {
	Alpha *float32 `onnx:"alpha"`
	Beta  *float32 `onnx:"beta"`
}

// Operator names the operator.
func (ScaledTanhConfig) Operator() op.Name { return op.Name{Name: "ScaledTanh"} }

// ParametricSoftplusConfig has the attributes of ParametricSoftplus: alpha·ln(exp(beta·x) + 1). Both are 1 when nil.
type ParametricSoftplusConfig struct {
	Alpha *float32 `onnx:"alpha"`
	Beta  *float32 `onnx:"beta"`
}

// Operator names the operator.
func (ParametricSoftplusConfig) Operator() op.Name { return op.Name{Name: "ParametricSoftplus"} }

// ScaleConfig has the attribute of Scale: scale·x.
type ScaleConfig struct {
	Scale *float32 `onnx:"scale"` // nil: 1
}

// Operator names the operator.
func (ScaleConfig) Operator() op.Name { return op.Name{Name: "Scale"} }

func elementwise() []*op.Op {
	each := func(name, doc string, attrs op.Config, f func(e *expression, c op.Config, x *gorgonia.Node) *gorgonia.Node) *op.Op {
		return &op.Op{Name: name, Since: []int{1}, Doc: doc, In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: attrs,
			Infer: op.Same, Couple: op.Elementwise,
			Lower: func(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
				e := &expression{c: c}
				return e.result(f(e, c.Config, e.do(op.Plain("Identity"), in[0])))
			}}
	}
	return []*op.Op{
		each("Affine", "alpha·x + beta.", AffineConfig{}, func(e *expression, c op.Config, x *gorgonia.Node) *gorgonia.Node {
			a := c.(AffineConfig)
			return e.plus(e.times(x, or1(a.Alpha)), float64(a.Beta))
		}),
		each("ScaledTanh", "alpha·tanh(beta·x).", ScaledTanhConfig{}, func(e *expression, c op.Config, x *gorgonia.Node) *gorgonia.Node {
			a := c.(ScaledTanhConfig)
			return e.times(e.do(op.Plain("Tanh"), e.times(x, or1(a.Beta))), or1(a.Alpha))
		}),
		each("ParametricSoftplus", "alpha·ln(exp(beta·x) + 1).", ParametricSoftplusConfig{}, func(e *expression, c op.Config, x *gorgonia.Node) *gorgonia.Node {
			a := c.(ParametricSoftplusConfig)
			return e.times(e.do(op.Plain("Softplus"), e.times(x, or1(a.Beta))), or1(a.Alpha))
		}),
		each("Scale", "scale·x.", ScaleConfig{}, func(e *expression, c op.Config, x *gorgonia.Node) *gorgonia.Node {
			return e.times(x, or1(c.(ScaleConfig).Scale))
		}),
	}
}

// or1 returns x, or 1 if it is nil.
func or1(x *float32) float64 {
	if x == nil {
		return 1
	}
	return float64(*x)
}

// expression applies operators of a call's set. It keeps the first error, after which results are nil.
type expression struct {
	c   *op.Call
	err error
}

func (e *expression) do(cfg op.Config, in ...*gorgonia.Node) *gorgonia.Node {
	if e.err != nil {
		return nil
	}
	n, err := e.c.Apply1(cfg, in...)
	if err != nil {
		e.err = e.c.Errorf("%w", err)
	}
	return n
}

func (e *expression) result(n *gorgonia.Node) (gorgonia.Nodes, error) {
	if e.err != nil {
		return nil, e.err
	}
	return gorgonia.Nodes{n}, nil
}

// constant returns a constant of the element type and in the graph of like.
func (e *expression) constant(like *gorgonia.Node, x []float64, shape ...int) *gorgonia.Node {
	if e.err != nil {
		return nil
	}
	v, err := dtype.FromFloats(op.NodeType(like).DType, x, shape...)
	if err != nil {
		e.err = err
		return nil
	}
	n, err := op.Const(like.Graph(), v)
	e.err = err
	return n
}

func (e *expression) ints(like *gorgonia.Node, x ...int) *gorgonia.Node {
	if e.err != nil {
		return nil
	}
	v, err := dtype.FromInts(dtype.Int64, x, len(x))
	if err != nil {
		e.err = err
		return nil
	}
	n, err := op.Const(like.Graph(), v)
	e.err = err
	return n
}

func (e *expression) times(x *gorgonia.Node, by float64) *gorgonia.Node {
	if by == 1 || e.err != nil {
		return x
	}
	return e.do(op.Plain("Mul"), x, e.constant(x, []float64{by}))
}

func (e *expression) plus(x *gorgonia.Node, add float64) *gorgonia.Node {
	if add == 0 || e.err != nil {
		return x
	}
	return e.do(op.Plain("Add"), x, e.constant(x, []float64{add}))
}
