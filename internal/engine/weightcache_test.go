package engine

import (
	"context"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// keeper is a kernel that copies its first input and asks for what it derives of both.
type keeper struct {
	key       any
	of        []int // the inputs it derives from
	made, got int
}

func (k *keeper) run(x *Exec, out, in []*tensor.Dense) error {
	var of []*tensor.Dense
	for _, i := range k.of {
		of = append(of, in[i])
	}
	k.got, _ = x.Packed(k.key, func() any { k.made++; return k.made }, of...).(int)
	copy(out[0].Float32s(), in[0].Float32s())
	return nil
}

func TestDerived(t *testing.T) {
	g := gorgonia.NewGraph()
	vector := func(name string) *gorgonia.Node {
		return gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(3), gorgonia.WithName(name))
	}
	value := func() *tensor.Dense { return tensor.New(tensor.WithBacking([]float32{1, 2, 3})) }
	a, b := vector("a"), vector("b")
	k := &keeper{key: "k"}
	y := apply(t, &Core{
		Name: "Keeper", Out: []Spec{{DType: tensor.Float32, Shape: tensor.Shape{3}}}, Kernel: k.run,
	}, nil, a, b)
	p, err := Compile(Options{}, y...)
	if err != nil {
		t.Fatal(err)
	}
	var ka, kb WeightCache
	p.Keep(a, &ka)
	bind := func(n *gorgonia.Node, v *tensor.Dense) {
		if err := p.Bind(n, v); err != nil {
			t.Fatal(err)
		}
	}
	bind(a, value())
	bind(b, value())
	want := func(got ...int) {
		t.Helper()
		var all []int
		for range got {
			if err := p.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			all = append(all, k.got)
		}
		if !slices.Equal(all, got) {
			t.Fatalf("got %v, want %v", all, got)
		}
	}
	k.of = []int{0}
	want(0, 1, 1) // the first time it does not pay
	k.key = "other"
	want(0, 2)
	k.key = "k"
	want(1)
	ka.Changed()
	want(0, 3)
	bind(a, value()) // other memory
	want(0, 4)

	k.of = []int{0, 1}
	want(0, 0) // b may change at any time
	p.Keep(b, &kb)
	want(0, 5, 5)
	kb.Changed()
	want(0, 6, 6)
	ka.Changed()
	want(0, 7, 7)

	var none *WeightCache
	none.Changed()
}
