package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// lanes are the rows of a tensor along one axis: each has n elements, step apart.
type lanes struct{ outer, n, step int }

func lanesOf(shape []int, axis int) lanes {
	outer, inner := around(shape, axis)
	return lanes{outer, shape[axis], inner}
}

// each calls f with the number of every lane and where it begins, in a tensor whose lanes have n elements.
func (l lanes) each(x *op.Exec, f func(lane int)) {
	count := l.outer * l.step
	pool(x).Range(count, max(1, 4096/max(l.n, 1)), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			f(k)
		}
	})
}

// at is where lane k begins.
func (l lanes) at(k int) int { return k/l.step*l.n*l.step + k%l.step }

// perNumber picks the instance of a kernel for the element type of input 0, one of those that
// widened leaves.
func perNumber(c *op.Call, f32, f64, i64, u64 op.Kernel) (op.Kernel, error) {
	switch c.In[0].DType {
	case dtype.Float32:
		return f32, nil
	case dtype.Float64:
		return f64, nil
	case dtype.Int64:
		return i64, nil
	case dtype.Uint64:
		return u64, nil
	}
	return nil, c.Errorf("does not take %v", c.In[0].DType)
}

// firstInt returns the first element of an integer tensor.
func firstInt(c *op.Call, i int, d *tensor.Dense) (int, error) {
	n, err := dtype.Ints(d)
	if err != nil || len(n) != 1 {
		return 0, c.Mismatch(i, "one integer", op.TypeOf(d))
	}
	return n[0], nil
}
