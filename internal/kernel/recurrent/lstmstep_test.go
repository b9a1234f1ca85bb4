package recurrent

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// The assembly of a time step computes what the kernels of its parts do.
func TestAssemblyLSTM(t *testing.T) {
	for _, hid := range []int{1, 7, 8, 9, 15, 16, 17, 33, 70} {
		s := &RNNShape{Seq: 1, Batch: 1, Input: 1, Hidden: hid}
		d := &RNNData[float32]{}
		part := func(i int) []float32 { return kerneltest.Random[float32](hid, uint64(i)) }
		gates, bias := kerneltest.Random[float32](4*hid, 1), kerneltest.Random[float32](4*hid, 6)
		// forward leaves in y: gates, cells, outputs, c, h
		forward := func(y []float32) {
			copy(y, gates)
			x := newLSTM(s, d, y)
			if x.bias = bias; !x.usual {
				elementwise.BinaryInto(elementwise.OpAdd, x.gates, x.gates, bias)
			}
			c, h := y[6*hid:7*hid], y[7*hid:8*hid]
			copy(c, part(2))
			x.step(0, h, c)
		}
		kerneltest.Against(t, fmt.Sprint("step ", hid), 8*hid, 1e-4, forward)
		kept := make([]float32, 8*hid)
		forward(kept)
		kerneltest.Against(t, fmt.Sprint("gradient ", hid), 6*hid, 1e-4, func(y []float32) {
			copy(y[4*hid:], part(3))
			copy(y[5*hid:], part(4))
			newLSTM(s, d, slices.Clone(kept[:6*hid])).stepGrad(0, y[4*hid:5*hid], y[5*hid:6*hid], part(2), y[:4*hid])
			clear(y[4*hid : 5*hid]) // spoiled or not
		})
		kerneltest.Against(t, fmt.Sprint("stream ", hid), 2*hid, 1e-4, func(y []float32) {
			w := kerneltest.Random[float32](4*hid, 5)
			s := &RNNShape{Seq: 3, Batch: 1, Input: 1, Hidden: hid}
			LSTM(nil, s, &RNNData[float32]{X: []float32{1, -2, 0.5}, W: w, R: make([]float32, 4*hid*hid), B: kerneltest.Random[float32](8*hid, 7), YH: y[:hid], YC: y[hid:]}, nil)
		})
	}
}

// The assembly of a time step of a GRU leaves the same states and the same for the gradient.
func TestAssemblyGRU(t *testing.T) {
	for _, hid := range []int{1, 7, 8, 9, 15, 16, 17, 33, 70} {
		s := &RNNShape{Seq: 3, Batch: 2, Input: 2, Hidden: hid, LinearBeforeReset: true, Lens: []int{3, 2}}
		for _, bias := range [][]float32{nil, kerneltest.Random[float32](6*hid, 3)} {
			d := RNNData[float32]{X: kerneltest.Random[float32](12, 1), W: kerneltest.Random[float32](6*hid, 2), R: kerneltest.Random[float32](3*hid*hid, 4), B: bias}
			kerneltest.Against(t, fmt.Sprint("kept ", hid), GRUReserve(s)+8*hid, 1e-3, func(y []float32) {
				d := d
				clear(y)
				d.Reserve, d.YH, d.Y = y[:GRUReserve(s)], y[GRUReserve(s):][:2*hid], y[GRUReserve(s)+2*hid:]
				GRU(nil, s, &d, nil)
			})
			kerneltest.Against(t, fmt.Sprint("stream ", hid), 2*hid, 1e-3, func(y []float32) { // sums that nearly vanish differ more
				d := d
				d.YH = y
				GRU(nil, s, &d, nil)
			})
		}
	}
}
