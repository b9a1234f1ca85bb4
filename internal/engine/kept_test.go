package engine

import (
	"context"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestKept(t *testing.T) {
	w := tensor.New(tensor.WithBacking([]float32{1, 2, 3}))
	other := tensor.New(tensor.WithBacking([]float32{1, 2, 3}))
	made := 0
	derive := func() any { made++; return made }
	var k Kept
	ask := func(x *tensor.Dense, key any, want any) {
		t.Helper()
		if got := k.Of(x, key, derive); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	ask(w, "a", nil) // the first time it does not pay
	ask(w, "a", 1)
	ask(w, "b", nil)
	ask(w, "a", 1)
	ask(w, "b", 2)
	k.Changed()
	ask(w, "a", nil)
	ask(w, "a", 3)
	ask(other, "a", nil) // other memory
	ask(other, "a", 4)
	var none *Kept
	none.Changed()
	if v := none.Of(w, "a", derive); v != nil {
		t.Fatalf("nil keeps %v", v)
	}
}

// What an input keeps reaches the kernel that reads it, and no other.
func TestKeptReachesKernel(t *testing.T) {
	g := gorgonia.NewGraph()
	a := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(2), gorgonia.WithName("a"))
	b := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(2), gorgonia.WithName("b"))
	var seen [2]*Kept
	y := apply(t, &Core{
		Name: "Look", Out: []Spec{{DType: tensor.Float32, Shape: tensor.Shape{2}}},
		Kernel: func(x *Exec, out, in []*tensor.Dense) error {
			seen[0], seen[1] = x.Kept(in[0]), x.Kept(in[1])
			copy(out[0].Float32s(), in[0].Float32s())
			return nil
		},
	}, nil, a, b)
	p, err := Compile(Options{}, y...)
	if err != nil {
		t.Fatal(err)
	}
	var k Kept
	p.Keep(b, &k)
	for _, n := range []*gorgonia.Node{a, b} {
		if err := p.Bind(n, tensor.New(tensor.WithBacking([]float32{1, 2}))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if seen[0] != nil || seen[1] != &k {
		t.Fatalf("the kernel sees %v and %v", seen[0], seen[1])
	}
}
