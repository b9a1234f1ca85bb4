package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/loops"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// binary describes an operator on two operands that broadcast. The functions say which element
// types it takes.
type binary struct {
	name, doc string
	since     []int
	types     []op.DType
	attrs     op.Config // nil: none

	// Results of the operands' type.
	kern *elementwise.BinaryOp // fast floats
	f    func(a, b float64) float64
	i    func(a, b int64) int64   // integers; the result wraps
	u    func(a, b uint64) uint64 // unsigned integers; nil: i
	b    func(a, b bool) bool     // on bools; the result is bool
	v32  pair[float32, float32]   // rows of floats, where set instead of f
	v64  pair[float64, float64]

	// Results that are bool.
	relation relation // its relation, of a comparison

	versions  []op.Version // without the one for broadcasting, which follows from attrs
	decompose func(*op.Spelling) error

	noZero bool // integers must not be divided by zero
	free   bool // the operands' types need not agree (Pow)

	// grad returns the gradients of both operands in the shape of the output; nil: none.
	grad   func(c *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error)
	noGrad string
	dims   func(a, b op.Dim) op.Dim // shape arithmetic
	strs   func(c *op.Call, in []dtype.Value) ([]dtype.Value, error)
	traits op.Traits
}

func (r binary) result() bool { return r.relation != noRelation || r.b != nil }

func (r binary) op() *op.Op {
	o := &op.Op{
		Name: r.name, Doc: r.doc, Since: r.since, Versions: r.versions, Decompose: r.decompose, In: "A T, B T", Out: "C T", Attrs: r.attrs,
		Where: op.Where{"T": r.types}, Infer: r.infer, Kernel: r.kernel, Strings: r.strs,
		NoGrad: r.noGrad, Couple: coupleBinary, Scheduling: op.Scheduling{InPlace: []int{0, 1}, Rows: binaryRows}, Traits: r.traits,
	}
	if _, ok := r.attrs.(realigned); ok {
		o.Versions = append([]op.Version{broadcasting()}, o.Versions...)
	}
	if r.result() {
		o.Out = "C bool"
	}
	o.Scheduling.Patterns = func(c *op.Call) []op.Pattern {
		var list []op.Pattern
		switch r.name {
		case "Add":
			list = operandEpilogue(c, epilogue.Shift)
		case "Mul":
			list = operandEpilogue(c, epilogue.Scale)
		}
		return withLoop(list, r.loop(c))
	}
	switch r.name {
	case "Add", "Mul": // biases after a MatMul, scales after a decomposed normalization
		o.In = "A T weight, B T weight"
	case "Div": // weights divided by their norm
		o.In = "A T weight, B T"
	}
	if r.free {
		o.In, o.Where = "X T, Y T1", op.Where{"T": r.types, "T1": op.Numeric()}
	}
	if r.grad != nil {
		o.Grad = r.gradient
	}
	if r.dims != nil {
		o.Dims = r.known
	}
	return o
}

// legacy is the configuration of an operator that had its own broadcasting before version 7.
type legacy interface {
	alignment() (axis *int, broadcast bool)
}

// operands returns the shapes of both operands, aligned for multidirectional broadcasting.
func operands(c *op.Call) (a, b []op.Dim) {
	a, b = c.In[0].Shape, c.In[1].Shape
	l, ok := c.Config.(legacy)
	if !ok || c.Version >= 7 {
		return a, b
	}
	if axis, on := l.alignment(); on && axis != nil && *axis >= 0 {
		b = append([]op.Dim(nil), b...)
		for len(b) < len(a)-*axis {
			b = append(b, op.D(1))
		}
	}
	return a, b
}

func (r binary) infer(c *op.Call) ([]op.Type, error) {
	t := op.Type{DType: c.In[0].DType}
	if r.result() {
		t.DType = dtype.Bool
	}
	if c.In[0].Unranked || c.In[1].Unranked {
		t.Unranked = true
		return []op.Type{t}, nil
	}
	a, b := operands(c)
	shape, err := c.Broadcast(a, b)
	if err != nil {
		return nil, err
	}
	return []op.Type{t.With(shape...)}, nil
}

