package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/recurrent"
	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func (cell) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "RecurrentGrad"} }

// recurrentGrad computes all gradients of LSTM, GRU and RNN at once, by backpropagation
// through time. Each result has the shape of the corresponding input, or of the one that is absent.
func recurrentGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "RecurrentGrad", Since: []int{1}, Decompose: spelled(spellRecurrentGrad), Doc: "Gradient of a recurrent operator.",
		In:  "X T, W T, R T, reserve U, B? T, sequence_lens? int32, initial_h? T, initial_c? T, P? T, dY? T, dY_h? T, dY_c? T",
		Out: "dX T, dW T, dR T, dB T, dinitial_h T, dinitial_c T, dP T", Where: op.Where{"T": op.Floats()},
		Attrs: cell{}, GradMissing: op.NotTwice, Pinned: "gradient",
		Infer: func(c *op.Call) ([]op.Type, error) {
			r := c.Config.(cell)
			t := c.In[0]
			state := t.With(op.Dims(r.Dirs, r.Batch, r.Hidden)...)
			if r.BatchFirst {
				state = t.With(op.Dims(r.Batch, r.Dirs, r.Hidden)...)
			}
			return []op.Type{t, c.In[1], c.In[2], t.With(op.Dims(r.Dirs, 2*r.Gates*r.Hidden)...), state, state, t.With(op.Dims(r.Dirs, 3*r.Hidden)...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			r := c.Config.(cell)
			return mixedPrecision(c, recurrentBack[float32](r), recurrentBack[float64](r)), nil
		},
		Cost: func(c *op.Call) (int64, int64) {
			r := c.Config.(cell)
			return 2 * int64(r.Seq*r.Batch) * int64(r.Dirs*r.Gates*r.Hidden) * int64(r.Input+r.Hidden), bytesMoved(c)
		},
	}
}

func recurrentBack[T kernel.Float](r cell) op.Kernel {
	stateShape := []int{r.Dirs, r.Batch, r.Hidden}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		lens, err := r.lengths(in[5])
		if err != nil {
			return err
		}
		at := func(i int) []T { return dtype.ElemsAt[T](in, i) }
		reserve := at(3)
		if r.Kind == "LSTM" && !x.MayOverwrite(in[3]) { // LSTMGrad uses it up
			reserve = scratch[T](x)(len(reserve))
			copy(reserve, at(3))
		}
		a, h0, c0 := seqFirst(x, &r, at(0)), stateFirst(x, &r, at(6)), stateFirst(x, &r, at(7))
		dy := order(x, &r, at(9), []int{r.Batch, r.Seq, r.Dirs, r.Hidden}, []int{1, 2, 0, 3})
		dyh, dyc := stateFirst(x, &r, at(10)), stateFirst(x, &r, at(11))
		dx, dh0, dc0 := dtype.Elems[T](out[0]), dtype.ElemsAt[T](out, 4), dtype.ElemsAt[T](out, 5)
		tx, th0, tc0 := draft(x, &r, dx), draft(x, &r, dh0), draft(x, &r, dc0)
		for d := range r.Dirs {
			s := r.direction(d, lens)
			one := func(v []T) []T { return cutPart(v, d, r.Dirs) }
			into := tx
			if d > 0 && tx != nil {
				into = scratch[T](x)(len(tx))
			}
			runCellBack(x, r.Kind, &s, &recurrent.RNNData[T]{
				X: a, W: one(at(1)), R: one(at(2)), B: one(at(4)), P: one(at(8)), H0: one(h0), C0: one(c0), Reserve: one(reserve),
			}, &recurrent.RNNGrads[T]{
				DY: from(dy, r.steps(d)), DYH: one(dyh), DYC: one(dyc), DX: into, DW: one(dtype.ElemsAt[T](out, 1)), DR: one(dtype.ElemsAt[T](out, 2)),
				DB: one(dtype.ElemsAt[T](out, 3)), DP: one(dtype.ElemsAt[T](out, 6)), DH0: one(th0), DC0: one(tc0),
			})
			if d > 0 && tx != nil {
				vector.Axpy(pool(x), 1, into, tx)
			}
		}
		batchLast(x, &r, dx, tx, []int{r.Seq, r.Batch, r.Input}, []int{1, 0, 2})
		batchLast(x, &r, dh0, th0, stateShape, []int{1, 0, 2})
		batchLast(x, &r, dc0, tc0, stateShape, []int{1, 0, 2})
		return nil
	}
}

// recurrentGradNodes returns the Grad of the three operators.
func recurrentGradNodes(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	r, err := sized(c)
	if err != nil {
		return nil, err
	}
	arg := make(gorgonia.Nodes, 8)
	copy(arg, in)
	d := make(gorgonia.Nodes, 3)
	copy(d, dout)
	reserve := out[len(c.Op.Out.List())]
	g, err := c.ApplyN(7, r, arg[0], arg[1], arg[2], reserve, arg[3], arg[4], arg[5], arg[6], arg[7], d[0], d[1], d[2])
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{g[0], g[1], g[2], g[3], nil, g[4], g[5], g[6]}[:max(len(in), 3)], nil
}
