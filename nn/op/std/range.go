package std

import (
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func rangeOp() *op.Op {
	return &op.Op{
		Name: "Range", Since: []int{11, 27},
		Doc: "The numbers from start up to (or down to) limit, without it, in steps of delta.",
		In:  "start T shape, limit T shape, delta T shape", Out: "output T",
		Where: op.Where{"T": {dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Int16, dtype.Int32, dtype.Int64}},
		Infer: inferRange, Dims: rangeDims, Kernel: widened(rangeKernel),
		GradMissing: "the number of elements depends on the inputs", Pinned: "counts",
	}
}

// rangeCount returns the number of elements.
func rangeCount(c *op.Call) (op.Dim, error) {
	if c.In[0].DType.IsInteger() {
		var v [3]op.Dim
		for i := range v {
			d, err := c.Dims(i)
			if err != nil {
				return op.Unknown(), err
			}
			if len(d) != 1 {
				return op.Unknown(), c.Mismatch(i, "one number", c.In[i])
			}
			v[i] = d[0]
		}
		return intRange(c, v[0], v[1], v[2])
	}
	var v [3]float64
	for i := range v {
		x, err := c.Value(i)
		if err != nil {
			return op.Unknown(), err
		}
		d, ok := x.(*tensor.Dense)
		if !ok {
			return op.Unknown(), c.Mismatch(i, "a tensor", c.In[i])
		}
		f, err := dtype.Float64s(d)
		if err != nil || len(f) != 1 {
			return op.Unknown(), c.Mismatch(i, "one number", c.In[i])
		}
		v[i] = f[0]
	}
	n := math.Ceil((v[1] - v[0]) / v[2])
	if math.IsNaN(n) || v[2] == 0 || n > op.MaxElements {
		return op.Unknown(), c.Errorf("cannot go from %v to %v in steps of %v", v[0], v[1], v[2])
	}
	return op.D(int(max(n, 0))), nil
}

// steps returns the number of steps of delta, not 0, from start to limit, without overflow.
func steps(start, limit, delta int) uint64 {
	way, step := uint64(limit)-uint64(start), uint64(delta)
	if delta < 0 {
		start, limit, way, step = limit, start, -way, -step
	}
	if limit <= start {
		return 0
	}
	return (way-1)/step + 1
}

func intRange(c *op.Call, start, limit, delta op.Dim) (op.Dim, error) {
	symbolic := start.Sym != "" || limit.Sym != "" || delta.Sym != ""
	if delta.Sym == "" && delta.Size == 0 {
		return op.Unknown(), c.Errorf("delta is 0")
	}
	var n op.Dim
	switch {
	case delta.Sym == "" && delta.Size > 0:
		n = limit.Sub(start).Add(delta).Sub(op.D(1)).Div(delta)
	case delta.Sym == "" && !symbolic:
		n = op.D(0)
	default:
		n = op.Unknown()
	}
	if (start.Sym == "" || start.Known()) && (limit.Sym == "" || limit.Known()) && (delta.Sym == "" || delta.Known()) {
		if delta.Size == 0 {
			return op.Unknown(), c.Errorf("delta is 0")
		}
		count := steps(start.Size, limit.Size, delta.Size)
		if count > op.MaxElements {
			return op.Unknown(), c.Errorf("cannot go from %d to %d in steps of %d", start.Size, limit.Size, delta.Size)
		}
		n.Size = int(count)
		if !symbolic {
			n.Sym = ""
		}
	}
	return n, nil
}

func inferRange(c *op.Call) ([]op.Type, error) {
	n, err := rangeCount(c)
	return []op.Type{c.In[0].With(n)}, err
}

func rangeDims(c *op.Call) []op.Known {
	if !c.In[0].DType.IsInteger() {
		return nil
	}
	n, err := rangeCount(c)
	if err != nil || !n.Known() || n.Symbolic() || n.Size > 64 {
		return nil
	}
	start, err := c.Dims(0)
	if err != nil {
		return nil
	}
	delta, err := c.Dims(2)
	if err != nil {
		return nil
	}
	list := []op.Dim{}
	for i := range n.Size {
		list = append(list, start[0].Add(delta[0].Mul(op.D(i))))
	}
	return knownDims(list)
}

func rangeKernel(c *op.Call) (op.Kernel, error) {
	switch c.In[0].DType {
	case dtype.Float32:
		return rangeOf[float32], nil
	case dtype.Float64:
		return rangeOf[float64], nil
	}
	return rangeOf[int64], nil
}

func rangeOf[T number](x *op.Exec, out, in []*tensor.Dense) error {
	start, delta, d := dtype.Slice[T](in[0])[0], dtype.Slice[T](in[2])[0], dtype.Slice[T](out[0])
	pool(x).Range(len(d), 4096, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			d[i] = start + T(i)*delta
		}
	})
	return nil
}
