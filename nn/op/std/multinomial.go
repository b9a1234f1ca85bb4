package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"math"
	"sort"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// MultinomialConfig has the attributes of Multinomial.
type MultinomialConfig struct {
	DType      op.DType `onnx:"dtype,default=int32"`   // of the output: int32 or int64
	SampleSize int      `onnx:"sample_size,default=1"` // draws per row, 1 or more
	Seed       *float32 `onnx:"seed"`                  // mixed into the seed of the run; nil: that alone
}

// Operator makes MultinomialConfig a Config.
func (MultinomialConfig) Operator() op.Name { return op.Name{Name: "Multinomial"} }

func multinomial() *op.Op {
	return &op.Op{
		Name: "Multinomial", Since: []int{7, 22}, Doc: "Draws classes by their unnormalized log-probabilities [batch, classes].",
		In: "input T1", Out: "output T2", Where: op.Where{"T1": op.Floats()}, Attrs: MultinomialConfig{}, Random: true,
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(MultinomialConfig)
			if cfg.DType != dtype.Int32 && cfg.DType != dtype.Int64 {
				return nil, c.Errorf("dtype is %v, want int32 or int64", cfg.DType)
			}
			if cfg.SampleSize < 1 {
				return nil, c.Errorf("sample_size is %d, want 1 or more", cfg.SampleSize)
			}
			if c.In[0].Unranked {
				return []op.Type{op.T(cfg.DType, op.Unknown(), op.D(cfg.SampleSize))}, nil
			}
			if len(c.In[0].Shape) != 2 {
				return nil, c.Mismatch(0, "rank 2", c.In[0])
			}
			return []op.Type{op.T(cfg.DType, c.In[0].Shape[0], op.D(cfg.SampleSize))}, nil
		},
		Kernel: multinomialKernel, NoGrad: "its results are drawn", Pinned: "the axis holds classes",
	}
}

func multinomialKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(MultinomialConfig)
	classes := c.In[0].Sizes()[1]
	if classes == 0 {
		return nil, c.Errorf("there are no classes to draw from")
	}
	var bits *uint64
	if cfg.Seed != nil {
		b := uint64(math.Float32bits(*cfg.Seed))
		bits = &b
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(8 * int64(in[0].Shape().TotalSize()))
		if err != nil {
			return err
		}
		defer release()
		logits, err := float64s(pool(x), in[0])
		if err != nil {
			return err
		}
		key := streamKey(c, inputAt(in, 1), bits)
		var set func(i, k int)
		if cfg.DType == dtype.Int32 {
			y := dtype.Slice[int32](out[0])
			set = func(i, k int) { y[i] = int32(k) }
		} else {
			y := dtype.Slice[int64](out[0])
			set = func(i, k int) { y[i] = int64(k) }
		}
		for r := 0; r*classes < len(logits); r++ {
			sums := cumulate(pool(x), logits[r*classes:(r+1)*classes])
			for s := range cfg.SampleSize {
				checkAt(pool(x), s)
				at := r*cfg.SampleSize + s
				u := uniform(key, at) * sums[classes-1]
				set(at, sort.Search(classes-1, func(k int) bool { return !(sums[k] <= u) }))
			}
		}
		return nil
	}, nil
}

// cumulate turns log-probabilities into running sums of probabilities, in place.
func cumulate(p *kernel.Pool, logits []float64) []float64 {
	top := math.Inf(-1)
	for i, v := range logits {
		checkAt(p, i)
		top = max(top, v)
	}
	sum := 0.0
	for i, v := range logits {
		checkAt(p, i)
		sum += math.Exp(v - top)
		logits[i] = sum
	}
	return logits
}
