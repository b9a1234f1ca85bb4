package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// flat is the reason why steps have no gradient.
const flat = "its derivative is zero wherever there is one"

// unaries returns the table of operators on single elements that have no attributes. Add a row to add
// an operator.
func unaries() []pointwiseOp {
	plain := func(p pointwise) func(op.Config) pointwise { return func(op.Config) pointwise { return p } }
	row := func(name, doc string, since []int, t op.Traits, p pointwise) pointwiseOp {
		r := pointwiseOp{name: name, doc: doc, since: since, of: plain(p), traits: t}
		switch {
		case p.ints != nil && p.uints != nil:
			r.types = op.Numeric()
		case p.ints != nil:
			r.types = append(append([]op.DType(nil), op.Floats()...), op.Signed()...)
		}
		if p.grad == nil {
			r.noGrad = flat
		}
		return r
	}
	v6, v7, v9 := []int{1, 6, 13}, []int{7, 22}, []int{9, 22}
	spelled := func(r pointwiseOp, decompose func(*op.Spelling) error, versions ...op.Version) pointwiseOp {
		r.versions, r.decompose = versions, decompose
		return r
	}
	return append([]pointwiseOp{
		row("Abs", "Absolute value.", v6, op.Traits{Zero: op.ZeroFirst, Range: rangeNonNegative, Bounds: true, Keeps: keepsPositive}, pointwise{f: math.Abs, need: "x", ints: func(x int64) int64 { return max(x, -x) },
			uints: func(x uint64) uint64 { return x }, f32: elementwise.Abs[float32], f64: elementwise.Abs[float64],
			g32: blockedGrad(absGradBlock[float32]), g64: blockedGrad(absGradBlock[float64]), grad: func(x, _, dy float64) float64 { return dy * sign(x) }}),
		row("Neg", "−x.", v6, op.Traits{Zero: op.ZeroFirst, Bounds: true}, pointwise{f: func(x float64) float64 { return -x }, ints: func(x int64) int64 { return -x },
			f32: negate[float32], f64: negate[float64], g32: negateGrad[float32], g64: negateGrad[float64],
			grad: func(_, _, dy float64) float64 { return -dy }}),
		row("Sign", "−1, 0 or 1.", []int{9, 13}, op.Traits{Zero: op.ZeroFirst, Range: op.RangeOf(-1, 1)}, pointwise{f: sign, ints: func(x int64) int64 { return int64(sign(float64(x))) }, f32: elementwise.Sign[float32], f64: elementwise.Sign[float64],
			uints: func(x uint64) uint64 { return min(x, 1) }}),
		row("Ceil", "Rounds up.", v6, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Ceil, f32: elementwise.Ceil[float32], f64: elementwise.Ceil[float64]}),
		row("Floor", "Rounds down.", v6, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Floor, f32: elementwise.Floor[float32], f64: elementwise.Floor[float64]}),
		row("Round", "Rounds to the nearest integer, halves to the even one.", []int{11, 22}, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.RoundToEven, f32: elementwise.Round[float32], f64: elementwise.Round[float64]}),
		row("Reciprocal", "1/x.", v6, op.Traits{}, pointwise{f: func(x float64) float64 { return 1 / x }, need: "y", f32: reciprocal[float32], f64: reciprocal[float64],
			g32: blockedGrad(reciprocalGradBlock[float32]), g64: blockedGrad(reciprocalGradBlock[float64]),
			grad: func(_, y, dy float64) float64 { return -dy * y * y }}),
		row("Sqrt", "Square root.", v6, op.Traits{Zero: op.ZeroFirst, Range: rangeNonNegative}, pointwise{f: math.Sqrt, f32: elementwise.Sqrt[float32], f64: elementwise.Sqrt[float64], need: "y",
			g32: blockedGrad(sqrtGradBlock[float32]), g64: blockedGrad(sqrtGradBlock[float64]),
			grad: func(_, y, dy float64) float64 { return dy / (2 * y) }}),
		row("Exp", "e to the power of x.", v6, op.Traits{Range: rangeNonNegative, Bounds: true}, pointwise{f: math.Exp, f32: elementwise.Exp[float32], f64: elementwise.Exp[float64], need: "y",
			g32: elementwise.Mul[float32], g64: elementwise.Mul[float64], grad: func(_, y, dy float64) float64 { return dy * y }}),
		row("Log", "Natural logarithm.", v6, op.Traits{}, pointwise{f: math.Log, f32: elementwise.Log[float32], f64: elementwise.Log[float64], need: "x",
			g32: elementwise.Div[float32], g64: elementwise.Div[float64], grad: func(x, _, dy float64) float64 { return dy / x }}),
		row("Erf", "Gauss error function.", []int{9, 13}, op.Traits{Zero: op.ZeroFirst, Range: op.RangeOf(-1, 1), Odd: oddBy(4/math.Sqrt(math.Pi), small), Sigmoid: trait.OddSigmoid}, pointwise{f: math.Erf, f32: elementwise.Erf[float32], f64: elementwise.Erf[float64], need: "x",
			g32: blockedGrad(erfGradBlock[float32]), g64: blockedGrad(erfGradBlock[float64]),
			grad: func(x, _, dy float64) float64 { return dy * twoOverSqrtPi * math.Exp(-x*x) }}),
		spelled(row("Relu", "max(0, x).", []int{1, 6, 13, 14}, op.Traits{Zero: op.ZeroFirst, Range: rangePositive, Bounds: true, Activation: trait.HiddenActivation, Keeps: keepsPositive, Odd: oddBy(1, 1)}, pointwise{f: relu, f32: elementwise.Relu[float32], f64: elementwise.Relu[float64], need: "y", act: elementwise.Activation{Kind: elementwise.ActRelu},
			g32: elementwise.ReluGrad[float32], g64: elementwise.ReluGrad[float64], ints: func(x int64) int64 { return max(x, 0) },
			grad: func(_, y, dy float64) float64 { return step(y) * dy }}), nil, op.Version{At: 14, New: op.Where{"T": op.Integers()}}),
		row("Sigmoid", "1/(1+e^−x).", v6, op.Traits{Probabilities: func(*op.Call) *trait.Probabilities { return &trait.Probabilities{} }, Range: op.RangeOf(0, 1), Bounds: true, Activation: trait.GateActivation, Odd: oddBy(0.5, small), Sigmoid: trait.UnitSigmoid}, pointwise{f: sigmoid, f32: elementwise.Sigmoid[float32], f64: elementwise.Sigmoid[float64], need: "y", act: elementwise.Activation{Kind: elementwise.ActSigmoid},
			g32: elementwise.SigmoidGrad[float32], g64: elementwise.SigmoidGrad[float64], grad: func(_, y, dy float64) float64 { return dy * y * (1 - y) }}),
		row("Tanh", "Hyperbolic tangent.", v6, op.Traits{Zero: op.ZeroFirst, Range: op.RangeOf(-1, 1), Bounds: true, Activation: trait.GateActivation, Odd: oddBy(2, small), Sigmoid: trait.OddSigmoid}, pointwise{f: math.Tanh, f32: elementwise.Tanh[float32], f64: elementwise.Tanh[float64], need: "y", act: elementwise.Activation{Kind: elementwise.ActTanh},
			g32: elementwise.TanhGrad[float32], g64: elementwise.TanhGrad[float64], grad: func(_, y, dy float64) float64 { return dy * (1 - y*y) }}),
		row("Softplus", "ln(1+e^x).", []int{1, 22}, op.Traits{Range: rangeNonNegative, Bounds: true, Activation: trait.HiddenActivation, Odd: oddBy(1, 1)}, pointwise{f: softplus, need: "y", act: elementwise.Activation{Kind: elementwise.ActSoftplus},
			f32: elementwise.Softplus[float32], f64: elementwise.Softplus[float64], g32: elementwise.SoftplusGrad[float32], g64: elementwise.SoftplusGrad[float64],
			grad: func(_, y, dy float64) float64 { return -dy * math.Expm1(-y) }}),
		row("Softsign", "x/(1+|x|).", []int{1, 22}, op.Traits{Zero: op.ZeroFirst, Range: op.RangeOf(-1, 1), Activation: trait.HiddenActivation}, pointwise{f: func(x float64) float64 { return x / (1 + math.Abs(x)) }, need: "x",
			f32: blocked(softsignBlock[float32]), f64: blocked(softsignBlock[float64]),
			g32: blockedGrad(softsignGradBlock[float32]), g64: blockedGrad(softsignGradBlock[float64]),
			grad: func(x, _, dy float64) float64 { d := 1 + math.Abs(x); return dy / (d * d) }}),
		spelled(row("Mish", "x·tanh(softplus(x)).", []int{18, 22}, op.Traits{Zero: op.ZeroFirst, Range: rangeShrunk, Activation: trait.HiddenActivation}, pointwise{f: func(x float64) float64 { return x * math.Tanh(softplus(x)) }, need: "x", grad: mishGrad,
			f32: elementwise.Mish[float32], f64: elementwise.Mish[float64], g32: elementwise.MishGrad[float32], g64: elementwise.MishGrad[float64]}), decomposeMish),
		spelled(row("HardSwish", "x·max(0, min(1, x/6+1/2)).", []int{14, 22}, gatedLinear(), pointwise{f: hardSwish, need: "x", act: elementwise.Activation{Kind: elementwise.ActHardSwish},
			f32: elementwise.HardSwish[float32], f64: elementwise.HardSwish[float64], g32: elementwise.HardSwishGrad[float32], g64: elementwise.HardSwishGrad[float64],
			grad: func(x, _, dy float64) float64 { return hardSwishGrad(x, dy) }}), decomposeHardSwish),
		row("Sin", "Sine.", v7, op.Traits{Zero: op.ZeroFirst, Range: op.RangeOf(-1, 1), Odd: oddBy(2, small), Periodic: true}, pointwise{f: math.Sin, need: "x", f32: elementwise.Sin[float32], f64: elementwise.Sin[float64],
			g32: blockedGrad(sinGradBlock[float32]), g64: blockedGrad(sinGradBlock[float64]), grad: func(x, _, dy float64) float64 { return dy * math.Cos(x) }}),
		row("Cos", "Cosine.", v7, op.Traits{Range: op.RangeOf(-1, 1), Periodic: true}, pointwise{f: math.Cos, need: "x", f32: elementwise.Cos[float32], f64: elementwise.Cos[float64],
			g32: blockedGrad(cosGradBlock[float32]), g64: blockedGrad(cosGradBlock[float64]), grad: func(x, _, dy float64) float64 { return -dy * math.Sin(x) }}),
		row("Tan", "Tangent.", v7, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Tan, need: "y", grad: func(_, y, dy float64) float64 { return dy * (1 + y*y) }}),
		row("Asin", "Arc sine.", v7, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Asin, need: "x", grad: func(x, _, dy float64) float64 { return dy / math.Sqrt(1-x*x) }}),
		row("Acos", "Arc cosine.", v7, op.Traits{}, pointwise{f: math.Acos, need: "x", grad: func(x, _, dy float64) float64 { return -dy / math.Sqrt(1-x*x) }}),
		row("Atan", "Arc tangent.", v7, op.Traits{Zero: op.ZeroFirst, Range: op.RangeOf(-math.Pi/2, math.Pi/2), Odd: oddBy(2, small)}, pointwise{f: math.Atan, need: "x", f32: elementwise.Atan[float32], f64: elementwise.Atan[float64],
			g32: blockedGrad(atanGradBlock[float32]), g64: blockedGrad(atanGradBlock[float64]), grad: func(x, _, dy float64) float64 { return dy / (1 + x*x) }}),
		row("Sinh", "Hyperbolic sine.", v9, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Sinh, need: "x", grad: func(x, _, dy float64) float64 { return dy * math.Cosh(x) }}),
		row("Cosh", "Hyperbolic cosine.", v9, op.Traits{}, pointwise{f: math.Cosh, need: "x", grad: func(x, _, dy float64) float64 { return dy * math.Sinh(x) }}),
		row("Asinh", "Inverse hyperbolic sine.", v9, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Asinh, need: "x", grad: func(x, _, dy float64) float64 { return dy / math.Sqrt(x*x+1) }}),
		row("Acosh", "Inverse hyperbolic cosine.", v9, op.Traits{}, pointwise{f: math.Acosh, need: "x", grad: func(x, _, dy float64) float64 { return dy / math.Sqrt(x*x-1) }}),
		row("Atanh", "Inverse hyperbolic tangent.", v9, op.Traits{Zero: op.ZeroFirst}, pointwise{f: math.Atanh, need: "x", grad: func(x, _, dy float64) float64 { return dy / (1 - x*x) }}),
	}, pointwiseOp{name: "BitwiseNot", doc: "Inverts every bit.", since: []int{18}, types: op.Integers(), noGrad: "integers",
		of: plain(pointwise{ints: func(x int64) int64 { return ^x }})})
}

