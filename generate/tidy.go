package generate

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// tidy takes out nodes that another undoes, and those that leave their input as it is: transpositions there and back, a shape between
// two others.
func tidy(e *nn.Edit) {
	for changed := true; changed && e.Err() == nil; {
		changed = false
		for _, n := range e.Nodes() {
			if to := unchanged(n); to != nil && to != n.Out(0) && !slices.Contains(e.Outputs(), n.Out(0)) && len(n.Annotations()) == 0 && len(n.Out(0).Users()) > 0 {
				e.Rewire(n.Out(0), to)
				changed = true
			} else if shape := n.In(0); shape != nil && ofStandard(n, "Reshape") && ofStandard(shape.Producer(), "Reshape") && absolute(n) {
				e.Rewire(shape, shape.Producer().In(0), n)
				changed = true
			}
		}
	}
}

// unchanged is the value that a node's output equals.
func unchanged(n *nn.Node) *nn.Value {
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
		if sameShape(x.Type(), n.Out(0).Type()) {
			return x
		}
	}
	return nil
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

// sameShape reports whether two types have the same dimensions, one of which at most is open in each.
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

// absolute reports whether a Reshape names all lengths but for one: none is that of its input.
func absolute(n *nn.Node) bool {
	d, _ := n.In(1).Known().Value.(*tensor.Dense)
	if d == nil && n.In(1).Param() != nil && !n.In(1).IsInput() {
		d = n.In(1).Param().Data()
	}
	if d == nil {
		return false
	}
	list, err := dtype.Ints(d)
	return err == nil && !slices.Contains(list, 0)
}
