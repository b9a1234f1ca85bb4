package generate

import (
	"math"
	"slices"
	"strconv"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// round returns the shortest decimal number that converts to x in float32.
func round(x float32) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	return f
}

func maxPool(r *reader, n *nn.Node) *layer {
	c := attrs[std.MaxPoolConfig](n)
	pad, ok := padding(c.AutoPad, c.Pads, c.Kernel, c.Strides, c.Dilations)
	x := r.data(n, 0)
	if x == nil || !ok || !single(n) || x.Type().Rank() != len(c.Kernel)+2 {
		return nil
	}
	l := layers.MaxPool{Kernel: evenly(c.Kernel, 1), Stride: evenly(c.Strides, 1), Dilation: evenly(c.Dilations, 1), Pad: pad, Ceil: c.CeilMode}
	if slices.Equal(l.Kernel, l.Stride) {
		l.Stride = nil
	}
	return layerOf(l, "", n, x, nil).with(pool)
}

// pool are the defaults of pools.
var pool = map[string]any{"Dilation": []int{1}, "Pad": []int{0}}

func avgPool(r *reader, n *nn.Node) *layer {
	c := attrs[std.AveragePoolConfig](n)
	pad, ok := padding(c.AutoPad, c.Pads, c.Kernel, c.Strides, c.Dilations)
	x := r.data(n, 0)
	if x == nil || !ok || len(c.Dilations) > 0 && !slices.Equal(evenly(c.Dilations, 1), []int{1}) || x.Type().Rank() != len(c.Kernel)+2 {
		return nil
	}
	l := layers.AvgPool{Kernel: evenly(c.Kernel, 1), Stride: evenly(c.Strides, 1), Pad: pad, Ceil: c.CeilMode, CountPadding: c.CountIncludePad}
	if slices.Equal(l.Kernel, l.Stride) {
		l.Stride = nil
	}
	return layerOf(l, "", n, x, nil).with(pool)
}

func leakyReLU(r *reader, n *nn.Node) *layer {
	c := attrs[std.LeakyReluConfig](n)
	slope := round(given(c.Alpha, 0.01))
	if x := r.data(n, 0); x != nil && slope != 0 {
		return layerOf(layers.LeakyReLU{Slope: slope}, "", n, x, nil).with(map[string]any{"Slope": 0.01})
	}
	return nil
}

func elu(r *reader, n *nn.Node) *layer {
	c := attrs[std.EluConfig](n)
	alpha := round(given(c.Alpha, 1))
	if x := r.data(n, 0); x != nil && alpha != 0 {
		return layerOf(layers.ELU{Alpha: alpha}, "", n, x, nil).with(map[string]any{"Alpha": 1.0})
	}
	return nil
}

func relu6(r *reader, n *nn.Node) *layer {
	if x := r.data(n, 0); x != nil && r.filled(n.In(1), 0) && r.filled(n.In(2), 6) {
		return layerOf(layers.ReLU6{}, "", n, x, nil)
	}
	return nil
}

func gelu(r *reader, n *nn.Node) *layer {
	if x := r.data(n, 0); x != nil {
		return layerOf(layers.GELU{Tanh: attrs[std.GeluConfig](n).Approximate == "tanh"}, "", n, x, nil)
	}
	return nil
}

func prelu(r *reader, n *nn.Node) *layer {
	x, w := r.data(n, 0), r.weight(n.In(1))
	if x == nil || w == nil || x.Type().Rank() < 2 || w.Dims() != x.Type().Rank()-1 || w.Shape()[0] != w.Shape().TotalSize() || w.Shape()[0] != x.Type().Shape[1].Size {
		return nil
	}
	return layerOf(layers.PReLU{}, "prelu", n, x, map[string]*tensor.Dense{"weight": w})
}

// axisOf returns an axis in the form of layers: nil for the usual one. ok is false if it cannot be compared with the usual one.
func axisOf(x *nn.Value, axis, usual int) (of *int, ok bool) {
	rank := x.Type().Rank()
	if x.Type().Unranked || rank == 0 {
		return nil, false
	}
	if axis = (axis + rank) % rank; axis != (usual+rank)%rank {
		of = &axis
	}
	return of, true
}

func softmax(r *reader, n *nn.Node) *layer {
	return softmaxOf(r, n, attrs[std.SoftmaxConfig](n).Axis, func(axis *int) nn.Layer { return layers.Softmax{Axis: axis} })
}

