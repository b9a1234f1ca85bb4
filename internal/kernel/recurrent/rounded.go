package recurrent

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// rounded rounds the hidden states h [Batch, Hidden] after a step, −1 for the initial ones, as DynamicQuantizeLinear and
// DequantizeLinear do: to 256 levels of one scale, from the least to the greatest of them and 0. States of sequences that
// had ended before the step do not count and become 0, as ONNX Runtime has it in DynamicQuantizeLSTM when Y is requested and
// the batch is not distributed over threads.
func rounded[T kernel.Float](s *RNNShape, step int, h []T) {
	roundRows(s, step, func(n int) []T { return h[n*s.Hidden:][:s.Hidden] })
}

func roundRows[T kernel.Float](s *RNNShape, step int, row func(n int) []T) {
	var lo, hi T
	for n := range s.Batch {
		if _, ok := s.time(n, step); !ok && step >= 0 {
			clear(row(n))
			continue
		}
		for _, v := range row(n) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	scale := (hi - lo) / 255
	if scale == 0 {
		return
	}
	zero := math.RoundToEven(float64(min(max(-lo/scale, 0), 255)))
	for n := range s.Batch {
		for i, v := range row(n) {
			q := math.RoundToEven(float64(v/scale)) + zero
			row(n)[i] = T(min(max(q, 0), 255)-zero) * scale
		}
	}
}

// roundAll rounds the hidden states after each step, [Seq, Batch, Hidden], in place, and returns the rounded initial ones
// in out, nil if there are none. Those after the end of a sequence must be 0.
func (x *lstm[T]) roundAll(h0, hidden, out []T) []T {
	none := make([]T, x.Hidden)
	for step := range x.Seq {
		roundRows(x.RNNShape, step, func(n int) []T {
			if t, ok := x.time(n, step); ok {
				return hidden[(t*x.Batch+n)*x.Hidden:][:x.Hidden]
			}
			return none
		})
	}
	if h0 == nil {
		return nil
	}
	copy(out, h0)
	rounded(x.RNNShape, -1, out)
	return out
}
