package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// RNNReserve returns the number of elements of RNNData.Reserve: the states.
func RNNReserve(s *RNNShape) int { return s.rows() * s.Hidden }

// RNN runs one direction of ONNX's RNN: H = f(X*Wᵀ + Wb + H*Rᵀ + Rb). scratch may be nil.
func RNN[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) {
	hid := s.Hidden
	f := s.Act[0].Or(elementwise.ActTanh)
	states := d.Reserve
	if states == nil {
		states = kernel.Take(scratch, RNNReserve(s))
	}
	var bias []T
	if d.B != nil {
		bias = kernel.Take(scratch, hid)
		elementwise.BinaryInto(elementwise.OpAdd, bias, d.B[:hid], d.B[hid:2*hid])
	}
	project(p, s, d, 1, bias, states[:s.rows()*hid])
	r := matmul.Pack(p, true, hid, hid, d.R, hid, kernel.Take(scratch, matmul.PackedLen(hid, hid)))
	h := initial(d.H0, kernel.Take(scratch, s.Batch*hid))
	sums := kernel.Take(scratch, s.Batch*hid)
	eachStream(p, s, func(b stream) {
		advance := b.rows(2*hid, func(_, n, t int) {
			row := states[(t*s.Batch+n)*hid:][:hid]
			elementwise.BinaryInto(elementwise.OpAdd, row, row, sums[n*hid:][:hid])
			clipped(row, s.Clip)
			elementwise.Apply(f, row)
			copy(h[n*hid:][:hid], row)
			d.storeY(s, t, n, row)
		})
		for step := range s.Seq {
			streamProduct(&b, h, hid, r, 0, sums, hid)
			advance(step)
		}
	})
	d.clearY(s)
	copy(d.YH, h)
}

// RNNGrad computes the gradients of RNN. d holds the arguments of RNN and the Reserve that it
// wrote; Y is not needed. scratch may be nil.
func RNNGrad[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	hid, rows := s.Hidden, s.rows()
	f := s.Act[0].Or(elementwise.ActTanh)
	dg := kernel.Take(scratch, rows*hid)
	clear(dg)
	dh := initial(g.DYH, kernel.Take(scratch, s.Batch*hid))
	r := matmul.Pack(p, false, hid, hid, d.R, hid, kernel.Take(scratch, matmul.PackedLen(hid, hid)))
	var sums, picked []T
	if s.Lens != nil {
		sums, picked = kernel.Take(scratch, s.Batch*hid), kernel.Take(scratch, s.Batch*hid)
	}
	eachStream(p, s, func(b stream) {
		goBack := b.rows(2*hid, func(_, n, t int) {
			row := t*s.Batch + n
			dp, y := dg[row*hid:][:hid], d.Reserve[row*hid:][:hid]
			copy(dp, dh[n*hid:][:hid])
			if g.DY != nil {
				elementwise.BinaryInto(elementwise.OpAdd, dp, dp, g.DY[t*s.yStride()+n*hid:][:hid])
			}
			elementwise.TimesSlopeAt(f, y, dp)
			unclipped(f, s.Clip, y, dp)
		})
		for step := s.Seq - 1; step >= 0; step-- {
			goBack(step)
			backThrough(&b, step, r, hid, dg, dh, sums, picked)
		}
	})
	copy(g.DH0, dh)
	weightGrads(p, s, d, g, 1, dg)
	if g.DB != nil {
		copy(g.DB[hid:2*hid], g.DB[:hid])
	}
	if g.DR != nil {
		prev := before(s, d.H0, d.Reserve, kernel.Take(scratch, rows*hid))
		matmul.Gemm(p, true, false, hid, hid, rows, 1, dg, hid, prev, hid, 0, g.DR, hid)
	}
}
