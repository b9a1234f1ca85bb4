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
	other := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 2, gorgonia.WithShape(2, 3))
	if _, err := set.Apply1(Plain("Add"), x, other); err == nil {
		t.Error("inputs of two graphs")
	}
}
