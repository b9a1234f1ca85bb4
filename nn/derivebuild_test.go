package nn_test

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

func addressOf[T any](x T) *T { return &x }

// deriving builds nodes with parameters.
type deriving struct{ e *nn.Edit }

func (d deriving) do(c op.Config, in ...*nn.Value) *nn.Value { return d.e.Node(c, in...).Out(0) }

func (d deriving) layer(l nn.Layer, x *nn.Value) *nn.Value { return d.e.Apply(l, x) }

func (d deriving) ints(v ...int) *nn.Value { return d.e.Ints(d.e.New("ints"), v...) }

func (d deriving) param(shape ...int) *nn.Value {
	return d.e.Param(d.e.New("p"), initial.Normal{Std: 0.7}, shape...)
}

func (d deriving) above(shape ...int) *nn.Value {
	return d.e.Param(d.e.New("p"), initial.Uniform{Low: 1, High: 2}, shape...)
}

func (d deriving) number(x float32) *nn.Value {
	t, _ := dtype.FromSlice([]float32{x})
	return d.e.Const(d.e.New("number"), t)
}

func (d deriving) floats(x ...float32) *nn.Value {
	t, _ := dtype.FromSlice(x, len(x))
	return d.e.Const(d.e.New("numbers"), t)
}

// labels are classes 0 to 3, from the first of the scores.
func (d deriving) labels(x *nn.Value) *nn.Value {
	first := d.do(std.SqueezeConfig{}, d.do(std.SliceConfig{}, x, d.ints(0), d.ints(1), d.ints(1)), d.ints(1))
	return d.do(std.CastConfig{To: dtype.Int64}, d.do(std.ClipConfig{}, d.do(op.Plain("Add"), first, d.number(1)), d.number(0), d.number(3)))
}

// lengths are numbers of steps of x, [steps, batch, 3], from 0 to 3.
func (d deriving) lengths(x *nn.Value) *nn.Value {
	first := d.do(std.SqueezeConfig{}, d.do(std.SliceConfig{}, x, d.ints(0, 0), d.ints(1, 1), d.ints(0, 2)), d.ints(0, 2))
	whole := d.do(op.Plain("Floor"), d.do(std.ClipConfig{}, d.do(op.Plain("Mul"), d.do(op.Plain("Add"), first, d.number(1)), d.number(2)), d.number(0), d.number(3)))
	return d.do(std.CastConfig{To: dtype.Int32}, whole)
}

// recurrentWithAll returns an LSTM with lengths, first states, peepholes, clipping and other activations.
func (d deriving) recurrentWithAll(x *nn.Value, hidden int) *nn.Value {
	first := d.do(op.Plain("Tanh"), d.do(op.Plain("MatMul"), d.do(std.SliceConfig{}, x, d.ints(0), d.ints(2), d.ints(0)), d.param(3, hidden)))
	cfg := std.LSTMConfig{
		Direction: "bidirectional", HiddenSize: hidden, Clip: 0.7,
		Activations: []string{"HardSigmoid", "LeakyRelu", "Affine", "Sigmoid", "Elu", "ScaledTanh"}, ActivationAlpha: []float32{0.25, 0.2, 0.6, 0.9, 1.1}, ActivationBeta: []float32{0.45, 0.1, 0.7},
	}
	n := d.e.NodeN(cfg, 3, x, d.param(2, 4*hidden, 3), d.param(2, 4*hidden, hidden), d.param(2, 8*hidden), d.lengths(x), first, d.do(op.Plain("Mul"), first, first), d.param(2, 3*hidden))
	return d.do(op.Plain("Add"), n.Out(0), d.do(op.Plain("Mul"), n.Out(1), n.Out(2)))
}

// sizes are batch and channels of x and a size.
func (d deriving) sizes(x *nn.Value, size ...int) *nn.Value {
	front := d.do(std.SliceConfig{}, d.do(std.ShapeConfig{}, x), d.ints(0), d.ints(2))
	return d.do(std.ConcatConfig{}, front, d.ints(size...))
}
