package op

import (
	"errors"
	"reflect"
	"unsafe"

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
	index(g)
	return gorgonia.NewUniqueNode(gorgonia.WithType(nodeType(o.call.Out[o.index])), gorgonia.WithOp(o), gorgonia.WithChildren(kids), gorgonia.In(g), gorgonia.WithShape(shape...)), nil
}

// exprIndex is where an ExprGraph keeps places of nodes by identifier, and the next identifier. Gorgonia fills the
// index when a node is looked up for the first time, by a search from the front, and looks up every node it makes:
// a graph of n nodes would take n²/2 steps.
var exprIndex = func() (at struct{ byID, counter uintptr }) {
	t := reflect.TypeFor[gorgonia.ExprGraph]()
	byID, ok := t.FieldByName("byID")
	counter, also := t.FieldByName("counter")
	if ok && also && byID.Type == reflect.TypeFor[map[int64]int]() && counter.Type == reflect.TypeFor[uint]() {
		at.byID, at.counter = byID.Offset, counter.Offset
	}
	return at
}()

// index enters the nodes that were added last, and the place that the next one will have.
func index(g *gorgonia.ExprGraph) {
	if exprIndex.byID == 0 {
		return // another Gorgonia: correct without
	}
	byID := *(*map[int64]int)(unsafe.Add(unsafe.Pointer(g), exprIndex.byID))
	all := g.AllNodes()
	for i := len(all) - 1; i >= 0; i-- {
		if at, ok := byID[all[i].ID()]; ok && at == i {
			break
		}
		byID[all[i].ID()] = i
	}
	byID[int64(*(*uint)(unsafe.Add(unsafe.Pointer(g), exprIndex.counter)))] = len(all)
}

// IndexAhead prepares an expression graph for as many nodes that Gorgonia is going to add by itself, as it sums up
// the gradients of what is read often. It does nothing where Gorgonia would first remove nodes that nothing is
// connected to, which moves those behind them.
func IndexAhead(g *gorgonia.ExprGraph, nodes int) {
	if exprIndex.byID == 0 {
		return
	}
	index(g)
	all := g.AllNodes()
	for _, n := range all {
		if _, constant := n.Op().(interface{ Value() gorgonia.Value }); n.Op() != nil && !constant && len(Children(n)) == 0 {
			return
		}
	}
	byID := *(*map[int64]int)(unsafe.Add(unsafe.Pointer(g), exprIndex.byID))
	next := int(*(*uint)(unsafe.Add(unsafe.Pointer(g), exprIndex.counter)))
	for i := range nodes {
		byID[int64(next+i)] = len(all) + i
	}
}
