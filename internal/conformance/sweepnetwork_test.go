package conformance_test

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

var (
	networks    = flag.Int("networks", 40, "random networks that are compared with ONNX Runtime")
	networkFrom = flag.Int("networkfrom", 0, "number of the first one")
)

// TestSweepNetworks compares random networks of two to five of the models of TestSweep. What a node computes from the values that ONNX Runtime
// gives it must be what ONNX Runtime computes; the outputs alone, for which nodes are fused and their memory is used again, must be
// those of a run that returns every value; and Gorgonia's TapeMachine must give the same.
func TestSweepNetworks(t *testing.T) {
	if testing.Short() {
		t.Skip("random networks")
	}
	ort := oracle.ORT(t)
	var count struct{ networks, nodes, compared, special int }
	for i := *networkFrom; i < *networkFrom+*networks; i++ {
		r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i)))}
		w := r.network(t)
		if len(w) < 2 {
			continue
		}
		count.networks++
		model := w.model(t, r)
		feed, in := w.feeds()
		every, ends := []string{}, w.ends()
		for n, c := range w {
			for k := range max(c.out, 1) {
				every = append(every, outputName(n*stride+k))
			}
		}
		g, err := onnxio.Read(bytes.NewReader(model))
		if err != nil {
			t.Errorf("%d: %s: %v", i, w, err)
			continue
		}
		all, err := g.Eval(t.Context(), feed, every...)
		if err != nil {
			t.Errorf("%d: %s: its nodes run alone: %v", i, w, err)
			continue
		}
		alone, err := g.Eval(t.Context(), feed, ends...)
		if err != nil {
			t.Errorf("%d: %s: outputs alone: %v", i, w, err)
			continue
		}
		for name, v := range alone {
			if err := closeValues(v, all[name], 1e-5, 1e-6); err != nil {
				t.Errorf("%d: %s: %s, outputs alone: %v", i, w, name, err)
			}
		}
		if !hasStrings(all) { // Gorgonia's machine cannot copy them
			t.Run("tape", func(t *testing.T) {
				compareWithTape(t, model, g, feed, all, nil)
				if t.Failed() {
					t.Logf("%d: %s", i, w)
				}
			})
		}
		want, err := ort.Run(model, in)
		if err != nil {
			if testing.Verbose() {
				t.Logf("%d: ONNX Runtime refuses %s: %v", i, w, err)
			}
			continue
		}
		for n, c := range w {
			count.nodes++
			fed, same, largest := w.reads(feed, all, want, n)
			if !(largest < 1e4) && ordinary[c.family] || departs(c, want, n, largest) {
				count.special++
				continue
			}
			got := all
			if !same {
				names := every[slices.Index(every, outputName(n*stride)):][:max(c.out, 1)]
				if got, err = g.Eval(t.Context(), fed, names...); err != nil {
					t.Errorf("%d: %s: node %d, fed: %v", i, w, n, err)
					continue
				}
			}
			count.compared++
			for k := range max(c.out, 1) {
				name := outputName(n*stride + k)
				y, ok := want[name]
				if !ok {
					continue
				}
				x, rtol, atol := packValue(got[name]), cmpOr(c.rtol, 1e-4), cmpOr(c.atol, 1e-5)
				if strings.Contains(y.DType, "int") && c.atol < 1 && slices.Equal(x.Shape, y.Shape) && !bytes.Equal(x.Data, y.Data) {
					t.Errorf("%d: %s: node %d, %s: integers differ: %s", i, w, n, c.op, describe(got[name], y))
				}
				if y.DType == "float16" || c.half() {
					rtol, atol = max(rtol, 4e-3), max(atol, 4e-3)
				}
				if largest < 1e4 {
					atol *= max(1, largest)
				}
				if err := oracle.Close(x, y, rtol, atol); err != nil {
					t.Errorf("%d: %s: node %d, %s, output %d: %v", i, w, n, c.op, k, err)
				}
			}
		}
	}
	t.Logf("%+v", count)
}

// hasStrings reports whether there are strings among the values.
func hasStrings(values nn.Feed) bool {
	for _, v := range values {
		if dtype.DTypeOf(v) == dtype.String {
			return true
		}
	}
	return false
}

