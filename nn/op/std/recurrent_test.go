package std_test

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// recurrentInputs are X, W, R, B, lens, h0 and, for LSTM, c0, P: 4 steps, batch 3, 2 features, 3 units.
func recurrentInputs(gates, dirs int, batchFirst bool) []dtype.Value {
	const seq, batch, input, hidden = 4, 3, 2, 3
	x, state := []int{seq, batch, input}, []int{dirs, batch, hidden}
	if batchFirst {
		x, state = []int{batch, seq, input}, []int{batch, dirs, hidden}
	}
	in := values(optest.Rand(1, x...), optest.Rand(2, dirs, gates*hidden, input), optest.Rand(3, dirs, gates*hidden, hidden),
		optest.Rand(4, dirs, 2*gates*hidden), optest.Tensor([]int32{4, 2, 3}, batch), optest.Rand(5, state...))
	if gates == 4 {
		in = append(in, optest.Rand(6, state...), optest.Rand(7, dirs, 3*hidden))
	}
	return in
}

// resizeHidden follows a cut of hidden units.
func resizeHidden(c *optest.Case, cut map[coupling.Axis][]int) {
	n := len(cut[coupling.In(2, 2)])
	switch cfg := c.Config.(type) {
	case std.LSTMConfig:
		if cfg.HiddenSize > 0 {
			cfg.HiddenSize -= n
		}
		c.Config = cfg
	}
}
