package kernel

// lstmStream is LSTM for inference. Batch elements do not depend on each other, so each thread takes
// some of them through the whole sequence, without meeting the others; what a step needs stays in
// the caches: the packed weights and the gates of one time step, ordered gate, batch element, unit.
func lstmStream[T Float](p *Pool, s *RNNShape, d *RNNData[T], bias []T, scratch func(n int) []T) {
	hid, cols := s.Hidden, 4*s.Hidden
	x := lstmStreamer[T]{
		RNNShape: s, d: d, bias: bias, usual: usual(s, d),
		f: s.Act[0].or(ActSigmoid), g: s.Act[1].or(ActTanh), act: s.Act[2].or(ActTanh),
		w: Pack(p, true, s.Input, cols, d.W, s.Input, take(scratch, PackedLen(s.Input, cols))),
		r: Pack(p, true, hid, cols, d.R, hid, take(scratch, PackedLen(hid, cols))),
		h: initial(d.H0, take(scratch, s.Batch*hid)),
		c: initial(d.C0, take(scratch, s.Batch*hid)),
	}
	x.gates, x.out = take(scratch, s.Batch*cols), take(scratch, s.Batch*hid)
	if !x.usual {
		x.biases = take(scratch, s.Batch*cols)
	}
	if s.Batch < streamRows*p.Threads() {
		x.run(p, 0, s.Batch)
	} else {
		p.Range(s.Batch, streamRows, func(lo, hi int) { x.run(nil, lo, hi) })
	}
	copy(d.YH, x.h)
	copy(d.YC, x.c)
}

// streamRows is how many batch elements a thread takes at least: with fewer, the weights are read
// for too few products.
const streamRows = 4

// lstmStreamer is one run of lstmStream.
type lstmStreamer[T Float] struct {
	*RNNShape
	d         *RNNData[T]
	f, g, act Activation
	w, r      Packed[T]
	h, c      []T  // [Batch, Hidden]
	out       []T  // [Batch, Hidden], the activated cells
	usual     bool // a step of one batch element is one kernel
	bias      []T  // [4*Hidden]
	biases    []T  // bias as the gates lie, where the gates begin as biases; else nil
	gates     []T  // for each part of the batch [4, its elements, Hidden]
}

// run takes batch elements lo to hi through the sequence.
func (x *lstmStreamer[T]) run(p *Pool, lo, hi int) {
	hid, n := x.Hidden, (hi-lo)*x.Hidden
	gates := x.gates[4*lo*hid:][:4*n]
	h, c, out := x.h[lo*hid:][:n], x.c[lo*hid:][:n], x.out[lo*hid:][:n]
	var biases []T
	if x.biases != nil {
		biases = x.biases[4*lo*hid:][:4*n]
		for at := range 4 * (hi - lo) {
			copy(biases[at*hid:][:hid], x.bias[at/(hi-lo)*hid:])
		}
	}
	sum := func(packed Packed[T], a []T, beta T) {
		m := product[T]{m: hi - lo, n: 4 * hid, k: packed.K, alpha: 1, a: a, rsA: packed.K, csA: 1,
			packed: packed.data, beta: beta, c: gates, ldc: hid, span: hid, image: n}
		m.run(p)
	}
	var beta T
	if biases != nil {
		beta = 1
	}
	i, o, f, g := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:]
	for step := range x.Seq {
		t, _ := x.time(0, step)
		copy(gates, biases)
		sum(x.w, x.d.X[(t*x.Batch+lo)*x.Input:], beta)
		sum(x.r, h, 1)
		for at := 0; at < n && x.usual; at += hid {
			usualStep(n, gates[at:], x.bias, c[at:][:hid], h[at:][:hid])
		}
		if !x.usual {
			clipped(gates, x.Clip)
			apply(x.f, gates[:3*n])
			apply(x.g, g)
			binaryVV(OpMul, c, c, f)
			addProduct(c, i, g)
			copy(out, c)
			apply(x.act, out)
			binaryVV(OpMul, h, o, out)
		}
		if x.d.Y != nil {
			copy(x.d.Y[t*x.yStride()+lo*hid:], h)
		}
	}
}
