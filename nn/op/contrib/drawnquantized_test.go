package contrib_test

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"gorgonia.org/tensor"
)

func (d dice) byteType() op.DType { return one(d, dtype.Int8, dtype.Uint8) }

func (d dice) bytes(t op.DType, dims ...int) dtype.Value { return integers(t, d.Uint64(), dims...) }

func (d dice) scale() dtype.Value { return f32(0.01 + d.Float32()/20) }

func (d dice) scales(n int) dtype.Value { return d.vector(0.01, 0.06, n) }

func (d dice) vector(low, high float32, n int) dtype.Value {
	x := make([]float32, n)
	for i := range x {
		x[i] = low + d.Float32()*(high-low)
	}
	v, err := dtype.FromSlice(x, n)
	if err != nil {
		panic(err)
	}
	return v
}

func (d dice) zero(t op.DType) dtype.Value { return integers(t, d.Uint64()) }

// columns are scales of each column of several matrices.
func (d dice) columns(matrices, n int) dtype.Value {
	v := d.vector(0.004, 0.012, matrices*n)
	if err := v.(*tensor.Dense).Reshape(matrices, n); err != nil {
		panic(err)
	}
	return v
}

func drawBinary(name string) func(d dice) trial {
	return func(d dice) trial {
		t, a := d.byteType(), d.shape(1, 4)
		b := slices.Clone(a)
		for i := range b {
			if d.IntN(3) == 0 {
				b[i] = 1
			}
		}
		b = b[d.IntN(len(b)):]
		if d.yes() {
			a, b = b, a
		}
		return use1(plain(name), d.bytes(t, a...), d.scale(), d.zero(t), d.bytes(t, b...), d.scale(), d.zero(t), d.scale(), d.zero(t))
	}
}

func drawUnary(c func(d dice) op.Config) func(d dice) trial {
	return func(d dice) trial {
		t := d.byteType()
		u := use1(c(d), d.bytes(t, d.shape(1, 4)...), d.scale(), d.zero(t), d.scale(), d.zero(t))
		u.params = one(d, nil, []int{1, 2, 3, 4})
		return u
	}
}

func drawQuantizedSoftmax(d dice) trial {
	t, s := d.byteType(), d.shape(1, 4)
	for i := range s { // over a single element the runtime's exponentials overflow
		s[i]++
	}
	c := contrib.QLinearSoftmaxConfig{Opset: one(d, 7, 12, 13, 17)}
	if d.yes() {
		c.Axis = pointer(d.IntN(2*len(s)) - len(s))
	}
	return use1(c, d.bytes(t, s...), d.scale(), d.or(d.zero(t)), f32(one[float32](d, 1.0/256, 0.005, 0.0071)), d.zero(t))
}

func drawQuantizedConcat(d dice) trial {
	t, s := d.byteType(), d.shape(1, 4)
	axis := d.IntN(len(s))
	c := contrib.QLinearConcatConfig{Axis: axis - len(s)*d.IntN(2)}
	u := use1(c, d.scale(), d.zero(t))
	for range 1 + d.IntN(3) {
		s[axis] = 1 + d.IntN(4)
		u.In = append(u.In, d.bytes(t, s...), d.scale(), d.zero(t))
	}
	return u
}

// windows are the sizes of windows over axes, and their other attributes.
type windows struct {
	kernel, strides, dilations, pads []int
	auto                             string
}

func (d dice) windows(axes int) (w windows) {
	for range axes {
		w.kernel, w.strides, w.dilations = append(w.kernel, 1+d.IntN(3)), append(w.strides, 1+d.IntN(2)), append(w.dilations, 1+d.IntN(2))
	}
	if w.auto = one(d, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"); w.auto == "NOTSET" {
		for a := range 2 * axes {
			w.pads = append(w.pads, d.IntN(min(2, w.kernel[a%axes])))
		}
	} else {
		w.dilations = slices.Repeat([]int{1}, axes)
	}
	return w
}

// image is [batch, channels, …], or with the channels last.
func (d dice) imageShape(channels, axes int, last bool) []int {
	s := []int{1 + d.IntN(2)}
	if !last {
		s = append(s, channels)
	}
	for range axes {
		s = append(s, 5+d.IntN(4))
	}
	if last {
		s = append(s, channels)
	}
	return s
}

func drawQuantizedPool(d dice) trial {
	t, w := d.byteType(), d.windows(2)
	c := contrib.QLinearAveragePoolConfig{AutoPad: w.auto, CeilMode: d.yes(), ChannelsLast: d.yes(), Pad: d.yes(), Kernel: w.kernel, Pads: w.pads, Strides: w.strides}
	return use1(c, d.bytes(t, d.imageShape(1+d.IntN(3), 2, c.ChannelsLast)...), d.scale(), d.zero(t), d.scale(), d.zero(t))
}

