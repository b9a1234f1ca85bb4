package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// LSTMGrad computes the gradients of LSTM. d holds the arguments of LSTM and the Reserve that it wrote;
// Y is not needed. Reserve is overwritten: the gates are replaced by their gradients. scratch may be
// nil.
func LSTMGrad[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	x := newLSTM(s, d, d.Reserve)
	hid, cols := s.Hidden, 4*s.Hidden
	dg, hidden := x.gates, x.outputs // overwritten by the loop, from the last step to the first
	x.clearEnds()
	dh := initial(g.DYH, kernel.Take(scratch, s.Batch*hid))
	dc := initial(g.DYC, kernel.Take(scratch, s.Batch*hid))
	c0 := initial(d.C0, kernel.Take(scratch, s.Batch*hid))
	h := kernel.Take(scratch, s.Batch*hid)
	r := matmul.Pack(p, false, cols, hid, d.R, hid, kernel.Take(scratch, matmul.PackedLen(cols, hid)))
	var draft, sums, picked []T
	if !x.usual {
		draft = kernel.Take(scratch, s.Batch*cols)
	}
	if s.Lens != nil {
		sums, picked = kernel.Take(scratch, s.Batch*hid), kernel.Take(scratch, s.Batch*cols)
	}
	eachStream(p, s, func(b stream) {
		goBack := b.rows(10*hid, func(step, n, t int) {
			row, dh := t*s.Batch+n, dh[n*hid:][:hid]
			if g.DY != nil {
				elementwise.BinaryInto(elementwise.OpAdd, dh, dh, g.DY[t*s.yStride()+n*hid:][:hid])
			}
			gates, out := dg[row*cols:][:cols], hidden[row*hid:][:hid]
			elementwise.BinaryInto(elementwise.OpMul, h[n*hid:][:hid], gates[hid:2*hid], out)
			dc, c := dc[n*hid:][:hid], stateBefore(s, n, step, c0, x.cells)
			if x.usual {
				x.stepGrad(row, dh, dc, c, gates)
			} else {
				x.stepGrad(row, dh, dc, c, draft[n*cols:][:cols])
				copy(gates, draft[n*cols:][:cols])
			}
			copy(out, h[n*hid:][:hid])
		})
		for step := s.Seq - 1; step >= 0; step-- {
			goBack(step)
			backThrough(&b, step, r, cols, dg, dh, sums, picked)
		}
	})
	copy(g.DH0, dh)
	copy(g.DC0, dc)
	weightGrads(p, s, d, g, 4, dg)
	if g.DB != nil {
		copy(g.DB[cols:2*cols], g.DB[:cols])
	}
	if g.DP != nil {
		x.peepholeGrad(c0, dg, g.DP[:3*hid])
	}
	if g.DR != nil {
		h0 := d.H0
		if s.Rounded {
			h0 = x.roundAll(h0, hidden, h)
		}
		x.recurrentWeightGrad(p, dg, h0, hidden, picked, g.DR)
	}
}

// clearEnds clears the gates and activated cells after the end of each sequence, which no step has computed.
func (x *lstm[T]) clearEnds() {
	hid := x.Hidden
	for n, length := range x.Lens {
		for t := length; t < x.Seq; t++ {
			row := t*x.Batch + n
			clear(x.gates[row*4*hid:][:4*hid])
			clear(x.outputs[row*hid:][:hid])
		}
	}
}

// stateBefore returns the state that a step of batch element n starts from, of the initial states
// [Batch, Hidden] and those after each step [Seq, Batch, Hidden].
func stateBefore[T kernel.Float](s *RNNShape, n, step int, initial, after []T) []T {
	if t, ok := s.time(n, step-1); ok && step > 0 {
		return after[(t*s.Batch+n)*s.Hidden:][:s.Hidden]
	}
	return initial[n*s.Hidden:][:s.Hidden]
}

// recurrentWeightGrad computes dr from the gradients of the gates, the initial hidden states and those after each
// step: the gradients of a time step meet the hidden states of the one before. Where sequences have lengths,
// first holds the gradients of their first steps.
func (x *lstm[T]) recurrentWeightGrad(p *kernel.Pool, dg, h0, hidden, first, dr []T) {
	s, hid, cols := x.RNNShape, x.Hidden, 4*x.Hidden
	if s.Seq == 0 {
		clear(dr)
		return
	}
	later, earlier := dg[s.Batch*cols:], hidden
	if s.Reverse {
		later, earlier = dg, hidden[s.Batch*hid:]
	}
	matmul.Gemm(p, true, false, cols, hid, (s.Seq-1)*s.Batch, 1, later, cols, earlier, hid, 0, dr, hid)
	if h0 == nil {
		return
	}
	if s.Lens == nil {
		t, _ := s.time(0, 0)
		first = dg[t*s.Batch*cols:]
	}
	matmul.Gemm(p, true, false, cols, hid, s.Batch, 1, first, cols, h0, hid, 1, dr, hid)
}

