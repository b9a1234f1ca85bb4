package engine

import (
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// adder is x plus a number; it is fused with further additions and says how often.
func adder(name string, by float32, shape ...int) *Core {
	c := floats(name, shape, func(out []float32, in ...[]float32) {
		for i, x := range in[0] {
			out[i] = x + by
		}
	})
	c.Patterns = []Pattern{addend(by)}
	c.Fuse = fuseAdder(by, shape)
	return c
}

// addend is the pattern of an adder.
type addend float32

func (addend) PatternName() string { return "addend" }

func fuseAdder(by float32, shape []int) func(m Meeting) *Core {
	return func(m Meeting) *Core {
		more, ok := m.Next.Patterns[0].(addend)
		if !ok || m.Slot != 0 {
			return nil
		}
		c := floats("", shape, func(out []float32, in ...[]float32) {
			for i, x := range in[0] {
				out[i] = x + by + float32(more)
			}
		})
		c.Fuse = fuseAdder(by+float32(more), shape)
		return c
	}
}

// A sum of Gorgonia's that a core declines stays what it was.
func TestFuseDeclines(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2))
	sum, err := gorgonia.Add(apply(t, adder("a", 1, 2), nil, x)[0], x)
	if err != nil {
		t.Fatal(err)
	}
	pair := func() *value { return &value{kind: placed, dtype: tensor.Float32, shape: tensor.Shape{2}} }
	first := &step{kind: kernelStep, core: adder("a", 1, 2), out: []*value{pair()}}
	next := &step{kind: foreignStep, op: sum.Op(), in: []*value{first.out[0], pair()}, out: []*value{pair()}}
	if t2, core, _ := (&builder{steps: []*step{first, next}}).newPlaces().follower(first); t2 != next || core == nil || next.core != nil {
		t.Errorf("the follower is %v, its core %v; the step has become %v", t2, core, next.core)
	}
	prog, err := Compile(Options{}, sum)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", sum.Op().String()}; !slices.Equal(prog.Stats().Steps, want) {
		t.Errorf("steps %q, want %q", prog.Stats().Steps, want)
	}
}

func TestFuse(t *testing.T) {
	build := func() (x, a, b, c *gorgonia.Node) {
		g := gorgonia.NewGraph()
		x = input(g, "x", dense(1, 2))
		a = apply(t, adder("a", 1, 2), nil, x)[0]
		b = apply(t, adder("b", 10, 2), nil, a)[0]
		c = apply(t, adder("c", 100, 2), nil, b)[0]
		return
	}
	_, a, b, c := build()
	for _, tc := range []struct {
		what  string
		roots gorgonia.Nodes
		o     Options
		steps []string
	}{
		{"chain", gorgonia.Nodes{c}, Options{}, []string{"a, b, c"}},
		{"unfused", gorgonia.Nodes{c}, Options{Unfused: true}, []string{"a", "b", "c"}},
		{"b is wanted", gorgonia.Nodes{c, b}, Options{}, []string{"a, b", "c"}},
		{"a is wanted", gorgonia.Nodes{c, a}, Options{}, []string{"a", "b, c"}},
	} {
		p, err := Compile(tc.o, tc.roots...)
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Stats().Steps; !slices.Equal(s, tc.steps) {
			t.Errorf("%s: steps %q, want %q", tc.what, s, tc.steps)
		}
		run(t, p)
		wantFloats(t, tc.what, p.Value(c), 112, 113)
	}
}

func TestFuseTwoReaders(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2))
	a := apply(t, adder("a", 1, 2), nil, x)[0]
	b := apply(t, adder("b", 10, 2), nil, a)[0]
	c := apply(t, scale("c", tensor.Shape{2}, 2), nil, a)[0]
	p := compile(t, b, c)
	if s := p.Stats().Steps; len(s) != 3 {
		t.Errorf("steps %q", s)
	}
	run(t, p)
	wantFloats(t, "b", p.Value(b), 12, 13)
	wantFloats(t, "c", p.Value(c), 4, 6)
}

// TestFuseSides: a step with a second output is fused only if that is still there in time for
// its readers, and only if the fused core computes it.
func TestFuseSides(t *testing.T) {
	for _, sides := range []bool{true, false} {
		g := gorgonia.NewGraph()
		x := input(g, "x", dense(1, 2))
		first := &Core{Name: "first", Out: []Spec{{f32, tensor.Shape{2}}, {f32, nil}}, Kernel: firstKernel(0)}
		first.Fuse = func(m Meeting) *Core {
			if by, ok := m.Next.Patterns[0].(addend); ok && m.Slot == 0 {
				return &Core{Kernel: firstKernel(float32(by)), KeepsSides: sides}
			}
			return nil
		}
		y := apply(t, first, nil, x)
		z := apply(t, adder("z", 5, 2), nil, y[0])[0]
		s := apply(t, scale("late", nil, 3), nil, y[1])[0]
		p := compile(t, z, s)
		want := []string{"first, z", "late"}
		if !sides {
			want = []string{"first", "z", "late"}
		}
		if got := p.Stats().Steps; !slices.Equal(got, want) {
			t.Errorf("sides %v: steps %q, want %q", sides, got, want)
		}
		run(t, p)
		wantFloats(t, "z", p.Value(z), 6, 7)
		wantFloats(t, "sum", p.Value(s), 9)

		early := compile(t, s, z) // the second output's reader comes first
		run(t, early)
		wantFloats(t, "z", early.Value(z), 6, 7)
		wantFloats(t, "sum", early.Value(s), 9)
		if got := early.Stats().Steps; len(got) != 3 {
			t.Errorf("early reader: steps %q", got)
		}
	}
}

// firstKernel gives its input plus a number, and the input's sum.
func firstKernel(by float32) Kernel {
	return func(_ *Exec, out, in []*tensor.Dense) error {
		var sum float32
		for i, v := range dtype.Slice[float32](in[0]) {
			dtype.Slice[float32](out[0])[i] = v + by
			sum += v
		}
		if out[1] != nil {
			dtype.Slice[float32](out[1])[0] = sum
		}
		return nil
	}
}
