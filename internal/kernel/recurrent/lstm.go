package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// LSTMReserve returns the number of elements of RNNData.Reserve: for each (time, batch
// element) the four activated gates, the cell state and its activation.
func LSTMReserve(s *RNNShape) int { return 6 * s.rows() * s.Hidden }

// lstm is one run of LSTM or LSTMGrad.
type lstm[T kernel.Float] struct {
	*RNNShape
	d              *RNNData[T]
	f, g, h        elementwise.Activation
	bias           []T  // [4*Hidden], where a step adds it
	usual          bool // a step is one kernel
	gates          []T  // [Seq, Batch, 4*Hidden]
	cells, outputs []T  // [Seq, Batch, Hidden]: C and h(C)
}

func newLSTM[T kernel.Float](s *RNNShape, d *RNNData[T], reserve []T) *lstm[T] {
	n := s.rows() * s.Hidden
	return &lstm[T]{
		RNNShape: s, d: d,
		f: s.Act[0].Or(elementwise.ActSigmoid), g: s.Act[1].Or(elementwise.ActTanh), h: s.Act[2].Or(elementwise.ActTanh),
		usual: usual(s, d),
		gates: reserve[:4*n], cells: reserve[4*n:][:n], outputs: reserve[5*n:][:n],
	}
}

// LSTM runs one direction of ONNX's LSTM. scratch may be nil.
func LSTM[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) {
	hid := s.Hidden
	bias := kernel.Take(scratch, 4*hid)
	clear(bias)
	if d.B != nil {
		elementwise.BinaryInto(elementwise.OpAdd, bias, d.B[:4*hid], d.B[4*hid:8*hid])
	}
	reserve := d.Reserve
	if reserve == nil {
		if s.Lens == nil && d.P == nil && !s.InputForget && !s.Rounded && s.Input > 0 && hid > 0 {
			lstmStream(p, s, d, bias, scratch)
			return
		}
		reserve = kernel.Take(scratch, LSTMReserve(s))
	}
	x := newLSTM(s, d, reserve)
	if x.usual {
		x.bias, bias = bias, nil
	}
	project(p, s, d, 4, bias, x.gates)
	r := matmul.Pack(p, true, hid, 4*hid, d.R, hid, kernel.Take(scratch, matmul.PackedLen(hid, 4*hid)))
	h := initial(d.H0, kernel.Take(scratch, s.Batch*hid))
	c := initial(d.C0, kernel.Take(scratch, s.Batch*hid))
	factor := h // of R
	if s.Rounded {
		factor = kernel.Take(scratch, s.Batch*hid)
		copy(factor, h)
		rounded(s, -1, factor)
	}
	var sums []T
	if s.Lens != nil {
		sums = kernel.Take(scratch, s.Batch*4*hid)
	}
	eachStream(p, s, func(b stream) {
		advance := b.rows(6*hid, func(_, n, t int) {
			if sums != nil {
				gates := x.gates[(t*s.Batch+n)*4*hid:][:4*hid]
				elementwise.BinaryInto(elementwise.OpAdd, gates, gates, sums[n*4*hid:][:4*hid])
			}
			x.step(t*s.Batch+n, h[n*hid:][:hid], c[n*hid:][:hid])
			d.storeY(s, t, n, h[n*hid:][:hid])
		})
		for step := range s.Seq {
			if s.Lens == nil {
				t, _ := s.time(0, step)
				streamProduct(&b, factor, hid, r, 1, x.gates[t*s.Batch*4*hid:], 4*hid)
			} else {
				streamProduct(&b, factor, hid, r, 0, sums, 4*hid)
			}
			advance(step)
			if s.Rounded {
				copy(factor, h)
				rounded(s, step, factor)
			}
		}
	})
	d.clearY(s)
	copy(d.YH, h)
	copy(d.YC, c)
}

// step replaces the sums in row r of the gates by their activations and updates the
// states h and c.
func (x *lstm[T]) step(r int, h, c []T) {
	hid := x.Hidden
	gates := x.gates[r*4*hid:][:4*hid]
	cells, out := x.cells[r*hid:][:hid], x.outputs[r*hid:][:hid]
	if x.usual {
		usualStepKept(gates, x.bias, c, h, cells, out)
		return
	}
	i, o, f, g := gates[:hid], gates[hid:2*hid], gates[2*hid:3*hid], gates[3*hid:]
	if x.d.P == nil {
		clipped(gates, x.Clip)
		elementwise.Apply(x.f, gates[:3*hid])
	} else {
		vector.AddProduct(i, x.d.P[:hid], c)
		vector.AddProduct(f, x.d.P[2*hid:3*hid], c)
		clipped(i, x.Clip)
		clipped(f, x.Clip)
		clipped(g, x.Clip)
		elementwise.Apply(x.f, i)
		elementwise.Apply(x.f, f)
	}
	elementwise.Apply(x.g, g)
	if x.InputForget {
		for q, v := range i {
			f[q] = 1 - v
		}
	}
	elementwise.BinaryInto(elementwise.OpMul, c, c, f)
	vector.AddProduct(c, i, g)
	if x.d.P != nil {
		vector.AddProduct(o, x.d.P[hid:2*hid], c)
		clipped(o, x.Clip)
		elementwise.Apply(x.f, o)
	}
	copy(cells, c)
	copy(out, c)
	elementwise.Apply(x.h, out)
	elementwise.BinaryInto(elementwise.OpMul, h, o, out)
}
