package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// lstmStream is LSTM for inference. A step is a single product of [x, h] with the stacked weights
// W and R. Its data stay in the caches:
// the packed weights and the gates of one time step, ordered gate, batch element, unit.
func lstmStream[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], bias []T, scratch func(n int) []T) {
	hid, cols, deep := s.Hidden, 4*s.Hidden, s.Input+s.Hidden
	x := lstmStreamer[T]{
		RNNShape: s, d: d, bias: bias, usual: usual(s, d), deep: deep,
		f: s.Act[0].Or(elementwise.ActSigmoid), g: s.Act[1].Or(elementwise.ActTanh), act: s.Act[2].Or(elementwise.ActTanh),
		weights: matmul.PackStacked(p, d.W, d.R, s.Input, deep, cols, kernel.Take(scratch, matmul.PackedLen(deep, cols))),
		in:      kernel.Take(scratch, s.Batch*deep),
		c:       initial(d.C0, kernel.Take(scratch, s.Batch*hid)),
		gates:   kernel.Take(scratch, s.Batch*cols),
	}
	kernel.Clear(p, x.in)
	pace := p.Pace()
	for n := range s.Batch {
		if pace.Did(1 + hid); d.H0 != nil {
			copy(x.hidden(n), d.H0[n*hid:])
		}
	}
	if !x.usual {
		x.biases = kernel.Take(scratch, s.Batch*cols)
	}
	eachStream(p, s, x.run)
	for n := range s.Batch {
		if pace.Did(1 + hid); d.YH != nil {
			copy(d.YH[n*hid:], x.hidden(n))
		}
	}
	copy(d.YC, x.c)
}

// lstmStreamer is one run of lstmStream.
type lstmStreamer[T kernel.Float] struct {
	*RNNShape
	d         *RNNData[T]
	f, g, act elementwise.Activation
	weights   matmul.Packed[T]
	deep      int  // Input + Hidden
	in        []T  // [Batch, deep], the inputs of a step and the hidden states before it
	c         []T  // [Batch, Hidden]
	usual     bool // a step of one batch element is one kernel
	bias      []T  // [4*Hidden]
	biases    []T  // bias as the gates are, where the gates begin as biases; else nil
	gates     []T  // for each part of the batch [4, its elements, Hidden]
}

// hidden returns the hidden state of batch element n.
func (x *lstmStreamer[T]) hidden(n int) []T { return x.in[n*x.deep+x.Input:][:x.Hidden] }

// run takes batch elements through the sequence.
func (x *lstmStreamer[T]) run(part stream) {
	lo, hi := part.lo, part.hi
	hid, n := x.Hidden, (hi-lo)*x.Hidden
	m := matmul.Product[T]{M: hi - lo, N: 4 * hid, K: x.deep, Alpha: 1, A: x.in[lo*x.deep:], RsA: x.deep, CsA: 1,
		Packed: x.weights.Data, C: x.gates[4*lo*hid:][:4*n], LDC: hid, Span: hid, Image: n}
	var biases []T
	if x.biases != nil {
		m.Beta = 1
		biases = x.biases[4*lo*hid:][:4*n]
		for at := range 4 * (hi - lo) {
			copy(biases[at*hid:][:hid], x.bias[at/(hi-lo)*hid:])
		}
	}
	pace := part.p.Pace()
	for step := range x.Seq {
		part.check(step)
		t, _ := x.time(0, step)
		for b := lo; b < hi; b++ {
			pace.Did(1 + x.Input)
			copy(x.in[b*x.deep:][:x.Input], x.d.X[(t*x.Batch+b)*x.Input:])
		}
		copy(m.C, biases)
		m.Run(part.p)
		for b := range hi - lo {
			pace.Did(8 + 8*hid)
			x.step(m.C, b*hid, n, x.c[(lo+b)*hid:][:hid], x.hidden(lo+b))
		}
		if x.d.Y != nil {
			for b := lo; b < hi; b++ {
				pace.Did(1 + hid)
				copy(x.d.Y[t*x.yStride()+b*hid:][:hid], x.hidden(b))
			}
		}
	}
}

// step advances the states c and h of a batch element, whose gates are stride elements apart from
// element at on.
func (x *lstmStreamer[T]) step(gates []T, at, stride int, c, h []T) {
	if x.usual {
		usualStep(stride, gates[at:], x.bias, c, h)
		return
	}
	gate := func(k int) []T { return gates[at+k*stride:][:x.Hidden] }
	i, o, f, g := gate(0), gate(1), gate(2), gate(3)
	for _, v := range [][]T{i, o, f} {
		clipped(v, x.Clip)
		elementwise.Apply(x.f, v)
	}
	clipped(g, x.Clip)
	elementwise.Apply(x.g, g)
	elementwise.BinaryInto(elementwise.OpMul, c, c, f)
	vector.AddProduct(c, i, g)
	copy(h, c)
	elementwise.Apply(x.act, h)
	elementwise.BinaryInto(elementwise.OpMul, h, o, h)
}
