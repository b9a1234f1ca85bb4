package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// sameAsBool returns an Infer for predicates of single elements.
func sameAsBool(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0].Of(dtype.Bool)}, nil }

const boolResult = "its results are no floats"

func isNaNOp() *op.Op {
	return &op.Op{
		Name: "IsNaN", Since: []int{9, 13, 20}, Doc: "Tells elements that are no numbers.",
		In: "X T1", Out: "Y bool", Where: op.Where{"T1": op.Floats()},
		Infer: sameAsBool, NoGrad: boolResult, Couple: op.Elementwise,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return predicateKernel(c, func(x float64) bool { return x != x }), nil
		},
	}
}

// IsInfConfig has the attributes of IsInf; nil is true.
type IsInfConfig struct {
	DetectNegative *bool `onnx:"detect_negative,nil=true"`
	DetectPositive *bool `onnx:"detect_positive,nil=true"`
}

// Operator makes IsInfConfig a Config.
func (IsInfConfig) Operator() op.Name { return op.Name{Name: "IsInf"} }

func isInfOp() *op.Op {
	return &op.Op{
		Name: "IsInf", Since: []int{10, 20}, Versions: []op.Version{{At: 20, New: op.Where{"T1": {dtype.Float16, dtype.BFloat16}}}}, Doc: "Tells infinite elements, of one sign or both.",
		In: "X T1", Out: "Y bool", Where: op.Where{"T1": op.Floats()}, Attrs: IsInfConfig{},
		Infer: sameAsBool, NoGrad: boolResult, Couple: op.Elementwise,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(IsInfConfig)
			low := cfg.DetectNegative == nil || *cfg.DetectNegative
			high := cfg.DetectPositive == nil || *cfg.DetectPositive
			return predicateKernel(c, func(x float64) bool { return low && math.IsInf(x, -1) || high && math.IsInf(x, 1) }), nil
		},
	}
}

func predicateKernel(c *op.Call, f func(x float64) bool) op.Kernel {
	return floatKernel(c, predicate[float32](f), predicate[float64](f))
}

func predicate[T kernel.Float](f func(x float64) bool) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst, src := dtype.Slice[bool](out[0]), dtype.Slice[T](in[0])
		pool(x).Range(len(dst), 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				dst[i] = f(float64(src[i]))
			}
		})
		return nil
	}
}

func not() *op.Op {
	return &op.Op{
		Name: "Not", Since: []int{1}, Doc: "Negates bools.",
		In: "X bool", Out: "Y bool", Infer: op.Same, Scheduling: op.Scheduling{InPlace: []int{0}}, NoGrad: boolResult, Couple: op.Elementwise,
		Kernel: func(*op.Call) (op.Kernel, error) {
			return func(_ *op.Exec, out, in []*tensor.Dense) error {
				dst := dtype.Slice[bool](out[0])
				for i, v := range dtype.Slice[bool](in[0]) {
					dst[i] = !v
				}
				return nil
			}, nil
		},
	}
}
