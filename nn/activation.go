package nn

import "math"

// ReLU is max(0, x).
type ReLU struct{ Name string }

// Build adds the layer behind in[0].
func (l ReLU) Build(e *Edit, in ...*Value) []*Value {
	return e.activation("Relu", "relu", l.Name, nil, in)
}

// LeakyReLU is x where x is positive and Slope·x elsewhere.
type LeakyReLU struct {
	Slope float64 // 0: 0.01
	Name  string
}

// Build adds the layer behind in[0].
func (l LeakyReLU) Build(e *Edit, in ...*Value) []*Value {
	return e.activation("LeakyRelu", "leakyrelu", l.Name, attrs{"alpha": or(l.Slope, 0.01)}, in)
}

// PReLU is LeakyReLU with a slope for each channel (axis 1) that is trained.
type PReLU struct {
	Slope float64 // to begin with; 0: 0.25
	Name  string
}

// Build adds the layer behind in[0].
func (l PReLU) Build(e *Edit, in ...*Value) []*Value {
	x, rank := e.ranked(in, 2)
	c := e.size(x, 1)
	if e.err != nil {
		return nil
	}
	shape := make([]int, rank-1)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = c
	name := e.begin("prelu", l.Name)
	return []*Value{e.put(name, "PRelu", nil, x, e.weight(name+".weight", x, Full{or(l.Slope, 0.25)}, nil, shape...))}
}

// ELU is x where x is positive and Alpha·(eˣ−1) elsewhere.
type ELU struct {
	Alpha float64 // 0: 1
	Name  string
}

// Build adds the layer behind in[0].
func (l ELU) Build(e *Edit, in ...*Value) []*Value {
	return e.activation("Elu", "elu", l.Name, attrs{"alpha": or(l.Alpha, 1)}, in)
}

// Sigmoid is 1/(1+e⁻ˣ).
type Sigmoid struct{ Name string }

// Build adds the layer behind in[0].
func (l Sigmoid) Build(e *Edit, in ...*Value) []*Value {
	return e.activation("Sigmoid", "sigmoid", l.Name, nil, in)
}

// Tanh is the hyperbolic tangent.
type Tanh struct{ Name string }

// Build adds the layer behind in[0].
func (l Tanh) Build(e *Edit, in ...*Value) []*Value {
	return e.activation("Tanh", "tanh", l.Name, nil, in)
}

func (e *Edit) activation(name, kind, label string, a attrs, in []*Value) []*Value {
	x := e.only(in)
	return []*Value{e.put(e.begin(kind, label), name, a, x)}
}

// GELU is x·Φ(x), Φ the distribution function of the standard normal distribution.
type GELU struct {
	Tanh bool // the approximation ½x(1+tanh(√(2/π)(x+0.044715x³)))
	Name string
}

// Build adds the layer behind in[0]: a Gelu from operator set 20 on, its formula before.
func (l GELU) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	if e.err != nil {
		return nil
	}
	name := e.begin("gelu", l.Name)
	if e.Opset() >= 20 && e.g.ops.Find("", "Gelu") != nil {
		a := attrs{}
		if l.Tanh {
			a["approximate"] = "tanh"
		}
		return []*Value{e.put(name, "Gelu", a, x)}
	}
	scalar := func(what string, v float64) *Value { return e.Scalar(name+"."+what, x, v) }
	var inner *Value
	if l.Tanh {
		square := e.arithmetic("", "Mul", x, x)
		cubic := e.arithmetic("", "Mul", e.arithmetic("", "Mul", square, x), scalar("cubic", 0.044715))
		arg := e.arithmetic("", "Mul", e.arithmetic("", "Add", x, cubic), scalar("slope", math.Sqrt(2/math.Pi)))
		inner = e.put("", "Tanh", nil, arg)
	} else {
		inner = e.put("", "Erf", nil, e.arithmetic("", "Div", x, scalar("root", math.Sqrt2)))
	}
	y := e.arithmetic("", "Mul", x, e.arithmetic("", "Add", inner, scalar("one", 1)))
	return []*Value{e.arithmetic(name, "Mul", y, scalar("half", 0.5))}
}

// SiLU is x·sigmoid(x), also known as Swish.
type SiLU struct{ Name string }

// Build adds the layer behind in[0].
func (l SiLU) Build(e *Edit, in ...*Value) []*Value {
	x := e.only(in)
	name := e.begin("silu", l.Name)
	return []*Value{e.arithmetic(name, "Mul", x, e.put(name+".sigmoid", "Sigmoid", nil, x))}
}

// Softmax makes the elements along an axis positive with sum 1.
type Softmax struct {
	Axis int // negative: from the back; 0: the last
	Name string
}

// Build adds the layer behind in[0].
func (l Softmax) Build(e *Edit, in ...*Value) []*Value {
	return e.softmax("Softmax", e.begin("softmax", l.Name), l.Axis, in)
}

// LogSoftmax is the logarithm of Softmax.
type LogSoftmax struct {
	Axis int // negative: from the back; 0: the last
	Name string
}

// Build adds the layer behind in[0].
func (l LogSoftmax) Build(e *Edit, in ...*Value) []*Value {
	return e.softmax("LogSoftmax", e.begin("logsoftmax", l.Name), l.Axis, in)
}

// softmax works along one axis in every operator set: before 13 the operator takes everything from
// its axis on as one, so the axis is brought to the back.
func (e *Edit) softmax(op, name string, axis int, in []*Value) []*Value {
	x, rank := e.ranked(in, 1)
	if axis == 0 {
		axis = -1
	}
	axis = e.axis(x, axis)
	if e.err != nil {
		return nil
	}
	if e.Opset() >= 13 || axis == rank-1 {
		return []*Value{e.put(name, op, attrs{"axis": axis}, x)}
	}
	perm := make([]int, rank) // swaps two axes, so it is its own inverse
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[rank-1] = rank-1, axis
	y := e.put(name+".turned", "Transpose", attrs{"perm": perm}, x)
	y = e.put(name+".last", op, attrs{"axis": rank - 1}, y)
	return []*Value{e.put(name, "Transpose", attrs{"perm": perm}, y)}
}
