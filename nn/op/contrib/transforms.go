package contrib

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// RfftConfig has the attributes of Rfft.
type RfftConfig struct {
	Normalized bool  `onnx:"normalized"`           // not supported
	OneSided   *bool `onnx:"onesided"`             // nil: true; false is not supported
	SignalRank int   `onnx:"signal_ndim,required"` // number of trailing axes that are the signal: 1 to 3
}

// Operator names the operator.
func (RfftConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "Rfft"} }

// IrfftConfig has the attributes of Irfft, which are those of Rfft.
type IrfftConfig RfftConfig

// Operator names the operator.
func (IrfftConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "Irfft"} }

// PadConfig has the attribute of Pad in this domain.
type PadConfig struct {
	Mode string `onnx:"mode,default=constant"` // constant, reflect, edge or wrap
}

// Operator names the operator.
func (PadConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "Pad"} }

// transforms are operators on matrices and signals.
func transforms() []*op.Op {
	floats := op.Where{"T": op.Floats()}
	return []*op.Op{
		{Domain: Domain, Name: "Inverse", Since: []int{1}, Doc: "Inverses of square matrices.", In: "X T", Out: "Y T", Where: floats,
			Infer: inferInverse, Kernel: inverseKernel, Grad: inverseGrad, Pinned: "rows and columns of a matrix belong together"},
		composed(op.Op{Name: "Rfft", Doc: "Discrete Fourier transform of a real signal; complex numbers are pairs on the last axis.",
			In: "X T", Out: "Y T", Where: floats, Attrs: RfftConfig{}, Pinned: "the axes are time and frequency"},
			func(e *expression, in []value) []value {
				return []value{e.rfft(e.c.Config.(RfftConfig), in[0])}
			}),
		composed(op.Op{Name: "Irfft", Doc: "The real signal of which Rfft gives X.",
			In: "X T", Out: "Y T", Where: floats, Attrs: IrfftConfig{}, Pinned: "the axes are time and frequency"},
			func(e *expression, in []value) []value {
				return []value{e.irfft(RfftConfig(e.c.Config.(IrfftConfig)), in[0])}
			}),
		composed(op.Op{Name: "Pad", Doc: "Adds elements in front of and behind each axis.",
			In: "data T, pads int64 shape, value? T", Out: "output T", Where: floats, Attrs: PadConfig{}, Couple: couplePad},
			padAxes),
	}
}

func inferInverse(c *op.Call) ([]op.Type, error) {
	if s := c.In[0].Shape; !c.In[0].Unranked && (len(s) < 2 || s[len(s)-1].Differ(s[len(s)-2])) {
		return nil, c.Errorf("input X: want square matrices, got %v", c.In[0])
	}
	return op.Same(c)
}

// inverseKernel solves in float64, with partial pivoting. The inverse of a singular matrix has no finite elements where its
// decomposition divides by zero, as in ONNX Runtime.
func inverseKernel(c *op.Call) (op.Kernel, error) {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		v, err := dtype.Float64s(in[0])
		if err != nil {
			return err
		}
		shape := in[0].Shape()
		n := shape[len(shape)-1]
		y := make([]float64, len(v))
		a := slices.Clone(v)
		for at := 0; n > 0 && at < len(a); at += n * n {
			if err := invert(x.Context(), a[at:at+n*n], y[at:at+n*n], n); err != nil {
				return err
			}
		}
		d, err := dtype.FromFloats(c.In[0].DType, y, shape...)
		if err == nil {
			copy(dtype.Bytes(out[0]), dtype.Bytes(d))
		}
		return err
	}, nil
}

// invert puts the inverse of a [n, n] into y, which is zero, and leaves the factors of a in its place: P·a = L·U.
func invert(ctx context.Context, a, y []float64, n int) error {
	row := func(m []float64, i int) []float64 { return m[i*n : (i+1)*n] }
	for i := range n {
		y[i*n+i] = 1
	}
	for k := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := k
		for i := k + 1; i < n; i++ {
			if abs(a[i*n+k]) > abs(a[p*n+k]) {
				p = i
			}
		}
		for _, m := range [][]float64{a, y} {
			from, to := row(m, p), row(m, k)
			for j := range to {
				from[j], to[j] = to[j], from[j]
			}
		}
		pivot := a[k*n+k]
		for i := k + 1; i < n; i++ {
			if pivot != 0 {
				a[i*n+k] /= pivot
			}
			subtract(row(a, i)[k+1:], row(a, k)[k+1:], a[i*n+k])
			subtract(row(y, i), row(y, k), a[i*n+k])
		}
	}
	for k := n - 1; k >= 0; k-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := row(y, k)
		for j := range to {
			to[j] /= a[k*n+k]
		}
		for i := range k {
			subtract(row(y, i), to, a[i*n+k])
		}
	}
	return nil
}

