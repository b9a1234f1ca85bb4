package nn

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Weights completes the parameters of the finished graph. Weights and statistics that are initializers of subgraphs become
// parameters of the graph that the subgraphs capture; the placeholder shares the origin with the parameter.
//
// Then nodes, of the graph and of its subgraphs, that hold a floating-point tensor become such parameters if other nodes read them
// as weights or statistics. Some exporters (Paddle2ONNX) store all weights in such nodes instead of initializers. A graph that
// has a parameter of these roles is left unchanged: there, what a node holds is a constant of the program. Only nodes for which
// may is true are turned; they are removed and returned under the values that they held.
func (a *Assembler) Weights(may func(*Node) bool) (map[*Value]*Node, error) {
	a.made()
	g := a.g
	ctx := a.context()
	lifted := g.liftWeights()
	var held map[*Value]*Node
	if ctx.Err() == nil && !slices.ContainsFunc(g.params(), (*Param).learned) {
		held = g.heldWeights(may)
		if ctx.Err() == nil {
			lifted = g.liftWeights() || lifted
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(held) == 0 && !lifted {
		return nil, nil
	}
	return held, g.inferUntil(ctx)
}

// heldWeights turns nodes with weights into parameters of the graph or subgraph that they are in.
func (g *Graph) heldWeights(may func(*Node) bool) map[*Value]*Node {
	held, graphs := map[*Value]*Node{}, []*Graph{g}
	for _, b := range g.ownBodies() {
		graphs = append(graphs, b.Graph)
	}
	for _, g := range graphs {
		for _, n := range g.nodes() {
			if len(n.in) > 0 || len(n.out) != 1 || len(n.annotations) > 0 || slices.Contains(g.outputs, n.out[0]) || !may(n) {
				continue
			}
			if g.body != nil && g.inferNode(n) != nil {
				continue
			}
			if n.floats() != nil {
				held[n.out[0]] = n
			}
		}
	}
	forget := func() {
		for _, g := range graphs {
			g.data.forget()
		}
	}
	for v, n := range held { // all of them first: roles depend on what else is a parameter
		d := n.floats()
		v.param, v.producer = &Param{data: d, mask: isMask(d), value: v, kept: new(engine.WeightCache)}, nil
	}
	forget()
	var constants []*Value
	for v := range held {
		if !v.param.learned() {
			constants = append(constants, v)
		}
	}
	for _, v := range constants {
		v.param, v.producer = nil, held[v]
		delete(held, v)
	}
	forget()
	for v := range held {
		v.typ, v.known = op.TypeOf(v.param.data), op.Known{}
	}
	for _, g := range graphs {
		g.setNodes(slices.DeleteFunc(slices.Clone(g.nodes()), func(n *Node) bool { return len(n.out) == 1 && held[n.out[0]] == n }))
	}
	return held
}

// learned reports whether training changes the parameter, by gradients or as a statistic.
func (p *Param) learned() bool { return p.purpose() != Constant }

// floats returns the floating-point tensor of rank one or more that the node holds, nil if it is not such a constant.
func (n *Node) floats() *tensor.Dense {
	if len(n.in) > 0 || len(n.captured) > 0 || len(n.out) != 1 || n.out[0] == nil {
		return nil
	}
	d, ok := n.out[0].known.Value.(*tensor.Dense)
	if !ok || d.Dims() == 0 || !dtype.Of(d.Dtype()).IsFloat() {
		return nil
	}
	return d
}
