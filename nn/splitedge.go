package nn

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// splitEdgeConfig is an operator placed on an edge while the sizes of its two sides are decided: its input and output have
// different, uncoupled lengths on one axis; every other axis passes through. A gap is removed by the call that inserted it.
type splitEdgeConfig struct{ axis, size int }

// Operator makes gapConfig a Config.
func (splitEdgeConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "SplitEdge"} }

// splitEdgeOp is not in any set: an open edge is never lowered.
func splitEdgeOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "SplitEdge", Since: []int{1}, Doc: "An open edge.",
		In: "X T", Out: "Y T",
		Infer: func(c *op.Call) ([]op.Type, error) {
			g, t := c.Config.(splitEdgeConfig), c.In[0]
			if t.Unranked || g.axis >= len(t.Shape) {
				return nil, c.Errorf("has no axis %d", g.axis)
			}
			t.Shape = slices.Clone(t.Shape)
			t.Shape[g.axis] = op.D(g.size)
			return []op.Type{t}, nil
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			g := c.Config.(splitEdgeConfig)
			var list []coupling.Coupling
			for x := range c.In[0].Shape {
				if x != g.axis {
					list = append(list, op.Couple(coupling.In(0, x), coupling.Out(0, x)))
					continue
				}
				// Each side with itself: mentioned, so that it is not fixed, and coupled to nothing.
				list = append(list, op.Couple(coupling.In(0, x), coupling.In(0, x)), op.Couple(coupling.Out(0, x), coupling.Out(0, x)))
			}
			return list
		},
		Traits: op.Traits{Resize: func(r *op.Resizing) error {
			g := r.Call.Config.(splitEdgeConfig)
			g.size = r.Out[0].New[g.axis]
			r.Config = g
			return nil
		}},
	}
}

// splitEdge is an open edge.
type splitEdge struct {
	node *Node
	like *Value // its readers read the output of the gap meanwhile
	axis int
}

func (g splitEdge) near() *Value { return g.node.in[0] }
func (g splitEdge) far() *Value  { return g.node.out[0] }

// openEdge makes the given readers of like, and the graph's output if requested, read src through a gap, whose output has
// the length of like on the axis until that is resized.
func (e *Edit) openEdge(src, like *Value, axis int, users []*Node, output bool) splitEdge {
	if e.err != nil {
		return splitEdge{}
	}
	c := splitEdgeConfig{axis, like.typ.Shape[axis].Size}
	n := &Node{domain: op.Internal, opType: "SplitEdge", op: splitEdgeOp(), config: c, in: []*Value{src}, graph: e.g, fresh: true}
	v := &Value{name: e.unique(like.name + "_realigned"), producer: n, graph: e.g}
	n.out = []*Value{v}
	from := len(e.log)
	e.addValue(v)
	e.addNode(n)
	if err := e.g.inferNode(n); err != nil {
		e.fail(err)
		return splitEdge{}
	}
	e.rewire(like, v, users)
	if output {
		e.swapNames(like, v)
		list := slices.Clone(e.g.outputs)
		list[slices.Index(list, like)] = v
		e.setOutputs(list, "")
	}
	e.hush(from, n)
	return splitEdge{n, like, axis}
}

// swapNames gives two values each other's names; it leaves no trace in the journal.
func (e *Edit) swapNames(a, b *Value) {
	g := e.g
	swap := func() {
		a.name, b.name = b.name, a.name
		g.values[a.name], g.values[b.name] = a, b
	}
	e.act(action{do: swap, undo: swap})
}

// hush removes the gap, and everything from entry from of the log on, from the journal.
func (e *Edit) hush(from int, n *Node) {
	for i := range e.log {
		a := &e.log[i]
		if i >= from {
			a.text = ""
		}
		if a.change != nil && a.change.Node == n {
			a.text, a.change = "", nil
		}
	}
}

// closeEdge removes the gap: its readers read its input, whose sizes agree now.
func (e *Edit) closeEdge(g splitEdge) {
	if e.err != nil {
		return
	}
	src, far := g.near(), g.far()
	from := len(e.log)
	e.rewire(far, src, slices.Clone(far.users))
	for i := range e.log[from:] {
		a := &e.log[from+i]
		a.text = strings.ReplaceAll(a.text, " instead of "+far.name, " instead of "+g.like.name)
		if src == g.like {
			a.text = "" // as it was
		}
	}
	output := slices.Contains(e.g.outputs, far)
	if output && src == g.like {
		from = len(e.log)
		e.swapNames(far, src)
		e.replaceOutput(far, src)
		e.hush(from, g.node)
		output = false
	}
	if output { // src is none yet: the lengths of outputs stay
		e.replaceOutput(far, src)
	}
	from = len(e.log)
	e.removeNode(g.node)
	e.removeValue(far)
	e.hush(from, g.node)
	if output {
		e.RenameValue(src, far.name)
	}
}

func (e *Edit) replaceOutput(old, v *Value) {
	list := slices.Clone(e.g.outputs)
	list[slices.Index(list, old)] = v
	e.setOutputs(list, "output "+old.name+" comes from "+v.name)
}