// coupleBinary is Elementwise with the second operand where the call aligns it.
func coupleBinary(c *op.Call) []coupling.Coupling {
	list := op.CoupleAll(c, 0)
	_, b := operands(c)
	out := c.Out[0].Shape
	for a := range c.In[1].Shape {
		if o := a + len(out) - len(b); !b[a].Differ(out[o]) {
			list = append(list, op.Couple(coupling.In(1, a), coupling.Out(0, o)))
		}
	}
	return list
}

// known computes shape arithmetic elementwise.
func (r binary) known(c *op.Call) []op.Known {
	if t := c.In[0].DType; t != dtype.Int64 && t != dtype.Int32 || len(c.Out) > 0 && c.Out[0].Rank() > 1 {
		return nil // narrow types wrap, dimensions do not
	}
	a, err := c.Dims(0)
	if err != nil {
		return nil
	}
	b, err := c.Dims(1)
	if err != nil || len(a) != len(b) && len(a) != 1 && len(b) != 1 {
		return nil
	}
	out := make([]op.Dim, max(len(a), len(b)))
	if len(a) == 0 || len(b) == 0 {
		out = []op.Dim{}
	}
	for i := range out {
		x, y := a[min(i, len(a)-1)], b[min(i, len(b)-1)]
		if y.Sym == "" && y.Size < 0 && c.Known[1].Value != nil && r.name == "Add" {
			out[i] = x.Sub(op.D(-y.Size))
			continue
		}
		if x.Sym == "" && x.Size < 0 || y.Sym == "" && y.Size < 0 {
			return nil // a negative number would be taken for an unknown dimension
		}
		out[i] = r.dims(x, y)
	}
	return []op.Known{{Dims: out}}
}

// gradient returns the gradients of the operands, summed over broadcast axes.
func (r binary) gradient(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	if !c.In[0].DType.IsFloat() {
		return nil, nil
	}
	ashape, bshape := operands(c)
	b, err := c.ReshapeTo(in[1], bshape...)
	if err != nil {
		return nil, err
	}
	da, db, err := r.grad(c, in[0], b, out[0], dout[0])
	if err != nil {
		return nil, err
	}
	if da != nil {
		if da, err = c.SumTo(da, ashape...); err != nil {
			return nil, err
		}
	}
	if db != nil {
		if db, err = c.SumTo(db, bshape...); err != nil {
			return nil, err
		}
		if db, err = c.ReshapeTo(db, c.In[1].Shape...); err != nil {
			return nil, err
		}
	}
	return gorgonia.Nodes{da, db}, nil
}

func (r binary) kernel(c *op.Call) (op.Kernel, error) {
	a, b := operands(c)
	w, err := newWalk(c, c.Out[0].Sizes(), op.Sizes(a), op.Sizes(b))
	if err != nil {
		return nil, err
	}
	t := c.In[0].DType
	if r.free && c.In[1].DType != t { // the exponent in the base's type, or both in double precision
		return r.convertingKernel(c, w)
	}
	switch {
	case t == dtype.Bool && r.b != nil:
		return pairKernel(w, 1, pairOf(r.b)), nil
	case t == dtype.Bool && r.relation == equal:
		return pairKernel(w, 1, pairOf(func(a, b bool) bool { return a == b })), nil
	case t.IsFloat():
		return r.floatKernel(t, w), nil
	}
	return r.integerKernel(c, t, w)
}

func (r binary) floatKernel(t op.DType, w *walk) op.Kernel {
	switch {
	case r.relation != noRelation:
		return perPrecision(t, pairKernel(w, 1, compared[float32](r.relation)), pairKernel(w, 1, compared[float64](r.relation)))
	case r.kern != nil:
		return perPrecision(t, fastKernel[float32](w, *r.kern), fastKernel[float64](w, *r.kern))
	}
	return perPrecision(t, pairKernel(w, 16, r.pairs32()), pairKernel(w, 16, r.pairs64()))
}

