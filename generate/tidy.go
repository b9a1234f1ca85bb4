package generate

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// tidy removes pairs of nodes that cancel out, such as inverse transpositions and a Reshape before another, and nodes that do not change
// their input, until ctx ends. It returns the values that replaced others.
func tidy(ctx context.Context, e *nn.Edit) map[*nn.Value]*nn.Value {
	instead := map[*nn.Value]*nn.Value{}
	for changed := true; changed && e.Err() == nil; {
		changed = false
		for _, n := range e.Select(nn.Domain("")) {
			if ctx.Err() != nil {
				return instead
			}
			if len(n.Outputs()) == 0 || n.Out(0) == nil || len(n.Annotations()) > 0 {
				continue
			}
			output := slices.Contains(e.Outputs(), n.Out(0))
			if len(n.Out(0).Users()) == 0 && !output {
				continue
			}
			x := n.In(0)
			if to := unchanged(n, e.Outputs()); to != nil && (!output || to.Producer() != nil && !slices.Contains(e.Outputs(), to)) {
				instead[n.Out(0)], changed = to, true
				e.Replace(n, nn.LayerFunc(func(*nn.Edit, ...*nn.Value) []*nn.Value { return []*nn.Value{to} }))
			} else if t := n.Out(0).Type(); x != nil && ofStandard(n, "Reshape") && ofStandard(x.Producer(), "Reshape") && len(open(t)) <= 1 {
				e.Rewire(n.In(1), e.Ints(e.New("shape"), lengths(t)...), n)
				e.Rewire(x, x.Producer().In(0), n)
				if len(x.Users()) == 0 && !slices.Contains(e.Outputs(), x) {
					e.Remove(x.Producer())
				}
				changed = true
			}
		}
	}
	return instead
}

// unchanged returns the value that a node's output equals; nil if there is none.
func unchanged(n *nn.Node, outputs []*nn.Value) *nn.Value {
	if n.Domain() != "" || len(n.Inputs()) == 0 || n.In(0) == nil {
		return nil
	}
	x := n.In(0)
	switch {
	case ofStandard(n, "Transpose"):
		if before := x.Producer(); ofStandard(before, "Transpose") && inverse(attrs[std.TransposeConfig](before).Perm, attrs[std.TransposeConfig](n).Perm) {
			return before.In(0)
		}
	case ofStandard(n, "Reshape"):
		for ; ; x = x.Producer().In(0) {
			if sameShape(x.Type(), n.Out(0).Type()) {
				return x
			}
			if !ofStandard(x.Producer(), "Reshape") {
				break
			}
		}
	case ofStandard(n, "Slice"), ofStandard(n, "Pad"):
		if len(open(n.Out(0).Type())) <= 1 && sameShape(x.Type(), n.Out(0).Type()) && (n.In(4) == nil || all(n.In(4), 1)) && (ofStandard(n, "Slice") || all(n.In(1), 0)) {
			return x
		}
	case ofStandard(n, "Expand"):
		if sameType(x, n.Out(0)) || broadcast(n.Out(0), outputs) {
			return x
		}
	case ofStandard(n, "Mul"), ofStandard(n, "Div"):
		if y := n.In(1); x.Param() == nil && sameType(x, n.Out(0)) && (y.Param() == nil || y.Param().Role() == nn.Constant) && all(y, 1) {
			return x
		}
	case ofStandard(n, "Dropout"):
		if n.In(1) != nil && all(n.In(1), 0) && alone(n, outputs) {
			return x
		}
	}
	return nil
}

// broadcast reports whether all readers of a value combine it elementwise with another value of the same type.
func broadcast(v *nn.Value, outputs []*nn.Value) bool {
	return len(v.Users()) > 0 && !slices.Contains(outputs, v) && !slices.ContainsFunc(v.Users(), func(n *nn.Node) bool {
		return n.Traits().Arithmetic == trait.NoArithmetic || len(n.Inputs()) != 2 || !sameType(n.In(0), n.In(1)) || n.In(0) == n.In(1) || len(open(v.Type())) > 1
	})
}

// all reports whether a value is a constant whose elements are all x.
func all(v *nn.Value, x float64) bool {
	d, _ := v.Known().Value.(*tensor.Dense)
	if p := v.Param(); p != nil && !v.IsInput() {
		d = direct.Data(p)
	}
	if d == nil {
		return false
	}
	list, err := dtype.Float64s(d)
	return err == nil && !slices.ContainsFunc(list, func(y float64) bool { return y != x })
}

// inverse reports whether one permutation undoes another.
func inverse(a, b []int) bool {
	if len(a) == 0 || len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[b[i]] != i {
			return false
		}
	}
	return true
}

// sameType reports whether two values have the same type.
func sameType(x, y *nn.Value) bool { return x.Type().String() == y.Type().String() }

// sameShape reports whether two types have the same dimensions, with at most one open dimension each.
func sameShape(a, b op.Type) bool {
	if a.Unranked || b.Unranked || a.Rank() != b.Rank() || a.DType != b.DType {
		return false
	}
	unknown := 0
	for i, d := range a.Shape {
		switch o := b.Shape[i]; {
		case fixed(d) && fixed(o) && d.Size == o.Size:
		case !fixed(d) && !fixed(o):
			if d.Sym == "" || d.Sym != o.Sym {
				unknown++
			}
		default:
			return false
		}
	}
	return unknown <= 1
}