// departs reports whether ONNX Runtime does not do what ONNX defines, or ONNX defines nothing: a scale of 0, NaN among what is sorted or is compared for the
// largest, sums of integers that overflow; normalization of equal or tiny numbers, the softmax of zeros that stay zero, batch statistics in 16 bits, classes of equal scores,
// the length of SAME, the divisor of align_corners, nearest points of tf_crop_and_resize, sets of integers in trees.
func departs(c trial, want map[string]oracle.Tensor, n int, largest float64) bool {
	switch c.op {
	case "LinearRegressor":
		return c.attrs["post_transform"] == "SOFTMAX_ZERO"
	case "MeanVarianceNormalization", "LpNormalization", "Normalizer", "SVMClassifier":
		return true
	case "DynamicQuantizeLinear":
		y, err := want[outputName(n*stride+1)].Float64s()
		return err != nil || y[0] == 1
	case "QuantizeLinear", "DequantizeLinear", "QLinearMatMul":
		x, _ := dtype.Float64s(c.in[1].value.(*tensor.Dense))
		return c.half() || slices.Contains(x, 0) || slices.ContainsFunc(x, math.IsNaN)
	case "BatchNormalization":
		return c.half()
	case "MaxPool", "Unique", "Hardmax", "ReduceSum", "Pow", "TopK", "NonMaxSuppression", "ScatterND", "ScatterElements":
		return !(largest < 1e4)
	case "ConvTranspose":
		return c.attrs["auto_pad"] != nil
	case "TreeEnsemble":
		return c.attrs["membership_values"] != nil
	case "Resize":
		m := c.attrs["coordinate_transformation_mode"]
		return m == "align_corners" || m == "tf_crop_and_resize"
	}
	return false
}

// describe returns short values.
func describe(v dtype.Value, want oracle.Tensor) string {
	return trial{in: []argument{{value: v}, {value: unpack(want)}}}.String()
}

// half reports whether a node computes in 16 bits.
func (c trial) half() bool {
	return slices.ContainsFunc(c.in, func(a argument) bool { return a.value != nil && dtype.DTypeOf(a.value) == dtype.Float16 })
}

// closeValues compares two values of graft.
func closeValues(got, want dtype.Value, rtol, atol float64) error {
	x, y := got, want
	if d, ok := want.(*tensor.Dense); ok && dtype.DTypeOf(d) == dtype.BFloat16 {
		if e, ok := got.(*tensor.Dense); ok {
			x, y = must(dtype.ConvertTo(dtype.Float32, e)), must(dtype.ConvertTo(dtype.Float32, d))
			rtol, atol = 1e-2, 1e-2
		}
	} else if dtype.DTypeOf(want) == dtype.Float16 {
		rtol, atol = 2e-3, 2e-3
	}
	return oracle.Close(packValue(x), packValue(y), rtol, atol)
}

// ends returns the outputs that no node reads, and that are no running statistics.
func (w network) ends() (names []string) {
	read := map[string]bool{}
	for _, c := range w {
		for _, name := range c.from {
			read[name] = true
		}
	}
	for n, c := range w {
		for k := range max(c.out, 1) {
			if name := outputName(n*stride + k); !read[name] && (k == 0 || c.op != "BatchNormalization") {
				names = append(names, name)
			}
		}
	}
	return names
}

// reads returns a feed with the values that node n reads in ONNX Runtime, reports whether graft's are the same, and returns the largest number among
// the inputs, NaN if one is NaN.
func (w network) reads(feed, all nn.Feed, want map[string]oracle.Tensor, n int) (fed nn.Feed, same bool, largest float64) {
	fed, same = maps.Clone(feed), true
	for k, a := range w[n].in {
		v := a.value
		if name := w[n].from[k]; name != "" {
			y := want[name]
			x := packValue(all[name])
			same = same && bytes.Equal(x.Data, y.Data) && slices.Equal(x.Strings, y.Strings) && slices.Equal(x.Shape, y.Shape)
			v = unpack(y)
			fed[name] = v
		}
		largest = max(largest, magnitude(v))
	}
	return fed, same, largest
}

// magnitude returns the largest absolute number, NaN if one is NaN.
func magnitude(v dtype.Value) (largest float64) {
	d, ok := v.(*tensor.Dense)
	if !ok || dtype.DTypeOf(v) == dtype.String {
		return 0
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return math.NaN()
	}
	for _, e := range x {
		largest = max(largest, math.Abs(e))
	}
	return largest
}

func unpack(y oracle.Tensor) dtype.Value {
	if y.DType == "string" {
		return must(dtype.NewStrings(y.Strings, y.Shape...))
	}
	for _, t := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Bool} {
		if t.String() == y.DType {
			v := dtype.New(t, y.Shape...)
			copy(dtype.Bytes(v), y.Data)
			return v
		}
	}
	panic(y.DType)
}