func drawQuantizedGlobal(d dice) trial {
	t, last := d.byteType(), d.yes()
	return use1(contrib.QLinearGlobalAveragePoolConfig{ChannelsLast: last}, d.bytes(t, d.imageShape(1+d.IntN(3), 1+d.IntN(2), last)...), d.scale(), d.zero(t), d.scale(), d.zero(t))
}

func drawNhwcMaxPool(d dice) trial {
	axes := 1 + d.IntN(3)
	w := d.windows(axes)
	c := contrib.NhwcMaxPoolConfig{AutoPad: w.auto, CeilMode: d.yes(), Dilations: w.dilations, Kernel: w.kernel, Pads: w.pads, Strides: w.strides}
	return use1(c, d.bytes(d.byteType(), d.imageShape(1+d.IntN(3), axes, true)...))
}

func drawQuantizedConv(d dice) trial {
	axes, group := 1+d.IntN(3), 1+d.IntN(2)
	w := d.windows(axes)
	c := contrib.QLinearConvConfig{AutoPad: w.auto, ChannelsLast: d.yes(), Dilations: w.dilations, Group: group, Kernel: w.kernel, Pads: w.pads, Strides: w.strides}
	xt := d.byteType()
	wt := one(d, xt, dtype.Int8)
	out := group * (1 + d.IntN(3))
	scale, zero := d.scale(), d.zero(wt)
	if d.yes() {
		scale, zero = d.scales(out), typed(wt, make([]int, out), out)
	}
	u := use1(c, d.bytes(xt, d.imageShape(2*group, axes, c.ChannelsLast)...), d.scale(), d.zero(xt),
		d.bytes(wt, append([]int{out, 2}, w.kernel...)...), scale, zero, f32(0.2+d.Float32()), d.zero(xt), d.or(d.bytes(dtype.Int32, out)))
	u.params = []int{3, 4, 5}
	return u
}

func drawQGemm(d dice) trial {
	c := contrib.QGemmConfig{Alpha: d.float(0.5, 2), TransA: d.yes(), TransB: d.yes()}
	m, k, n := 1+d.IntN(4), 1+d.IntN(5), 1+d.IntN(4)
	a, b := []int{m, k}, []int{k, n}
	if c.TransA {
		a = []int{k, m}
	}
	if c.TransB {
		b = []int{n, k}
	}
	at := d.byteType()
	bt := one(d, at, dtype.Int8)
	scale, zero := d.scale(), d.zero(bt)
	if d.yes() {
		scale, zero = d.scales(n), d.bytes(bt, n)
	}
	u := use1(c, d.bytes(at, a...), d.scale(), d.zero(at), d.bytes(bt, b...), scale, zero, d.or(d.bytes(dtype.Int32, one(d, []int{m, n}, []int{n}, []int{1, n}, []int{m, 1})...)))
	if d.yes() {
		u.In = append(u.In, f32(0.1+d.Float32()/5), d.zero(at))
	}
	return u
}

// product are operands of a product of matrices, the second with a scale and a zero point of all or of each column.
func (d dice) product(at, bt op.DType) (a, b, scale, zero dtype.Value, n int) {
	k, n := 1+d.IntN(5), 1+d.IntN(5)
	a, b = d.bytes(at, append(d.shape(1, 2), k)...), d.bytes(bt, k, n)
	if scale, zero = d.scale(), d.zero(bt); d.yes() {
		scale, zero = d.scales(n), d.bytes(bt, n)
	}
	return a, b, scale, zero, n
}

func drawIntegerToFloat(d dice) trial {
	at := d.byteType()
	bt := one(d, at, dtype.Int8)
	a, b, scale, zero, n := d.product(at, bt)
	return use1(plain("MatMulIntegerToFloat"), a, b, d.scale(), scale, d.or(d.zero(at)), d.or(zero), d.or(d.floats(n)))
}

func drawDynamic(d dice) trial {
	_, b, scale, zero, n := d.product(dtype.Uint8, d.byteType())
	k := op.TypeOf(b).Sizes()[0]
	u := use1(plain("DynamicQuantizeMatMul"), d.floats(append(d.shape(1, 2), k)...), b, scale, d.or(zero), d.or(d.floats(n)))
	u.NoLow, u.NoGrad = "rounds", "rounds: passes straight through, see TestDynamicGradient"
	return u
}

