package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/reduce"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// GRUGrad computes the gradients of GRU. d holds the arguments of GRU and the Reserve that it
// wrote; Y is not needed. scratch may be nil.
func GRUGrad[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	x := newGRU(s, d, d.Reserve)
	hid, rows := s.Hidden, s.rows()
	dg := kernel.Take(scratch, rows*3*hid) // gradients of the gates before activation
	clear(dg)
	dl := dg // those of the recurrent parts, which the reset gate may scale
	if s.LinearBeforeReset {
		dl = kernel.Take(scratch, rows*3*hid)
		clear(dl)
	}
	dh := initial(g.DYH, kernel.Take(scratch, s.Batch*hid))
	prev := before(s, d.H0, x.states, kernel.Take(scratch, rows*hid))
	picked := kernel.Take(scratch, s.Batch*3*hid)
	sums := kernel.Take(scratch, s.Batch*hid)
	first := 3
	var rh matmul.Packed[T]
	if !s.LinearBeforeReset {
		first = 2
		rh = matmul.Pack(p, false, hid, hid, d.R[2*hid*hid:], hid, kernel.Take(scratch, matmul.PackedLen(hid, hid)))
	}
	r := matmul.Pack(p, false, first*hid, hid, d.R, hid, kernel.Take(scratch, matmul.PackedLen(first*hid, hid)))
	eachStream(p, s, func(b stream) {
		hiddenGate := b.rows(6*hid, func(_, n, t int) {
			dn := dh[n*hid:][:hid]
			if g.DY != nil {
				elementwise.BinaryInto(elementwise.OpAdd, dn, dn, g.DY[t*s.yStride()+n*hid:][:hid])
			}
			row := t*s.Batch + n
			x.hiddenGrad(row, dn, prev[row*hid:][:hid], dg[row*3*hid:][:3*hid], picked[n*3*hid:][:3*hid])
		})
		resetGate := b.rows(6*hid, func(_, n, t int) {
			row := t*s.Batch + n
			x.resetGrad(row, dh[n*hid:][:hid], prev[row*hid:][:hid], sums[n*hid:][:hid], dg[row*3*hid:][:3*hid], picked[n*3*hid:][:3*hid])
			copy(dl[row*3*hid:], picked[n*3*hid:][:3*hid])
		})
		for step := s.Seq - 1; step >= 0; step-- {
			clear(picked[b.lo*3*hid : b.hi*3*hid]) // elements whose sequence is over stay 0
			hiddenGate(step)
			if first == 2 {
				streamProduct(&b, picked[2*hid:], 3*hid, rh, 0, sums, hid)
			}
			resetGate(step)
			streamProduct(&b, picked, 3*hid, r, 1, dh, hid)
		}
	})
	copy(g.DH0, dh)
	weightGrads(p, s, d, g, 3, dg)
	if g.DB != nil {
		reduce.Reduce(p, reduce.ReduceSum, 1, rows, 3*hid, g.DB[3*hid:6*hid], dl)
	}
	if g.DR != nil && rows == 0 {
		clear(g.DR)
	} else if g.DR != nil {
		matmul.Gemm(p, true, false, first*hid, hid, rows, 1, dl, 3*hid, prev, hid, 0, g.DR, hid)
		if first == 2 { // the hidden gate's R multiplied r*H
			for i := range rows {
				elementwise.BinaryInto(elementwise.OpMul, prev[i*hid:][:hid], prev[i*hid:][:hid], x.gates[(3*i+1)*hid:][:hid])
			}
			matmul.Gemm(p, true, false, hid, hid, rows, 1, dg[2*hid:], 3*hid, prev, hid, 0, g.DR[2*hid*hid:], hid)
		}
	}
}

// hiddenGrad computes the gradients of z and the hidden gate before activation, and
// replaces dh by its direct contribution to the previous state's gradient.
func (x *gru[T]) hiddenGrad(row int, dh, prev, dg, picked []T) {
	hid := x.Hidden
	gates := x.gates[row*3*hid:][:3*hid]
	z, c := gates[:hid], gates[2*hid:]
	dz, dc := dg[:hid], dg[2*hid:]
	elementwise.BinaryInto(elementwise.OpSub, dz, prev, c)
	elementwise.BinaryInto(elementwise.OpMul, dz, dz, dh)
	elementwise.BinaryScalarInto(elementwise.OpRSub, dc, z, 1)
	elementwise.BinaryInto(elementwise.OpMul, dc, dc, dh)
	elementwise.BinaryInto(elementwise.OpMul, dh, dh, z)
	elementwise.TimesSlopeAt(x.f, z, dz)
	unclipped(x.f, x.Clip, z, dz)
	elementwise.TimesSlopeAt(x.g, c, dc)
	unclipped(x.g, x.Clip, c, dc)
	copy(picked[:hid], dz)
	copy(picked[2*hid:], dc)
}

// resetGrad computes the gradient of r before activation; du is that of r*H where
// the product with R comes after the reset.
func (x *gru[T]) resetGrad(row int, dh, prev, du, dg, picked []T) {
	hid := x.Hidden
	r := x.gates[(3*row+1)*hid:][:hid]
	dr := dg[hid : 2*hid]
	if x.LinearBeforeReset {
		elementwise.BinaryInto(elementwise.OpMul, dr, dg[2*hid:], x.linear[row*hid:][:hid])
		elementwise.BinaryInto(elementwise.OpMul, picked[2*hid:], dg[2*hid:], r)
	} else {
		elementwise.BinaryInto(elementwise.OpMul, dr, du, prev)
		vector.AddProduct(dh, du, r)
	}
	elementwise.TimesSlopeAt(x.f, r, dr)
	unclipped(x.f, x.Clip, r, dr)
	copy(picked[hid:2*hid], dr)
}
