package std

import (
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// formula is a Spelling with methods for arithmetic, in which gradients are written.
type formula struct{ *op.Spelling }

// spelled makes a step of a function on formulas.
func spelled(f func(n formula) error) func(*op.Spelling) error {
	return func(n *op.Spelling) error { return f(formula{n}) }
}

// count returns the product of sizes as a number of type t, of shape [1].
func (n formula) count(t op.DType, of func(c *op.Call) []op.Dim) *op.Operand {
	v := n.Before("count", ReduceProdConfig{KeepDims: pointer(true)}, n.ShapeOf(of), n.Vector("axes", 0))
	return n.Before("count", CastConfig{To: t}, v)
}

func pointer[T any](x T) *T { return &x }

// The functions below spell formulas: each adds one node.

func (n formula) do(c op.Config, in ...*op.Operand) *op.Operand { return n.Before("", c, in...) }

func (n formula) add(a, b *op.Operand) *op.Operand { return n.do(op.Plain("Add"), a, b) }
func (n formula) sub(a, b *op.Operand) *op.Operand { return n.do(op.Plain("Sub"), a, b) }
func (n formula) mul(a, b *op.Operand) *op.Operand { return n.do(op.Plain("Mul"), a, b) }
func (n formula) div(a, b *op.Operand) *op.Operand { return n.do(op.Plain("Div"), a, b) }
func (n formula) neg(a *op.Operand) *op.Operand    { return n.do(op.Plain("Neg"), a) }
func (n formula) exp(a *op.Operand) *op.Operand    { return n.do(op.Plain("Exp"), a) }
func (n formula) sqrt(a *op.Operand) *op.Operand   { return n.do(op.Plain("Sqrt"), a) }
func (n formula) square(a *op.Operand) *op.Operand { return n.mul(a, a) }

func (n formula) where(test, yes, no *op.Operand) *op.Operand {
	return n.do(op.Plain("Where"), test, yes, no)
}
func (n formula) less(a, b *op.Operand) *op.Operand    { return n.do(op.Plain("Less"), a, b) }
func (n formula) greater(a, b *op.Operand) *op.Operand { return n.do(op.Plain("Greater"), a, b) }
func (n formula) equal(a, b *op.Operand) *op.Operand   { return n.do(op.Plain("Equal"), a, b) }
func (n formula) not(a *op.Operand) *op.Operand        { return n.do(op.Plain("Not"), a) }
func (n formula) both(a, b *op.Operand) *op.Operand    { return n.do(op.Plain("And"), a, b) }

// num returns a constant scalar of the element type of like.
func (n formula) num(like *op.Operand, x float64) *op.Operand {
	t := like.Type.DType
	if t == dtype.Undefined {
		t = n.DType(0)
	}
	v, err := n.Filled("const", t, x)
	n.Err = errors.Join(n.Err, err)
	return v
}

func (n formula) times(a *op.Operand, x float64) *op.Operand { return n.mul(a, n.num(a, x)) }
func (n formula) plus(a *op.Operand, x float64) *op.Operand  { return n.add(a, n.num(a, x)) }

// rsub is x − a.
func (n formula) rsub(x float64, a *op.Operand) *op.Operand { return n.sub(n.num(a, x), a) }

func (n formula) cast(a *op.Operand, t op.DType) *op.Operand { return castTo(n.Spelling, t, a) }

func (n formula) reshape(a *op.Operand, shape ...int) *op.Operand {
	return n.do(ReshapeConfig{}, a, n.Vector("shape", shape...))
}

// likeOut reshapes a to the shape of output i.
func (n formula) likeOut(a *op.Operand, i int) *op.Operand {
	return n.do(ReshapeConfig{}, a, n.OutShape(i))
}

func (n formula) transpose(a *op.Operand, perm ...int) *op.Operand {
	return n.do(TransposeConfig{Perm: perm}, a)
}

func (n formula) expand(a, shape *op.Operand) *op.Operand { return n.do(op.Plain("Expand"), a, shape) }

func (n formula) concat(axis int, in ...*op.Operand) *op.Operand {
	return n.do(ConcatConfig{Axis: axis}, in...)
}

func (n formula) unsqueeze(a *op.Operand, axes ...int) *op.Operand {
	return n.do(UnsqueezeConfig{}, a, n.Vector("axes", axes...))
}

func (n formula) sum(a *op.Operand, keep bool, axes ...int) *op.Operand {
	if len(axes) == 0 {
		return n.do(op.Plain("Identity"), a)
	}
	return n.do(ReduceSumConfig{KeepDims: pointer(keep)}, a, n.Vector("axes", axes...))
}

func (n formula) mean(a *op.Operand, keep bool, axes ...int) *op.Operand {
	if len(axes) == 0 {
		return n.do(op.Plain("Identity"), a)
	}
	return n.do(ReduceMeanConfig{KeepDims: pointer(keep)}, a, n.Vector("axes", axes...))
}

// zeros are zeros of a shape given as a vector.
func (n formula) zeros(t op.DType, shape *op.Operand) *op.Operand {
	z, err := n.Filled("zero", t, 0)
	n.Err = errors.Join(n.Err, err)
	return n.expand(z, shape)
}

// upTo lists the numbers from a to b−1.
func upTo(a, b int) []int {
	var list []int
	for ; a < b; a++ {
		list = append(list, a)
	}
	return list
}

// rank returns the rank of input i, which calls of a lowering always know.
func (n formula) rank(i int) int { return len(n.Call.In[i].Shape) }
