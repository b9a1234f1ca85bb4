package op

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"gorgonia.org/gorgonia"
)

// Backpropagate returns the gradients of Σ of·seeds with respect to wrt, as gorgonia.Backpropagate does, except that the gradient of
// an operator with several outputs is one call, which takes the gradients of all of them, not one call for each: it takes
// time in proportion to their number. The nodes must not be differentiated again. If ctx ends, it returns its error.
func Backpropagate(ctx context.Context, of, seeds, wrt gorgonia.Nodes) (gorgonia.Nodes, error) {
	if ctx == nil {
		return nil, errors.New("op: the context is nil: context.Background() never ends")
	}
	if len(of) == 0 || len(of) != len(seeds) || slices.Contains(slices.Concat(of, seeds, wrt), nil) {
		return nil, fmt.Errorf("differentiating %d nodes with %d gradients: %w", len(of), len(seeds), errNoNode)
	}
	d := &differentiation{
		reads: map[*gorgonia.Node]int{}, sums: map[*gorgonia.Node]*gradientSum{}, marks: map[*gorgonia.Node]*gradientSum{}, calls: map[*emission]*gradientCall{},
		rewriter: NewRewriter(ctx),
	}
	d.rewriter.instead = d.resolve
	var grads gorgonia.Nodes
	var err error
	if ended := engine.Await(ctx, func() { // Gorgonia sorts the graph, and checks nothing meanwhile
		defer d.begin(of)()
		list, failed := gorgonia.Backpropagate(of, seeds, wrt)
		for i := 0; i < len(list) && failed == nil; i++ {
			list[i], failed = d.resolved(list[i])
		}
		if failed == nil {
			failed = fit(list)
		}
		grads, err = list, failed
	}); ended != nil {
		return nil, ended
	}
	if err != nil && ctx.Err() != nil { // in Gorgonia's words
		err = ctx.Err()
	}
	return grads, err
}

// differentiation is one call of Backpropagate. Gorgonia visits each node after all that read it, and would add up, one by one and without looking
// at a context, what these returned. Where a node is read more than once it gets a single node, a mark, which stands for a sum that is made when
// Gorgonia comes to differentiate the node itself.
type differentiation struct {
	reads    map[*gorgonia.Node]int // how often a node is read
	sums     map[*gorgonia.Node]*gradientSum
	marks    map[*gorgonia.Node]*gradientSum // the same by mark
	calls    map[*emission]*gradientCall     // of operators with several outputs
	rewriter *Rewriter                       // replaces marks in what Gorgonia computes from them

	at     *expr // that is being differentiated
	passed []bool
}

// gradientSum is the gradient of a node.
type gradientSum struct {
	terms []gradientTerm
	total *gorgonia.Node // nil until it is asked for
}

// gradientTerm is the contribution of a reader: a node, or the gradient of input slot of an operator with several outputs.
type gradientTerm struct {
	node *gorgonia.Node
	of   *emission
	slot int
}

// gradientCall is the gradient of an operator with several outputs.
type gradientCall struct {
	dout  gorgonia.Nodes // by output
	grads gorgonia.Nodes // by formal input; nil until one is asked for
}

// begin prepares the operators that of depends on, and returns what ends the differentiation.
func (d *differentiation) begin(of gorgonia.Nodes) (end func()) {
	within := map[*emission]bool{}
	seen := map[*gorgonia.Node]bool{}
	for stack := slices.Clone(of); len(stack) > 0; {
		n := stack[len(stack)-1]
		if stack = stack[:len(stack)-1]; seen[n] {
			continue
		}
		seen[n] = true
		if e, ok := n.Op().(*expr); ok {
			within[e.emission], e.within = true, d
		}
		for _, k := range Children(n) {
			d.reads[k]++
			stack = append(stack, k)
		}
	}
	return func() {
		for e := range within {
			e.within = nil
		}
	}
}

