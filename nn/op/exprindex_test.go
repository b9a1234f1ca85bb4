package op

import (
	"fmt"
	"testing"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Every node of an expression graph is in Gorgonia's index before Gorgonia looks for it, so that none is searched for,
// and the index is that of the searches.
func TestExprIndex(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewTensor(g, tensor.Float32, 2, gorgonia.WithShape(2, 3), gorgonia.WithName("x"))
	set, n := NewSet(nil), x
	indexed := func() map[int64]int {
		return *(*map[int64]int)(unsafe.Add(unsafe.Pointer(g), exprIndex.byID))
	}
	if exprIndex.byID == 0 || exprIndex.counter == 0 {
		t.Fatal("this Gorgonia keeps its index elsewhere: large graphs take quadratic time")
	}
	for i := range 50 {
		before := len(g.AllNodes())
		var err error
		if n, err = set.ReshapeTo(n, D(3-i%2), D(2+i%2)); err != nil {
			t.Fatal(err)
		}
		w := gorgonia.NewTensor(g, tensor.Float32, 2, gorgonia.WithShape(3-i%2, 2+i%2), gorgonia.WithName(fmt.Sprint("w", i)))
		if n, err = gorgonia.Add(n, w); err != nil {
			t.Fatal(err)
		}
		if len(g.AllNodes()) != before+3 {
			t.Fatalf("%d nodes after %d", len(g.AllNodes()), before)
		}
	}
	IndexAhead(g, 1000)
	if _, err := gorgonia.Backpropagate(gorgonia.Nodes{n}, gorgonia.Nodes{x}, gorgonia.Nodes{x}); err != nil {
		t.Fatal(err)
	}
	for i, n := range g.AllNodes() {
		if at, ok := indexed()[n.ID()]; !ok || at != i {
			t.Fatalf("node %d of %d is at %d in the index", i, len(g.AllNodes()), at)
		}
	}
	if n := len(indexed()); n < 1000 {
		t.Errorf("%d nodes are prepared", n)
	}
	one := gorgonia.NewGraph()
	first := gorgonia.NewTensor(one, tensor.Float32, 1, gorgonia.WithShape(2))
	index(one)
	if at, ok := (*(*map[int64]int)(unsafe.Add(unsafe.Pointer(one), exprIndex.byID)))[first.ID()]; !ok || at != 0 {
		t.Errorf("the first node is at %d in the index: %v", at, ok)
	}
	IndexAhead(one, 3)
	if at := *(*map[int64]int)(unsafe.Add(unsafe.Pointer(one), exprIndex.byID)); fmt.Sprint(at) != fmt.Sprintf("map[%d:0 %d:1 %d:2 %d:3]", first.ID(), first.ID()+1, first.ID()+2, first.ID()+3) {
		t.Errorf("the next nodes are expected at %v", at)
	}
	other := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 2, gorgonia.WithShape(2, 3))
	if _, err := set.Apply1(Plain("Add"), x, other); err == nil {
		t.Error("inputs of two graphs")
	}
}
