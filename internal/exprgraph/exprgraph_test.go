package exprgraph

import (
	"fmt"
	"testing"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func indexed(g *gorgonia.ExprGraph) map[int64]int {
	return *(*map[int64]int)(unsafe.Add(unsafe.Pointer(g), exprIndex.byID))
}

func matrix(g *gorgonia.ExprGraph, name string) *gorgonia.Node {
	return gorgonia.NewTensor(g, tensor.Float32, 2, gorgonia.WithShape(2, 3), gorgonia.WithName(name))
}

// The index that is filled ahead is the one that Gorgonia would find by searching.
func TestIndex(t *testing.T) {
	if exprIndex.byID == 0 || exprIndex.counter == 0 {
		t.Fatal("this Gorgonia keeps its index elsewhere: large graphs take quadratic time")
	}
	g := gorgonia.NewGraph()
	x := matrix(g, "x")
	n := x
	for i := range 50 {
		Index(g)
		n = gorgonia.Must(gorgonia.Add(n, matrix(g, fmt.Sprint("w", i))))
	}
	IndexAhead(g, 1000)
	if _, err := gorgonia.Backpropagate(gorgonia.Nodes{n}, gorgonia.Nodes{x}, gorgonia.Nodes{x}); err != nil {
		t.Fatal(err)
	}
	for i, n := range g.AllNodes() {
		if at, ok := indexed(g)[n.ID()]; !ok || at != i {
			t.Fatalf("node %d of %d is at %d in the index", i, len(g.AllNodes()), at)
		}
	}
	if n := len(indexed(g)); n < 1000 {
		t.Errorf("%d nodes are prepared", n)
	}
	one := gorgonia.NewGraph()
	first := gorgonia.NewTensor(one, tensor.Float32, 1, gorgonia.WithShape(2))
	Index(one)
	if at, ok := indexed(one)[first.ID()]; !ok || at != 0 {
		t.Errorf("the first node is at %d in the index: %v", at, ok)
	}
	IndexAhead(one, 3)
	if at := indexed(one); fmt.Sprint(at) != fmt.Sprintf("map[%d:0 %d:1 %d:2 %d:3]", first.ID(), first.ID()+1, first.ID()+2, first.ID()+3) {
		t.Errorf("the next nodes are expected at %v", at)
	}
}

// TestFields checks that Gorgonia's structs have the fields that this package reads, with the expected contents.
func TestFields(t *testing.T) {
	g := gorgonia.NewGraph()
	x := matrix(g, "x")
	one := gorgonia.NewConstant(float32(1))
	gone := gorgonia.Must(gorgonia.Add(x, one))
	double := gorgonia.Must(gorgonia.Add(x, x))
	_ = gorgonia.Must(gorgonia.Log(gone)) // becomes Log1p, and gone is removed
	if kids := Children(double); len(kids) != 2 || kids[0] != x || kids[1] != x {
		t.Errorf("the inputs of x + x are %v", kids)
	}
	if Name(x) != "x" || Name(double) != "" {
		t.Errorf("names %q and %q", Name(x), Name(double))
	}
	var v gorgonia.Value
	if got := Into(gorgonia.Read(double, &v)); got != &v {
		t.Errorf("Read stores its value at %p, not at %p", got, &v)
	}
	if Into(double) != nil || Into(x) != nil {
		t.Error("what is no Read wants its value somewhere")
	}
}
