package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// OneHotEncoderConfig has the attributes of OneHotEncoder. Zeros is true when nil: a value that is not
// a category gives zeros rather than an error.
type OneHotEncoderConfig struct {
	Ints    []int    `onnx:"cats_int64s"`  // integer categories
	Strings []string `onnx:"cats_strings"` // string categories
	Zeros   *bool    `onnx:"zeros"`        // encode other values as zeros; false: refuse them; nil: true
}

// Operator makes OneHotEncoderConfig a Config.
func (OneHotEncoderConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "OneHotEncoder"}
}

func arrayFeatureExtractor() *op.Op {
	return &op.Op{
		Domain: mlDomain, Name: "ArrayFeatureExtractor", Since: []int{1}, Doc: "Picks columns along the last axis.",
		In: "X T, Y int64", Out: "Z T",
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked || c.In[1].Unranked {
				return []op.Type{{DType: c.In[0].DType, Unranked: true}}, nil
			}
			s := c.In[0].Shape
			if len(s) == 0 {
				return nil, c.Mismatch(0, "rank 1 or more", c.In[0])
			}
			n := op.Product(c.In[1].Shape)
			if len(s) == 1 {
				return []op.Type{c.In[0].With(op.D(1), n)}, nil
			}
			return []op.Type{c.In[0].With(append(append([]op.Dim(nil), s[:len(s)-1]...), n)...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			s, size := c.In[0].Sizes(), c.In[0].DType.Size()
			cols := s[len(s)-1]
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				at := indexInts(x, in[1])
				for _, k := range at {
					if k < 0 || k >= cols {
						return c.Errorf("index %d is outside of %d columns", k, cols)
					}
				}
				src, dst, pace := in[0].Raw, out[0].Raw, pool(x).Pace()
				for len(dst) > 0 && len(at) > 0 {
					for _, k := range at {
						pace.Did(2)
						copy(dst[:size], src[k*size:])
						dst = dst[size:]
					}
					src = src[cols*size:]
				}
				return nil
			}, nil
		},
		Strings: moveStrings, GradMissing: "classical preprocessing is not trained through", Pinned: "columns are chosen by number",
	}
}

func oneHotEncoder() *op.Op {
	return &op.Op{
		Domain: mlDomain, Name: "OneHotEncoder", Since: []int{1}, Doc: "1 at the number of a value's category.",
		In: "X any", Out: "Y float32", Attrs: OneHotEncoderConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(OneHotEncoderConfig)
			if c.In[0].Unranked {
				return []op.Type{c.In[0].Of(dtype.Float32)}, nil
			}
			n := len(cfg.Ints)
			if c.In[0].DType == dtype.String {
				n = len(cfg.Strings)
			}
			return []op.Type{op.T(dtype.Float32, append(append([]op.Dim(nil), c.In[0].Shape...), op.D(n))...)}, nil
		},
		Kernel: valueFunction(encodeOneHot).kernel, Strings: valueFunction(encodeOneHot).strings,
		NoGrad: "a table lookup", Pinned: "categories are chosen by number",
	}
}

func encodeOneHot(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(OneHotEncoderConfig)
	at := map[any]int{}
	for i, v := range cfg.Ints {
		at[float64(v)] = i
	}
	n := len(cfg.Ints)
	if c.In[0].DType == dtype.String {
		for i, v := range cfg.Strings {
			at[v] = i
		}
		n = len(cfg.Strings)
	}
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		y, pace := kernel.Zeros[float32](p, in[0].Shape().TotalSize()*n), p.Pace()
		var unknown any
		err := eachKey(p, in[0], func(i int, key any) {
			pace.Did(n)
			if f, ok := key.(float64); ok {
				key = float64(int64(f))
			}
			if k, ok := at[key]; ok {
				y[i*n+k] = 1
			} else if unknown == nil {
				unknown = key
			}
		})
		if err != nil {
			return nil, err
		}
		if unknown != nil && cfg.Zeros != nil && !*cfg.Zeros {
			return nil, c.Errorf("%v is not among the categories", unknown)
		}
		d, err := dtype.FromSlice(y, append(append([]int(nil), in[0].Shape()...), n)...)
		return []dtype.Value{d}, err
	}, nil
}