func (w network) String() string {
	var b strings.Builder
	for n, c := range w {
		b.WriteString(outputName(n*stride) + " = " + c.String() + "; ")
	}
	return b.String()
}

// families are those of all sweeps.
var families = func() map[string]func(r *draw) trial {
	all := map[string]func(r *draw) trial{}
	for _, f := range sweeps {
		maps.Copy(all, f)
	}
	return all
}()

// simple are families that what comes before and after them is fused with, or that only view memory; half of the nodes are of these.
var simple = []string{"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "unary", "activations", "HardSwish and Mish", "PRelu", "Clip", "Where", "Conv", "MatMul", "Gemm", "BatchNormalization",
	"Concat", "Split", "Slice", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Expand", "Pad", "Softmax", "ReduceMean", "ReduceSum", "Cast", "MaxPool", "AveragePool", "Gather"}

// builder makes a network.
type builder struct {
	*draw
	t      *testing.T
	w      network
	opset  int
	values []result // of the outputs so far
	float  dtype.DType
}

// result is the output of a node.
type result struct {
	name  string
	value dtype.Value
}

// network draws a model of two to five nodes, and those that adapt types and shapes in between.
func (r *draw) network(t *testing.T) network {
	b := &builder{draw: r, t: t, opset: pick(r, 13, 17, 18, 21, 22), float: dtype.Float32}
	if r.smooth {
		b.float = dtype.Float64
	} else if r.rarely(3) {
		b.float = pick(r, dtype.Float64, dtype.Float16, dtype.BFloat16)
	}
	names := slices.Sorted(maps.Keys(families))
	for want := r.between(2, 5); want > 0; want-- {
		for range 40 {
			family := names[r.IntN(len(names))]
			if r.flag() {
				family = pick(r, simple...)
			}
			if r.smooth && family == "Clip" { // between equal numbers
				continue
			}
			r.special = r.rarely(6) && !ordinary[family] && !r.smooth
			c := families[family](r)
			c.family = family
			if b.fits(c) && b.join(c) {
				break
			}
		}
	}
	r.special = false
	return b.w
}

// fits reports whether the trial is right for the operator set.
func (b *builder) fits(c trial) bool {
	o := std.Operators().Find(c.domain, c.op)
	if o == nil || c.out > stride || len(c.in) > stride {
		return false
	}
	for _, d := range b.w {
		if d.domain == c.domain && c.domain != "" && d.opset != c.opset {
			return false
		}
	}
	return c.domain != "" || o.Version(c.opset) == o.Version(b.opset)
}

// join adds the trial, with inputs from earlier nodes, unless it does not run.
func (b *builder) join(c trial) bool {
	if c.domain == "" {
		c.opset = b.opset
	}
	o := std.Operators().Find(c.domain, c.op)
	b.narrow(o, &c)
	nodes, values := len(b.w), len(b.values)
	c.from = map[int]string{}
	joined := false
	for k, a := range c.in {
		if len(b.values) == 0 || a.value == nil || !joinable(c, k) || a.constant && !b.rarely(4) || !b.rarely(k+1) {
			continue
		}
		from := b.values[len(b.values)-1]
		if b.rarely(3) {
			from = b.values[b.IntN(len(b.values))]
		}
		if from, ok := b.adapt(from, dtype.DTypeOf(a.value), a.value.Shape()); ok {
			c.in[k], c.from[k], joined = argument{value: from.value}, from.name, true
		}
	}
	if (joined || len(b.w) == 0) && b.append(c) {
		return true
	}
	b.w, b.values = b.w[:nodes], b.values[:values]
	return false
}

// joinable reports whether input k may have any value of its type and shape.
func joinable(c trial, k int) bool {
	switch dtype.DTypeOf(c.in[k].value) {
	case dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16:
		return c.op != "Range" && !slices.Contains(plainNumbers[c.op], k)
	case dtype.String:
		return false
	}
	return k == 0 && slices.Contains([]string{"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "BitwiseAnd", "Where", "Expand", "Clip",
		"Cast", "MatMul", "Gather", "GatherElements", "GatherND", "Slice", "Pad", "Concat", "Split", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Tile", "Trilu", "Identity", "Not", "Neg", "Abs", "Sign", "CumSum", "TopK", "ArgMax", "ArgMin",
		"ReduceSum", "ReduceMax", "ReduceMin", "NonZero", "Unique", "Compress", "ScatterElements", "ScatterND", "OneHot", "Shape", "Size"}, c.op)
}

// narrow gives the trial the network's type of floats, where the operator may have it.
func (b *builder) narrow(o *op.Op, c *trial) {
	if b.float == dtype.Float32 {
		return
	}
	for k, a := range c.in {
		s, _ := op.At(o.In.List(), k)
		if d, ok := a.value.(*tensor.Dense); ok && dtype.DTypeOf(d) == dtype.Float32 && slices.Contains(o.Where[s.Type], b.float) {
			c.in[k].value = must(dtype.ConvertTo(b.float, d))
		}
	}
}

// append adds a node if it runs by itself.
func (b *builder) append(c trial) bool {
	alone := c
	alone.from = nil
	feed := nn.Feed{}
	for k, a := range c.in {
		if a.value != nil && !a.constant {
			feed[inputName(k)] = a.value
		}
	}
	out, err := evaluate(b.t, alone.model(b.t, &draw{Rand: rand.New(rand.NewPCG(1, 1))}), feed)
	if err != nil {
		return false
	}
	n := len(b.w)
	b.w = append(b.w, c)
	for k := range max(c.out, 1) {
		if v := out[outputName(k)]; v != nil && v.Size() <= 1<<12 && !(b.smooth && c.op == "BatchNormalization" && k > 0) {
			b.values = append(b.values, result{outputName(n*stride + k), v})
		}
	}
	return true
}

// node adds a node that adapts a value.
func (b *builder) node(operator string, attrs map[string]any, x result, more ...dtype.Value) (result, bool) {
	in := fed(x.value)
	for _, v := range more {
		in = append(in, argument{v, true})
	}
	if !b.append(trial{op: operator, opset: b.opset, attrs: attrs, in: in, from: map[int]string{0: x.name}}) {
		return x, false
	}
	return b.values[len(b.values)-1], true
}

// adapt makes a value of another type and shape of one. Where gradients are wanted its numbers differ, and are not zero: at ties, and at the zero of a root, there are none.
func (b *builder) adapt(x result, t dtype.DType, shape []int) (result, bool) {
	x, ok := b.shaped(x, t, shape)
	if ok && b.smooth && t == dtype.Float64 {
		return b.node("Add", nil, x, b.generic(b.floats(shape...), true))
	}
	return x, ok
}

// shaped makes a value of another type and shape of one, by nodes that take it apart.
func (b *builder) shaped(x result, t dtype.DType, shape []int) (_ result, ok bool) {
	if from := dtype.DTypeOf(x.value); from != t {
		if from == dtype.String || from.IsFloat() && (b.smooth || !t.IsFloat() && t != dtype.Bool) {
			return x, false
		}
		if x, ok = b.node("Cast", map[string]any{"to": int(t)}, x); !ok {
			return x, false
		}
	}
	if t.IsFloat() && !(magnitude(x.value) < 1e4) && !b.rarely(8) {
		bound := func(f float32) dtype.Value { return must(dtype.ConvertTo(t, scalar(f).(*tensor.Dense))) }
		if x, ok = b.node("Clip", nil, x, bound(-3), bound(3)); !ok {
			return x, false
		}
	}
	if slices.Equal(x.value.Shape(), shape) {
		return x, true
	}
	n, m := elements(shape), x.value.Size()
	if m == 0 && n > 0 {
		return x, false
	}
	if n != m {
		if x, ok = b.node("Reshape", nil, x, ints(-1)); !ok {
			return x, false
		}
		if m < n {
			if x, ok = b.node("Tile", nil, x, ints((n+m-1)/m)); !ok {
				return x, false
			}
			m *= (n + m - 1) / m
		}
		switch {
		case m == n:
		case b.flag():
			x, ok = b.node("Gather", nil, x, b.index(dtype.Int64, m, n))
		default:
			start := b.between(0, m-n)
			if x, ok = b.node("Slice", nil, x, ints(start), ints(start+n), ints(0), ints(1)); b.flag() && ok {
				x, ok = b.node("Slice", nil, x, ints(-1), ints(-1<<40), ints(0), ints(-1))
			}
		}
		if !ok || slices.Equal(x.value.Shape(), shape) {
			return x, ok
		}
	}
	return b.node("Reshape", nil, x, ints(shape...))
}
