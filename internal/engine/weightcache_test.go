package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/kernel"
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

// TestDerivedIsCharged: what is derived from a tensor counts for the memory limit while it is kept, and is not made if it would take most of what
// is left.
func TestDerivedIsCharged(t *testing.T) {
	const n = 1 << 20
	g := gorgonia.NewGraph()
	in := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(n), gorgonia.WithName("x"))
	k := &keeper{key: "k", of: []int{0}}
	p, err := Compile(Options{}, apply(t, &Core{Name: "Keeper", Out: []Spec{{DType: tensor.Float32, Shape: tensor.Shape{n}}}, Kernel: k.run}, nil, in)...)
	if err != nil {
		t.Fatal(err)
	}
	var cache WeightCache
	p.Keep(in, &cache)
	if err := p.Bind(in, tensor.New(tensor.WithBacking(make([]float32, n)))); err != nil {
		t.Fatal(err)
	}
	charged := func() (n int64) {
		for _, e := range cache.entries {
			if e.value != nil {
				n += budget.Held(e.value)
			}
		}
		return n
	}
	defer LimitMemory(0)
	used := budgettest.Used()
	for _, c := range []struct {
		what          string
		do            func()
		made, charged int
	}{
		{"once", func() {}, 0, 0},
		{"little memory", func() { LimitMemory(used + 6*n) }, 0, 0},
		{"enough", func() { LimitMemory(0) }, 1, 4 * n},
		{"again", func() {}, 1, 4 * n},
		{"released", cache.release, 1, 0},
		{"once more", func() {}, 2, 4 * n},
	} {
		c.do()
		if err := p.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if k.made != c.made || charged() != int64(c.charged) {
			t.Errorf("%s: made %d times, %d bytes are charged, want %d and %d", c.what, k.made, charged(), c.made, c.charged)
		}
	}
	if p.Release(); len(cache.entries) > 0 {
		t.Error("what was derived is kept")
	}
}

// TestHashEnds: the hash of a tensor that may have been changed looks at the context of the run, and tells of a change anywhere.
func TestHashEnds(t *testing.T) {
	v := tensor.New(tensor.WithBacking(make([]byte, 2*hashPart+1)))
	var k WeightCache
	k.Lend()
	versions := map[uint64]bool{}
	for _, i := range []int{0, hashPart, 2 * hashPart} {
		v.Raw[i]++
		versions[k.Version(nil, v)] = true
	}
	if len(versions) != 3 {
		t.Errorf("3 changes have %d versions", len(versions))
	}
	p, done := (*kernel.Pool)(nil).Stoppable(), make(chan struct{})
	p.StopBy(done)
	close(done)
	defer func() {
		if r := recover(); r != (kernel.Stopped{}) {
			t.Errorf("a stopped pool: %v", r)
		}
	}()
	k.Version(p, v)
}
