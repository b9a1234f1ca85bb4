package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// GRUReserve returns the number of elements of RNNData.Reserve: for each (time, batch
// element) the three activated gates, the state, and with LinearBeforeReset the factor of
// the reset gate.
func GRUReserve(s *RNNShape) int { return 5 * s.rows() * s.Hidden }

// gru is one run of GRU or GRUGrad.
type gru[T kernel.Float] struct {
	*RNNShape
	d              *RNNData[T]
	f, g           elementwise.Activation
	inner          []T // where a step is one kernel, the bias of the hidden gate's product [Hidden], else nil
	gates          []T // [Seq, Batch, 3*Hidden]
	states, linear []T // [Seq, Batch, Hidden]
}

func newGRU[T kernel.Float](s *RNNShape, d *RNNData[T], reserve []T) *gru[T] {
	n := s.rows() * s.Hidden
	return &gru[T]{
		RNNShape: s, d: d, f: s.Act[0].Or(elementwise.ActSigmoid), g: s.Act[1].Or(elementwise.ActTanh),
		gates: reserve[:3*n], states: reserve[3*n:][:n], linear: reserve[4*n:][:n],
	}
}

// GRU runs one direction of ONNX's GRU. scratch may be nil.
func GRU[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) {
	reserve := d.Reserve
	if reserve == nil {
		reserve = kernel.Take(scratch, GRUReserve(s))
	}
	x := newGRU(s, d, reserve)
	hid := s.Hidden
	project(p, s, d, 3, x.bias(scratch), x.gates)
	first := 3 // gates whose recurrent part is a product with H itself
	if !s.LinearBeforeReset {
		first = 2
	}
	r := matmul.Pack(p, true, hid, first*hid, d.R, hid, kernel.Take(scratch, matmul.PackedLen(hid, first*hid)))
	var rh matmul.Packed[T]
	var reset []T
	if first == 2 {
		rh = matmul.Pack(p, true, hid, hid, d.R[2*hid*hid:], hid, kernel.Take(scratch, matmul.PackedLen(hid, hid)))
		reset = kernel.Take(scratch, s.Batch*hid)
		clear(reset)
	}
	h := initial(d.H0, kernel.Take(scratch, s.Batch*hid))
	sums := kernel.Take(scratch, s.Batch*3*hid)
	if usualGRU(s, d) {
		x.inner = initial(d.innerBias(hid), kernel.Take(scratch, hid))
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

// bias returns the bias of X*Wᵀ: the sum of both biases, except that of R for the hidden gate if
// the reset gate multiplies it.
func (x *gru[T]) bias(scratch func(n int) []T) []T {
	if x.d.B == nil {
		return nil
	}
	hid := x.Hidden
	b := kernel.Take(scratch, 3*hid)
	elementwise.BinaryInto(elementwise.OpAdd, b, x.d.B[:3*hid], x.d.B[3*hid:6*hid])
	if x.LinearBeforeReset {
		copy(b[2*hid:], x.d.B[2*hid:3*hid])
	}
	return b
}

// resetStep computes the gates z and r of a row, and the product with the reset gate.
func (x *gru[T]) resetStep(row, n int, h, sums, reset []T) {
	hid := x.Hidden
	zr := x.gates[row*3*hid:][:2*hid]
	elementwise.BinaryInto(elementwise.OpAdd, zr, zr, sums[n*3*hid:][:2*hid])
	clipped(zr, x.Clip)
	elementwise.Apply(x.f, zr)
	if !x.LinearBeforeReset {
		elementwise.BinaryInto(elementwise.OpMul, reset[n*hid:][:hid], zr[hid:], h[n*hid:][:hid])
		return
	}
	u := sums[(3*n+2)*hid:][:hid]
	if x.d.B != nil {
		elementwise.BinaryInto(elementwise.OpAdd, u, u, x.d.B[5*hid:6*hid])
	}
	copy(x.linear[row*hid:], u)
	elementwise.BinaryInto(elementwise.OpMul, u, u, zr[hid:])
}

// step computes the hidden gate of a row, whose recurrent part is u, and advances h.
func (x *gru[T]) step(row int, h, u []T) {
	hid := x.Hidden
	z, g := x.gates[row*3*hid:][:hid], x.gates[(3*row+2)*hid:][:hid]
	elementwise.BinaryInto(elementwise.OpAdd, g, g, u)
	clipped(g, x.Clip)
	elementwise.Apply(x.g, g)
	elementwise.BinaryInto(elementwise.OpSub, h, h, g)
	elementwise.BinaryInto(elementwise.OpMul, h, h, z)
	elementwise.BinaryInto(elementwise.OpAdd, h, h, g)
	copy(x.states[row*hid:], h)
}

// usualGRU reports whether the assembly of a time step applies: the activations are the usual ones, the reset gate
// multiplies the product, and nothing is clipped.
func usualGRU[T kernel.Float](s *RNNShape, d *RNNData[T]) bool {
	return kernel.SIMD && kernel.IsFloat32[T]() && s.Hidden > 0 && s.LinearBeforeReset && s.Clip <= 0 &&
		s.Act[0].Or(elementwise.ActSigmoid).Kind == elementwise.ActSigmoid && s.Act[1].Or(elementwise.ActTanh).Kind == elementwise.ActTanh
}

// innerBias returns the bias of the hidden gate's product in a GRU with LinearBeforeReset; nil: none.
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
		gruStep(hid, &kernel.Float32s(gates)[0], &kernel.Float32s(sums)[0], &kernel.Float32s(x.inner)[0], &kernel.Float32s(h)[0])
		return
	}
	linear, states := x.linear[row*hid:][:hid], x.states[row*hid:][:hid]
	gruStepKept(hid, &kernel.Float32s(gates)[0], &kernel.Float32s(sums)[0], &kernel.Float32s(x.inner)[0], &kernel.Float32s(h)[0], &kernel.Float32s(linear)[0], &kernel.Float32s(states)[0])
}
