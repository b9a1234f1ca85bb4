package op

import (
	"cmp"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TopKConfig has the attributes of TopK. K is the second input from version 10 on.
type TopKConfig struct {
	Axis    *int  `onnx:"axis"` // nil: -1
	K       int   `onnx:"k,until=9"`
	Largest *bool `onnx:"largest,since=11"` // nil: true
	Sorted  *bool `onnx:"sorted,since=11"`  // nil: true; of no effect here: the result is always sorted
}

// Op makes TopKConfig a Config.
func (TopKConfig) Op() *Op { return standard("", "TopK") }

func topK() *Op {
	return &Op{
		Name: "TopK", Since: []int{1, 10, 11, 24},
		Doc: "The k largest or smallest elements along an axis, and where they stand. Of equal ones the first comes first.",
		In:  "X T, K? int64 shape", Out: "Values T, Indices int64", Where: Where{"T": Numeric}, Attrs: TopKConfig{},
		Infer: inferTopK, Kernel: widened(topKKernel), Grad: topKGrad, Couple: coupleTopK,
	}
}

func (cfg TopKConfig) axis(c *Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	if cfg.Axis == nil {
		return c.Axis(-1, rank)
	}
	return c.Axis(*cfg.Axis, rank)
}

func inferTopK(c *Call) ([]Type, error) {
	cfg := c.Config.(TopKConfig)
	if c.In[0].Unranked {
		return []Type{c.In[0], {DType: dtype.Int64, Unranked: true}}, nil
	}
	axis, err := cfg.axis(c)
	if err != nil {
		return nil, err
	}
	k := D(cfg.K)
	shape := append([]Dim(nil), c.In[0].Shape...)
	if c.Has(1) {
		d, err := c.Dims(1)
		if err != nil {
			shape[axis] = Unknown
			return []Type{c.In[0].With(shape...), T(dtype.Int64, shape...)}, err
		}
		if len(d) != 1 {
			return nil, c.wantGot(1, "one number", c.In[1])
		}
		k = d[0]
	} else if c.Version >= 10 && cfg.K == 0 {
		return nil, c.wantGot(1, "a value", "nothing")
	}
	if k.Sym == "" && k.Size < 0 || k.Known() && shape[axis].Known() && k.Size > shape[axis].Size {
		return nil, c.Errorf("k is %v, the axis has %v", dimStrings([]Dim{k})[0], shape[axis])
	}
	shape[axis] = k
	return []Type{c.In[0].With(shape...), T(dtype.Int64, shape...)}, nil
}

func topKKernel(c *Call) (engine.Kernel, error) {
	cfg := c.Config.(TopKConfig)
	axis, err := cfg.axis(c)
	if err != nil {
		return nil, err
	}
	from, to := lanesOf(c.In[0].Sizes(), axis), lanesOf(c.Out[0].Sizes(), axis)
	most := cfg.Largest == nil || *cfg.Largest
	return perNumber(c, topKOf[float32](from, to, most), topKOf[float64](from, to, most), topKOf[int64](from, to, most), topKOf[uint64](from, to, most))
}

func topKOf[T number](from, to lanes, most bool) engine.Kernel {
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		src := dtype.Slice[T](in[0])
		var values []T
		var indices []int64
		if out[0] != nil {
			values = dtype.Slice[T](out[0])
		}
		if len(out) > 1 && out[1] != nil {
			indices = dtype.Slice[int64](out[1])
		}
		if to.n == 0 {
			return nil
		}
		from.each(x, func(k int) {
			at := from.at(k)
			order := x.Int(from.n)
			for i := range order {
				order[i] = i
			}
			compare := func(a, b int) int { // NaN counts as smallest
				if d := cmp.Compare(src[at+b*from.step], src[at+a*from.step]); d != 0 {
					if most {
						return d
					}
					return -d
				}
				return a - b
			}
			slicesTop(order, to.n, compare)
			for i, j := range order[:to.n] {
				dst := to.at(k) + i*to.step
				if values != nil {
					values[dst] = src[at+j*from.step]
				}
				if indices != nil {
					indices[dst] = int64(j)
				}
			}
		})
		return nil
	}
}

// slicesTop sorts the first k of order, the rest is left in any order.
func slicesTop(order []int, k int, compare func(a, b int) int) {
	if k > 32 || k*4 > len(order) {
		slices.SortFunc(order, compare)
		return
	}
	slices.SortFunc(order[:k], compare)
	for i := k; i < len(order); i++ {
		v := order[i]
		if compare(v, order[k-1]) >= 0 {
			continue
		}
		j := k - 1
		order[i] = order[j]
		for ; j > 0 && compare(v, order[j-1]) < 0; j-- {
			order[j] = order[j-1]
		}
		order[j] = v
	}
}

func topKGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, err := c.Config.(TopKConfig).axis(c)
	if err != nil {
		return nil, err
	}
	index := out[min(1, len(out)-1)]
	if len(out) < 2 || index == nil { // nobody named the indices
		again, err := ApplyN(2, TopKConfig{Axis: &axis, K: c.Out[0].Shape[axis].Size, Largest: c.Config.(TopKConfig).Largest}, in[0])
		if err != nil {
			return nil, err
		}
		index = again[1]
	}
	d, err := Apply1(blockSumConfig{Shape: c.In[0].Shape, Axis: axis}, dout[0], index)
	return gorgonia.Nodes{d, nil}, err
}

func coupleTopK(c *Call) []Coupling {
	axis, err := c.Config.(TopKConfig).axis(c)
	if err != nil {
		return nil
	}
	var list []Coupling
	for a := range c.In[0].Shape {
		if a == axis {
			continue
		}
		for o := range c.Out[:min(2, len(c.Out))] {
			if c.Out[o].Present() {
				list = append(list, Couple(InAxis(0, a), OutAxis(o, a)))
			}
		}
	}
	return list
}
