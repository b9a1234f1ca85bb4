package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// reduceGradKind names the derivative of a reduction.
type reduceGradKind int

const (
	gradSum reduceGradKind = iota
	gradMean
	gradExtreme
	gradProd
	gradL1
	gradL2
	gradLogSum
	gradLogSumExp
	gradSumSquare
)

// needs reports which of the input x and the output y the derivative depends on.
func (k reduceGradKind) needs() (x, y bool) {
	switch k {
	case gradSum, gradMean:
		return false, false
	case gradLogSum:
		return false, true
	case gradL1, gradSumSquare:
		return true, false
	}
	return true, true
}

type reduceGradConfig struct {
	Kind  reduceGradKind
	Shape []op.Dim // of the input
	Axes  []int    // that were reduced
}

func (reduceGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "ReduceGrad"} }

func reduceGrad(c *op.Call, kind reduceGradKind, x, y, dy *gorgonia.Node) (*gorgonia.Node, error) {
	marks, _, err := reduced(c)
	if err != nil {
		return nil, err
	}
	cfg := reduceGradConfig{kind, c.In[0].Shape, marked(marks)}
	needX, needY := kind.needs()
	if !needX {
		x = nil
	}
	if !needY {
		y = nil
	}
	return c.Apply1(cfg, dy, x, y)
}

func reduceGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ReduceGrad", Since: []int{1}, Decompose: spelled(spellReduceGrad), Doc: "Gradient of the reductions.",
		In: "dY T, X? T, Y? T", Out: "dX T", Where: op.Where{"T": {dtype.Float32, dtype.Float64}}, Attrs: reduceGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(reduceGradConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(reduceGradConfig)
			if c.In[0].DType == dtype.Float64 {
				return reduceGradKernel[float64](cfg), nil
			}
			return reduceGradKernel[float32](cfg), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func reduceGradKernel[T kernel.Float](cfg reduceGradConfig) op.Kernel {
	shape := op.Sizes(cfg.Shape)
	back := backTo(shape, cfg.Axes)
	count := T(1)
	for _, a := range cfg.Axes {
		count *= T(shape[a])
	}
	return func(e *op.Exec, out, in []*tensor.Dense) error {
		dx, dy, x, y := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.ElemsAt[T](in, 1), dtype.ElemsAt[T](in, 2)
		switch cfg.Kind {
		case gradMean, gradSum:
			spreadBack(pool(e), back, dx, dy, cfg.Kind == gradMean, count)
		case gradProd:
			productBack(e, back, dx, x, dy)
		case gradExtreme:
			extremeBack(e, back, dx, x, y, dy)
		default:
			blocksBack(pool(e), back, y, dy, func(at int, y, dy, t []T) {
				d := dx[at:][:len(t)]
				if x == nil {
					reduceDerivative(cfg.Kind, t, nil, y)
				} else {
					reduceDerivative(cfg.Kind, t, x[at:][:len(t)], y)
				}
				elementwise.Mul(nil, d, t, dy)
			})
		}
		return nil
	}
}

// blocksBack calls f for runs of elements that were reduced, from position at on, with their y
// and dy and a buffer of that length. y may be nil.
func blocksBack[T kernel.Float](p *kernel.Pool, back strided, y, dy []T, f func(at int, y, dy, t []T)) {
	step := back.strides[len(back.strides)-1]
	back.ranges(p, func(lo, hi int) {
		buffer := kernel.Borrow[T](3 * blockSize)
		defer kernel.GiveBack(buffer)
		t, many, gradients := (*buffer)[:blockSize], (*buffer)[blockSize:2*blockSize], (*buffer)[2*blockSize:]
		back.some(lo, hi, func(first, n, at int) {
			if step == 0 {
				m := min(n, blockSize)
				elementwise.Fill(nil, gradients[:m], dy[at])
				if y != nil {
					elementwise.Fill(nil, many[:m], y[at])
				}
			}
			for i := 0; i < n; i += blockSize {
				m := min(n-i, blockSize)
				g, v := gradients[:m], many[:m]
				if step != 0 {
					g = dy[at+i:][:m]
					if y != nil {
						v = y[at+i:][:m]
					}
				}
				f(first+i, v, g, t[:m])
			}
		})
	})
}

// spreadBack broadcasts the gradient of a sum or mean to its elements.
func spreadBack[T kernel.Float](p *kernel.Pool, back strided, dx, dy []T, mean bool, count T) {
	step := back.strides[len(back.strides)-1]
	factor := T(1)
	if mean {
		factor = 1 / count
	}
	back.runs(p, func(from, n, at int) {
		d := dx[from:][:n]
		if step == 0 {
			v := dy[at] * factor
			for i := range d {
				d[i] = v
			}
			return
		}
		for i := range d {
			d[i] = dy[at] * factor
			at += step
		}
	})
}

// reduceDerivative sets t to the derivative of the results y by the elements x.
func reduceDerivative[T kernel.Float](kind reduceGradKind, t, x, y []T) {
	switch kind {
	case gradL1:
		elementwise.Sign(nil, t, x)
	case gradL2:
		elementwise.Div(nil, t, x, y)
		for i, v := range y {
			if v == 0 {
				t[i] = 0
			}
		}
	case gradLogSum:
		elementwise.Scale(nil, -1, t, y)
		elementwise.Exp(nil, t, t)
	case gradLogSumExp:
		elementwise.Sub(nil, t, x, y)
		elementwise.Exp(nil, t, t)
	case gradSumSquare:
		elementwise.Scale(nil, 2, t, x)
	}
}

// extremeBack shares the gradient equally among elements that are the largest, or smallest, together.
func extremeBack[T kernel.Float](e *op.Exec, back strided, dx, x, y, dy []T) {
	scratch := scratch[T](e)
	share := scratch(len(y))
	kernel.Clear(pool(e), share)
	step := back.strides[len(back.strides)-1]
	back.runs(pool(e).Serial(), func(from, n, at int) {
		v, ties := x[from:][:n], dx[from:][:n]
		if step == 0 {
			elementwise.Fill(nil, ties, y[at])
			elementwise.EqualMask(ties, v, ties)
			share[at] += vector.Sum(nil, ties)
			return
		}
		elementwise.EqualMask(ties, v, y[at:at+n])
		elementwise.Add(nil, share[at:at+n], share[at:at+n], ties)
	})
	elementwise.Div(nil, share, dy, share)
	blocksBack(pool(e), back, nil, share, func(at int, _, share, _ []T) {
		ties := dx[at:][:len(share)]
		elementwise.ReluGrad(nil, ties, share, ties) // 0 for elements that are not maxima, even if the share is infinite
	})
}

// productBack: the derivative of a product is the product of the other elements; zeros are counted separately.
func productBack[T kernel.Float](e *op.Exec, back strided, dx, x, dy []T) {
	if back.strides[len(back.strides)-1] == 0 && len(dy)*back.shape[len(back.shape)-1] == len(dx) {
		productRowsBack(pool(e), back, dx, x, dy)
		return
	}
	scratch := scratch[T](e)
	product, zeros := scratch(len(dy)), scratch(len(dy))
	for j := range product {
		product[j], zeros[j] = 1, 0
	}
	step := back.strides[len(back.strides)-1]
	back.runs(pool(e).Serial(), func(from, n, at int) {
		for _, v := range x[from:][:n] {
			if v == 0 {
				zeros[at]++
			} else {
				product[at] *= v
			}
			at += step
		}
	})
	back.runs(pool(e), func(from, n, at int) {
		d := dx[from:][:n]
		for i, v := range x[from:][:n] {
			switch {
			case zeros[at] == 0:
				d[i] = dy[at] * (product[at] / v)
			case zeros[at] == 1 && v == 0:
				d[i] = dy[at] * product[at]
			default:
				d[i] = 0
			}
			at += step
		}
	})
}

// productRowsBack is productBack for a product over each row.
func productRowsBack[T kernel.Float](p *kernel.Pool, back strided, dx, x, dy []T) {
	n := back.shape[len(back.shape)-1]
	p.Range(len(dy), max(1, 8192/n), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			productRowBack(p.Serial(), dx[row*n:][:n], x[row*n:][:n], dy[row])
		}
	})
}

func productRowBack[T kernel.Float](p *kernel.Pool, d, x []T, dy T) {
	y := T(1)
	p.InParts(len(x), func(lo, hi int) { y *= vector.Product(x[lo:hi]) })
	if y != 0 { // otherwise a factor is 0, or all are tiny
		elementwise.BinaryScalar(p, elementwise.OpRDiv, d, x, y)
		elementwise.BinaryScalar(p, elementwise.OpMul, d, d, dy) // last, since dy·y may overflow
		return
	}
	zeros, product, pace := 0, T(1), p.Pace()
	for _, v := range x {
		pace.Did(1)
		if v == 0 {
			zeros++
		} else {
			product *= v
		}
	}
	kernel.Clear(p, d)
	for i, v := range x {
		pace.Did(1)
		switch {
		case zeros == 0:
			d[i] = dy * (product / v)
		case zeros == 1 && v == 0:
			d[i] = dy * product
		}
	}
}
