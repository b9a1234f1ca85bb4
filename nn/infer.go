package nn

import (
	"github.com/graft-ml/graft/nn/op"
)

// Infer infers the types of all values anew; onnxio calls it when a graph is complete, Edit after
// each change. Errors name the node.
func (g *Graph) Infer() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.infer()
}

func (g *Graph) infer() error {
	w := newWalker(g, walkInfer)
	for _, v := range g.inputs {
		w.env[v] = &binding{typ: v.typ}
	}
	if g.body != nil {
		for _, v := range g.body.outer {
			w.env[v] = &binding{typ: v.typ, known: v.known}
		}
	}
	err := w.walk(g.nodes)
	for v, b := range w.env {
		if v.graph != g || v.input {
			continue
		}
		if b.typ.Present() || v.producer != nil && v.producer.op != nil {
			v.typ = b.typ
		}
		v.known = b.known
	}
	return err
}

// inferNode infers the outputs of one node from what its inputs are known to be; edits use it so
// that layers can ask for sizes at once.
func (g *Graph) inferNode(n *Node) error {
	w := newWalker(g, walkInfer)
	for _, v := range n.reads() {
		if v != nil {
			w.env[v] = &binding{typ: v.typ, known: v.known}
			if v.param != nil {
				delete(w.env, v)
			}
		}
	}
	if err := w.visit(n); err != nil {
		return err
	}
	for _, v := range n.out {
		if b := w.env[v]; v != nil && b != nil {
			v.typ, v.known = b.typ, b.known
		}
	}
	return nil
}

// symbols are the names that dimensions of the graph's inputs depend on.
func (g *Graph) symbols() map[string]bool {
	set := map[string]bool{}
	for _, v := range g.inputs {
		for _, d := range v.typ.Shape {
			for _, s := range d.Symbols() {
				set[s] = true
			}
		}
	}
	return set
}

var _ = op.Type{}