func drawDynamicLSTM(d dice) trial {
	c := contrib.DynamicQuantizeLSTMConfig{Direction: one(d, "forward", "reverse", "bidirectional"), InputForget: d.yes()}
	seq, batch, width := 1+d.IntN(5), 1+d.IntN(3), 1+d.IntN(5)
	c.HiddenSize = 1 + d.IntN(6)
	dirs := 1
	if c.Direction == "bidirectional" {
		dirs = 2
	}
	if d.yes() {
		c.Clip = 0.3 + d.Float32()
	}
	if d.yes() {
		for range dirs {
			c.Activations = append(c.Activations, one(d, "Sigmoid", "HardSigmoid", "Relu"), one(d, "Tanh", "Softsign"), one(d, "Tanh", "Elu"))
		}
		c.ActivationAlpha, c.ActivationBeta = []float32{0.3, 0.7, 0.4, 0.6}, []float32{0.4, 0.5}
	}
	rows, t := 4*c.HiddenSize, d.byteType()
	weights := func(k int) (w, scale, zero dtype.Value) {
		w, scale, zero = d.bytes(t, dirs, k, rows), d.vector(0.004, 0.012, dirs), d.bytes(t, dirs)
		if d.yes() {
			scale, zero = d.columns(dirs, rows), typed(t, make([]int, dirs*rows), dirs, rows)
			if t == dtype.Uint8 { // the runtime takes signed columns without zero points, and unsigned ones with the same
				zero = typed(t, slices.Repeat([]int{d.IntN(256)}, dirs*rows), dirs, rows)
			}
		}
		return w, scale, zero
	}
	in := make([]dtype.Value, 12)
	in[0] = d.floats(seq, batch, width)
	in[1], in[8], in[9] = weights(width)
	in[2], in[10], in[11] = weights(c.HiddenSize)
	in[3] = d.or(d.floats(dirs, 2*rows))
	if d.yes() {
		in[4] = d.integers(dtype.Int32, seq+1, batch)
	}
	in[5], in[6] = d.or(d.floats(dirs, batch, c.HiddenSize)), d.or(d.floats(dirs, batch, c.HiddenSize))
	in[7] = d.or(d.floats(dirs, 3*c.HiddenSize))
	u := use1(c, in...)
	u.Outputs, u.NoLow, u.NoGrad = 3, "rounds", "rounds: passes straight through, see TestDynamicLSTMGradient"
	u.params = one(d, nil, []int{1, 2, 8, 9, 10, 11})
	return u
}

func drawQAttention(d dice) trial {
	xt := dtype.Uint8
	wt := d.byteType()
	batch, rows, width, heads, size := 1+d.IntN(2), 1+d.IntN(3), 2+d.IntN(4), 1+d.IntN(3), 1+d.IntN(4)
	hidden := heads * size
	c := contrib.QAttentionConfig{Heads: heads, Causal: d.yes(), Scale: d.float(0.1, 1), MaskValue: d.float(-1000, -2)}
	// small integers with large steps: a softmax of large scores has no differences to compare gradients with
	few := func(t op.DType, dims ...int) dtype.Value { return d.integers(t, 4, dims...) }
	scale, zero := f32(0.1+d.Float32()/5), few(wt)
	if d.yes() {
		scale, zero = d.vector(0.1, 0.3, 3*hidden), few(wt, 3*hidden)
	}
	v := in(few(xt, batch, rows, width), few(wt, width, 3*hidden), d.floats(3*hidden), f32(0.2), scale, nil, few(xt), zero, nil)
	past := 0
	if d.yes() {
		past = d.IntN(3)
		v[8] = d.floats(2, batch, heads, past, size)
	}
	v[5] = d.mask(batch, rows, past+rows, past)
	u := use1(c, v...)
	u.Outputs = 2
	return u
}

// steps draws the type, the scale and the zero point of x along an axis.
func (d dice) steps(s []int, types ...op.DType) (axis *int, t op.DType, scale, zero dtype.Value) {
	t = one(d, types...)
	if d.yes() {
		return nil, t, d.scale(), d.zero(t)
	}
	a := d.IntN(len(s))
	return pointer(a - len(s)*d.IntN(2)), t, d.scales(s[a]), d.bytes(t, s[a])
}

func drawQuantize(d dice) trial {
	s := d.shape(1, 4)
	axis, _, scale, zero := d.steps(s, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16)
	return use1(contrib.QuantizeLinearConfig{Axis: axis}, d.floats(s...), scale, zero)
}

func drawDequantize(d dice) trial {
	s := d.shape(1, 4)
	axis, t, scale, zero := d.steps(s, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16)
	return use1(contrib.DequantizeLinearConfig{Axis: axis}, d.bytes(t, s...), scale, zero)
}
