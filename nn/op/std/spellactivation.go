package std

import (
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
)

// activation returns an activation of the recurrent operators.
func (n formula) activation(a elementwise.Activation, x *op.Operand) *op.Operand {
	alpha, beta := float32(a.Alpha), float32(a.Beta)
	switch a.Kind {
	case elementwise.ActTanh:
		return n.do(op.Plain("Tanh"), x)
	case elementwise.ActSigmoid:
		return n.do(op.Plain("Sigmoid"), x)
	case elementwise.ActRelu:
		return n.do(op.Plain("Relu"), x)
	case elementwise.ActAffine:
		return n.plus(n.mul(x, n.num(x, a.Alpha)), a.Beta)
	case elementwise.ActLeakyRelu:
		return n.do(LeakyReluConfig{Alpha: &alpha}, x)
	case elementwise.ActThresholdedRelu:
		return n.do(ThresholdedReluConfig{Alpha: &alpha}, x)
	case elementwise.ActScaledTanh:
		return n.mul(n.do(op.Plain("Tanh"), n.mul(x, n.num(x, a.Beta))), n.num(x, a.Alpha))
	case elementwise.ActHardSigmoid:
		return n.do(HardSigmoidConfig{Alpha: &alpha, Beta: &beta}, x)
	case elementwise.ActElu:
		return n.do(EluConfig{Alpha: &alpha}, x)
	case elementwise.ActSoftsign:
		return n.do(op.Plain("Softsign"), x)
	}
	return n.do(op.Plain("Softplus"), x)
}

// pulled is d times the derivative of an activation where its value is y.
func (n formula) pulled(a elementwise.Activation, y, d *op.Operand) *op.Operand {
	zero := n.num(y, 0)
	switch a.Kind {
	case elementwise.ActTanh:
		return n.mul(d, n.rsub(1, n.square(y)))
	case elementwise.ActSigmoid:
		return n.mul(d, n.mul(y, n.rsub(1, y)))
	case elementwise.ActRelu:
		return n.where(n.greater(y, zero), d, zero)
	case elementwise.ActAffine:
		return n.mul(d, n.num(y, a.Alpha))
	case elementwise.ActLeakyRelu:
		return n.where(n.less(y, zero), n.mul(d, n.num(y, a.Alpha)), d)
	case elementwise.ActThresholdedRelu:
		return n.where(n.equal(y, zero), zero, d)
	case elementwise.ActScaledTanh:
		return n.mul(d, n.sub(n.num(y, a.Alpha*a.Beta), n.mul(n.square(y), n.num(y, a.Beta/a.Alpha))))
	case elementwise.ActHardSigmoid:
		return n.where(n.both(n.greater(y, zero), n.less(y, n.num(y, 1))), n.mul(d, n.num(y, a.Alpha)), zero)
	case elementwise.ActElu:
		return n.where(n.less(y, zero), n.mul(d, n.plus(y, a.Alpha)), d)
	case elementwise.ActSoftsign:
		return n.mul(d, n.square(n.rsub(1, n.do(op.Plain("Abs"), y))))
	}
	return n.mul(d, n.rsub(1, n.exp(n.neg(y))))
}