// backThrough sets dh to the gradient of the hidden state before a step, from those
// of the gates, where the sequence is active.
func backThrough[T kernel.Float](s *stream, step int, r matmul.Packed[T], cols int, dg, dh, sums, picked []T) {
	hid := s.Hidden
	if s.Lens == nil {
		t, _ := s.time(0, step)
		streamProduct(s, dg[t*s.Batch*cols:], cols, r, 0, dh, hid)
		return
	}
	for n := s.lo; n < s.hi; n++ {
		if t, ok := s.time(n, step); ok {
			copy(picked[n*cols:][:cols], dg[(t*s.Batch+n)*cols:])
		} else {
			clear(picked[n*cols:][:cols])
		}
	}
	streamProduct(s, picked, cols, r, 0, sums, hid)
	for n := s.lo; n < s.hi; n++ {
		if _, ok := s.time(n, step); ok {
			copy(dh[n*hid:][:hid], sums[n*hid:])
		}
	}
}

// stepGrad writes the gradients of row r's gates before activation to dg, which may be
// the gates themselves if the step is usual, and replaces dc, the gradient of the cell after
// the step without the contribution of h, by that of the cell before it, prev.
func (x *lstm[T]) stepGrad(r int, dh, dc, prev, dg []T) {
	hid := x.Hidden
	gates, out := x.gates[r*4*hid:][:4*hid], x.outputs[r*hid:][:hid]
	if x.usual {
		usualStepGrad(gates, out, prev, dh, dc, dg)
		return
	}
	i, o, f, g := gates[:hid], gates[hid:2*hid], gates[2*hid:3*hid], gates[3*hid:]
	di, do, df, dz := dg[:hid], dg[hid:2*hid], dg[2*hid:3*hid], dg[3*hid:]
	elementwise.BinaryInto(elementwise.OpMul, do, dh, out)
	elementwise.TimesSlopeAt(x.f, o, do)
	unclipped(x.f, x.Clip, o, do)
	elementwise.BinaryInto(elementwise.OpMul, dz, dh, o) // dz holds the gradient of the cell for a moment
	elementwise.TimesSlopeAt(x.h, out, dz)
	elementwise.BinaryInto(elementwise.OpAdd, dc, dc, dz)
	if x.d.P != nil {
		vector.AddProduct(dc, x.d.P[hid:2*hid], do)
	}
	elementwise.BinaryInto(elementwise.OpMul, di, dc, g)
	elementwise.BinaryInto(elementwise.OpMul, df, dc, prev)
	elementwise.BinaryInto(elementwise.OpMul, dz, dc, i)
	if x.InputForget {
		elementwise.BinaryInto(elementwise.OpSub, di, di, df)
		clear(df)
	} else {
		elementwise.TimesSlopeAt(x.f, f, df)
		unclipped(x.f, x.Clip, f, df)
	}
	elementwise.TimesSlopeAt(x.f, i, di)
	unclipped(x.f, x.Clip, i, di)
	elementwise.TimesSlopeAt(x.g, g, dz)
	unclipped(x.g, x.Clip, g, dz)
	elementwise.BinaryInto(elementwise.OpMul, dc, dc, f)
	if x.d.P != nil {
		vector.AddProduct(dc, x.d.P[:hid], di)
		vector.AddProduct(dc, x.d.P[2*hid:3*hid], df)
	}
}

// peepholeGrad computes dp from the initial cells and the gates' gradients.
func (x *lstm[T]) peepholeGrad(c0, dg, dp []T) {
	hid := x.Hidden
	clear(dp)
	for n := range x.Batch {
		for step := range x.Seq {
			t, ok := x.time(n, step)
			if !ok {
				break
			}
			row := t*x.Batch + n
			d, prev := dg[row*4*hid:][:4*hid], stateBefore(x.RNNShape, n, step, c0, x.cells)
			vector.AddProduct(dp[:hid], d[:hid], prev)
			vector.AddProduct(dp[hid:2*hid], d[hid:2*hid], x.cells[row*hid:][:hid])
			vector.AddProduct(dp[2*hid:], d[2*hid:3*hid], prev)
		}
	}
}