// unaryOps makes the operators of the table and their gradients.
func unaryOps() []*op.Op {
	var list []*op.Op
	for _, u := range unaries() {
		list = append(list, u.ops()...)
	}
	return list
}

const twoOverSqrtPi = 2 / (math.SqrtPi)

func relu(x float64) float64 {
	if x > 0 || x != x {
		return x
	}
	return 0
}

func step(x float64) float64 {
	if x > 0 {
		return 1
	}
	return 0
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, and NaN
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus keeps e^x from overflowing.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func mishGrad(x, _, dy float64) float64 {
	t := math.Tanh(softplus(x))
	return dy * (t + x*sigmoid(x)*(1-t*t))
}

func hardSwish(x float64) float64 { return x * max(0, min(1, x/6+0.5)) }

func hardSwishGrad(x, dy float64) float64 {
	switch {
	case x <= -3:
		return 0
	case x >= 3:
		return dy
	}
	return dy * (x/3 + 0.5)
}

// each makes a slice kernel of a function.
func each[T kernel.Float](f func(x T) T) func(p *kernel.Pool, dst, src []T) {
	return func(p *kernel.Pool, dst, src []T) {
		p.Range(len(dst), 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				dst[i] = f(src[i])
			}
		})
	}
}

// eachGrad makes a slice kernel of a gradient function.
func eachGrad[T kernel.Float](f func(dy, at T) T) func(p *kernel.Pool, dx, dy, at []T) {
	return func(p *kernel.Pool, dx, dy, at []T) {
		p.Range(len(dx), 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				dx[i] = f(dy[i], at[i])
			}
		})
	}
}

func negate[T kernel.Float](p *kernel.Pool, dst, src []T) { elementwise.Scale(p, -1, dst, src) }

func reciprocal[T kernel.Float](p *kernel.Pool, dst, src []T) {
	elementwise.BinaryScalar(p, elementwise.OpRDiv, dst, src, 1)
}

func negateGrad[T kernel.Float](p *kernel.Pool, dx, dy, _ []T) { elementwise.Scale(p, -1, dx, dy) }

// decomposeHardSwish is x·HardSigmoid(x), of a sixth and a half.
func decomposeHardSwish(n *op.Spelling) error {
	sixth, half := float32(1)/6, float32(0.5)
	gate := n.Before("gate", HardSigmoidConfig{Alpha: &sixth, Beta: &half}, n.In[0])
	n.Give(0, n.Before("", op.Plain("Mul"), n.In[0], gate))
	return nil
}

func decomposeMish(n *op.Spelling) error {
	gate := n.Before("gate", op.Plain("Tanh"), n.Before("softplus", op.Plain("Softplus"), n.In[0]))
	n.Give(0, n.Before("", op.Plain("Mul"), n.In[0], gate))
	return nil
}
