package generate

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// plainLayers are the layers without settings, by operator.
var plainLayers = map[string]nn.Layer{
	"Relu": layers.ReLU{}, "Sigmoid": layers.Sigmoid{}, "Tanh": layers.Tanh{}, "HardSwish": layers.HardSwish{},
	"GlobalAveragePool": layers.GlobalAvgPool{}, "GlobalMaxPool": layers.GlobalMaxPool{},
}

// readers return the layer that is equivalent to a node, nil if there is none, for example because the layer lacks an attribute or a
// weight is computed.
var readers map[string]func(r *reader, n *nn.Node) *layer

func init() {
	readers = map[string]func(r *reader, n *nn.Node) *layer{
		"Conv": conv, "ConvTranspose": convTranspose, "Gemm": gemm, "MatMul": matMul, "Gather": embedding,
		"BatchNormalization": batchNorm, "LayerNormalization": layerNorm, "InstanceNormalization": instanceNorm, "GroupNormalization": groupNorm,
		"MaxPool": maxPool, "AveragePool": avgPool, "ReduceMean": mean, "Slice": slice,
		"LeakyRelu": leakyReLU, "Elu": elu, "Gelu": gelu, "PRelu": prelu, "Clip": relu6, "Softmax": softmax, "LogSoftmax": logSoftmax,
		"Flatten": flatten, "Reshape": either(joined, partitioned, reshape), "Squeeze": squeezed, "Transpose": either(channelNorm, transpose), "Dropout": dropout, "Concat": either(rolled, concat),
		"Add":  either(spelledGroupNorm, spelledChannelNorm, convBias),
		"LSTM": recurrent, "GRU": recurrent, "RNN": recurrent,
	}
	for name, l := range plainLayers {
		readers[name] = activation(l)
	}
}

// either returns a reader that tries several readers in turn.
func either(list ...func(*reader, *nn.Node) *layer) func(*reader, *nn.Node) *layer {
	return func(r *reader, n *nn.Node) *layer {
		for _, f := range list {
			if l := f(r, n); l != nil {
				return l
			}
		}
		return nil
	}
}

// newest converts a graph to the opset for which source is written.
func newest(ctx context.Context, g *nn.Graph) error {
	return g.EditUntil(ctx, func(e *nn.Edit) {
		e.InlineBranches()
		for calls := functions(e); len(calls) > 0 && e.Err() == nil; calls = functions(e) { // some may call others
			e.Decompose(calls...)
		}
		for _, n := range e.Select(nn.Ops("Identity")) {
			if ctx.Err() != nil {
				return // the edit fails
			}
			if x, y := n.In(0), n.Out(0); x.Param() == nil && len(n.Annotations()) == 0 && !slices.Contains(e.Outputs(), y) { // of a parameter it is a copy
				e.Rewire(y, x)
			}
		}
		for _, n := range e.Select(nn.Ops("Dropout")) { // an old mask that nothing reads would be in the way
			if c := attrs[std.DropoutConfig](n); c.Ratio != nil && len(n.Outputs()) > 1 && alone(n, e.Outputs()) && *c.Ratio > 0 {
				e.Replace(n, layers.Dropout{P: round(*c.Ratio)})
			}
		}
		to := nn.LatestOpset
		if e.Opset() > to {
			to = e.Ops().Newest("")
		}
		e.SetOpset(to)
		tidy(ctx, e)
	})
}

// functions returns the calls of functions of the model.
func functions(e *nn.Edit) (list []*nn.Node) {
	for _, n := range e.Select() {
		if n.Op() != nil && n.Traits().Call {
			list = append(list, n)
		}
	}
	return list
}

// data returns input i of a node if it is the only computed input; otherwise nil.
func (r *reader) data(n *nn.Node, i int) *nn.Value {
	for k, v := range n.Inputs() {
		if v != nil && (k == i) == (r.tensor(v) != nil) {
			return nil
		}
	}
	return n.In(i)
}

// single reports whether only the first output of a node is used.
func single(n *nn.Node) bool {
	for _, v := range n.Outputs()[1:] {
		if v != nil {
			return alone(n, v.Graph().Outputs())
		}
	}
	return true
}

// alone is single for a node of a graph with these outputs.
func alone(n *nn.Node, outputs []*nn.Value) bool {
	for _, v := range n.Outputs()[1:] {
		if v != nil && (len(v.Users()) > 0 || slices.Contains(outputs, v)) {
			return false
		}
	}
	return true
}

// copies reports whether a node is a copy: exporters store parameters with equal values once, and add copies.
func copies(n *nn.Node) bool { return n.Config() == copied }

