package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// named lets one configuration type serve several operators.
type named interface{ name() string }

// aligned has the attributes that broadcasting operators had before version 7: if Broadcast is set, the axes of B
// are aligned with those of A from Axis on (by default the last ones).
type aligned[N named] struct {
	Axis      *int `onnx:"axis,until=6"`
	Broadcast bool `onnx:"broadcast,until=6"`
}

// Operator makes it a Config.
func (aligned[N]) Operator() op.Name { var n N; return op.Name{Name: n.name()} }

func (a aligned[N]) alignment() (*int, bool) { return a.Axis, a.Broadcast }

type (
	addName     struct{}
	subName     struct{}
	mulName     struct{}
	divName     struct{}
	powName     struct{}
	andName     struct{}
	orName      struct{}
	xorName     struct{}
	equalName   struct{}
	greaterName struct{}
	lessName    struct{}
)

func (addName) name() string     { return "Add" }
func (subName) name() string     { return "Sub" }
func (mulName) name() string     { return "Mul" }
func (divName) name() string     { return "Div" }
func (powName) name() string     { return "Pow" }
func (andName) name() string     { return "And" }
func (orName) name() string      { return "Or" }
func (xorName) name() string     { return "Xor" }
func (equalName) name() string   { return "Equal" }
func (greaterName) name() string { return "Greater" }
func (lessName) name() string    { return "Less" }

// The configurations of the operators whose broadcasting changed in version 7. Their fields, Axis (*int) and Broadcast (bool), are
// attributes of earlier versions: with Broadcast, the axes of B are aligned with those of A from Axis on, or with the last ones if
// Axis is nil.
type (
	AddConfig     = aligned[addName]
	SubConfig     = aligned[subName]
	MulConfig     = aligned[mulName]
	DivConfig     = aligned[divName]
	PowConfig     = aligned[powName]
	AndConfig     = aligned[andName]
	OrConfig      = aligned[orName]
	XorConfig     = aligned[xorName]
	EqualConfig   = aligned[equalName]
	GreaterConfig = aligned[greaterName]
	LessConfig    = aligned[lessName]
)

// arithmetics returns the table of the four operations.
func arithmetics() []binary {
	since := []int{1, 6, 7, 13, 14}
	late := []op.Version{{At: 14, New: op.Where{"T": {dtype.Int8, dtype.Int16, dtype.Uint8, dtype.Uint16}}}}
	kern := func(o elementwise.BinaryOp) *elementwise.BinaryOp { return &o }
	return []binary{
		{name: "Add", doc: "A + B.", since: since, versions: late, types: op.Numeric(), attrs: AddConfig{}, kern: kern(elementwise.OpAdd),
			i: func(a, b int64) int64 { return a + b }, dims: op.Dim.Add, grad: addGrad,
			traits: op.Traits{Zero: op.ZeroAll, Range: rangeSum, Arithmetic: trait.Adds, Joins: true, Starts: []trait.Start{trait.StartZero}}},
		{name: "Sub", doc: "A − B.", since: since, versions: late, types: op.Numeric(), attrs: SubConfig{}, kern: kern(elementwise.OpSub),
			i: func(a, b int64) int64 { return a - b }, dims: op.Dim.Sub, grad: subGrad,
			traits: op.Traits{Zero: op.ZeroAll, Trains: trainsOwn, Arithmetic: trait.Subtracts, Starts: []trait.Start{trait.StartZero}}},
		{name: "Mul", doc: "A · B.", since: since, versions: late, types: op.Numeric(), attrs: MulConfig{}, kern: kern(elementwise.OpMul),
			i: func(a, b int64) int64 { return a * b }, dims: op.Dim.Mul, grad: mulGrad,
			traits: op.Traits{Zero: op.ZeroAny, Range: rangeProduct, Arithmetic: trait.Multiplies, Joins: true, Starts: []trait.Start{trait.StartLike}}},
		{name: "Div", doc: "A / B; of integers without the fraction.", since: since, versions: late, types: op.Numeric(), attrs: DivConfig{}, kern: kern(elementwise.OpDiv),
			i: func(a, b int64) int64 { return a / b }, u: func(a, b uint64) uint64 { return a / b }, noZero: true, dims: divDims, grad: divGrad,
			traits: op.Traits{Zero: op.ZeroFirst, Trains: trainsOwn, Arithmetic: trait.Divides, Starts: []trait.Start{trait.StartLike}}},
	}
}

func arithmeticOps() []*op.Op {
	var list []*op.Op
	for _, r := range arithmetics() {
		list = append(list, r.op())
	}
	return list
}

// divDims divides where rounding down and cutting off are the same: not below zero.
func divDims(a, b op.Dim) op.Dim {
	if a.Sym == "" && a.Size < 0 || b.Sym == "" && b.Size <= 0 {
		return op.Unknown()
	}
	return a.Div(b)
}

func addGrad(_ *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	return dy, dy, nil
}