// fit checks that what the gradients are computed from fits in memory. Others, of the network's input for example, were emitted beside them, and
// are never computed.
func fit(grads gorgonia.Nodes) error {
	seen, calls := map[*gorgonia.Node]bool{}, map[*emission]bool{}
	for stack := slices.Clone(grads); len(stack) > 0; {
		n := stack[len(stack)-1]
		if stack = stack[:len(stack)-1]; seen[n] {
			continue
		}
		seen[n] = true
		e, ours := n.Op().(*expr)
		if !ours {
			stack = append(stack, Children(n)...)
			continue
		}
		if !e.call.maybe || calls[e.emission] { // not of a gradient, or another output
			continue
		}
		calls[e.emission] = true
		call := *e.call
		call.maybe = false
		if err := call.fits(); err != nil {
			return err
		}
		stack = append(stack, e.kids...)
	}
	return nil
}

// symDiff records what o contributes to the gradients of its children, and returns their marks, if they have not been returned before.
func (d *differentiation) symDiff(o *expr, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	d.at = nil
	wrt := o.DiffWRT(len(o.kids))
	d.at, d.passed = o, make([]bool, len(o.kids))
	list := make(gorgonia.Nodes, len(o.kids))
	grad, err := d.resolved(grad)
	if err != nil {
		return nil, err
	}
	call, several := d.calls[o.emission], o.several()
	if call != nil {
		call.dout[o.index] = grad
		return list, nil
	}
	call = &gradientCall{dout: make(gorgonia.Nodes, o.call.Outputs)}
	call.dout[o.index] = grad
	if several {
		d.calls[o.emission] = call
	} else if call.grads, err = o.gradient(call.dout); err != nil {
		return nil, err
	}
	for k, slot := range o.slots {
		if !wrt[k] {
			continue
		}
		x := o.kids[k]
		t := gradientTerm{of: o.emission, slot: slot}
		if !several {
			if t.node, err = o.orZeros(call.grads, slot); err != nil {
				return nil, err
			}
			if d.reads[x] == 1 {
				list[k], d.passed[k] = t.node, true
				continue
			}
		}
		s := d.sums[x]
		if s == nil {
			mark := *o.call
			mark.maybe = true
			if list[k], err = mark.Apply1(markConfig{}, x); err != nil {
				return nil, err
			}
			s = &gradientSum{}
			d.sums[x], d.marks[list[k]], d.passed[k] = s, s, true
		}
		s.terms = append(s.terms, t)
	}
	return list, nil
}

// resolved returns n without marks. What graft emits contains none.
func (d *differentiation) resolved(n *gorgonia.Node) (*gorgonia.Node, error) {
	if _, ours := n.Op().(*expr); ours || n.Op() == nil {
		return d.resolve(n)
	}
	return d.rewriter.Rewrite(n)
}

// resolve returns the sum that n is the mark of, or n if it is none.
func (d *differentiation) resolve(n *gorgonia.Node) (*gorgonia.Node, error) {
	s := d.marks[n]
	if s == nil {
		return n, nil
	}
	for _, t := range s.terms {
		x := t.node
		if x == nil {
			var err error
			if x, err = d.gradient(t.of, t.slot); err != nil {
				return nil, err
			}
		}
		if err := d.rewriter.ctx.Err(); err != nil {
			return nil, err
		}
		if s.total == nil {
			s.total = x
			continue
		}
		var err error
		if s.total, err = sum(s.total, x); err != nil {
			return nil, err
		}
	}
	s.terms = nil
	return s.total, nil
}

// gradient returns the gradient of input slot of an operator with several outputs, whose gradients are all known.
func (d *differentiation) gradient(e *emission, slot int) (*gorgonia.Node, error) {
	c := d.calls[e]
	if c.grads == nil {
		var err error
		if c.grads, err = e.gradient(c.dout); err != nil {
			return nil, err
		}
	}
	return e.orZeros(c.grads, slot)
}

// orZeros returns the gradient of input slot, zeros if there is none: Gorgonia requires a node wherever DiffWRT is true.
func (e *emission) orZeros(grads gorgonia.Nodes, slot int) (*gorgonia.Node, error) {
	if grads[slot] != nil {
		return grads[slot], nil
	}
	return e.call.ZerosLike(e.in[slot], e.call.In[slot])
}
