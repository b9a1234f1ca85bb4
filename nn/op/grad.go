package op

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/gorgonia"
)

// DiffWRT reports for which children SymDiff returns a gradient: those of floating-point type in slots for
// data or weights, if this output has a gradient. CheckGradients reports what this omits silently. Gorgonia calls it for
// every node before it differentiates one, and takes no error: if the context of a lowering has ended, it panics with
// kernel.Stopped, which the lowering and Backpropagate recover.
func (o *expr) DiffWRT(n int) []bool {
	d := make([]bool, n)
	c := o.call
	if c.ended() != nil {
		panic(kernel.Stopped{})
	}
	if c.Op.Grad == nil || o.index >= c.Outputs || !Differentiable(c.Out[o.index]) {
		return d
	}
	formal := c.Op.In.List()
	for k, slot := range o.slots {
		if slot >= len(c.In) {
			continue
		}
		s, _ := At(formal, slot)
		d[k] = Differentiable(c.In[slot]) && !c.withoutGradient(s.Role)
	}
	return d
}

// withoutGradient reports whether inputs with this role have no gradient; State has one unless a
// training step replaces it.
func (c *Call) withoutGradient(r InputRole) bool {
	return r == Shape || r == given || r == fixed || r == State && c.replacesState()
}

// replacesState reports whether a training step replaces the state by what the call computes.
func (c *Call) replacesState() bool { return c.Op.State != nil && len(c.Op.State(c)) > 0 }

// Differentiable reports whether values of type t have gradients: tensors of floating-point numbers do.
func Differentiable(t Type) bool { return t.Kind == Tensor && t.DType.IsFloat() }

