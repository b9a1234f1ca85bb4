package kernel

// GRUGrad computes the gradients of GRU. d holds what GRU was given and what it
// wrote to Reserve; Y is not needed. scratch may be nil.
func GRUGrad[T Float](p *Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	x := newGRU(s, d, d.Reserve)
	hid, rows := s.Hidden, s.rows()
	dg := take(scratch, rows*3*hid) // gradients of the gates before activation
	clear(dg)
	dl := dg // those of the recurrent parts, which the reset gate may scale
	if s.LinearBeforeReset {
		dl = take(scratch, rows*3*hid)
		clear(dl)
	}
	dh := initial(g.DYH, take(scratch, s.Batch*hid))
	prev := before(s, d.H0, x.states, take(scratch, rows*hid))
	picked := take(scratch, s.Batch*3*hid)
	sums := take(scratch, s.Batch*hid)
	first := 3
	var rh Packed[T]
	if !s.LinearBeforeReset {
		first = 2
		rh = Pack(p, false, hid, hid, d.R[2*hid*hid:], hid, take(scratch, PackedLen(hid, hid)))
	}
	r := Pack(p, false, first*hid, hid, d.R, hid, take(scratch, PackedLen(first*hid, hid)))
	eachStream(p, s, func(b stream) {
		hiddenGate := b.rows(6*hid, func(_, n, t int) {
			dn := dh[n*hid:][:hid]
			if g.DY != nil {
				binaryVV(OpAdd, dn, dn, g.DY[t*s.yStride()+n*hid:][:hid])
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
		Reduce(p, ReduceSum, 1, rows, 3*hid, g.DB[3*hid:6*hid], dl)
	}
	if g.DR != nil && rows == 0 {
		clear(g.DR)
	} else if g.DR != nil {
		Gemm(p, true, false, first*hid, hid, rows, 1, dl, 3*hid, prev, hid, 0, g.DR, hid)
		if first == 2 { // the hidden gate's R multiplied r*H
			for i := range rows {
				binaryVV(OpMul, prev[i*hid:][:hid], prev[i*hid:][:hid], x.gates[(3*i+1)*hid:][:hid])
			}
			Gemm(p, true, false, hid, hid, rows, 1, dg[2*hid:], 3*hid, prev, hid, 0, g.DR[2*hid*hid:], hid)
		}
	}
}

// hiddenGrad computes the gradients of z and the hidden gate before activation, and
// replaces dh by what reaches the previous state directly.
func (x *gru[T]) hiddenGrad(row int, dh, prev, dg, picked []T) {
	hid := x.Hidden
	gates := x.gates[row*3*hid:][:3*hid]
	z, c := gates[:hid], gates[2*hid:]
	dz, dc := dg[:hid], dg[2*hid:]
	binaryVV(OpSub, dz, prev, c)
	binaryVV(OpMul, dz, dz, dh)
	binaryVS(OpRSub, dc, z, 1)
	binaryVV(OpMul, dc, dc, dh)
	binaryVV(OpMul, dh, dh, z)
	pull(x.f, z, dz)
	unclipped(x.f, x.Clip, z, dz)
	pull(x.g, c, dc)
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
		binaryVV(OpMul, dr, dg[2*hid:], x.linear[row*hid:][:hid])
		binaryVV(OpMul, picked[2*hid:], dg[2*hid:], r)
	} else {
		binaryVV(OpMul, dr, du, prev)
		addProduct(dh, du, r)
	}
	pull(x.f, r, dr)
	unclipped(x.f, x.Clip, r, dr)
	copy(picked[hid:2*hid], dr)
}