// subtract is to −= factor·from.
func subtract(to, from []float64, factor float64) {
	for j := range to {
		to[j] -= factor * from[j]
	}
}

func abs(x float64) float64 { return max(x, -x) }

// inverseGrad is −Yᵀ·dY·Yᵀ.
func inverseGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	perm := make([]int, len(c.In[0].Shape))
	for i := range perm {
		perm[i] = i
	}
	last := len(perm) - 1
	perm[last], perm[last-1] = last-1, last
	yt, err := std.Transposed(c.Set, out[0], perm)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(op.Plain("MatMul"), yt, dout[0])
	if err == nil {
		d, err = c.Apply1(op.Plain("MatMul"), d, yt)
	}
	if err == nil {
		d, err = c.Apply1(op.Plain("Neg"), d)
	}
	return gorgonia.Nodes{d}, err
}

// signal refuses unsupported transforms.
func (e *expression) signal(c RfftConfig, x value, rank int) {
	switch {
	case c.Normalized:
		e.failf("normalized is not supported")
	case c.OneSided != nil && !*c.OneSided:
		e.failf("onesided 0 is not supported")
	case c.SignalRank < 1 || c.SignalRank > 3:
		e.failf("signal_ndim is %d, want 1 to 3", c.SignalRank)
	case len(x.typ.Shape) < rank:
		e.failf("input X: want rank %d or more, got %v", rank, x.typ)
	}
}

// rfft transforms the last axis of a real signal to one side of its spectrum, then the others as complex ones.
func (e *expression) rfft(c RfftConfig, x value) value {
	if e.signal(c, x, c.SignalRank); e.err != nil {
		return value{}
	}
	y := e.reshape(x, append(slices.Clone(x.typ.Shape), op.D(1))...)
	y = e.do(std.DFTConfig{OneSided: true}, y, value{}, e.ints(-2))
	for i := 1; i < c.SignalRank; i++ {
		y = e.do(std.DFTConfig{}, y, value{}, e.ints(-2-i))
	}
	return y
}

// irfft is the inverse of rfft; the last axis gets 2·(n−1) elements.
func (e *expression) irfft(c RfftConfig, x value) value {
	if e.signal(c, x, c.SignalRank+1); e.err == nil && x.dim(-1).Differ(op.D(2)) {
		e.failf("input X: want complex numbers, pairs on the last axis, got %v", x.typ)
	}
	if e.err != nil {
		return value{}
	}
	for i := c.SignalRank - 1; i > 0; i-- {
		x = e.do(std.DFTConfig{Inverse: true}, x, value{}, e.ints(-2-i))
	}
	y := e.do(std.DFTConfig{OneSided: true, Inverse: true}, x, value{}, e.ints(-2))
	if e.err != nil {
		return value{}
	}
	return e.reshape(y, y.typ.Shape[:len(y.typ.Shape)-1]...)
}

// padAxes is Pad, whose amounts may come as a matrix of one row.
func padAxes(e *expression, in []value) []value {
	amounts, err := e.c.Ints(1)
	if err != nil {
		e.fail(err)
		return []value{{}}
	}
	if s := in[1].typ.Shape; len(s) == 2 && s[0] != op.D(1) {
		e.failf("input pads: want one row, got %v", in[1].typ)
	}
	fill := in[2]
	if fill.there() {
		fill = e.reshape(fill)
	}
	return []value{e.do(std.PadConfig{Mode: e.c.Config.(PadConfig).Mode}, in[0], e.ints(amounts...), fill)}
}

// couplePad ties the axes that stay as they are.
func couplePad(c *op.Call) (list []coupling.Coupling) {
	rank := len(c.In[0].Shape)
	amounts, err := c.Ints(1)
	for a := range rank {
		if err == nil && len(amounts) == 2*rank && amounts[a] == 0 && amounts[a+rank] == 0 {
			list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)))
		}
	}
	return list
}