func subGrad(c *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	db, err = scaleBy(c, dy, -1)
	return dy, db, err
}

func mulGrad(c *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	if da, err = c.Apply1(op.Plain("Mul"), dy, b); err != nil {
		return nil, nil, err
	}
	db, err = c.Apply1(op.Plain("Mul"), dy, a)
	return da, db, err
}

// divGrad is dy/b and −(dy/b)·y.
func divGrad(c *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	if da, err = c.Apply1(op.Plain("Div"), dy, b); err != nil {
		return nil, nil, err
	}
	if db, err = c.Apply1(op.Plain("Mul"), da, y); err != nil {
		return nil, nil, err
	}
	db, err = scaleBy(c, db, -1)
	return da, db, err
}

func pow() *op.Op {
	return powRow().op()
}

func powRow() binary {
	return binary{name: "Pow", doc: "A to the power of B.", since: []int{1, 7, 12, 13, 15}, versions: []op.Version{{At: 12, Down: oneType, New: op.Where{"T": op.Integers()}}}, types: op.Numeric(), attrs: PowConfig{}, free: true,
		v32: powVectors[float32](), v64: powVectors[float64](), i: powerInt, u: powerUint, grad: powGrad,
		traits: op.Traits{Zero: powZero, Arithmetic: trait.Powers, Starts: []trait.Start{trait.NoStart, trait.StartLike}}}
}

func powerInt(a, b int64) int64 {
	if b < 0 {
		switch a {
		case 1:
			return 1
		case -1:
			return 1 - 2*(b&1)
		}
		return 0
	}
	return int64(powerUint(uint64(a), uint64(b)))
}

// powerUint multiplies modulo 2^64, which is right for signed bases too.
func powerUint(a, b uint64) uint64 {
	r := uint64(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			r *= a
		}
		a *= a
	}
	return r
}

// convertingKernel brings an exponent of another type to that of the base, or, where the base is
// an integer and the exponent a float, both to float64.
func (r binary) convertingKernel(c *op.Call, w *walk) (op.Kernel, error) {
	t := c.In[0].DType
	if !t.IsFloat() && c.In[1].DType.IsFloat() {
		t = dtype.Float64
	}
	var k op.Kernel
	var err error
	if t.IsFloat() {
		k = r.floatKernel(t, w)
	} else if k, err = r.integerKernel(c, t, w); err != nil {
		return nil, err
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(int64(t.Size()) * int64(in[0].Shape().TotalSize()+in[1].Shape().TotalSize()+out[0].Shape().TotalSize()))
		if err != nil {
			return err
		}
		defer release()
		a, err := convertTo(pool(x), t, in[0])
		if err != nil {
			return err
		}
		b, err := convertTo(pool(x), t, in[1])
		if err != nil {
			return err
		}
		dst := out[0]
		if t != c.In[0].DType {
			dst = engine.Uncleared(t, out[0].Shape()...)
		}
		if err := k(x, []*tensor.Dense{dst}, []*tensor.Dense{a, b}); err != nil || dst == out[0] {
			return err
		}
		return convert(pool(x), dtype.Cast{}, out[0], dst)
	}, nil
}

// powFactors returns the derivatives of a^b by a and by b, as operators of lowerings.
func powFactors() []*op.Op {
	rows := []binary{
		{name: "PowByBase", decompose: spelled(spellPowByBase), v32: powByBase[float32](), v64: powByBase[float64]()},
		{name: "PowByExponent", decompose: spelled(spellPowByExponent), v32: powByExponent[float32](), v64: powByExponent[float64]()},
	}
	var list []*op.Op
	for _, r := range rows {
		r.doc, r.since, r.types, r.free = "Factor in the gradient of Pow.", []int{1}, op.Floats(), true
		o := r.op()
		o.Domain, o.Couple, o.Pinned, o.Scheduling.InPlace, o.GradMissing = op.Internal, nil, "gradient", nil, op.NotTwice
		list = append(list, o)
	}
	return list
}

func powGrad(c *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	if da, err = c.Apply1(op.Name{Domain: op.Internal, Name: "PowByBase"}, a, b); err != nil {
		return nil, nil, err
	}
	if da, err = c.Apply1(op.Plain("Mul"), dy, da); err != nil {
		return nil, nil, err
	}
	if !c.In[1].DType.IsFloat() || c.In[1].DType != c.In[0].DType {
		return da, nil, nil
	}
	if db, err = c.Apply1(op.Name{Domain: op.Internal, Name: "PowByExponent"}, a, b); err != nil {
		return nil, nil, err
	}
	db, err = c.Apply1(op.Plain("Mul"), dy, db)
	return da, db, err
}

// powZero: 0 to a power is 0 where the power is positive.
func powZero(c *op.Call, in op.ZeroInputs) bool {
	x, ok := c.Numbers(1)
	return ok && !slices.ContainsFunc(x, func(p float64) bool { return !(p > 0) }) && op.ZeroFirst(c, in)
}