// pairs32 returns the row functions for float32.
func (r binary) pairs32() pair[float32, float32] {
	switch {
	case r.kern != nil:
		return fastPair[float32](*r.kern)
	case r.v32.vv != nil:
		return r.v32
	}
	return pairOf(func(a, b float32) float32 { return float32(r.f(float64(a), float64(b))) })
}

// pairs64 returns the row functions for float64 that package kernel lacks.
func (r binary) pairs64() pair[float64, float64] {
	if r.v64.vv != nil {
		return r.v64
	}
	return pairOf(r.f)
}

func (r binary) integerKernel(c *op.Call, t op.DType, w *walk) (op.Kernel, error) {
	switch t {
	case dtype.Int8:
		return integerPair[int8](c, r, w), nil
	case dtype.Int16:
		return integerPair[int16](c, r, w), nil
	case dtype.Int32:
		return integerPair[int32](c, r, w), nil
	case dtype.Int64:
		return integerPair[int64](c, r, w), nil
	case dtype.Uint8:
		return integerPair[uint8](c, r, w), nil
	case dtype.Uint16:
		return integerPair[uint16](c, r, w), nil
	case dtype.Uint32:
		return integerPair[uint32](c, r, w), nil
	case dtype.Uint64:
		return integerPair[uint64](c, r, w), nil
	}
	return nil, c.Mismatch(0, "numbers", c.In[0])
}

// integer are Go's integer types.
type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func integerPair[T integer](c *op.Call, r binary, w *walk) op.Kernel {
	unsigned := ^T(0) > 0
	if r.relation != noRelation {
		return pairKernel(w, 1, compared[T](r.relation))
	}
	f := func(a, b T) T { return T(r.i(int64(a), int64(b))) }
	if r.u != nil && unsigned {
		f = func(a, b T) T { return T(r.u(uint64(a), uint64(b))) }
	}
	k := pairKernel(w, 2, pairOf(f))
	if !r.noZero {
		return k
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		for _, v := range dtype.Slice[T](in[1]) {
			if v == 0 {
				return c.Errorf("integer division by zero")
			}
		}
		return k(x, out, in)
	}
}

// pair computes rows: both operands advance, or one of them is a single element. Where both are, pairKernel repeats one result.
type pair[T, R any] struct {
	vv func(dst []R, a, b []T)
	vs func(dst []R, a []T, b T)
	sv func(dst []R, a T, b []T)
}

// pairOf makes row functions of a function of two elements.
func pairOf[T, R any](f func(a, b T) R) pair[T, R] {
	return pair[T, R]{
		vv: func(dst []R, a, b []T) {
			for i := range dst {
				dst[i] = f(a[i], b[i])
			}
		},
		vs: func(dst []R, a []T, b T) {
			for i := range dst {
				dst[i] = f(a[i], b)
			}
		},
		sv: func(dst []R, a T, b []T) {
			for i := range dst {
				dst[i] = f(a, b[i])
			}
		},
	}
}

// fastKernel computes o by the functions of package kernel. If an operand has one number for each row of the other, such
// as a gate per channel, rows may be short: they are computed together.
func fastKernel[T kernel.Float](w *walk, o elementwise.BinaryOp) op.Kernel {
	byRow := func(o elementwise.BinaryOp, matrix, column int) op.Kernel {
		return func(x *op.Exec, out, in []*tensor.Dense) error {
			elementwise.BinaryCol(pool(x), o, w.rows, w.inner, dtype.Elems[T](out[0]), dtype.Elems[T](in[matrix]), dtype.Elems[T](in[column]))
			return nil
		}
	}
	switch {
	case w.column(1):
		return byRow(o, 0, 1)
	case w.column(0):
		return byRow(mirrored(o), 1, 0)
	}
	return pairKernel(w, 1, fastPair[T](o))
}

// mirrored returns o with its operands exchanged.
func mirrored(o elementwise.BinaryOp) elementwise.BinaryOp {
	switch o {
	case elementwise.OpSub:
		return elementwise.OpRSub
	case elementwise.OpDiv:
		return elementwise.OpRDiv
	}
	return o
}

