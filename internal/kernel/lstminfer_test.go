package kernel

import (
	"fmt"
	"testing"
)

// Inference takes another way than the forward pass of training, to the same result.
func TestLSTMStream(t *testing.T) {
	for name, p := range pools(t) {
		for _, s := range []RNNShape{
			{Seq: 5, Batch: 1, Input: 3, Hidden: 7},
			{Seq: 4, Batch: 13, Input: 20, Hidden: 16, Reverse: true},
			{Seq: 3, Batch: 32, Input: 9, Hidden: 33, Clip: 0.3, YStride: 2 * 32 * 33},
			{Seq: 2, Batch: 9, Input: 1, Hidden: 1, Act: [3]Activation{{Kind: ActHardSigmoid, Alpha: 0.2, Beta: 0.5}}},
		} {
			for _, state := range []bool{false, true} {
				n := s.Batch * s.Hidden
				d := RNNData[float32]{
					X: random[float32](s.Seq*s.Batch*s.Input, 1), W: random[float32](4*s.Hidden*s.Input, 2), R: random[float32](4*s.Hidden*s.Hidden, 3),
					Reserve: make([]float32, LSTMReserve(&s)),
				}
				if state {
					d.B, d.H0, d.C0 = random[float32](8*s.Hidden, 4), random[float32](n, 5), random[float32](n, 6)
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
				near(t, what, e.Y, d.Y, 1e-5)
				near(t, what, e.YH, d.YH, 1e-5)
				near(t, what, e.YC, d.YC, 1e-5)
			}
		}
	}
}
