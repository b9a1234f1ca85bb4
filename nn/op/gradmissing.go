package op

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
)

// NotTwice is the GradMissing of gradient operators.
const NotTwice = "it is part of a gradient, which is not differentiated again"

// CheckGradients returns an error if an operator between of and wrt declares GradMissing, or an input has no gradient:
// gradients would silently be zero. The error names the first such operator, or is that of ctx if it ends.
func CheckGradients(ctx context.Context, of, wrt gorgonia.Nodes) error {
	depends := map[*gorgonia.Node]bool{}
	for _, n := range wrt {
		depends[n] = true
	}
	seen := map[*gorgonia.Node]bool{}
	var visit func(n *gorgonia.Node) error
	visit = func(n *gorgonia.Node) error {
		if n == nil || seen[n] {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		seen[n] = true
		passed, lost := sources(n)
		for _, k := range lost {
			if DependsOnMarked(k, depends) {
				return n.Op().(*expr).call.gradMissing(n, k)
			}
		}
		for _, k := range passed {
			if err := visit(k); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range of {
		if err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

// gradMissing returns the error for a requested gradient that passes through a call, from n to its child k.
func (c *Call) gradMissing(n, k *gorgonia.Node) error {
	e := &Error{Stage: "gradient", Kind: ErrUnsupported, Op: c.Op.String(), Node: c.Node, Err: fmt.Errorf("has no gradient (%s)", c.Op.GradMissing)}
	if c.Op.GradMissing == "" {
		slot := n.Op().(*expr).slots[slices.Index(Children(n), k)]
		e.Input, e.Err = c.InputName(slot), errors.New("has no gradient")
		if t := c.In[slot]; t.Kind != Tensor {
			e.Err = fmt.Errorf("is %v, which has no gradient", t)
		}
	}
	return e
}

// sources returns the children on which the elements of n depend with a nonzero derivative:
// those that get a gradient, and those whose gradient is lost.
func sources(n *gorgonia.Node) (passed, lost gorgonia.Nodes) {
	kids := Children(n)
	sd, ok := n.Op().(gorgonia.SDOp)
	if !ok || len(kids) == 0 {
		return nil, nil
	}
	e, ours := n.Op().(*expr)
	for k, d := range sd.DiffWRT(len(kids)) {
		switch {
		case d:
			passed = append(passed, kids[k])
		case ours && e.losesGradient(k):
			lost = append(lost, kids[k])
		}
	}
	return passed, lost
}

// losesGradient reports whether the gradient of child k is missing rather than zero.
func (o *expr) losesGradient(k int) bool {
	c, slot := o.call, o.slots[k]
	if slot >= len(c.In) || o.index >= c.Outputs || !holdsFloats(c.In[slot]) || !holdsFloats(c.Out[o.index]) {
		return false
	}
	s, _ := At(c.Op.In.List(), slot)
	if c.In[slot].Kind != Tensor || c.Out[o.index].Kind != Tensor { // containers have no gradients
		return c.Op.NoGrad == "" && s.Role != Shape && s.Role != given
	}
	return c.Op.GradMissing != "" || c.Op.NoGrad == "" && c.withoutGradient(s.Role) && s.Role != given && s.Role != State
}

// DependsOnMarked reports whether n depends on a node for which depends holds true, and stores the results in depends.
func DependsOnMarked(n *gorgonia.Node, depends map[*gorgonia.Node]bool) bool {
	if d, known := depends[n]; known || n == nil || depends == nil {
		return d
	}
	depends[n] = false
	passed, lost := sources(n)
	depends[n] = slices.ContainsFunc(append(passed, lost...), func(k *gorgonia.Node) bool { return DependsOnMarked(k, depends) })
	return depends[n]
}