// copied is the operator that copies.
var copied = op.Name{Name: "Identity"}

// weight returns a weight that no other node reads, so that a layer can own it.
func (r *reader) weight(v *nn.Value) *tensor.Dense {
	if v == nil {
		return nil
	}
	if r.lift != nil {
		return nil // weights of a subgraph belong to the enclosing model
	}
	t := r.tensor(v)
	if p := v.Param(); p == nil && !r.learned[v] || p != nil && p.Role() == nn.Constant {
		return nil
	}
	users := slices.DeleteFunc(v.Users(), func(n *nn.Node) bool { return copies(n) && r.folded[n.Out(0)] != nil })
	if t == nil || !dtype.Of(t.Dtype()).IsFloat() || len(users) != 1 || slices.Contains(r.g.Outputs(), v) {
		return nil
	}
	return t
}

// layerOf makes a layer; it returns nil if a weight is missing or not of the input's type.
func layerOf(l nn.Layer, kind string, n *nn.Node, x *nn.Value, weights map[string]*tensor.Dense) *layer {
	for _, w := range weights {
		if w == nil || dtype.Of(w.Dtype()) != x.Type().DType {
			return nil
		}
	}
	name := ""
	if len(weights) > 0 {
		name = stem(slices.DeleteFunc(n.Inputs(), func(v *nn.Value) bool { return v == x })...)
	}
	return &layer{Layer: l, kind: kind, in: []*nn.Value{x}, out: n.Outputs()[:1], weights: weights, name: name, nodes: []*nn.Node{n}}
}

func activation(l nn.Layer) func(*reader, *nn.Node) *layer {
	return func(r *reader, n *nn.Node) *layer {
		if x := r.data(n, 0); x != nil {
			return layerOf(l, "", n, x, nil)
		}
		return nil
	}
}

// evenly returns a list in the form of layers: a single number if all axes agree.
func evenly(list []int, def int) []int {
	if len(list) == 0 {
		return []int{def}
	}
	for _, n := range list {
		if n != list[0] {
			return list
		}
	}
	return list[:1]
}

// padding returns the padding of a layer: only the leading padding if the trailing one is equal. ok is false if it depends on
// the size of the input.
func padding(auto string, pads, kernel, strides, dilations []int) ([]int, bool) {
	axes := len(kernel)
	at := func(list []int, i int) int {
		if len(list) == 0 {
			return 1
		}
		return list[i]
	}
	switch auto {
	case "SAME_UPPER", "SAME_LOWER":
		pads = make([]int, 2*axes)
		for i := range axes {
			total := at(dilations, i) * (kernel[i] - 1)
			if at(strides, i) != 1 {
				return nil, false
			}
			pads[i], pads[axes+i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				pads[i], pads[axes+i] = pads[axes+i], pads[i]
			}
		}
	case "VALID":
		pads = nil
	}
	if len(pads) == 2*axes && slices.Equal(pads[:axes], pads[axes:]) {
		pads = pads[:axes]
	}
	for _, p := range pads {
		if p < 0 {
			return nil, false
		}
	}
	if len(pads) == 2*axes {
		return pads, true
	}
	return evenly(pads, 0), true
}

// window are the defaults of the settings of a sliding window.
var window = map[string]any{"Stride": []int{1}, "Dilation": []int{1}, "Pad": []int{0}, "Group": 1, "OutPad": []int{0}}

func conv(r *reader, n *nn.Node) *layer {
	c := attrs[std.ConvConfig](n)
	x, w := r.data(n, 0), r.weight(n.In(1))
	if x == nil || w == nil || w.Dims() < 3 {
		return nil
	}
	kernel := []int(w.Shape()[2:])
	pad, ok := padding(c.AutoPad, c.Pads, kernel, c.Strides, c.Dilations)
	weights := map[string]*tensor.Dense{"weight": w}
	if n.In(2) != nil {
		weights["bias"] = r.weight(n.In(2))
	}
	if !ok {
		return nil
	}
	l := layerOf(layers.Conv{Out: w.Shape()[0], Kernel: evenly(kernel, 1), Stride: evenly(c.Strides, 1), Dilation: evenly(c.Dilations, 1), Pad: pad, Group: max(c.Group, 1),
		NoBias: n.In(2) == nil}, "conv", n, x, weights)
	return l.with(window)
}