// fastPair returns the row functions of package kernel.
func fastPair[T kernel.Float](o elementwise.BinaryOp) pair[T, T] {
	return pair[T, T]{
		vv: func(dst, a, b []T) { elementwise.Binary(nil, o, dst, a, b) },
		vs: func(dst, a []T, b T) { elementwise.BinaryScalar(nil, o, dst, a, b) },
		sv: func(dst []T, a T, b []T) { elementwise.BinaryScalar(nil, mirrored(o), dst, b, a) },
	}
}

func pairKernel[T, R any](w *walk, cost int, f pair[T, R]) op.Kernel {
	moveA, moveB := w.moves[0], w.moves[1]
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst, a, b := dtype.Slice[R](out[0]), dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
		if len(dst) == 0 {
			return nil
		}
		w.each(pool(x), cost, func(at, n int, off [3]int) {
			d := dst[at : at+n]
			switch {
			case moveA && moveB:
				f.vv(d, a[off[0]:off[0]+n], b[off[1]:off[1]+n])
			case moveA:
				f.vs(d, a[off[0]:off[0]+n], b[off[1]])
			case moveB:
				f.sv(d, a[off[0]], b[off[1]:off[1]+n])
			default: // a later operand of Sum, Mean, Max or Min advances
				f.vv(d[:1], a[off[0]:off[0]+1], b[off[1]:off[1]+1])
				for i := range d[1:] {
					d[i+1] = d[0]
				}
			}
		})
		return nil
	}
}

// loop of an operator with two operands.
func (r binary) loop(c *op.Call) *loops.Loop {
	n := loopable(c)
	if n == 0 || r.result() || c.In[1].DType != dtype.Float32 {
		return nil
	}
	out := op.Sizes(c.Out[0].Shape)
	shapes := [2][]op.Dim{}
	shapes[0], shapes[1] = operands(c)
	l := &loops.Loop{N: n}
	for i, s := range shapes {
		a, ok := loops.Broadcast(i, op.Sizes(s), out)
		if !ok {
			return nil
		}
		l.Reads = append(l.Reads, a)
		if a.Whole(n) {
			l.InPlace = append(l.InPlace, i)
		}
	}
	p := r.pairs32()
	l.Run = func(dst []float32, in []loops.Block) {
		switch {
		case in[1].One:
			p.vs(dst, in[0].Elems, in[1].Elems[0])
		case in[0].One:
			p.sv(dst, in[0].Elems[0], in[1].Elems)
		default:
			p.vv(dst, in[0].Elems, in[1].Elems)
		}
	}
	return l
}

// withLoop adds a loop to patterns, nil for none.
func withLoop(list []op.Pattern, l *loops.Loop) []op.Pattern {
	if l != nil {
		list = append(list, l)
	}
	return list
}

// loopable returns the number of elements of a float32 result, 0 for other types.
func loopable(c *op.Call) int {
	if c.In[0].DType != dtype.Float32 || c.Out[0].DType != dtype.Float32 || !c.Out[0].Static() {
		return 0
	}
	return dtype.Product(op.Sizes(c.Out[0].Shape))
}

// binaryRows: an operand of the output's shape has rows, one that is repeated for every row has none.
func binaryRows(c *op.Call) *trait.Rows {
	a, b := operands(c)
	out := op.Sizes(c.Out[0].Shape)
	r := &trait.Rows{Out: 1, In: make([]int, 2)}
	for i, shape := range [][]int{op.Sizes(a), op.Sizes(b)} {
		for len(shape) > 0 && shape[0] == 1 && len(out) > 0 {
			shape = shape[1:]
		}
		switch {
		case dtype.Product(shape) == dtype.Product(out):
			r.In[i] = 1
		case slices.Equal(shape, out[len(out)-len(shape):]):
			r.Out = max(r.Out, dtype.Product(shape))
		default:
			return nil
		}
	}
	for i := range r.In {
		r.In[i] *= r.Out
	}
	return r
}
