package nn

import (
	"math"
	"slices"
	"strconv"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The fields of Gorgonia's elementwise and product operators that identify them.
const (
	binaryField  = "ʘBinaryOperatorType"
	productField = "āBinaryOperator"
)

// The constants of Gorgonia's binary operators.
const (
	binAdd = iota
	binSub
	binMul
	binDiv
	binPow
	binLt
	binGt
	binLte
	binGte
	binEq
	binNe
)

// binary returns the elementwise operator at the site, -1 if it is not one.
func (s *Site) binary() int {
	if s.goType() != "gorgonia.elemBinOp" {
		return -1
	}
	return number(deref(s.field(0, "ʘBinaryOperator").FieldByName(binaryField)))
}

func binaryRule(s *Site) *Value {
	kind := s.binary()
	switch kind {
	case binMul:
		if x := s.rectified(); x != nil {
			return s.Node(op.Plain("Relu"), x.Value())
		}
	case binAdd:
		if x, slope := s.leaky(); x != nil {
			alpha := float32(slope)
			return s.Node(std.LeakyReluConfig{Alpha: &alpha}, x.Value())
		}
	case binDiv:
		if sum := s.mean(); sum != nil {
			return sum.reduce("ReduceMean", sum.In(0).Value())
		}
	}
	names := []string{"Add", "Sub", "Mul", "Div", "Pow", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "Equal"}
	v := s.pair(op.Plain(names[kind]), s.In(0), s.In(1))
	if kind == binNe {
		v = s.Node(op.Plain("Not"), v)
	}
	if t := op.NodeType(s.at[0]).DType; kind >= binLt && t != dtype.Bool {
		v = s.Node(std.CastConfig{To: t}, v)
	}
	return v
}

// pair adds an operator of two inputs. Gorgonia repeats operands before it adds them; ONNX broadcasts, so repetitions
// are left out if the result is the same.
func (s *Site) pair(c op.Config, a, b *Site) *Value {
	out := s.shapeOf(nil)
	x, y := a.bare(), b.bare()
	if !sameShapes(broadcast(x.shapeOf(nil), y.shapeOf(nil)), out) {
		x, y = a, b
	}
	xs, ys := x.shapeOf(nil), y.shapeOf(nil)
	if sameShapes(broadcast(xs, ys), out) {
		return s.Node(c, x.Value(), y.Value())
	}
	// Gorgonia treats (3) and (3,1) as the same shape.
	full := s.shapeLike(x, y)
	return s.Node(c, s.grow(x, full), s.grow(y, full))
}

func (s *Site) grow(x *Site, to []size) *Value {
	from := x.shape()
	if len(from) == 0 || len(from) == len(to) {
		return x.Value()
	}
	return s.reshape(x.Value(), from, to)
}

// shapeLike returns the shape of the operand that has the site's shape.
func (s *Site) shapeLike(x, y *Site) []size {
	if len(s.at[0].Shape()) == len(x.at[0].Shape()) {
		return x.shape()
	}
	return y.shape()
}

// bare removes repetitions and leading dimensions of 1, which broadcasting implies.
func (s *Site) bare() *Site {
	for {
		switch s.goType() {
		case "*gorgonia.repeatOp":
			in := s.In(0)
			if len(in.at[0].Shape()) != len(s.at[0].Shape()) {
				return s
			}
			s = in
		case "gorgonia.reshapeOp":
			from, to := s.In(0).shapeOf(nil), s.shapeOf(nil)
			lead := len(to) - len(from)
			if lead < 0 || !sameShapes(to[lead:], from) {
				return s
			}
			s = s.In(0)
		default:
			return s
		}
	}
}

// broadcast returns the shape that two broadcast to, nil if they do not.
func broadcast(a, b []size) []size {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	lead := len(a) - len(b)
	for i, d := range b {
		switch k := lead + i; {
		case dim1(d) || slices.Equal(d, a[k]):
		case dim1(a[k]):
			out[k] = d
		default:
			return nil
		}
	}
	if out == nil {
		out = []size{}
	}
	return out
}

// rectified is x of Rectify's x ⊙ (x ≥ 0).
func (s *Site) rectified() *Site {
	for i := range 2 {
		x, cmp := s.In(i), s.In(1-i)
		if cmp.binary() == binGte && cmp.In(0).is(x) && cmp.In(1).number(0) && cmp.Bool("retSame") {
			return x
		}
	}
	return nil
}

// leaky is x and α of LeakyRelu's x⊙(x≥0) + x⊙(x<0)⊙α.
func (s *Site) leaky() (*Site, float64) {
	x := s.In(0)
	if x.binary() != binMul {
		return nil, 0
	}
	in := x.rectified()
	m := s.In(1)
	if in == nil || m.binary() != binMul || m.In(0).binary() != binMul {
		return nil, 0
	}
	neg, slope := m.In(0), m.In(1)
	cmp := neg.In(1)
	if !neg.In(0).is(in) || cmp.binary() != binLt || !cmp.In(0).is(in) || !cmp.In(1).number(0) {
		return nil, 0
	}
	f, ok := scalarOfNode(slope.at[0])
	if !ok {
		return nil, 0
	}
	return in, f
}

// mean returns the sum that a site divides by the sizes of the axes it was taken along.
func (s *Site) mean() *Site {
	sum := s.In(0)
	if sum.goType() != "gorgonia.sumOp" {
		return nil
	}
	axes := map[int]bool{}
	x := sum.In(0)
	var count func(c *Site) bool
	count = func(c *Site) bool {
		switch {
		case c.goType() == "gorgonia.sizeOp" && c.In(0).is(x):
			a := c.Int("axis")
			again := axes[a]
			axes[a] = true
			return !again
		case c.binary() == binMul:
			return count(c.In(0)) && count(c.In(1))
		}
		return false
	}
	if !count(s.In(1)) {
		return nil
	}
	along := sum.Ints("along")
	for _, a := range along {
		if !axes[a] {
			return nil
		}
	}
	if len(along) != len(axes) {
		return nil
	}
	return sum
}

// is reports whether two sites are the same.
func (s *Site) is(x *Site) bool { return slices.Equal(s.at, x.at) }

// number reports whether the site is a constant scalar of that value.
func (s *Site) number(want float64) bool {
	for _, n := range s.at {
		if x, ok := scalarOfNode(n); !ok || x != want {
			return false
		}
	}
	return true
}

func scalarOfNode(n *gorgonia.Node) (float64, bool) {
	if len(exprgraph.Children(n)) > 0 { // its value may be of an earlier run
		return 0, false
	}
	v, _ := valueOf(constantValue(n))
	d, _ := v.(*tensor.Dense) // nil with an error, too
	if d == nil {
		return 0, false
	}
	x, _ := floats(d)
	if len(x) != 1 {
		return 0, false
	}
	return x[0], true
}

// unaryRule translates functions of one element.
func unaryRule(s *Site) *Value {
	plain := map[string]string{
		"abs": "Abs", "sign": "Sign", "ceil": "Ceil", "floor": "Floor", "sin": "Sin", "cos": "Cos", "exp": "Exp", "ln": "Log",
		"neg": "Neg", "sqrt": "Sqrt", "inv": "Reciprocal", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus",
	}
	x := s.In(0).Value()
	name := s.Op().String()
	if p, ok := plain[name]; ok {
		return s.Node(op.Plain(p), x)
	}
	one := func() *Value { return s.t.e.Const(s.t.constName(), scalarOf(s, 1)) }
	mul := func(a, b *Value) *Value { return s.Node(op.Plain("Mul"), a, b) }
	switch name {
	case "square":
		return mul(x, x)
	case "cube":
		return mul(mul(x, x), x)
	case "invSqrt":
		return s.Node(op.Plain("Reciprocal"), s.Node(op.Plain("Sqrt"), x))
	case "log2":
		return mul(s.Node(op.Plain("Log"), x), s.t.e.Const(s.t.constName(), scalarOf(s, 1/math.Ln2)))
	case "log1p":
		return s.Node(op.Plain("Log"), s.Node(op.Plain("Add"), x, one()))
	case "expm1":
		return s.Node(op.Plain("Sub"), s.Node(op.Plain("Exp"), x), one())
	}
	return s.Refuse("")
}

// scalarOf returns a scalar in the site's element type.
func scalarOf(s *Site, x float64) *tensor.Dense {
	d, err := dtype.FromFloats(op.NodeType(s.at[0]).DType, []float64{x})
	if err != nil {
		s.fail(err)
	}
	return d
}

func (t *tracer) constName() string {
	t.consts++
	return "const_" + strconv.Itoa(t.consts-1)
}
