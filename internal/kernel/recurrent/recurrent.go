package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/reduce"
)

// RNNShape describes one direction of an ONNX recurrent operator with layout 0.
type RNNShape struct {
	Seq, Batch, Input, Hidden int

	Reverse           bool    // time runs backward (within its length, for each batch element)
	Lens              []int   // length of each batch element's sequence, nil = Seq
	Clip              float64 // gates are clipped to ±Clip before their activation; 0 = not
	InputForget       bool    // LSTM: the forget gate is 1 - input gate
	LinearBeforeReset bool    // GRU
	Rounded           bool    // LSTM: the hidden states are rounded before R multiplies them, see rounded

	// Act is ONNX's f, g, h: LSTM's gates, cell input and output; GRU's gates and
	// hidden gate; RNN's only one.
	Act [3]elementwise.Activation

	// YStride is the stride between time steps of Y, in elements. 0: Batch*Hidden;
	// 2*Batch*Hidden if two directions share Y.
	YStride int
}

// RNNData are the operands of one direction. G is the number of gates: 4 for LSTM in
// the order i o f c, 3 for GRU in the order z r h, 1 for RNN.
type RNNData[T kernel.Float] struct {
	X      []T // [Seq, Batch, Input]
	W      []T // [G*Hidden, Input]
	R      []T // [G*Hidden, Hidden]
	B      []T // [2*G*Hidden], of W, then of R; or nil
	P      []T // LSTM: peepholes i o f [3*Hidden], or nil
	H0, C0 []T // [Batch, Hidden], or nil for 0
	Y      []T // out: [Seq, Batch, Hidden] with YStride, or nil
	YH, YC []T // out: [Batch, Hidden], or nil

	// Reserve holds the data for the gradient: LSTMReserve, GRUReserve or RNNReserve
	// elements, written by the forward pass; nil if no gradient is needed. LSTMGrad
	// overwrites it.
	Reserve []T
}

// RNNGrads are the incoming gradients (nil = 0) and those to compute (nil = not
// computed; otherwise overwritten), each in the shape of its operand.
type RNNGrads[T kernel.Float] struct {
	DY, DYH, DYC                 []T
	DX, DW, DR, DB, DP, DH0, DC0 []T
}

func (s *RNNShape) rows() int { return s.Seq * s.Batch }

func (s *RNNShape) yStride() int {
	if s.YStride != 0 {
		return s.YStride
	}
	return s.Batch * s.Hidden
}

// time returns the time step that batch element n is at in the given step of the loop; ok
// is false once its sequence is over.
func (s *RNNShape) time(n, step int) (t int, ok bool) {
	length := s.Seq
	if s.Lens != nil {
		length = s.Lens[n]
	}
	if step >= length {
		return 0, false
	}
	if s.Reverse {
		return length - 1 - step, true
	}
	return step, true
}

// project computes X*Wᵀ plus the given bias, [Seq, Batch, gates*Hidden], for all
// time steps in one product.
func project[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], gates int, bias, out []T) {
	cols := gates * s.Hidden
	matmul.GemmEpilogue(p, false, true, s.rows(), cols, s.Input, 1, d.X, s.Input, d.W, s.Input, 0, out, cols, elementwise.Epilogue[T]{Shift: bias})
}

// initial returns a copy of the initial state, in out.
func initial[T kernel.Float](state, out []T) []T {
	clear(out)
	copy(out, state)
	return out
}

// clipped limits x to ±limit.
func clipped[T kernel.Float](x []T, limit float64) {
	if limit <= 0 {
		return
	}
	l := T(limit)
	for i, v := range x {
		if v > l {
			x[i] = l
		} else if v < -l {
			x[i] = -l
		}
	}
}

// unclipped sets d to 0 where the activation had been given a clipped value: there
// its output y is f(±limit). All activations are monotonic.
func unclipped[T kernel.Float](a elementwise.Activation, limit float64, y, d []T) {
	if limit <= 0 {
		return
	}
	ends := [2]T{T(-limit), T(limit)}
	elementwise.Apply(a, ends[:])
	for i, v := range y {
		if v <= ends[0] || v >= ends[1] {
			d[i] = 0
		}
	}
}

// storeY writes a state as the output of time step t.
func (d *RNNData[T]) storeY(s *RNNShape, t, n int, h []T) {
	if d.Y != nil {
		copy(d.Y[t*s.yStride()+n*s.Hidden:][:s.Hidden], h)
	}
}

// clearY sets the outputs beyond the sequences' ends to 0.
func (d *RNNData[T]) clearY(s *RNNShape) {
	if d.Y == nil || s.Lens == nil {
		return
	}
	for n, length := range s.Lens {
		for t := length; t < s.Seq; t++ {
			clear(d.Y[t*s.yStride()+n*s.Hidden:][:s.Hidden])
		}
	}
}

// before writes, for each (time, batch element), the hidden state that its step
// started from, given the states after each step; 0 beyond the ends.
func before[T kernel.Float](s *RNNShape, h0, h, out []T) []T {
	clear(out)
	hid := s.Hidden
	for n := range s.Batch {
		from := []T(nil)
		if h0 != nil {
			from = h0[n*hid:][:hid]
		}
		for step := range s.Seq {
			t, ok := s.time(n, step)
			if !ok {
				break
			}
			at := (t*s.Batch + n) * hid
			copy(out[at:][:hid], from)
			from = h[at:][:hid]
		}
	}
	return out
}

// weightGrads computes the gradients of X, W and the first half of B from the gradients dg [Seq, Batch, gates*Hidden]
// of the gates before activation.
func weightGrads[T kernel.Float](p *kernel.Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], gates int, dg []T) {
	cols, rows := gates*s.Hidden, s.rows()
	if g.DX != nil {
		matmul.Gemm(p, false, false, rows, s.Input, cols, 1, dg, cols, d.W, s.Input, 0, g.DX, s.Input)
	}
	if g.DW != nil {
		matmul.Gemm(p, true, false, cols, s.Input, rows, 1, dg, cols, d.X, s.Input, 0, g.DW, s.Input)
	}
	if g.DB != nil {
		reduce.Reduce(p, reduce.ReduceSum, 1, rows, cols, g.DB[:cols], dg)
	}
}
