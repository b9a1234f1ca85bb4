package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ConstantOfShapeConfig has the attribute of ConstantOfShape: a tensor of one element, float32
// zero when absent.
type ConstantOfShapeConfig struct {
	Value dtype.Value `onnx:"value"`
}

// Operator makes ConstantOfShapeConfig a Config.
func (ConstantOfShapeConfig) Operator() op.Name { return op.Name{Name: "ConstantOfShape"} }

func constantOfShape() *op.Op {
	return &op.Op{
		Name: "ConstantOfShape", Since: []int{9, 20, 21, 23, 24, 25},
		Doc: "A tensor of equal elements whose shape is the input.",
		In:  "input int64 shape", Out: "output T", Attrs: ConstantOfShapeConfig{},
		Infer: inferConstantOfShape, Dims: constantOfShapeDims, Kernel: constantOfShapeKernel,
		NoGrad: "constant", Pinned: "reads its shape from the input",
		Traits: op.Traits{Resize: resizeShape(0, false), OfLengths: true},
	}
}

// element returns the value that is repeated.
func (cfg ConstantOfShapeConfig) element(c *op.Call) (*tensor.Dense, error) {
	if cfg.Value == nil {
		return dtype.Scalar(float32(0)), nil
	}
	d, ok := cfg.Value.(*tensor.Dense)
	if !ok || len(d.Raw) != int(d.Dtype().Size()) {
		return nil, c.Errorf("value is %v, want one number", op.TypeOf(cfg.Value))
	}
	return d, nil
}

func inferConstantOfShape(c *op.Call) ([]op.Type, error) {
	v, err := c.Config.(ConstantOfShapeConfig).element(c)
	if err != nil {
		return nil, err
	}
	t := op.Type{DType: dtype.Of(v.Dtype()), Unranked: true}
	d, err := c.Dims(0)
	if err != nil {
		if s := c.In[0].Shape; len(s) == 1 && s[0].Known() && s[0].Size < 64 {
			t = t.With(anyDims(s[0].Size)...)
		}
		return []op.Type{t}, err
	}
	if err := noNegative(c, 0, d); err != nil {
		return nil, err
	}
	return []op.Type{t.With(d...)}, nil
}

// noNegative refuses a shape input with negative elements.
func noNegative(c *op.Call, i int, d []op.Dim) error {
	for _, x := range d {
		if x.Sym == "" && x.Size < 0 {
			if x.Size == -1 && c.Known[i].Value == nil {
				return &op.NeedError{Input: i, Name: c.InputName(i)}
			}
			return c.Mismatch(i, "no negative dimension", dimStrings(d))
		}
	}
	return nil
}

func constantOfShapeDims(c *op.Call) []op.Known {
	v, err := c.Config.(ConstantOfShapeConfig).element(c)
	if err != nil || !dtype.Of(v.Dtype()).IsInteger() {
		return nil
	}
	d, err := c.Dims(0)
	if err != nil || len(d) > 1 || len(d) == 1 && (!d[0].Known() || d[0].Symbolic() || d[0].Size > 64) {
		return nil
	}
	n, err := dtype.Ints(v)
	if err != nil {
		return nil
	}
	list := []op.Dim{}
	for range op.Product(d).Size {
		list = append(list, op.D(n[0]))
	}
	known := op.Known{Dims: list}
	if v, ok := op.DimsValue(list, c.Out[0]); ok { // keeps -1 apart from unknown
		known.Value = v
	}
	return []op.Known{known}
}

func constantOfShapeKernel(c *op.Call) (op.Kernel, error) {
	v, err := c.Config.(ConstantOfShapeConfig).element(c)
	if err != nil {
		return nil, err
	}
	return func(x *op.Exec, out, _ []*tensor.Dense) error {
		fillBytes(pool(x), out[0].Raw, v.Raw)
		return nil
	}, nil
}

// fillBytes repeats an element.
func fillBytes(p *kernel.Pool, dst, element []byte) {
	if len(dst) == 0 || len(element) == 0 {
		return
	}
	first := dst[:min(len(dst), maxRun*len(element))]
	for i := copy(first, element); i < len(first); i *= 2 {
		copy(first[i:], first[:i])
	}
	rest := dst[len(first):]
	p.Range((len(rest)+len(first)-1)/len(first), 1, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			copy(rest[k*len(first):], first)
		}
	})
}