// SymDiff returns the gradient with respect to each child. If the operator has several differentiable outputs,
// Gorgonia calls it once for each; the results are marked as parts, which Backpropagate combines into one gradient.
func (o *expr) SymDiff(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if err := o.call.ended(); err != nil {
		return nil, err
	}
	several := o.several()
	wrt := o.DiffWRT(len(o.kids))
	list := make(gorgonia.Nodes, len(o.kids))
	if several && o.merging {
		for k, slot := range o.slots {
			if !wrt[k] {
				continue
			}
			var err error
			if list[k], err = markPart(o.emission, o.index, slot, o.kids[k], grad); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	dout := make(gorgonia.Nodes, o.call.Outputs)
	dout[o.index] = grad
	grads, err := o.gradient(dout)
	if err != nil {
		return nil, err
	}
	for k, slot := range o.slots {
		if !wrt[k] {
			continue
		}
		d := grads[slot]
		if d == nil { // Gorgonia requires a node wherever DiffWRT is true
			if d, err = o.call.ZerosLike(o.kids[k], o.call.In[slot]); err != nil {
				return nil, err
			}
		}
		if several {
			if d, err = markPart(o.emission, o.index, slot, d, grad); err != nil {
				return nil, err
			}
		}
		list[k] = d
	}
	return list, nil
}

// several reports whether another output than this one has a gradient, too.
func (o *expr) several() bool {
	for i, t := range o.call.Out[:min(o.call.Outputs, len(o.call.Out))] {
		if i != o.index && o.call.Wants(i) && Differentiable(t) {
			return true
		}
	}
	return false
}

// gradient calls the operator's Grad with nodes by formal position.
func (e *emission) gradient(dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	out := make(gorgonia.Nodes, len(e.call.Out))
	for i := range out {
		if i < e.call.Outputs && !e.call.Wants(i) || !e.call.Out[i].Present() {
			continue
		}
		var err error
		if out[i], err = e.node(i); err != nil {
			return nil, err
		}
	}
	in := append(append(gorgonia.Nodes(nil), e.in...), e.extra...)
	grads, err := e.call.Op.Grad(e.call, in, out, dout)
	if err != nil {
		return nil, &Error{Stage: "gradient", Op: e.call.Op.Name, Node: e.call.Node, Err: err}
	}
	grads = append(grads, make(gorgonia.Nodes, max(len(e.in)-len(grads), 0))...)
	for i, d := range grads[:len(e.in)] {
		if d != nil && e.in[i] != nil && !d.Shape().Eq(e.in[i].Shape()) {
			return nil, &Error{Stage: "gradient", Op: e.call.Op.Name, Node: e.call.Node, Input: e.call.InputName(i), Want: e.in[i].Shape(), Got: d.Shape()}
		}
	}
	return grads, nil
}

// Backpropagate returns the gradients of Σ of·seeds with respect to wrt, as gorgonia.Backpropagate does, except that the gradient of
// an operator with several outputs is one call, which takes the gradients of all of them, not one call for each: it takes
// time in proportion to their number. The nodes must not be differentiated again. If ctx ends, it returns its error.
func Backpropagate(ctx context.Context, of, seeds, wrt gorgonia.Nodes) (gorgonia.Nodes, error) {
	if len(of) == 0 || len(of) != len(seeds) || slices.Contains(slices.Concat(of, seeds, wrt), nil) {
		return nil, fmt.Errorf("differentiating %d nodes with %d gradients: %w", len(of), len(seeds), errNoNode)
	}
	merging := map[*emission]bool{}
	seen := map[*gorgonia.Node]bool{}
	for stack := slices.Clone(of); len(stack) > 0; {
		n := stack[len(stack)-1]
		if stack = stack[:len(stack)-1]; seen[n] {
			continue
		}
		seen[n] = true
		if e, ok := n.Op().(*expr); ok {
			merging[e.emission], e.merging = true, true
		}
		stack = append(stack, Children(n)...)
	}
	raw, err := stoppable(ctx, func() (gorgonia.Nodes, error) { return gorgonia.Backpropagate(of, seeds, wrt) })
	for e := range merging {
		e.merging = false
	}
	if err != nil {
		return nil, err
	}
	return merge(ctx, raw)
}

// stoppable returns what f does, or the error of ctx if f panics because that has ended.
func stoppable(ctx context.Context, f func() (gorgonia.Nodes, error)) (list gorgonia.Nodes, err error) {
	defer func() {
		if p := recover(); p == (kernel.Stopped{}) {
			list, err = nil, cmp.Or(ctx.Err(), context.Canceled)
		} else if p != nil {
			panic(p)
		}
	}()
	return f()
}

// merge replaces the parts of gradients by gradients. The given nodes do not change.
func merge(ctx context.Context, roots gorgonia.Nodes) (gorgonia.Nodes, error) {
	m := NewRewriter(ctx)
	seen := map[*gorgonia.Node]bool{}
	for _, r := range roots {
		m.find(r, seen)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(m.groups) == 0 {
		return roots, nil
	}
	out := make(gorgonia.Nodes, len(roots))
	for i, r := range roots {
		n, err := m.Rewrite(r)
		if err != nil {
			return nil, err
		}
		if n == nil {
			return nil, fmt.Errorf("merging gradients lost %v", r)
		}
		out[i] = n
	}
	return out, nil
}

type group struct {
	dout   gorgonia.Nodes // by output, before rewriting
	merged gorgonia.Nodes // by formal input; nil until computed
	taken  map[int]bool
}

// Rewriter replaces nodes of an expression graph, and copies those that depend on them. The given nodes do not change.
type Rewriter struct {
	ctx          context.Context
	replacements map[*gorgonia.Node]*gorgonia.Node
	groups       map[*emission]*group
}

// NewRewriter returns a Rewriter without replacements. It ends with the error of ctx if that ends.
func NewRewriter(ctx context.Context) *Rewriter {
	return &Rewriter{ctx: ctx, replacements: map[*gorgonia.Node]*gorgonia.Node{}, groups: map[*emission]*group{}}
}

// Replace replaces n by by.
func (m *Rewriter) Replace(n, by *gorgonia.Node) {
	if m.replacements == nil {
		panic("op: a Rewriter is made by NewRewriter: this one is zero")
	}
	m.replacements[n] = by
}

func (m *Rewriter) find(n *gorgonia.Node, seen map[*gorgonia.Node]bool) {
	if n == nil || seen[n] || m.ctx.Err() != nil {
		return
	}
	seen[n] = true
	if p, ok := partOf(n); ok {
		g := m.groups[p.of]
		if g == nil {
			g = &group{dout: make(gorgonia.Nodes, p.of.call.Outputs), taken: map[int]bool{}}
			m.groups[p.of] = g
		}
		g.dout[p.output] = Children(n)[1]
	}
	for _, k := range Children(n) {
		m.find(k, seen)
	}
}

// RewriteAll returns the nodes that replace the roots, or the roots themselves if the Rewriter has no replacements.
func (m *Rewriter) RewriteAll(roots gorgonia.Nodes) (gorgonia.Nodes, error) {
	if len(m.replacements) == 0 {
		return roots, nil
	}
	out := make(gorgonia.Nodes, len(roots))
	for i, r := range roots {
		var err error
		if out[i], err = m.Rewrite(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Rewrite returns the node that replaces n; nil if n is a partial gradient that Backpropagate combined with another.
func (m *Rewriter) Rewrite(n *gorgonia.Node) (*gorgonia.Node, error) {
	if r, ok := m.replacements[n]; ok {
		return r, nil
	}
	r, err := m.rewritten(n)
	if err == nil {
		m.replacements[n] = r
	}
	return r, err
}

func (m *Rewriter) rewritten(n *gorgonia.Node) (*gorgonia.Node, error) {
	if n == nil {
		return nil, errNoNode
	}
	if err := m.ctx.Err(); err != nil {
		return nil, err
	}
	if p, ok := partOf(n); ok {
		return m.part(p)
	}
	kids := Children(n)
	if len(kids) == 0 {
		return n, nil
	}
	changed, now := false, make(gorgonia.Nodes, len(kids))
	for i, k := range kids {
		r, err := m.Rewrite(k)
		if err != nil {
			return nil, err
		}
		now[i] = r
		changed = changed || r != k
	}
	if !changed {
		return n, nil
	}
	if len(now) == 2 && (now[0] == nil || now[1] == nil) { // a sum of which one operand was merged into the other
		if now[0] == nil {
			return now[1], nil
		}
		return now[0], nil
	}
	e, ours := n.Op().(*expr)
	if !ours {
		return gorgonia.ApplyOp(n.Op(), now...)
	}
	return m.again(e, now)
}

// again emits one of our operators once more on rewritten children, with all siblings.
func (m *Rewriter) again(e *expr, kids gorgonia.Nodes) (*gorgonia.Node, error) {
	c := &emission{call: e.call, core: e.core, kids: kids, slots: e.slots, in: make(gorgonia.Nodes, len(e.in)),
		extra: e.extra, out: make(gorgonia.Nodes, len(e.out))}
	for k, slot := range e.slots {
		if slot < len(c.in) {
			c.in[slot] = kids[k]
		}
	}
	for i, sib := range e.out {
		if sib == nil {
			continue
		}
		n, err := c.node(i)
		if err != nil {
			return nil, err
		}
		m.replacements[sib] = n
	}
	return c.node(e.index)
}

func (m *Rewriter) part(p *part) (*gorgonia.Node, error) {
	g := m.groups[p.of]
	if g.merged == nil {
		dout := make(gorgonia.Nodes, len(g.dout))
		for i, d := range g.dout {
			if d == nil {
				continue
			}
			r, err := m.Rewrite(d)
			if err != nil {
				return nil, err
			}
			dout[i] = r
		}
		merged, err := p.of.gradient(dout)
		if err != nil {
			return nil, err
		}
		g.merged = merged
	}
	if g.taken[p.slot] {
		return nil, nil
	}
	g.taken[p.slot] = true
	if d := g.merged[p.slot]; d != nil {
		return d, nil
	}
	return p.of.call.ZerosLike(p.of.in[p.slot], p.of.call.In[p.slot])
}

// Children returns the nodes that n is computed from, in order.
func Children(n *gorgonia.Node) gorgonia.Nodes {
	if n == nil {
		return nil
	}
	it := n.Graph().From(n.ID())
	if it == nil {
		return nil
	}
	var list gorgonia.Nodes
	for it.Next() {
		list = append(list, it.Node().(*gorgonia.Node))
	}
	return list
}
