package nn

import "math"

// BatchNorm normalizes each channel (axis 1) by the mean and variance of the batch when training,
// by their running averages otherwise, then scales and shifts it.
type BatchNorm struct {
	Eps      float64 // 0: 1e-5
	Momentum float64 // share of the running average that a step keeps, as ONNX counts; 0: 0.9
	Name     string

	identity bool
}

// Identity is the layer with a scale of √(1+Eps), which undoes its division outside of training.
func (b BatchNorm) Identity() Layer {
	b.identity = true
	return b
}

// Build adds the layer behind in[0].
func (b BatchNorm) Build(e *Edit, in ...*Value) []*Value {
	x, _ := e.ranked(in, 2)
	c := e.size(x, 1)
	if e.err != nil {
		return nil
	}
	eps, momentum := or(b.Eps, 1e-5), or(b.Momentum, 0.9)
	scale := Init(Ones{})
	if b.identity {
		scale = Full{math.Sqrt(1 + float64(float32(eps)))}
	}
	name := e.begin("batchnorm", b.Name)
	return []*Value{e.put(name, "BatchNormalization", attrs{"epsilon": eps, "momentum": momentum}, x,
		e.weight(name+".weight", x, scale, nil, c), e.weight(name+".bias", x, Zeros{}, nil, c),
		e.weight(name+".running_mean", x, Zeros{}, nil, c), e.weight(name+".running_var", x, Ones{}, nil, c))}
}

// LayerNorm normalizes over the last axes of each sample, then scales and shifts every element.
type LayerNorm struct {
	Axes int     // how many of the last axes; 0: 1
	Eps  float64 // 0: 1e-5
	Name string
}

// Build adds the layer behind in[0].
func (l LayerNorm) Build(e *Edit, in ...*Value) []*Value {
	axes := max(l.Axes, 1)
	x, rank := e.ranked(in, axes)
	if e.err != nil {
		return nil
	}
	shape := make([]int, axes)
	over := make([]int, axes)
	for i := range axes {
		over[i] = rank - axes + i
		shape[i] = e.size(x, over[i])
	}
	eps := or(l.Eps, 1e-5)
	name := e.begin("layernorm", l.Name)
	w := e.weight(name+".weight", x, Ones{}, nil, shape...)
	b := e.weight(name+".bias", x, Zeros{}, nil, shape...)
	if e.Opset() >= 17 {
		return []*Value{e.put(name, "LayerNormalization", attrs{"axis": rank - axes, "epsilon": eps}, x, w, b)}
	}
	mean := e.put(name+".mean", "ReduceMean", attrs{"axes": over}, x)
	d := e.arithmetic(name+".centered", "Sub", x, mean)
	variance := e.put(name+".variance", "ReduceMean", attrs{"axes": over}, e.arithmetic(name+".squared", "Mul", d, d))
	shifted := e.arithmetic("", "Add", variance, e.Scalar(name+".eps", x, eps))
	y := e.arithmetic(name+".normal", "Div", d, e.put("", "Sqrt", nil, shifted))
	y = e.arithmetic(name+".scaled", "Mul", y, w)
	return []*Value{e.arithmetic(name, "Add", y, b)}
}

// InstanceNorm normalizes each channel of each sample over the spatial axes, then scales and shifts it.
type InstanceNorm struct {
	Eps  float64 // 0: 1e-5
	Name string
}

// Build adds the layer behind in[0].
func (n InstanceNorm) Build(e *Edit, in ...*Value) []*Value {
	x, _ := e.ranked(in, 3)
	c := e.size(x, 1)
	name := e.begin("instancenorm", n.Name)
	return []*Value{e.put(name, "InstanceNormalization", attrs{"epsilon": or(n.Eps, 1e-5)}, x,
		e.weight(name+".weight", x, Ones{}, nil, c), e.weight(name+".bias", x, Zeros{}, nil, c))}
}

// GroupNorm normalizes groups of channels of each sample, then scales and shifts each channel.
type GroupNorm struct {
	Groups int
	Eps    float64 // 0: 1e-5
	Name   string
}

// Build adds the layer behind in[0]. Before operator set 21 it becomes an InstanceNormalization of
// the groups, as PyTorch exports it.
func (n GroupNorm) Build(e *Edit, in ...*Value) []*Value {
	x, rank := e.ranked(in, 3)
	c := e.size(x, 1)
	if e.err != nil {
		return nil
	}
	if n.Groups <= 0 || c%n.Groups != 0 {
		e.Failf("%d groups do not divide %d channels", n.Groups, c)
		return nil
	}
	eps := or(n.Eps, 1e-5)
	name := e.begin("groupnorm", n.Name)
	if e.Opset() >= 21 {
		return []*Value{e.put(name, "GroupNormalization", attrs{"epsilon": eps, "num_groups": n.Groups}, x,
			e.weight(name+".weight", x, Ones{}, nil, c), e.weight(name+".bias", x, Zeros{}, nil, c))}
	}
	shape := e.put(name+".shape", "Shape", nil, x)
	y := e.put(name+".grouped", "Reshape", nil, x, e.Ints(name+".groups", 0, n.Groups, -1))
	y = e.put(name+".normal", "InstanceNormalization", attrs{"epsilon": eps}, y,
		e.constant(name+".ones", x, Ones{}, n.Groups), e.constant(name+".zeros", x, Zeros{}, n.Groups))
	y = e.put(name+".channels", "Reshape", nil, y, shape)
	each := make([]int, rank-1) // [C, 1, …]
	for i := range each {
		each[i] = 1
	}
	each[0] = c
	y = e.arithmetic(name+".scaled", "Mul", y, e.weight(name+".weight", x, Ones{}, nil, each...))
	return []*Value{e.arithmetic(name, "Add", y, e.weight(name+".bias", x, Zeros{}, nil, each...))}
}

// constant is a parameter that is not trained although it stands where weights do.
func (e *Edit) constant(name string, like *Value, init Init, dims ...int) *Value {
	v := e.weight(name, like, init, nil, dims...)
	if e.err == nil {
		e.SetRole(v, Constant)
		e.setFrozen(v.param, true)
	}
	return v
}
