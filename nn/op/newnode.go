package op

import (
	"errors"
	"fmt"
	"slices"

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

// sum makes a node that adds a and b, one of Gorgonia's, which takes two sums for one if their types, shapes and hashes of 32 bits are equal,
// whatever they add: of a hundred thousand some are. Such a sum gets another hash.
func sum(a, b *gorgonia.Node) (*gorgonia.Node, error) {
	n, err := gorgonia.Add(a, b)
	for again := uint32(1); again <= 100 && err == nil && reads(n, a, b) != nil; again++ {
		exprgraph.Index(n.Graph())
		n = gorgonia.NewUniqueNode(gorgonia.WithType(n.Type()), gorgonia.WithOp(n.Op()), gorgonia.WithChildren(gorgonia.Nodes{a, b}),
			gorgonia.In(n.Graph()), gorgonia.WithShape(n.Shape()...), exprgraph.WithHash(n.Hashcode()+again))
	}
	if err != nil {
		return nil, err
	}
	return n, reads(n, a, b)
}

// reads returns an error if n, just made on kids, is another node.
func reads(n *gorgonia.Node, kids ...*gorgonia.Node) error {
	if !slices.Equal(Children(n), kids) {
		return fmt.Errorf("%v: Gorgonia takes it for another node with the same hash", n.Op())
	}
	return nil
}
