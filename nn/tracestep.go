package nn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// wantedOutputs returns the outputs of calls that the roots depend on.
func wantedOutputs(roots gorgonia.Nodes) map[*op.Call]map[int]bool {
	wanted := map[*op.Call]map[int]bool{}
	seen := map[*gorgonia.Node]bool{}
	stack := slices.Clone(roots)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		if c, _, i, ok := op.CallOf(n); ok {
			if wanted[c] == nil {
				wanted[c] = map[int]bool{}
			}
			wanted[c][i] = true
		}
		stack = append(stack, exprgraph.Children(n)...)
	}
	return wanted
}

// exposes reports whether a call of a step is written as other operators: it is random, or its hidden outputs are read.
func (s *Site) exposes(c *op.Call) bool {
	if !s.t.step || c.Op.Expose == nil {
		return false
	}
	for i := range s.t.wanted[c] {
		if i >= c.Outputs {
			return true
		}
	}
	return c.Random()
}

// spelled writes a call as operators of files and returns the output at the site.
func (s *Site) spelled(calls []*op.Call, in []gorgonia.Nodes, index int) *Value {
	c := calls[0]
	if s.t.calls[c] == nil {
		s.t.calls[c] = s.spell(calls, in)
	}
	return outputAt(s.t.calls[c], index)
}

// spell adds the nodes of a call that is written as other operators. It returns nil outputs if the operator has no such
// form.
func (s *Site) spell(calls []*op.Call, in []gorgonia.Nodes) []*Value {
	e, c := s.t.e, calls[0]
	label := e.g.label(c.Node)
	w := e.speller(label)
	p := &op.Part{Config: c.Config}
	for i := range in[0] {
		k := s.kid(in, i)
		if k == nil {
			p.In = append(p.In, nil)
			continue
		}
		p.In = append(p.In, s.operand(w, k.Value(), calls, func(c *op.Call) op.Type { return c.In[i] }))
	}
	if c.Random() {
		key := &Site{t: s.t, at: make(gorgonia.Nodes, len(s.at))}
		for k, n := range s.at {
			kids := exprgraph.Children(n)
			key.at[k] = kids[len(kids)-1]
		}
		p.In = append(p.In, w.operand(key.Value()))
	}
	if e.err != nil {
		return nil
	}
	wanted := s.t.wanted[c]
	for i := range c.Out {
		if !wanted[i] {
			p.Out = append(p.Out, nil)
			continue
		}
		p.Out = append(p.Out, &op.Operand{Type: mergedType(calls, func(c *op.Call) op.Type { return c.Out[i] })})
	}
	given := slices.Clone(p.Out)
	sizes := func(of func(c *op.Call) []op.Dim) *op.Operand {
		rows := make([][]int, len(calls))
		for k, c := range calls {
			rows[k] = op.Type{Shape: of(c)}.Sizes()
		}
		return w.operand(s.vector(s.transpose(rows)))
	}
	parts, err := e.g.ops.Spell(p, calls, sizes, e.opsetOf)
	if e.err != nil {
		return nil
	}
	if err != nil {
		why := err.Error()
		var need *op.VersionError
		if errors.As(err, &need) {
			why = fmt.Sprintf("needs operator set %d", need.Needs)
		}
		s.Refuse(why)
		return s.untraceable(given)
	}
	out := make([]*Value, len(given))
	for i, x := range given {
		if x != nil {
			out[i] = &Value{name: e.unique(s.spelledName(c, i)), graph: e.g}
			w.values[x] = out[i]
			e.addValue(out[i])
		}
	}
	for _, q := range parts {
		if q.Scan != nil {
			s.scan(w, q)
			continue
		}
		n := w.add("", q, nil)
		if e.err != nil {
			return nil
		}
		if err := e.g.inferNode(n); err != nil {
			s.fail(err)
			return nil
		}
	}
	return out
}

// place returns the node that a call belongs to, preceded by a space: for a gradient, the node of the operator whose
// name is a prefix of its own, among those that it reads.
func (s *Site) place() string {
	c, in, _, ok := op.CallOf(s.at[0])
	switch {
	case !ok:
		return ""
	case c.Node != "":
		return " " + c.Node
	}
	for _, n := range in {
		if n == nil {
			continue
		}
		if k, _, _, ok := op.CallOf(n); ok && k.Node != "" && strings.HasPrefix(c.Op.Name, k.Op.Name) {
			return " of " + k.Node
		}
	}
	for _, n := range in {
		if n == nil {
			continue
		}
		if k, _, _, ok := op.CallOf(n); ok && k.Node != "" {
			return " after " + k.Op.Name + " " + k.Node
		}
	}
	return ""
}

// untraceable returns placeholders for the outputs of a call that was refused.
func (s *Site) untraceable(given []*op.Operand) []*Value {
	out := make([]*Value, len(given))
	for i, x := range given {
		if x == nil {
			continue
		}
		n := &Node{opType: "Untraceable", graph: s.t.e.g, fresh: true}
		v := &Value{name: s.t.e.unique("untraceable"), typ: x.Type, producer: n, graph: s.t.e.g}
		n.out = []*Value{v}
		s.t.e.addValue(v)
		s.t.e.addNode(n)
		out[i] = v
	}
	return out
}

// spelledName returns the name of an output of a call that is written as other operators.
func (s *Site) spelledName(c *op.Call, i int) string {
	if c.Op.Domain == op.Internal {
		return cmp.Or(c.Node, "grad")
	}
	return cmp.Or(s.outputName(i), c.Node, "grad")
}

// operand is an input in a spelling: its sizes at the first point, with a symbol for those that differ at another.
func (s *Site) operand(w *speller, v *Value, calls []*op.Call, of func(c *op.Call) op.Type) *op.Operand {
	if v == nil {
		return nil
	}
	x := w.operand(v)
	x.Type = mergedType(calls, of)
	return x
}

func mergedType(calls []*op.Call, of func(c *op.Call) op.Type) op.Type {
	t := of(calls[0])
	t.Shape = slices.Clone(t.Shape)
	for _, c := range calls {
		for k, d := range of(c).Shape {
			if k < len(t.Shape) && d.Size != t.Shape[k].Size {
				t.Shape[k].Sym = "?"
			}
		}
	}
	return t
}
