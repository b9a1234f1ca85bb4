package op

import (
	"context"

	"gorgonia.org/gorgonia"
)

// Rewriter replaces nodes of an expression graph, and copies those that depend on them. The given nodes do not change.
type Rewriter struct {
	ctx          context.Context
	replacements map[*gorgonia.Node]*gorgonia.Node
	instead      func(n *gorgonia.Node) (*gorgonia.Node, error) // finds further replacements; nil: there are none
}

// NewRewriter returns a Rewriter without replacements. It ends with the error of ctx if that ends.
func NewRewriter(ctx context.Context) *Rewriter {
	return &Rewriter{ctx: ctx, replacements: map[*gorgonia.Node]*gorgonia.Node{}}
}

// Replace replaces n by by.
func (m *Rewriter) Replace(n, by *gorgonia.Node) {
	if m.replacements == nil {
		panic("op: a Rewriter is made by NewRewriter: this one is zero")
	}
	m.replacements[n] = by
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

// Rewrite returns the node that replaces n.
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
	if m.instead != nil {
		if r, err := m.instead(n); r != n || err != nil {
			return r, err
		}
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
	e, ours := n.Op().(*expr)
	if !ours {
		r, err := gorgonia.ApplyOp(n.Op(), now...)
		if err != nil {
			return nil, err
		}
		return r, reads(r, now...)
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
