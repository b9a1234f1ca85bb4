package recurrent

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestLSTMStream compares the implementation for inference with the forward pass of training.
func TestLSTMStream(t *testing.T) {
	for name, p := range kerneltest.Pools(t) {
		for _, s := range []RNNShape{
			{Seq: 5, Batch: 1, Input: 3, Hidden: 7},
			{Seq: 4, Batch: 13, Input: 20, Hidden: 16, Reverse: true},
			{Seq: 3, Batch: 32, Input: 9, Hidden: 33, Clip: 0.3, YStride: 2 * 32 * 33},
			{Seq: 2, Batch: 9, Input: 1, Hidden: 1, Act: [3]elementwise.Activation{{Kind: elementwise.ActHardSigmoid, Alpha: 0.2, Beta: 0.5}}},
		} {
			for _, state := range []bool{false, true} {
				n := s.Batch * s.Hidden
				d := RNNData[float32]{
					X: kerneltest.Random[float32](s.Seq*s.Batch*s.Input, 1), W: kerneltest.Random[float32](4*s.Hidden*s.Input, 2), R: kerneltest.Random[float32](4*s.Hidden*s.Hidden, 3),
					Reserve: make([]float32, LSTMReserve(&s)),
				}
				if state {
					d.B, d.H0, d.C0 = kerneltest.Random[float32](8*s.Hidden, 4), kerneltest.Random[float32](n, 5), kerneltest.Random[float32](n, 6)
				}
				outputs := func(d *RNNData[float32]) {
					d.Y, d.YH, d.YC = make([]float32, s.Seq*s.yStride()), make([]float32, n), make([]float32, n)
				}
				outputs(&d)
				LSTM(p, &s, &d, nil)
				e := d
				e.Reserve = nil
				outputs(&e)
				LSTM(p, &s, &e, nil)
				what := fmt.Sprint(name, s, state)
				kerneltest.Near(t, what, e.Y, d.Y, 1e-5)
				kerneltest.Near(t, what, e.YH, d.YH, 1e-5)
				kerneltest.Near(t, what, e.YC, d.YC, 1e-5)
			}
		}
	}
}