// convBias returns a convolution whose bias is a sum after it.
func convBias(r *reader, n *nn.Node) *layer {
	y, bias := r.sides(n)
	if y == nil || !ofStandard(y.Producer(), "Conv") || y.Producer().In(2) != nil || !only(y, n) || y.Type().Rank() < 3 {
		return nil
	}
	l := conv(r, y.Producer())
	if l == nil {
		return nil
	}
	c := l.Layer.(layers.Conv)
	b := r.perChannel(bias, c.Out, y.Type().Rank())
	if b == nil || dtype.Of(b.Dtype()) != y.Type().DType {
		return nil
	}
	c.NoBias = false
	l.weights["bias"] = b
	l.Layer, l.out, l.nodes = c, n.Outputs(), []*nn.Node{y.Producer(), n}
	return l
}

func (l *layer) with(defaults map[string]any) *layer {
	if l != nil {
		l.defaults = defaults
	}
	return l
}

func convTranspose(r *reader, n *nn.Node) *layer {
	c := attrs[std.ConvTransposeConfig](n)
	x, w := r.data(n, 0), r.weight(n.In(1))
	if x == nil || w == nil || w.Dims() < 3 || len(c.OutputShape) > 0 || c.AutoPad != "NOTSET" {
		return nil
	}
	kernel := []int(w.Shape()[2:])
	pad, ok := padding(c.AutoPad, c.Pads, kernel, c.Strides, c.Dilations)
	weights := map[string]*tensor.Dense{"weight": w}
	if n.In(2) != nil {
		weights["bias"] = r.weight(n.In(2))
	}
	if !ok {
		return nil
	}
	group := max(c.Group, 1)
	return layerOf(layers.ConvTranspose{Out: w.Shape()[1] * group, Kernel: evenly(kernel, 1), Stride: evenly(c.Strides, 1), Dilation: evenly(c.Dilations, 1), Pad: pad,
		OutPad: evenly(c.OutputPadding, 0), Group: group, NoBias: n.In(2) == nil}, "convtranspose", n, x, weights).with(window)
}

// linear returns the linear layer with a matrix of shape [out, in], or [in, out] if turned is false, and an optional bias.
func (r *reader) linear(n *nn.Node, x, matrix, bias *nn.Value, turned bool) *layer {
	w := r.weight(matrix)
	if x == nil || w == nil || w.Dims() != 2 || x.Type().Unranked || x.Type().Rank() < 2 {
		return nil
	}
	out := w.Shape()[1]
	if turned {
		out = w.Shape()[0]
	}
	if turned != (x.Type().Rank() == 2) {
		w = transposed(r.ctx, w)
	}
	weights := map[string]*tensor.Dense{"weight": w}
	if bias != nil {
		b := r.weight(bias)
		if b == nil || b.Shape().TotalSize() != out {
			return nil
		}
		weights["bias"], _ = dtype.View(b, out)
	}
	l := layerOf(layers.Linear{Out: out, NoBias: bias == nil}, "linear", n, x, weights)
	if l != nil {
		l.name = stem(matrix, bias)
	}
	return l
}

// transposed returns a matrix with its axes swapped. It is not complete if ctx ends.
func transposed(ctx context.Context, w *tensor.Dense) *tensor.Dense {
	rows, columns := w.Shape()[0], w.Shape()[1]
	t := dtype.New(dtype.Of(w.Dtype()), columns, rows)
	from, to := dtype.Bytes(w), dtype.Bytes(t)
	if len(from) == 0 {
		return t
	}
	size := len(from) / (rows * columns)
	done := 0
	for i := range rows {
		if done += columns; done >= 1<<20 {
			if done = 0; ctx.Err() != nil {
				return t
			}
		}
		for k := range columns {
			copy(to[(k*rows+i)*size:][:size], from[(i*columns+k)*size:])
		}
	}
	return t
}

func gemm(r *reader, n *nn.Node) *layer {
	c := attrs[std.GemmConfig](n)
	one := func(x *float32) bool { return x == nil || *x == 1 }
	if !one(c.Alpha) || n.In(2) != nil && !one(c.Beta) || c.TransA {
		return nil
	}
	return r.linear(n, r.data(n, 0), n.In(1), n.In(2), c.TransB)
}

func matMul(r *reader, n *nn.Node) *layer { return r.linear(n, r.data(n, 0), n.In(1), nil, false) }

func embedding(r *reader, n *nn.Node) *layer {
	c := attrs[std.GatherConfig](n)
	x, w := r.data(n, 1), r.weight(n.In(0))
	if x == nil || w == nil || w.Dims() != 2 || c.Axis != 0 || dtype.Of(w.Dtype()) != dtype.Float32 {
		return nil
	}
	l := layerOf(layers.Embedding{Num: w.Shape()[0], Dim: w.Shape()[1]}, "embedding", n, x, nil)
	l.weights, l.name = map[string]*tensor.Dense{"weight": w}, stem(n.In(0))
	return l
}

