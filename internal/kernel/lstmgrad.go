package kernel

// LSTMGrad computes the gradients of LSTM. d holds what LSTM was given and what it
// wrote to Reserve; Y is not needed. scratch may be nil.
func LSTMGrad[T Float](p *Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	x := newLSTM(s, d, d.Reserve)
	hid, rows := s.Hidden, s.rows()
	dg := take(scratch, rows*4*hid)
	clear(dg)
	dh := initial(g.DYH, take(scratch, s.Batch*hid))
	dc := initial(g.DYC, take(scratch, s.Batch*hid))
	cells := before(s, d.C0, x.cells, take(scratch, rows*hid))
	r := Pack(p, false, 4*hid, hid, d.R, hid, take(scratch, PackedLen(4*hid, hid)))
	var sums, picked []T
	if s.Lens != nil {
		sums, picked = take(scratch, s.Batch*hid), take(scratch, s.Batch*4*hid)
	}
	for step := s.Seq - 1; step >= 0; step-- {
		rowsOf(p, s, step, 10*hid, func(n, t int) {
			if g.DY != nil {
				binaryVV(OpAdd, dh[n*hid:][:hid], dh[n*hid:][:hid], g.DY[t*s.yStride()+n*hid:][:hid])
			}
			row := t*s.Batch + n
			x.stepGrad(row, dh[n*hid:][:hid], dc[n*hid:][:hid], cells[row*hid:][:hid], dg[row*4*hid:][:4*hid])
		})
		backThrough(p, s, step, r, 4*hid, dg, dh, sums, picked)
	}
	copy(g.DH0, dh)
	copy(g.DC0, dc)
	weightGrads(p, s, d, g, 4, dg)
	if g.DB != nil {
		copy(g.DB[4*hid:8*hid], g.DB[:4*hid])
	}
	if g.DP != nil {
		x.peepholeGrad(cells, dg, g.DP[:3*hid])
	}
	if g.DR != nil {
		hidden := take(scratch, rows*hid) // after each step
		for i := range rows {
			binaryVV(OpMul, hidden[i*hid:][:hid], x.gates[(4*i+1)*hid:][:hid], x.outputs[i*hid:][:hid])
		}
		prev := before(s, d.H0, hidden, cells) // whose memory is free by now
		Gemm(p, true, false, 4*hid, hid, rows, 1, dg, 4*hid, prev, hid, 0, g.DR, hid)
	}
}

// backThrough sets dh to the gradient of the hidden state before a step, from those
// of the gates, where the sequence is active.
func backThrough[T Float](p *Pool, s *RNNShape, step int, r Packed[T], cols int, dg, dh, sums, picked []T) {
	hid := s.Hidden
	if s.Lens == nil {
		t, _ := s.time(0, step)
		GemmPacked(p, false, s.Batch, 1, dg[t*s.Batch*cols:], cols, r, 0, dh, hid)
		return
	}
	for n := range s.Batch {
		if t, ok := s.time(n, step); ok {
			copy(picked[n*cols:][:cols], dg[(t*s.Batch+n)*cols:])
		} else {
			clear(picked[n*cols:][:cols])
		}
	}
	GemmPacked(p, false, s.Batch, 1, picked, cols, r, 0, sums, hid)
	for n := range s.Batch {
		if _, ok := s.time(n, step); ok {
			copy(dh[n*hid:][:hid], sums[n*hid:])
		}
	}
}

// stepGrad writes the gradients of row r's gates before activation to dg, and turns
// dc from that of the cell after the step, what comes through h not counted, into
// that of the cell before it, prev.
func (x *lstm[T]) stepGrad(r int, dh, dc, prev, dg []T) {
	hid := x.Hidden
	gates, out := x.gates[r*4*hid:][:4*hid], x.outputs[r*hid:][:hid]
	if x.usual {
		usualStepGrad(gates, out, prev, dh, dc, dg)
		return
	}
	i, o, f, g := gates[:hid], gates[hid:2*hid], gates[2*hid:3*hid], gates[3*hid:]
	di, do, df, dz := dg[:hid], dg[hid:2*hid], dg[2*hid:3*hid], dg[3*hid:]
	binaryVV(OpMul, do, dh, out)
	pull(x.f, o, do)
	unclipped(x.f, x.Clip, o, do)
	binaryVV(OpMul, dz, dh, o) // dz holds the gradient of the cell for a moment
	pull(x.h, out, dz)
	binaryVV(OpAdd, dc, dc, dz)
	if x.d.P != nil {
		addProduct(dc, x.d.P[hid:2*hid], do)
	}
	binaryVV(OpMul, di, dc, g)
	binaryVV(OpMul, df, dc, prev)
	binaryVV(OpMul, dz, dc, i)
	if x.InputForget {
		binaryVV(OpSub, di, di, df)
		clear(df)
	} else {
		pull(x.f, f, df)
		unclipped(x.f, x.Clip, f, df)
	}
	pull(x.f, i, di)
	unclipped(x.f, x.Clip, i, di)
	pull(x.g, g, dz)
	unclipped(x.g, x.Clip, g, dz)
	binaryVV(OpMul, dc, dc, f)
	if x.d.P != nil {
		addProduct(dc, x.d.P[:hid], di)
		addProduct(dc, x.d.P[2*hid:3*hid], df)
	}
}

// peepholeGrad computes dp from the cells before each step and the gates' gradients.
func (x *lstm[T]) peepholeGrad(prev, dg, dp []T) {
	hid := x.Hidden
	clear(dp)
	for r := range x.rows() {
		d := dg[r*4*hid:][:4*hid]
		addProduct(dp[:hid], d[:hid], prev[r*hid:][:hid])
		addProduct(dp[hid:2*hid], d[hid:2*hid], x.cells[r*hid:][:hid])
		addProduct(dp[2*hid:], d[2*hid:3*hid], prev[r*hid:][:hid])
	}
}
