package layers

import (
	"cmp"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// ReLU computes max(0, x).
type ReLU struct{ Name string }

// Build adds the layer with in[0] as its input.
func (l ReLU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return activate(e, "Relu", "relu", l.Name, nil, in)
}

// ReLU6 computes max(0, min(6, x)).
type ReLU6 struct{ Name string }

// Build adds the layer with in[0] as its input.
func (l ReLU6) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	return []*nn.Value{put(e, e.Label("relu6", l.Name), "Clip", nil, x, e.Scalar("min", x, 0), e.Scalar("max", x, 6))}
}

// LeakyReLU computes x where x is positive, and Slope·x elsewhere.
type LeakyReLU struct {
	Slope float64 // 0: 0.01
	Name  string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l LeakyReLU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return activate(e, "LeakyRelu", "leakyrelu", l.Name, attrs{"alpha": cmp.Or(l.Slope, 0.01)}, in)
}

// PReLU is LeakyReLU with a trained slope for each channel (axis 1).
type PReLU struct {
	Slope float64 // initial slope; 0: 0.25
	Name  string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l PReLU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 2)
	c := sizeOf(e, x, 1)
	if e.Err() != nil {
		return nil
	}
	shape := make([]int, rank-1)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = c
	name := e.Label("prelu", l.Name)
	return []*nn.Value{put(e, name, "PRelu", nil, x, weight(e, name+".weight", x, initial.Full{Value: cmp.Or(l.Slope, 0.25)}, nil, shape...))}
}

// ELU computes x where x is positive, and Alpha·(eˣ−1) elsewhere.
type ELU struct {
	Alpha float64 // 0: 1
	Name  string  // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l ELU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return activate(e, "Elu", "elu", l.Name, attrs{"alpha": cmp.Or(l.Alpha, 1)}, in)
}

// Sigmoid computes 1/(1+e⁻ˣ).
type Sigmoid struct{ Name string }

// Build adds the layer with in[0] as its input.
func (l Sigmoid) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return activate(e, "Sigmoid", "sigmoid", l.Name, nil, in)
}

// Tanh computes the hyperbolic tangent.
type Tanh struct{ Name string }

// Build adds the layer with in[0] as its input.
func (l Tanh) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return activate(e, "Tanh", "tanh", l.Name, nil, in)
}

func activate(e *nn.Edit, name, kind, label string, a attrs, in []*nn.Value) []*nn.Value {
	x := only(e, in)
	return []*nn.Value{put(e, e.Label(kind, label), name, a, x)}
}

// GELU computes x·Φ(x), where Φ is the distribution function of the standard normal distribution.
type GELU struct {
	Tanh bool   // use the approximation ½x(1+tanh(√(2/π)(x+0.044715x³)))
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l GELU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	a := attrs{}
	if l.Tanh {
		a["approximate"] = "tanh"
	}
	return activate(e, "Gelu", "gelu", l.Name, a, in)
}

// HardSwish computes x·min(max(x/6 + ½, 0), 1) (Howard and others, 2019).
type HardSwish struct{ Name string }

// Build adds the layer with in[0] as its input.
func (l HardSwish) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return activate(e, "HardSwish", "hardswish", l.Name, nil, in)
}

// SiLU computes x·sigmoid(x), also known as Swish.
type SiLU struct{ Name string }

// Build adds the layer with in[0] as its input.
func (l SiLU) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x := only(e, in)
	name := e.Label("silu", l.Name)
	return []*nn.Value{put(e, name, "Mul", nil, x, put(e, name+".sigmoid", "Sigmoid", nil, x))}
}

// Softmax computes eˣ divided by the sum of eˣ along an axis.
type Softmax struct {
	Axis *int   // negative from the last; nil: the last
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l Softmax) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return softmax(e, "Softmax", e.Label("softmax", l.Name), l.Axis, in)
}

// LogSoftmax computes the logarithm of Softmax.
type LogSoftmax struct {
	Axis *int   // negative from the last; nil: the last
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (l LogSoftmax) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	return softmax(e, "LogSoftmax", e.Label("logsoftmax", l.Name), l.Axis, in)
}

func softmax(e *nn.Edit, op, name string, axis *int, in []*nn.Value) []*nn.Value {
	x, _ := ranked(e, in, 1)
	along := axisOf(e, x, axisOr(axis, -1))
	if e.Err() != nil {
		return nil
	}
	return []*nn.Value{put(e, name, op, attrs{"axis": along}, x)}
}