// norm are the defaults of normalizations.
var norm = map[string]any{"Eps": 1e-5, "Momentum": 0.9}

func batchNorm(r *reader, n *nn.Node) *layer {
	c := attrs[std.BatchNormalizationConfig](n)
	x := r.data(n, 0)
	if x == nil || c.TrainingMode || !single(n) {
		return nil
	}
	momentum := 0.9
	if c.Momentum != nil {
		momentum = round(*c.Momentum)
	}
	return layerOf(layers.BatchNorm{Eps: round(epsilon(c.Epsilon)), Momentum: momentum}, "batchnorm", n, x, map[string]*tensor.Dense{
		"weight": r.weight(n.In(1)), "bias": r.weight(n.In(2)), "running_mean": r.weight(n.In(3)), "running_var": r.weight(n.In(4)),
	}).with(norm)
}

// lastAxes returns a layer normalization over the axes of the scale.
func (r *reader) lastAxes(n *nn.Node, x, scale, bias *nn.Value, eps float32) *layer {
	w, b := r.weight(scale), r.weight(bias)
	if x == nil || w == nil || b == nil || !slices.Equal(w.Shape(), b.Shape()) || !endsIn(x.Type(), w.Shape()) {
		return nil
	}
	l := layerOf(layers.LayerNorm{Axes: w.Dims(), Eps: round(eps)}, "layernorm", n, x, map[string]*tensor.Dense{"weight": w, "bias": b})
	if l != nil {
		l.name = stem(scale, bias)
	}
	return l.with(lastNorm)
}

// lastNorm are the defaults of normalizations over the last axes.
var lastNorm = map[string]any{"Axes": 1, "Eps": 1e-5}

// rmsNorm returns an RMS normalization over the axes of the scale.
func (r *reader) rmsNorm(n *nn.Node, x, scale *nn.Value, eps float32) *layer {
	w := r.weight(scale)
	if x == nil || w == nil || !endsIn(x.Type(), w.Shape()) {
		return nil
	}
	l := layerOf(layers.RMSNorm{Axes: w.Dims(), Eps: round(eps)}, "rmsnorm", n, x, map[string]*tensor.Dense{"weight": w})
	if l != nil {
		l.name = stem(scale)
	}
	return l.with(lastNorm)
}

// endsIn reports whether the last axes of a type have these lengths.
func endsIn(t op.Type, shape []int) bool {
	if t.Unranked || t.Rank() < len(shape) {
		return false
	}
	for i, d := range t.Shape[t.Rank()-len(shape):] {
		if d.Symbolic() || d.Size != shape[i] {
			return false
		}
	}
	return true
}

func layerNorm(r *reader, n *nn.Node) *layer {
	c := attrs[std.LayerNormalizationConfig](n)
	x, w := r.data(n, 0), r.weight(n.In(1))
	if x == nil || w == nil || !single(n) {
		return nil
	}
	axis := -1
	if c.Axis != nil {
		axis = *c.Axis
	}
	if axis < 0 {
		axis += x.Type().Rank()
	}
	if x.Type().Rank()-axis != w.Dims() {
		return nil
	}
	return r.lastAxes(n, x, n.In(1), n.In(2), epsilon(c.Epsilon))
}

func instanceNorm(r *reader, n *nn.Node) *layer {
	c := attrs[std.InstanceNormalizationConfig](n)
	if x := r.data(n, 0); x != nil {
		return layerOf(layers.InstanceNorm{Eps: round(epsilon(c.Epsilon))}, "instancenorm", n, x,
			map[string]*tensor.Dense{"weight": r.weight(n.In(1)), "bias": r.weight(n.In(2))}).with(norm)
	}
	return nil
}

func groupNorm(r *reader, n *nn.Node) *layer {
	c := attrs[std.GroupNormalizationConfig](n)
	x, w := r.data(n, 0), r.weight(n.In(1))
	if x == nil || w == nil || x.Type().Rank() < 3 || w.Shape().TotalSize() != x.Type().Shape[1].Size {
		return nil
	}
	return layerOf(layers.GroupNorm{Groups: c.NumGroups, Eps: round(epsilon(c.Epsilon))}, "groupnorm", n, x,
		map[string]*tensor.Dense{"weight": w, "bias": r.weight(n.In(2))}).with(norm)
}
