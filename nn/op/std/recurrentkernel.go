package std

import (
	"fmt"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/internal/kernel/recurrent"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func recurrentKernel(c *op.Call) (op.Kernel, error) {
	r, err := sized(c)
	return mixedPrecision(c, recurrentForward[float32](r), recurrentForward[float64](r)), err
}

// lengths returns the sequence lengths of the batch, nil where absent.
func (r *cell) lengths(t *tensor.Dense) ([]int, error) {
	if t == nil {
		return nil, nil
	}
	n, err := dtype.Ints(t)
	for _, v := range n {
		if v < 0 || v > r.Seq {
			return nil, fmt.Errorf("sequence length %d is outside of [0, %d]", v, r.Seq)
		}
	}
	return n, err
}

// order moves the batch axis: it returns v, of the given shape, with its axes permuted. Without
// BatchFirst, and if v is nil, it returns v.
func order[T kernel.Float](x *op.Exec, r *cell, v []T, shape, perm []int) []T {
	if v == nil || !r.BatchFirst {
		return v
	}
	dst := scratch[T](x)(len(v))
	layout.Transpose(pool(x), dst, v, shape, perm)
	return dst
}

// seqFirst and stateFirst bring X and states into layout 0.
func seqFirst[T kernel.Float](x *op.Exec, r *cell, v []T) []T {
	return order(x, r, v, []int{r.Batch, r.Seq, r.Input}, []int{1, 0, 2})
}

func stateFirst[T kernel.Float](x *op.Exec, r *cell, v []T) []T {
	return order(x, r, v, []int{r.Batch, r.Dirs, r.Hidden}, []int{1, 0, 2})
}

// draft returns the buffer for a result that batchLast transposes to dst; in layout 0, it is dst.
func draft[T kernel.Float](x *op.Exec, r *cell, dst []T) []T {
	if dst == nil || !r.BatchFirst {
		return dst
	}
	return scratch[T](x)(len(dst))
}

func batchLast[T kernel.Float](x *op.Exec, r *cell, dst, draft []T, shape, perm []int) {
	if dst != nil && r.BatchFirst {
		layout.Transpose(pool(x), dst, draft, shape, perm)
	}
}

// cutPart returns the d-th of n equal parts of v; nil if v is nil.
func cutPart[T any](v []T, d, n int) []T {
	if v == nil {
		return nil
	}
	m := len(v) / n
	return v[d*m : (d+1)*m]
}

// steps returns the offset of direction d in a [seq, dirs, batch, hidden] tensor.
func (r *cell) steps(d int) int { return d * r.Batch * r.Hidden }

// from returns v from element at on, nil if v is nil; without time steps the end of v is valid, too.
func from[T any](v []T, at int) []T {
	if v == nil {
		return nil
	}
	return v[min(at, len(v)):]
}

// recurrentForward has the inputs X, W, R, B, lens, h0 and (LSTM) c0, P, and the outputs Y, Y_h, (LSTM) Y_c and the reserve.
func recurrentForward[T kernel.Float](r cell) op.Kernel {
	states := 1
	if r.Kind == "LSTM" {
		states = 2
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		lens, err := r.lengths(optional(in, 4))
		if err != nil {
			return err
		}
		a := seqFirst(x, &r, dtype.Elems[T](in[0]))
		h0, c0 := stateFirst(x, &r, dtype.ElemsAt[T](in, 5)), []T(nil)
		var p, yc []T
		if states == 2 {
			c0, p, yc = stateFirst(x, &r, dtype.ElemsAt[T](in, 6)), dtype.ElemsAt[T](in, 7), dtype.ElemsAt[T](out, 2)
		}
		y, yh, reserve := dtype.Elems[T](out[0]), dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, states+1)
		ty, tyh, tyc := draft(x, &r, y), draft(x, &r, yh), draft(x, &r, yc)
		for d := range r.Dirs {
			s := r.direction(d, lens)
			runCell(x, r.Kind, &s, &recurrent.RNNData[T]{
				X: a, W: cutPart(dtype.Elems[T](in[1]), d, r.Dirs), R: cutPart(dtype.Elems[T](in[2]), d, r.Dirs), B: cutPart(dtype.ElemsAt[T](in, 3), d, r.Dirs),
				P: cutPart(p, d, r.Dirs), H0: cutPart(h0, d, r.Dirs), C0: cutPart(c0, d, r.Dirs),
				Y: from(ty, r.steps(d)), YH: cutPart(tyh, d, r.Dirs), YC: cutPart(tyc, d, r.Dirs), Reserve: cutPart(reserve, d, r.Dirs),
			})
		}
		batchLast(x, &r, y, ty, []int{r.Seq, r.Dirs, r.Batch, r.Hidden}, []int{2, 0, 1, 3})
		batchLast(x, &r, yh, tyh, []int{r.Dirs, r.Batch, r.Hidden}, []int{1, 0, 2})
		batchLast(x, &r, yc, tyc, []int{r.Dirs, r.Batch, r.Hidden}, []int{1, 0, 2})
		return nil
	}
}

func runCell[T kernel.Float](x *op.Exec, kind string, s *recurrent.RNNShape, d *recurrent.RNNData[T]) {
	switch kind {
	case "LSTM":
		recurrent.LSTM(pool(x), s, d, scratch[T](x))
	case "GRU":
		recurrent.GRU(pool(x), s, d, scratch[T](x))
	default:
		recurrent.RNN(pool(x), s, d, scratch[T](x))
	}
}

func runCellBack[T kernel.Float](x *op.Exec, kind string, s *recurrent.RNNShape, d *recurrent.RNNData[T], g *recurrent.RNNGrads[T]) {
	switch kind {
	case "LSTM":
		recurrent.LSTMGrad(pool(x), s, d, g, scratch[T](x))
	case "GRU":
		recurrent.GRUGrad(pool(x), s, d, g, scratch[T](x))
	default:
		recurrent.RNNGrad(pool(x), s, d, g, scratch[T](x))
	}
}
