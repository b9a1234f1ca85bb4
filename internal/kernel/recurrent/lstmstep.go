package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// usual reports whether the assembly of a time step of an LSTM applies: the activations are the usual
// ones and nothing else happens between the products.
func usual[T kernel.Float](s *RNNShape, d *RNNData[T]) bool {
	return kernel.SIMD && kernel.IsFloat32[T]() && s.Hidden > 0 && d.P == nil && s.Clip <= 0 && !s.InputForget &&
		s.Act[0].Or(elementwise.ActSigmoid).Kind == elementwise.ActSigmoid && s.Act[1].Or(elementwise.ActTanh).Kind == elementwise.ActTanh && s.Act[2].Or(elementwise.ActTanh).Kind == elementwise.ActTanh
}

// usualStep updates the states h and c of some units, where usual holds. The sums for the gates
// i, o, f and g have the stride stride in gates; bias has the biases of the same units.
func usualStep[T kernel.Float](stride int, gates, bias, c, h []T) {
	n := len(c)
	_, _, _ = gates[3*stride+n-1], bias[4*n-1], h[n-1]
	lstmStep(n, stride, &kernel.Float32s(gates)[0], &kernel.Float32s(bias)[0], &kernel.Float32s(c)[0], &kernel.Float32s(h)[0])
}

// usualStepKept is usualStep that also replaces gates by the activations, and writes c and its
// activation to cells and outputs. The gates are contiguous.
func usualStepKept[T kernel.Float](gates, bias, c, h, cells, outputs []T) {
	n := len(c)
	_, _, _, _, _ = gates[4*n-1], bias[4*n-1], h[n-1], cells[n-1], outputs[n-1]
	lstmStepKept(n, n, &kernel.Float32s(gates)[0], &kernel.Float32s(bias)[0], &kernel.Float32s(c)[0], &kernel.Float32s(h)[0], &kernel.Float32s(cells)[0], &kernel.Float32s(outputs)[0])
}

// usualStepGrad is stepGrad of an lstm where usual holds.
func usualStepGrad[T kernel.Float](gates, outputs, prev, dh, dc, dg []T) {
	n := len(dc)
	_, _, _, _, _ = gates[4*n-1], outputs[n-1], prev[n-1], dh[n-1], dg[4*n-1]
	lstmStepBack(n, n, &kernel.Float32s(gates)[0], &kernel.Float32s(outputs)[0], &kernel.Float32s(prev)[0], &kernel.Float32s(dh)[0], &kernel.Float32s(dc)[0], &kernel.Float32s(dg)[0])
}