func logSoftmax(r *reader, n *nn.Node) *layer {
	return softmaxOf(r, n, attrs[std.LogSoftmaxConfig](n).Axis, func(axis *int) nn.Layer { return layers.LogSoftmax{Axis: axis} })
}

func softmaxOf(r *reader, n *nn.Node, attr *int, make func(*int) nn.Layer) *layer {
	x := r.data(n, 0)
	if x == nil {
		return nil
	}
	along := -1
	if attr != nil {
		along = *attr
	}
	axis, ok := axisOf(x, along, -1)
	if !ok {
		return nil
	}
	return layerOf(make(axis), "", n, x, nil)
}

func flatten(r *reader, n *nn.Node) *layer {
	axis := attrs[std.FlattenConfig](n).Axis
	if axis != nil && *axis == 1 {
		axis = nil
	}
	if x := r.data(n, 0); x != nil {
		return layerOf(layers.Flatten{Axis: axis}, "", n, x, nil)
	}
	return nil
}

// reshape returns a layer where at most one length is neither a number nor that of the same axis before.
func reshape(r *reader, n *nn.Node) *layer {
	x, shape := n.In(0), n.In(1)
	if c := attrs[std.ReshapeConfig](n); c.AllowZero || r.tensor(x) != nil || x.Type().Unranked {
		return nil
	}
	in, dims, open := x.Type().Shape, []int(nil), 0
	if t := r.tensor(shape); t != nil {
		dims, _ = dtype.Ints(t)
	} else {
		for i, d := range shape.Known().Dims {
			k := d.Size
			if d.Symbolic() || !d.Known() {
				k = -1
				if i < len(in) && d.Symbolic() && in[i].Same(d) {
					k = 0
				}
			}
			if k == -1 {
				open++
			}
			dims = append(dims, k)
		}
	}
	if len(dims) == 0 || open > 1 {
		return nil
	}
	if len(dims) == 2 && len(in) > 1 && dims[1] == -1 && (dims[0] == 0 || !in[0].Symbolic() && dims[0] == in[0].Size && dims[0] > 0) {
		return layerOf(layers.Flatten{}, "", n, x, nil)
	}
	return layerOf(layers.Reshape{Dims: dims}, "", n, x, nil)
}

func transpose(r *reader, n *nn.Node) *layer {
	c := attrs[std.TransposeConfig](n)
	if x := r.data(n, 0); x != nil {
		return layerOf(layers.Transpose{Perm: c.Perm}, "", n, x, nil)
	}
	return nil
}

func dropout(r *reader, n *nn.Node) *layer {
	x := r.data(n, 0)
	if x == nil || !single(n) || n.In(2) != nil || !x.Type().DType.IsFloat() {
		return nil
	}
	if c := attrs[std.DropoutConfig](n); c.Seed != nil {
		return nil
	}
	p := 0.5
	if n.In(1) != nil {
		f, err := dtype.Float64s(r.tensor(n.In(1)))
		if err != nil || len(f) != 1 || f[0] < 0 || f[0] >= 1 {
			return nil
		}
		p = round(float32(f[0]))
	}
	return layerOf(layers.Dropout{P: p}, "", n, x, nil)
}

func concat(r *reader, n *nn.Node) *layer {
	axis, ok := axisOf(n.In(0), attrs[std.ConcatConfig](n).Axis, 1)
	if n.In(0).Type().Rank() == 1 {
		axis = new(-1)
	}
	if !ok {
		return nil
	}
	l := &layer{Layer: layers.Concat{Axis: axis}, in: slices.Clone(n.Inputs()), out: n.Outputs(), nodes: []*nn.Node{n}, what: "tokens"}
	for i, v := range n.Inputs() {
		if r.tensor(v) != nil {
			return nil
		}
		x, repeats := r.repeated(v, n)
		if x == nil || attrs[std.ConcatConfig](n).Axis == 0 || !slices.ContainsFunc(n.Inputs(), func(o *nn.Value) bool { return r.batchOf(o, v) }) {
			continue
		}
		l.Layer, l.in[i] = layers.Concat{Axis: axis, Repeat: true}, x
		l.nodes = append(repeats, l.nodes...)
	}
	return l
}

