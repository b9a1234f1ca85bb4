package kernel

// GRUReserve is the number of elements of RNNData.Reserve: for each (time, batch
// element) the three activated gates, the state, and what the reset gate multiplies
// with LinearBeforeReset.
func GRUReserve(s *RNNShape) int { return 5 * s.rows() * s.Hidden }

// gru is one run of GRU or GRUGrad.
type gru[T Float] struct {
	*RNNShape
	d              *RNNData[T]
	f, g           Activation
	inner          []T // where a step is one kernel, the bias of the hidden gate's product [Hidden], else nil
	gates          []T // [Seq, Batch, 3*Hidden]
	states, linear []T // [Seq, Batch, Hidden]
}

func newGRU[T Float](s *RNNShape, d *RNNData[T], reserve []T) *gru[T] {
	n := s.rows() * s.Hidden
	return &gru[T]{
		RNNShape: s, d: d, f: s.Act[0].or(ActSigmoid), g: s.Act[1].or(ActTanh),
		gates: reserve[:3*n], states: reserve[3*n:][:n], linear: reserve[4*n:][:n],
	}
}

// GRU runs one direction of ONNX's GRU. scratch may be nil.
func GRU[T Float](p *Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) {
	reserve := d.Reserve
	if reserve == nil {
		reserve = take(scratch, GRUReserve(s))
	}
	x := newGRU(s, d, reserve)
	hid := s.Hidden
	project(p, s, d, 3, x.bias(scratch), x.gates)
	first := 3 // gates whose recurrent part is a product with H itself
	if !s.LinearBeforeReset {
		first = 2
	}
	r := Pack(p, true, hid, first*hid, d.R, hid, take(scratch, PackedLen(hid, first*hid)))
	var rh Packed[T]
	var reset []T
	if first == 2 {
		rh = Pack(p, true, hid, hid, d.R[2*hid*hid:], hid, take(scratch, PackedLen(hid, hid)))
		reset = take(scratch, s.Batch*hid)
		clear(reset)
	}
	h := initial(d.H0, take(scratch, s.Batch*hid))
	sums := take(scratch, s.Batch*3*hid)
	if usualGRU(s, d) {
		x.inner = initial(d.innerBias(hid), take(scratch, hid))
	}
	eachStream(p, s, func(b stream) {
		resetGate := b.rows(4*hid, func(_, n, t int) { x.resetStep(t*s.Batch+n, n, h, sums, reset) })
		advance := b.rows(4*hid, func(_, n, t int) {
			if x.inner != nil {
				x.wholeStep(t*s.Batch+n, h[n*hid:][:hid], sums[3*n*hid:][:3*hid])
			} else {
				x.step(t*s.Batch+n, h[n*hid:][:hid], sums[(3*n+2)*hid:][:hid])
			}
			d.storeY(s, t, n, h[n*hid:][:hid])
		})
		for step := range s.Seq {
			streamProduct(&b, h, hid, r, 0, sums, 3*hid)
			if x.inner == nil {
				resetGate(step)
			}
			if first == 2 {
				streamProduct(&b, reset, hid, rh, 0, sums[2*hid:], 3*hid)
			}
			advance(step)
		}
	})
	d.clearY(s)
	copy(d.YH, h)
}

// bias is what to add to X*Wᵀ: both biases, save that of R for the hidden gate where
// the reset gate multiplies it.
func (x *gru[T]) bias(scratch func(n int) []T) []T {
	if x.d.B == nil {
		return nil
	}
	hid := x.Hidden
	b := take(scratch, 3*hid)
	binaryVV(OpAdd, b, x.d.B[:3*hid], x.d.B[3*hid:6*hid])
	if x.LinearBeforeReset {
		copy(b[2*hid:], x.d.B[2*hid:3*hid])
	}
	return b
}

// resetStep computes the gates z and r of a row and what the reset gate leads to.
func (x *gru[T]) resetStep(row, n int, h, sums, reset []T) {
	hid := x.Hidden
	zr := x.gates[row*3*hid:][:2*hid]
	binaryVV(OpAdd, zr, zr, sums[n*3*hid:][:2*hid])
	clipped(zr, x.Clip)
	apply(x.f, zr)
	if !x.LinearBeforeReset {
		binaryVV(OpMul, reset[n*hid:][:hid], zr[hid:], h[n*hid:][:hid])
		return
	}
	u := sums[(3*n+2)*hid:][:hid]
	if x.d.B != nil {
		binaryVV(OpAdd, u, u, x.d.B[5*hid:6*hid])
	}
	copy(x.linear[row*hid:], u)
	binaryVV(OpMul, u, u, zr[hid:])
}

// step computes the hidden gate of a row, whose recurrent part is u, and advances h.
func (x *gru[T]) step(row int, h, u []T) {
	hid := x.Hidden
	z, g := x.gates[row*3*hid:][:hid], x.gates[(3*row+2)*hid:][:hid]
	binaryVV(OpAdd, g, g, u)
	clipped(g, x.Clip)
	apply(x.g, g)
	binaryVV(OpSub, h, h, g)
	binaryVV(OpMul, h, h, z)
	binaryVV(OpAdd, h, h, g)
	copy(x.states[row*hid:], h)
}

// usualGRU tells whether the assembly of a time step applies: the activations are the usual ones, the reset gate
// multiplies the product, and nothing is clipped.
func usualGRU[T Float](s *RNNShape, d *RNNData[T]) bool {
	return simd && single[T]() && s.Hidden > 0 && s.LinearBeforeReset && s.Clip <= 0 &&
		s.Act[0].or(ActSigmoid).Kind == ActSigmoid && s.Act[1].or(ActTanh).Kind == ActTanh
}

// innerBias is what a GRU with LinearBeforeReset adds to the product of the hidden gate; nil: nothing.
func (d *RNNData[T]) innerBias(hid int) []T {
	if d.B == nil {
		return nil
	}
	return d.B[5*hid : 6*hid]
}

// wholeStep is resetStep and step in one.
func (x *gru[T]) wholeStep(row int, h, sums []T) {
	hid := x.Hidden
	gates := x.gates[row*3*hid:][:3*hid]
	if x.d.Reserve == nil {
		gruStep(hid, &as32(gates)[0], &as32(sums)[0], &as32(x.inner)[0], &as32(h)[0])
		return
	}
	linear, states := x.linear[row*hid:][:hid], x.states[row*hid:][:hid]
	gruStepKept(hid, &as32(gates)[0], &as32(sums)[0], &as32(x.inner)[0], &as32(h)[0], &as32(linear)[0], &as32(states)[0])
}
