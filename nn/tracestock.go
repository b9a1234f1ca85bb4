package nn

import (
	"maps"
	"slices"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockRules translate Gorgonia's own operators, by Go type. Operators that are missing have no ONNX form or compute
// something that differs from it (notably AveragePool2D, which divides by the width of its input).
func stockRules() map[string]TraceRule {
	return map[string]TraceRule{
		"gorgonia.elemBinOp":            binaryRule,
		"gorgonia.elemUnaryOp":          unaryRule,
		"gorgonia.minBetween":           func(s *Site) *Value { return s.pair(op.Plain("Min"), s.In(0), s.In(1)) },
		"gorgonia.maxBetween":           func(s *Site) *Value { return s.pair(op.Plain("Max"), s.In(0), s.In(1)) },
		"gorgonia.linAlgBinOp":          productRule,
		"gorgonia.reshapeOp":            reshapeRule,
		"gorgonia.transposeOp":          transposeRule,
		"gorgonia.concatOp":             concatRule,
		"*gorgonia.sliceOp":             sliceRule,
		"*gorgonia.byIndicesOp":         indicesRule,
		"*gorgonia.repeatOp":            repeatRule,
		"gorgonia.sizeOp":               sizeRule,
		"gorgonia.sumOp":                func(s *Site) *Value { return s.reduce("ReduceSum", s.In(0).Value()) },
		"*gorgonia.maxOp":               func(s *Site) *Value { return s.reduce("ReduceMax", s.In(0).Value()) },
		"*gorgonia.softmaxOp":           softmaxRule,
		"*gorgonia.maxPoolOp":           maxPoolRule,
		"*gorgonia.globalAveragePoolOp": func(s *Site) *Value { return s.Node(op.Plain("GlobalAveragePool"), s.In(0).Value()) },
		"*gorgonia.upsampleOp":          upsampleRule,
		"*gorgonia.BatchNormOp":         batchNormRule,
		"*gorgonia.GroupNormOp":         groupNormRule,
		"*gorgonia.dropoutOp":           dropoutRule,
		"*gorgonia.dtConvOp":            castRule,
	}
}

// dim1 is a size of 1.
func dim1(d size) bool { return d.is(1) }

// transposeRule also finds Conv2d, which is a matrix product of unrolled patches: Transpose ∘
// Reshape ∘ (Reshape∘Im2Col · Reshape(filter)ᵀ).
func transposeRule(s *Site) *Value {
	perm := s.Ints("pattern")
	if slices.Equal(perm, []int{0, 3, 1, 2}) {
		if v, ok := convolution(s); ok {
			return v
		}
	}
	return s.Node(std.TransposeConfig{Perm: perm}, s.In(0).Value())
}

func convolution(s *Site) (*Value, bool) {
	is := func(x *Site, t string) bool { return x.goType() == t }
	back := s.In(0)
	if !is(back, "gorgonia.reshapeOp") || !is(back.In(0), "gorgonia.linAlgBinOp") {
		return nil, false
	}
	mul := back.In(0)
	patches, filter := mul.In(0), mul.In(1)
	if mul.Int(productField) != matMul || mul.Bool("transA") || !mul.Bool("transB") ||
		!is(patches, "gorgonia.reshapeOp") || !is(patches.In(0), "gorgonia.im2colOp") || !is(filter, "gorgonia.reshapeOp") {
		return nil, false
	}
	im, w := patches.In(0), filter.In(0)
	cols, shape := im.shapeOf(nil), w.shapeOf(nil)
	out := back.shapeOf(nil)
	if len(shape) != 4 || !shape[2].is(im.Int("h")) || !shape[3].is(im.Int("w")) || !sameShapes(cols[:3], out[:3]) ||
		!slices.Equal(patches.shapeOf(nil)[1], cols[3]) || !slices.Equal(filter.shapeOf(nil)[0], shape[0]) {
		return nil, false
	}
	h, v := im.Int("padH"), im.Int("padW")
	c := std.ConvConfig{
		Kernel: []int{im.Int("h"), im.Int("w")}, Pads: []int{h, v, h, v},
		Strides: []int{im.Int("strideH"), im.Int("strideW")}, Dilations: []int{im.Int("dilationH"), im.Int("dilationW")},
	}
	return s.Node(c, im.In(0).Value(), w.Value()), true
}

func maxPoolRule(s *Site) *Value {
	n, w, so, e := s.Int("padNorth"), s.Int("padWest"), s.Int("padSouth"), s.Int("padEast")
	if n != so || w != e {
		return s.Refuse("with asymmetric padding, which Gorgonia computes wrongly")
	}
	return s.Node(std.MaxPoolConfig{
		Kernel: []int{s.Int("h"), s.Int("w")}, Pads: []int{n, w, so, e}, Strides: []int{s.Int("strideH"), s.Int("strideW")},
	}, s.In(0).Value())
}

// upsampleRule translates Upsample2D, which repeats each pixel.
func upsampleRule(s *Site) *Value {
	t := float32(s.Int("stride") + 1)
	scales := tensor.New(tensor.WithBacking([]float32{1, 1, t, t}))
	return s.Node(std.ResizeConfig{Coordinates: "asymmetric", Nearest: "floor"}, s.In(0).Value(), nil, s.t.e.Const(s.t.constName(), scales))
}

// batchNormRule adds a BatchNormalization without a scale and a bias, which Gorgonia applies after it. It shares the memory
// of the running statistics; those of an operator that never ran are a mean of 0 and a variance of 1.
func batchNormRule(s *Site) *Value {
	x, isOp := s.Op().(*gorgonia.BatchNormOp)
	if !isOp {
		return s.Refuse("")
	}
	m, v := x.Stats()
	mean, isMean := m.(*tensor.Dense)
	variance, isVariance := v.(*tensor.Dense)
	if !isMean || !isVariance || len(s.In(0).shape()) < 2 {
		return s.Refuse("")
	}
	if unused(mean) && unused(variance) {
		variance = s.filled(mean.Shape()[0], 1)
	}
	name := s.t.nameOf(s.at[0])
	if name == "" {
		name = "batchnorm"
	}
	one, zero := s.channels(mean.Shape()[0])
	return s.Node(std.BatchNormalizationConfig{Epsilon: new(float32(s.Float("epsilon"))), Momentum: new(float32(1 - s.Float("momentum")))},
		s.In(0).Value(), one, zero, s.t.e.Const(name+".running_mean", mean), s.t.e.Const(name+".running_var", variance))
}

// unused tells whether a running statistic has only zeros, as Gorgonia makes it.
func unused(d *tensor.Dense) bool {
	x, _ := floats(d)
	return !slices.ContainsFunc(x, func(v float64) bool { return v != 0 })
}

// groupNormRule adds a GroupNormalization without a scale and a bias, which Gorgonia applies after it.
func groupNormRule(s *Site) *Value {
	one, zero := s.channels(s.Int("numChannels"))
	return s.Node(std.GroupNormalizationConfig{Epsilon: new(float32(s.Float("epsilon"))), NumGroups: s.Int("numGroups")}, s.In(0).Value(), one, zero)
}

// channels adds a scale of 1 and a bias of 0 for n channels, which are not trained.
func (s *Site) channels(n int) (one, zero *Value) { return s.fixed(n, 1), s.fixed(n, 0) }

func (s *Site) fixed(n int, x float64) *Value {
	v := s.t.e.Const(s.t.constName(), s.filled(n, x))
	if v != nil {
		s.t.e.SetRole(v, Constant)
	}
	return v
}

// filled returns a vector of the site's type.
func (s *Site) filled(n int, x float64) *tensor.Dense {
	d, err := dtype.FromFloats(op.NodeType(s.at[0]).DType, slices.Repeat([]float64{x}, n), n)
	if err != nil {
		s.fail(err)
	}
	return d
}

// softmaxRule uses Gorgonia's choice of the axis: the last, or the first of a column.
func softmaxRule(s *Site) *Value {
	axis, shape := s.Int("axis"), s.In(0).shape()
	if axis == -1 {
		axis = len(shape) - 1
		if len(shape) == 2 && dim1(shape[1]) && !dim1(shape[0]) {
			axis = 0
		}
	}
	if s.Bool("isLog") {
		// Gorgonia's Log converts the SoftMax that it reads to a LogSoftMax, for all readers.
		if s.t.ambiguous(s.at[0]) {
			s.Failf("it is read more than once, and Log(SoftMax(x)) changes the SoftMax that the others read, so the result would be ambiguous: " +
				"write the one that is meant as std.Operators().Apply1(op.Plain(\"LogSoftmax\"), x), or \"Softmax\"")
			return nil
		}
		return s.Node(std.LogSoftmaxConfig{Axis: &axis}, s.In(0).Value())
	}
	return s.Node(std.SoftmaxConfig{Axis: &axis}, s.In(0).Value())
}

// ambiguous reports whether a LogSoftMax may have been a SoftMax: it has two readers, or Gorgonia merged nodes computed
// from the two, which is visible as a sum or product of a value with itself.
func (t *tracer) ambiguous(n *gorgonia.Node) bool {
	readers := map[*gorgonia.Node]gorgonia.Nodes{}
	seen := map[*gorgonia.Node]bool{}
	stack := slices.Collect(maps.Keys(t.results))
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[m] || goType(m) == "gorgonia.sizeOp" {
			continue
		}
		seen[m] = true
		for _, k := range exprgraph.Children(m) {
			stack, readers[k] = append(stack, k), append(readers[k], m)
		}
	}
	if len(readers[n])+t.results[n] > 1 {
		return true
	}
	for len(readers[n]) == 1 {
		n = readers[n][0]
	}
	r := readers[n]
	return len(r) > 0 && r[0] == r[1]
}

