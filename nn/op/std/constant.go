package std

import (
	"errors"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ConstantConfig has the attributes of Constant, exactly one of which is given. SparseValue holds
// the dense form of a sparse tensor.
type ConstantConfig struct {
	Value        dtype.Value `onnx:"value"`
	SparseValue  dtype.Value `onnx:"sparse_value,since=11"`
	ValueFloat   *float32    `onnx:"value_float,since=12"`
	ValueFloats  []float32   `onnx:"value_floats,since=12"`
	ValueInt     *int        `onnx:"value_int,since=12"`
	ValueInts    []int       `onnx:"value_ints,since=12"`
	ValueString  *string     `onnx:"value_string,since=12"`
	ValueStrings []string    `onnx:"value_strings,since=12"`
}

// Operator makes ConstantConfig a Config.
func (ConstantConfig) Operator() op.Name { return op.Name{Name: "Constant"} }

func constant() *op.Op {
	return &op.Op{
		Name: "Constant", Since: []int{1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, Versions: constantVersions(),
		Doc: "A value that is part of the model.",
		Out: "output T", Attrs: ConstantConfig{},
		Check: func(c *op.Call) error { _, err := constantValue(c); return err },
		Infer: func(c *op.Call) ([]op.Type, error) {
			v, err := constantValue(c)
			return []op.Type{op.TypeOf(v)}, err
		},
		Dims: func(c *op.Call) []op.Known {
			v, err := constantValue(c)
			if err != nil {
				return nil
			}
			return []op.Known{{Value: v}}
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			v, err := constantValue(c)
			if err != nil {
				return nil, err
			}
			d, ok := v.(*tensor.Dense)
			if !ok {
				return nil, c.Errorf("value is a %T", v)
			}
			return func(x *op.Exec, out, _ []*tensor.Dense) error {
				kernel.Copy(pool(x), out[0].Raw, d.Raw)
				return nil
			}, nil
		},
		Strings: func(c *op.Call, _ []dtype.Value) ([]dtype.Value, error) {
			v, err := constantValue(c)
			return []dtype.Value{v}, err
		},
		NoGrad: "constant", Pinned: "a constant",
	}
}

// constantValue returns the one value that is given.
func constantValue(c *op.Call) (dtype.Value, error) {
	cfg := c.Config.(ConstantConfig)
	var v dtype.Value
	var err error
	given := 0
	set := func(ok bool, f func() (dtype.Value, error)) {
		if ok {
			given++
			if err == nil {
				v, err = f()
			}
		}
	}
	set(cfg.Value != nil, func() (dtype.Value, error) { return cfg.Value, nil })
	set(cfg.SparseValue != nil, func() (dtype.Value, error) { return cfg.SparseValue, nil })
	set(cfg.ValueFloat != nil, func() (dtype.Value, error) { return dtype.Scalar(*cfg.ValueFloat), nil })
	set(cfg.ValueFloats != nil, func() (dtype.Value, error) { return dtype.FromSlice(cfg.ValueFloats, len(cfg.ValueFloats)) })
	set(cfg.ValueInt != nil, func() (dtype.Value, error) { return dtype.Scalar(int64(*cfg.ValueInt)), nil })
	set(cfg.ValueInts != nil, func() (dtype.Value, error) {
		return dtype.FromInts(dtype.Int64, cfg.ValueInts, len(cfg.ValueInts))
	})
	set(cfg.ValueString != nil, func() (dtype.Value, error) { return dtype.NewStrings([]string{*cfg.ValueString}) })
	set(cfg.ValueStrings != nil, func() (dtype.Value, error) { return dtype.NewStrings(cfg.ValueStrings, len(cfg.ValueStrings)) })
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	if given != 1 {
		return nil, c.Errorf("wants one value, has %d", given)
	}
	return v, nil
}

// constantVersions: before versions 11 and 12 a constant is a tensor.
func constantVersions() []op.Version {
	plain := op.OnConfig(func(n *op.Spelling, c *ConstantConfig) error {
		if c.Value != nil {
			return nil
		}
		v := n.Out[0].Known.Value
		if v == nil {
			return errors.New("it is not a tensor")
		}
		*c = ConstantConfig{Value: v}
		return nil
	})
	return []op.Version{{At: 11, Down: plain}, {At: 12, Down: plain}}
}
