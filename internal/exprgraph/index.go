// Package exprgraph contains all code that reads unexported fields of Gorgonia's expression graphs.
// Each function documents its reason, and its behavior with a version of Gorgonia that lacks the
// field; the tests fail then.
package exprgraph

import (
	"reflect"
	"unsafe"

	"gorgonia.org/gorgonia"
)

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

// Index enters the nodes that were added last, and the place that the next one will have.
func Index(g *gorgonia.ExprGraph) {
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

// IndexAhead prepares an expression graph for the given number of nodes that Gorgonia is going to add when it sums
// the gradients of values with several readers. It does nothing if Gorgonia would first remove unconnected nodes, which
// renumbers those after them.
func IndexAhead(g *gorgonia.ExprGraph, nodes int) {
	if exprIndex.byID == 0 {
		return
	}
	Index(g)
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
