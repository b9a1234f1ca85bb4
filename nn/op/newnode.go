package op

import (
	"errors"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/exprgraph"
	"gorgonia.org/gorgonia"
)

// apply makes a node of o on kids, as gorgonia.ApplyOp does, but in constant time: ApplyOp searches the graph for
// each new node, and infers with nested function types what o knows.
func apply(o *expr, kids gorgonia.Nodes) (*gorgonia.Node, error) {
	var g *gorgonia.ExprGraph
	for _, k := range kids {
		switch of := k.Graph(); {
		case g == nil:
			g = of
		case of != nil && of != g:
			return nil, errors.New("the inputs are of different expression graphs")
		}
	}
	if g == nil {
		return nil, errors.New("no input has an expression graph")
	}
	shape, err := o.InferShape()
	if err != nil {
		return nil, err
	}
	if err := engine.HoldNodes(g, len(g.AllNodes())+1); err != nil {
		return nil, err
	}
	exprgraph.Index(g)
	return gorgonia.NewUniqueNode(gorgonia.WithType(nodeType(o.call.Out[o.index])), gorgonia.WithOp(o), gorgonia.WithChildren(kids), gorgonia.In(g), gorgonia.WithShape(shape...)), nil
}
