package kernel

import (
	"fmt"
	"slices"
	"testing"
)

// The assembly of a time step computes what the kernels of its parts do.
func TestAssemblyLSTM(t *testing.T) {
	for _, hid := range []int{1, 7, 8, 9, 15, 16, 17, 33, 70} {
		s := &RNNShape{Seq: 1, Batch: 1, Input: 1, Hidden: hid}
		d := &RNNData[float32]{}
		part := func(i int) []float32 { return random[float32](hid, uint64(i)) }
		gates, bias := random[float32](4*hid, 1), random[float32](4*hid, 6)
		// forward leaves in y: gates, cells, outputs, c, h
		forward := func(y []float32) {
			copy(y, gates)
			x := newLSTM(s, d, y)
			if x.bias = bias; !x.usual {
				binaryVV(OpAdd, x.gates, x.gates, bias)
			}
			c, h := y[6*hid:7*hid], y[7*hid:8*hid]
			copy(c, part(2))
			x.step(0, h, c)
		}
		against(t, fmt.Sprint("step ", hid), 8*hid, 1e-4, forward)
		kept := make([]float32, 8*hid)
		forward(kept)
		against(t, fmt.Sprint("gradient ", hid), 6*hid, 1e-4, func(y []float32) {
			copy(y[4*hid:], part(3))
			copy(y[5*hid:], part(4))
			newLSTM(s, d, slices.Clone(kept[:6*hid])).stepGrad(0, y[4*hid:5*hid], y[5*hid:6*hid], part(2), y[:4*hid])
			clear(y[4*hid : 5*hid]) // spoiled or not
		})
		against(t, fmt.Sprint("stream ", hid), 2*hid, 1e-4, func(y []float32) {
			w := random[float32](4*hid, 5)
			s := &RNNShape{Seq: 3, Batch: 1, Input: 1, Hidden: hid}
			LSTM(nil, s, &RNNData[float32]{X: []float32{1, -2, 0.5}, W: w, R: make([]float32, 4*hid*hid), B: random[float32](8*hid, 7), YH: y[:hid], YC: y[hid:]}, nil)
		})
	}
}
