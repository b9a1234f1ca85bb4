package kernel

// usual tells whether the assembly of a time step of an LSTM applies: the activations are the usual
// ones and nothing else happens between the products.
func usual[T Float](s *RNNShape, d *RNNData[T]) bool {
	return simd && single[T]() && s.Hidden > 0 && d.P == nil && s.Clip <= 0 && !s.InputForget &&
		s.Act[0].or(ActSigmoid).Kind == ActSigmoid && s.Act[1].or(ActTanh).Kind == ActTanh && s.Act[2].or(ActTanh).Kind == ActTanh
}

// usualStep advances the states h and c of some units, where usual holds. The sums for the gates
// i, o, f and g lie stride elements apart in gates, their biases as many as there are units.
func usualStep[T Float](stride int, gates, bias, c, h []T) {
	n := len(c)
	_, _, _ = gates[3*stride+n-1], bias[4*n-1], h[n-1]
	lstmStep(n, stride, &as32(gates)[0], &as32(bias)[0], &as32(c)[0], &as32(h)[0])
}

// usualStepKept is usualStep that turns gates into the activations, and writes c and its
// activation to cells and outputs. The gates lie behind each other.
func usualStepKept[T Float](gates, bias, c, h, cells, outputs []T) {
	n := len(c)
	_, _, _, _, _ = gates[4*n-1], bias[4*n-1], h[n-1], cells[n-1], outputs[n-1]
	lstmStepKept(n, n, &as32(gates)[0], &as32(bias)[0], &as32(c)[0], &as32(h)[0], &as32(cells)[0], &as32(outputs)[0])
}

// usualStepGrad is stepGrad of an lstm where usual holds.
func usualStepGrad[T Float](gates, outputs, prev, dh, dc, dg []T) {
	n := len(dc)
	_, _, _, _, _ = gates[4*n-1], outputs[n-1], prev[n-1], dh[n-1], dg[4*n-1]
	lstmStepBack(n, n, &as32(gates)[0], &as32(outputs)[0], &as32(prev)[0], &as32(dh)[0], &as32(dc)[0], &as32(dg)[0])
}