// dropoutRule adds a Dropout, which is the identity except in training mode.
func dropoutRule(s *Site) *Value {
	x := s.In(0).Value()
	return s.Node(op.Plain("Dropout"), x, s.t.e.Const(s.t.constName(), scalarOf(s, s.Float("probability"))))
}

func castRule(s *Site) *Value {
	return s.Node(std.CastConfig{To: op.NodeType(s.at[0]).DType}, s.In(0).Value())
}

func concatRule(s *Site) *Value {
	in := make([]*Value, s.Inputs())
	for i := range in {
		in[i] = s.In(i).Value()
	}
	return s.Node(std.ConcatConfig{Axis: s.Int("axis")}, in...)
}

// indicesRule translates ByIndices, which accepts anything vector-like as indices.
func indicesRule(s *Site) *Value {
	idx, axis := s.In(1), s.Int("axis")
	v := s.reshape(idx.Value(), idx.shape(), []size{total(idx.shape(), s.t.count())})
	return s.Node(std.GatherConfig{Axis: axis}, s.In(0).Value(), v)
}

// sliceRule translates a slice along one axis. A slice of length one drops the axis.
func sliceRule(s *Site) *Value {
	x := s.In(0)
	in, out := x.shape(), s.shapeOf(nil)
	axis := s.Int("along")
	starts, ends, step, ok := s.cuts(axis, in)
	if !ok {
		return x.Value()
	}
	if s.t.roll && len(out) < len(in) && starts.constant() {
		return s.Node(std.GatherConfig{Axis: axis}, x.Value(), constInt(s.t.e, starts[0]))
	}
	args := []*Value{x.Value(), s.vector([]size{starts}), s.vector([]size{ends}), s.vector([]size{s.t.fixed(axis)})}
	if step != 1 {
		args = append(args, s.vector([]size{s.t.fixed(step)}))
	}
	v := s.Node(op.Plain("Slice"), args...)
	if len(out) < len(in) {
		v = s.Node(std.SqueezeConfig{}, v, s.vector([]size{s.t.fixed(axis)}))
	}
	return v
}

// cuts returns the start and end of a slice; false if it covers the whole axis. Gorgonia drops the remainder of a
// division by the step, so the end follows from the length.
func (s *Site) cuts(axis int, in []size) (starts, ends size, step int, ok bool) {
	rows := make([][]int, len(s.at))
	for k, n := range s.at {
		var sl tensor.Slice
		if x, is := n.Op().(interface{ IsSlice() tensor.Slice }); is {
			sl = x.IsSlice()
		}
		if sl == nil || sl.End() <= sl.Start() {
			return nil, nil, 0, false
		}
		step = max(sl.Step(), 1)
		length := 1
		if len(n.Shape()) == len(in) {
			length = n.Shape()[axis]
		}
		rows[k] = []int{sl.Start(), sl.Start() + length*step, step}
	}
	list := s.transpose(rows)
	if s.t.e.err != nil || !list[2].constant() {
		s.Failf("the step of a slice depends on a symbol")
		return nil, nil, 0, true
	}
	starts, ends = list[0], list[1]
	if len(s.at) == 1 && ends[0] == s.In(0).at[0].Shape()[axis] || slices.Equal(ends, in[axis]) {
		ends = s.t.fixed(1<<31 - 1) // to the end, whatever its index
	}
	return starts, ends, step, true
}
