package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// scatterGradConfig is a scattering that is differentiated.
type scatterGradConfig struct {
	Axis      int
	Tuple     bool
	Reduction string
}

func (scatterGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "ScatterGrad"} }

func scatterGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	s, err := scatteringOf(c)
	if err != nil {
		return nil, err
	}
	d, err := c.ApplyN(2, scatterGradConfig{s.axis, s.tuple, s.reduction}, in[0], in[1], in[2], out[0], dout[0])
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{d[0], nil, d[1]}, nil
}

func scatterGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ScatterGrad", Since: []int{1}, Decompose: spelled(spellScatterGrad), Doc: "Gradients of the scatter operators.",
		In: "data T, indices Tind, updates T, output T, dY T", Out: "dData T, dUpdates T",
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}, "Tind": op.Indices()}, Attrs: scatterGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0], c.In[2]}, nil },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			s, err := scatteringOf(c)
			if err != nil {
				return nil, err
			}
			if c.In[0].DType == dtype.Float64 {
				return scatterGradKernel[float64](s.blocks(c), s.reduction), nil
			}
			return scatterGradKernel[float32](s.blocks(c), s.reduction), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

// scatterGradKernel walks the updates backward, so that the last one to write an element takes
// its gradient first.
func scatterGradKernel[T kernel.Float](b blocks, reduction string) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		if reduction == "add" {
			return sumBack(x, b, out, in)
		}
		at, err := b.all(x, in[1])
		if err != nil {
			return err
		}
		data, updates, y, dy := dtype.Slice[T](in[0]), dtype.Slice[T](in[2]), dtype.Slice[T](in[3]), dtype.Slice[T](in[4])
		scratch := scratch[T](x)
		dData, dUpdates := scratch(len(data)), scratch(len(updates))
		if out[0] != nil {
			dData = dtype.Slice[T](out[0])
		}
		if out[1] != nil {
			dUpdates = dtype.Slice[T](out[1])
		}
		p := pool(x)
		kernel.Copy(p, dData, dy)
		switch reduction {
		case "none":
			takeBack(p, b, at, dData, dUpdates, func(int, int) bool { return true })
		case "mul":
			scatterProduct(p, b, at, data, updates, dy, dData, dUpdates, scratch)
		default: // the element that won takes the gradient; of equal ones the data, then the last
			p.InParts(len(data), func(lo, hi int) {
				for i, v := range data[lo:hi] {
					if v == y[lo+i] {
						dData[lo+i] = 0
					}
				}
			})
			takeBack(p, b, at, dData, dUpdates, func(r, k int) bool { return updates[r] == y[k] })
			p.InParts(len(data), func(lo, hi int) {
				for i, v := range data[lo:hi] {
					if dData[lo+i] = 0; v == y[lo+i] {
						dData[lo+i] = dy[lo+i]
					}
				}
			})
		}
		return nil
	}
}

// sumBack passes the gradient of each sum to the data and to the updates in it.
func sumBack(x *op.Exec, b blocks, out, in []*tensor.Dense) error {
	if out[0] != nil {
		kernel.Copy(pool(x), out[0].Raw, in[4].Raw)
	}
	if out[1] == nil {
		return nil
	}
	return b.gather(x, out[1].Raw, in[4].Raw, in[1], int(in[4].Dtype().Size()))
}

// takeBack moves gradients of elements to the updates that wrote them; won reports whether element k
// holds update r.
func takeBack[T kernel.Float](p *kernel.Pool, b blocks, at []int, dData, dUpdates []T, won func(r, k int) bool) {
	pace := p.Pace()
	for r := len(at) - 1; r >= 0; r-- {
		pace.Did(b.size)
		for i := range b.size {
			u, k := r*b.size+i, at[r]+i
			if dUpdates[u] = 0; won(u, k) {
				dUpdates[u], dData[k] = dData[k], 0
			}
		}
	}
}

// scatterProduct differentiates products without division, from the products of the factors before and after each factor.
func scatterProduct[T kernel.Float](p *kernel.Pool, b blocks, at []int, data, updates, dy, dData, dUpdates []T, scratch func(int) []T) {
	run, pace := scratch(len(data)), p.Pace()
	kernel.Copy(p, run, data)
	for r, k := range at {
		pace.Did(b.size)
		for i := range b.size {
			u := r*b.size + i
			dUpdates[u] = run[k+i]
			run[k+i] *= updates[u]
		}
	}
	elementwise.Fill(p, run, 1)
	for r := len(at) - 1; r >= 0; r-- {
		pace.Did(b.size)
		for i := range b.size {
			u, k := r*b.size+i, at[r]+i
			dUpdates[u] *= run[k] * dy[k]
			run[k] *= updates[u]
		}
	}
	elementwise.Binary(p, elementwise.OpMul, dData, dy, run)
}