// repeated returns the value of one sample that v repeats for a batch, and the nodes that do so; nil if there is none.
func (r *reader) repeated(v *nn.Value, by *nn.Node) (x *nn.Value, nodes []*nn.Node) {
	for n := v.Producer(); n != nil && n.Domain() == "" && n.Traits().Moves == trait.MovedOften && only(v, by); n = v.Producer() {
		nodes = append(nodes, n)
		v, by = n.In(0), n
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	from, to := v.Type(), nodes[0].Out(0).Type()
	if r.tensor(v) == nil || from.Unranked || to.Unranked || from.Rank() != to.Rank() || from.Shape[0] != op.D(1) || to.Shape[0] == op.D(1) ||
		!slices.EqualFunc(from.Shape[1:], to.Shape[1:], op.Dim.Same) {
		return nil, nil
	}
	return v, nodes
}

// batchOf reports whether o is a value of the same batch as v that is not repeated.
func (r *reader) batchOf(o, v *nn.Value) bool {
	if o.Type().Unranked || o.Type().Rank() == 0 || !o.Type().Shape[0].Same(v.Type().Shape[0]) {
		return false
	}
	return o.Producer() == nil || o.Producer().Traits().Moves != trait.MovedOften
}

// epsilon returns the epsilon of a normalization, by default 1e-5.
func epsilon(x *float32) float32 {
	if x == nil {
		return 1e-5
	}
	return *x
}

// mean returns a mean over explicit axes.
func mean(r *reader, n *nn.Node) *layer {
	c := attrs[std.ReduceMeanConfig](n)
	axes, err := dtype.Ints(r.tensor(n.In(1)))
	x := n.In(0)
	if err != nil || len(axes) == 0 || x == nil || r.tensor(x) != nil || x.Type().Unranked {
		return nil
	}
	return layerOf(layers.Mean{Axes: axes, Keep: c.KeepDims == nil || *c.KeepDims}, "", n, x, nil)
}

// slice returns a Slice along one axis, forward.
func slice(r *reader, n *nn.Node) *layer {
	x, step := r.data(n, 0), []int{1}
	if n.In(4) != nil {
		step, _ = dtype.Ints(r.tensor(n.In(4)))
	}
	if x == nil || len(step) != 1 || step[0] < 1 {
		return nil
	}
	axis := []int{0}
	if n.In(3) != nil {
		axis, _ = dtype.Ints(r.tensor(n.In(3)))
	}
	from, err := dtype.Ints(r.tensor(n.In(1)))
	to, other := dtype.Ints(r.tensor(n.In(2)))
	if err != nil || other != nil || len(axis) != 1 || len(from) != 1 || len(to) != 1 || to[0] == 0 {
		return nil
	}
	if t := x.Type(); !t.Unranked && axis[0] >= -t.Rank() && axis[0] < t.Rank() {
		if d := t.Shape[(axis[0]+t.Rank())%t.Rank()]; fixed(d) && to[0] >= d.Size {
			to[0] = math.MaxInt32
		}
	}
	if to[0] >= math.MaxInt32 {
		to[0] = 0 // the end
	}
	return layerOf(layers.Slice{Axis: axis[0], From: from[0], To: to[0], Step: step[0]}, "", n, x, nil).with(map[string]any{"Step": 1})
}

// rolled returns the Concat of the last elements along an axis and the first ones.
func rolled(r *reader, n *nn.Node) *layer {
	if len(n.Inputs()) != 2 || n.In(0) == nil || n.In(1) == nil || n.In(0).Producer() == nil || n.In(1).Producer() == nil {
		return nil
	}
	axis := attrs[std.ConcatConfig](n).Axis
	var parts [2]layers.Slice
	for i := range parts {
		p := n.In(i).Producer()
		if !ofStandard(p, "Slice") || !only(n.In(i), n) || p.In(0) != n.In(0).Producer().In(0) {
			return nil
		}
		l := slice(r, p)
		if l == nil {
			return nil
		}
		parts[i] = l.Layer.(layers.Slice)
		if rank := p.In(0).Type().Rank(); (parts[i].Axis+rank)%rank != (axis+rank)%rank {
			return nil
		}
	}
	last, first := parts[0], parts[1]
	if last.Step > 1 || first.Step > 1 || last.To != 0 || first.From != 0 || first.To != last.From || first.To == 0 {
		return nil
	}
	l := layerOf(layers.Roll{Axis: axis, By: -first.To}, "", n, n.In(0).Producer().In(0), nil)
	if l != nil {
		l.nodes = []*nn.Node{n.In(0).Producer(), n.In(1).Producer(), n}
	}
	return l
}
