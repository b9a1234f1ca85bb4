package engine

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

func dense(x ...float32) *tensor.Dense {
	d, err := dtype.FromSlice(x, len(x))
	if err != nil {
		panic(err)
	}
	return d
}

func wantFloats(t *testing.T, what string, v gorgonia.Value, want ...float32) {
	t.Helper()
	if got := slice(t, v); !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestSiblingsRunOnce(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2, 3))
	calls, unused := 0, 0
	c := &Core{Name: "divmod", Out: []Spec{{f32, tensor.Shape{3}}, {f32, tensor.Shape{3}}, {tensor.Int64, nil}},
		Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
			calls++
			if out[1] == nil {
				unused++
			}
			for i, v := range dtype.Slice[float32](in[0]) {
				dtype.Slice[float32](out[0])[i] = v + 1
			}
			dtype.Slice[int64](out[2])[0] = 7
			return nil
		}}
	n := apply(t, c, nil, x)
	p := compile(t, n[0], n[2])
	run(t, p)
	if calls != 1 || unused != 1 {
		t.Errorf("core ran %d times, %d times without output 1; want 1, 1", calls, unused)
	}
	wantFloats(t, "output 0", p.Value(n[0]), 2, 3, 4)
	d := p.Value(n[2]).(*tensor.Dense)
	if len(d.Shape()) != 0 || dtype.Slice[int64](d)[0] != 7 {
		t.Errorf("output 2 = %v of shape %v, want 7 of rank 0", d, d.Shape())
	}
	if p.Value(n[1]) != nil {
		t.Error("a node that is not a root has a value")
	}
}

func TestEqualKeysAreComputedOnce(t *testing.T) {
	build := func(keyA, keyB string, shapeB tensor.Shape, other bool) int {
		g := gorgonia.NewGraph()
		x, y := input(g, "x", dense(1, 2)), input(g, "y", dense(3, 4))
		a, b := scale("a", tensor.Shape{2}, 2), scale("b", shapeB, 2)
		a.Key, b.Key = keyA, keyB
		if other {
			x, y = y, x
		}
		u := apply(t, a, nil, x)[0]
		if !other {
			y = x
		}
		v := apply(t, b, nil, y)[0]
		w := apply(t, scale("w", shapeB, 1), nil, v)[0]
		return len(compile(t, u, w).Stats().Steps)
	}
	for _, c := range []struct {
		name       string
		keyA, keyB string
		shape      tensor.Shape
		other      bool
		want       int
	}{
		{"equal", "scale 2", "scale 2", tensor.Shape{2}, false, 2},
		{"different keys", "scale 2", "scale 3", tensor.Shape{2}, false, 3},
		{"no keys", "", "", tensor.Shape{2}, false, 3},
		{"different shapes", "scale 2", "scale 2", tensor.Shape{2, 1}, false, 3},
		{"different children", "scale 2", "scale 2", tensor.Shape{2}, true, 3},
	} {
		if got := build(c.keyA, c.keyB, c.shape, c.other); got != c.want {
			t.Errorf("%s: %d steps, want %d", c.name, got, c.want)
		}
	}
}

func TestSlotsLeaveAbsentInputsNil(t *testing.T) {
	g := gorgonia.NewGraph()
	x, y := input(g, "x", dense(1)), input(g, "y", dense(2))
	c := &Core{Name: "slots", Out: []Spec{{f32, tensor.Shape{1}}}, Slots: []int{2, 0}, Inputs: 4,
		Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
			if len(in) != 4 || in[1] != nil || in[3] != nil {
				return errors.New("wrong inputs")
			}
			dtype.Slice[float32](out[0])[0] = 10*dtype.Slice[float32](in[2])[0] + dtype.Slice[float32](in[0])[0]
			return nil
		}}
	n := apply(t, c, nil, x, y)[0]
	p := compile(t, n)
	run(t, p)
	wantFloats(t, "n", p.Value(n), 12)
}

func TestInPlaceKeepsWhatIsStillRead(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2))
	a := apply(t, scale("a", tensor.Shape{2}, 2), nil, x)[0] // must not overwrite x
	b := apply(t, scale("b", tensor.Shape{2}, 3), nil, a)[0] // must not overwrite a, which is a root
	c := apply(t, scale("c", tensor.Shape{2}, 5), nil, b)[0] // may overwrite b
	p := compile(t, a, c)
	run(t, p)
	run(t, p)
	wantFloats(t, "x", x.Value(), 1, 2)
	wantFloats(t, "a", p.Value(a), 2, 4)
	wantFloats(t, "c", p.Value(c), 30, 60)
	if s := p.Stats(); s.Arena != 2*cacheLine || s.Naive != 3*cacheLine {
		t.Errorf("arena %d of %d bytes, want 128 of 192", s.Arena, s.Naive)
	}
}

func TestViewsShareMemoryButRootsAreTheirOwn(t *testing.T) {
	g := gorgonia.NewGraph()
	w := dense(1, 2, 3, 4)
	x := input(g, "x", w)
	free := apply(t, reshape(2, 2), nil, x)[0]
	use := apply(t, scale("use", tensor.Shape{2, 2}, 2), nil, free)[0]
	flat := apply(t, reshape(4), nil, use)[0]
	root := apply(t, reshape(4, 1), nil, x)[0]
	hidden := apply(t, scale("hidden", tensor.Shape{4}, 3), nil, x)[0]
	twinA, twinB := apply(t, reshape(2, 2), nil, hidden)[0], apply(t, reshape(4, 1), nil, hidden)[0]
	p := compile(t, flat, root, x, use, twinA, twinB)
	for range 2 {
		run(t, p)
		clear(slice(t, p.Value(twinA)))
		wantFloats(t, "twin", p.Value(twinB), 3, 6, 9, 12)
		wantFloats(t, "flat", p.Value(flat), 2, 4, 6, 8)
		wantFloats(t, "use", p.Value(use), 2, 4, 6, 8)
		wantFloats(t, "root", p.Value(root), 1, 2, 3, 4)
		clear(slice(t, p.Value(use))) // a reader may write to what it gets
		wantFloats(t, "flat", p.Value(flat), 2, 4, 6, 8)
		clear(slice(t, p.Value(root)))
		wantFloats(t, "x", p.Value(x), 1, 2, 3, 4)
		clear(slice(t, p.Value(x)))
		wantFloats(t, "the parameter", w, 1, 2, 3, 4)
	}
	// memory of a source may move between runs
	if err := p.Bind(x, dense(5, 6, 7, 8)); err != nil {
		t.Fatal(err)
	}
	run(t, p)
	wantFloats(t, "flat", p.Value(flat), 10, 12, 14, 16)
	if err := p.Bind(x, nil); err != nil {
		t.Fatal(err)
	}
	run(t, p)
	wantFloats(t, "flat", p.Value(flat), 2, 4, 6, 8)
}

func TestErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2))
	empty := gorgonia.NewVector(g, f32, gorgonia.WithShape(3), gorgonia.WithName("empty"))
	core := func(k Kernel) *gorgonia.Node {
		return apply(t, &Core{Name: "Conv c1", Out: []Spec{{f32, tensor.Shape{2}}}, Kernel: k}, nil, x)[0]
	}
	fine := core(func(*Exec, []*tensor.Dense, []*tensor.Dense) error { return nil })
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		node *gorgonia.Node
		want string
	}{
		{"error", t.Context(), core(func(*Exec, []*tensor.Dense, []*tensor.Dense) error { return errors.New("no luck") }), "engine: Conv c1: no luck"},
		{"panic", t.Context(), core(func(*Exec, []*tensor.Dense, []*tensor.Dense) error { panic("boom") }), "engine: Conv c1: panic: boom"},
		{"index", t.Context(), core(func(_ *Exec, out, _ []*tensor.Dense) error { _ = out[len(out)]; return nil }), "engine: Conv c1: panic: runtime error: index out of range [1] with length 1"},
		{"worker", t.Context(), core(func(x *Exec, _, _ []*tensor.Dense) error {
			x.Pool().Run(4, func(_, i int) { panic(i) })
			return nil
		}), "engine: Conv c1: panic: 0"},
		{"cancelled", cancelled, fine, "context canceled"},
		{"no value", t.Context(), apply(t, scale("s", tensor.Shape{3}, 1), nil, empty)[0], `engine: input "empty" has no value`},
	} {
		p := compile(t, c.node)
		for range 2 {
			if err := p.Run(c.ctx); err == nil || err.Error() != c.want {
				t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
			}
		}
	}
	p := compile(t, fine)
	if err := p.Bind(x, dense(1, 2, 3)); err == nil || err.Error() != `engine: input "x": wanted float32(2), got float32(3)` {
		t.Errorf("Bind of a wrong shape: %v", err)
	}
	if err := p.Bind(x, dtype.New(dtype.Float64, 2)); err == nil || !strings.Contains(err.Error(), "wanted float32(2), got float64(2)") {
		t.Errorf("Bind of a wrong type: %v", err)
	}
	if err := p.Bind(fine, dense(1, 2)); err == nil {
		t.Error("Bind of a computed node succeeded")
	}
	if err := p.Bind(empty, dense(1)); err != nil {
		t.Errorf("Bind of an unused input: %v", err)
	}
	for name, c := range map[string]*Core{
		"no kernel":  {Name: "bad", Out: []Spec{{f32, tensor.Shape{2}}}},
		"no storage": {Name: "bad", Out: []Spec{{tensor.String, tensor.Shape{2}}}, Kernel: fine.Op().(Op).Core().Kernel},
		"slots":      {Name: "bad", Out: []Spec{{f32, tensor.Shape{2}}}, Slots: []int{3}, Inputs: 2, Kernel: fine.Op().(Op).Core().Kernel},
		"huge":       {Name: "bad", Out: []Spec{{f32, tensor.Shape{1 << 40, 1 << 40}}}, Kernel: fine.Op().(Op).Core().Kernel},
	} {
		if _, err := Compile(Options{}, apply(t, c, nil, x)[0]); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
	big := apply(t, &Core{Name: "big", Out: []Spec{{f32, tensor.Shape{1 << 40}}}, Kernel: fine.Op().(Op).Core().Kernel}, nil, x)[0]
	var full *MemoryError
	if _, err := Compile(Options{}, big); !errors.As(err, &full) || !strings.Contains(err.Error(), "engine: big: shape (1099511627776) of float32 takes 4398046511104 bytes") {
		t.Errorf("a huge shape: %v", err)
	}
	// no limit of the engine's own: 64 GiB and more are allowed where the budget is larger
	LimitMemory(1 << 43)
	program := newBuilder(context.Background())
	if err := program.add(big); err != nil {
		t.Fatal(err)
	}
	if arena, _, err := program.plan(); arena != 1<<42 || err != nil {
		t.Errorf("a value of 4 TiB with a budget of 8: %d bytes, %v", arena, err)
	}
	LimitMemory(100)
	defer LimitMemory(0)
	if _, err := Compile(Options{}, fine, apply(t, scale("s", tensor.Shape{2}, 1), nil, x)[0]); !errors.As(err, &full) || !strings.Contains(err.Error(), "engine: the graph, in which Conv c1 makes shape (2) of float32, takes 128 bytes of memory") {
		t.Errorf("too much memory: %v", err)
	}
	if _, err := Compile(Options{}, nil); err == nil {
		t.Error("a nil root compiled")
	}
}

func TestElementTypes(t *testing.T) {
	for _, dt := range dtype.All() {
		if dt == dtype.String {
			continue
		}
		for _, shape := range [][]int{{}, {3}, {0, 3}, {2, 1, 2}} {
			g := gorgonia.NewGraph()
			v := dtype.New(dt, shape...)
			raw := v.Raw
			for i := range raw {
				raw[i] = byte(i % 2)
			}
			typ := typeOf(Spec{v.Dtype(), shape})
			x := gorgonia.NewUniqueNode(gorgonia.WithType(typ), gorgonia.In(g), gorgonia.WithShape(shape...), gorgonia.WithName("x"))
			same := func(name string) *Core {
				return &Core{Name: name, Out: []Spec{{v.Dtype(), shape}}, Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
					copy(dtype.Bytes(out[0]), dtype.Bytes(in[0]))
					return nil
				}}
			}
			a := apply(t, same("a"), nil, x)[0]
			b := apply(t, same("b"), nil, a)[0]
			p := compile(t, b, x)
			if err := p.Bind(x, v); err != nil {
				t.Fatal(err)
			}
			run(t, p)
			for _, n := range []*gorgonia.Node{b, x} {
				d := p.Value(n).(*tensor.Dense)
				if !slices.Equal(d.Raw, raw) || !slices.Equal(d.Shape(), tensor.Shape(shape)) || d.Dtype() != v.Dtype() {
					t.Errorf("%v%v: got %v%v %v", dt, shape, d.Dtype(), d.Shape(), d.Raw)
				}
			}
		}
	}
}

func TestFuncValues(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2))
	a := apply(t, scale("a", tensor.Shape{2}, 2), nil, x)[0]
	seq := (&dtype.Sequence{}).Dtype()
	pack := &Core{Name: "pack", Out: []Spec{{seq, nil}}, Func: func(_ *Exec, in []gorgonia.Value) ([]gorgonia.Value, error) {
		return []gorgonia.Value{&dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{in[0]}}}, nil
	}}
	s := apply(t, pack, nil, a)[0]
	b := apply(t, scale("b", tensor.Shape{2}, 5), nil, a)[0] // overwrites a
	at := &Core{Name: "at", Out: []Spec{{f32, tensor.Shape{2}}}, Func: func(_ *Exec, in []gorgonia.Value) ([]gorgonia.Value, error) {
		return []gorgonia.Value{in[0].(*dtype.Sequence).Items[0]}, nil
	}}
	c := apply(t, at, nil, s)[0]
	d := apply(t, scale("d", tensor.Shape{2}, -1), nil, c)[0]
	p := compile(t, b, d, s)
	for range 2 {
		run(t, p)
		wantFloats(t, "b", p.Value(b), 10, 20)
		wantFloats(t, "d", p.Value(d), -2, -4)
		wantFloats(t, "item", p.Value(s).(*dtype.Sequence).Items[0], 2, 4)
	}
	p = compile(t, d)
	run(t, p)
	wantFloats(t, "d", p.Value(d), -2, -4)
	for _, step := range p.steps { // nothing that the collector could have is kept
		for _, v := range step.out {
			if v.kind == heap && v.val != nil {
				t.Errorf("%s is kept after its last use", v.name())
			}
		}
	}
}

func TestInputsThatAreNotRowMajor(t *testing.T) {
	g := gorgonia.NewGraph()
	m, _ := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	view, err := m.Slice(nil, tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	turned := dtype.Clone(m)
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v    *tensor.Dense
		want []float32
	}{{view.(*tensor.Dense), []float32{2, 3, 5, 6}}, {turned, []float32{1, 4, 2, 5, 3, 6}}} {
		x := gorgonia.NewMatrix(g, f32, gorgonia.WithShape(c.v.Shape()...), gorgonia.WithName("x"))
		y := apply(t, scale("y", c.v.Shape(), 1), nil, x)[0]
		p := compile(t, y)
		if err := p.Bind(x, c.v); err != nil {
			t.Fatal(err)
		}
		run(t, p)
		wantFloats(t, "y", p.Value(y), c.want...)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	g := gorgonia.NewGraph()
	r := rand.New(rand.NewSource(1))
	x := input(g, "x", random(r, 64, 64))
	h := x
	for range 20 {
		h = apply(t, scale("s", tensor.Shape{64, 64}, 1.1), nil, h)[0]
		v := apply(t, reshape(4096), nil, h)[0]
		c := floats("scratch", tensor.Shape{64, 64}, nil)
		c.Kernel = func(x *Exec, out, in []*tensor.Dense) error {
			tmp := x.Float32(4096)
			copy(tmp, dtype.Slice[float32](in[0]))
			copy(dtype.Slice[float32](out[0]), tmp)
			return nil
		}
		h = gorgonia.Must(gorgonia.Add(h, apply(t, c, nil, v)[0]))
	}
	p := compile(t, h, x)
	ctx := t.Context()
	if n := testing.AllocsPerRun(20, func() {
		if err := p.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per run", n)
	}
}

func TestRunIsForOneGoroutine(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1))
	var p *Program
	var inner error
	c := floats("again", tensor.Shape{1}, func(out []float32, in ...[]float32) { inner = p.Run(context.Background()) })
	p = compile(t, apply(t, c, nil, x)[0])
	run(t, p)
	if inner == nil {
		t.Error("a program ran within itself")
	}
}

// TestProgramsNest runs programs inside kernels, on the pool of the outer program and from its
// workers, the way operators with subgraphs do.
func TestProgramsNest(t *testing.T) {
	pool := kernel.NewPool(3)
	defer pool.Close()
	inner := make([]*Program, 4)
	ins, outs := make([]*gorgonia.Node, 4), make([]*gorgonia.Node, 4)
	for i := range inner {
		g := gorgonia.NewGraph()
		ins[i] = input(g, "x", dense(make([]float32, 1<<16)...))
		outs[i] = gorgonia.Must(gorgonia.Add(ins[i], apply(t, scale("s", tensor.Shape{1 << 16}, 2), nil, ins[i])[0]))
		p, err := Compile(Options{Pool: pool}, outs[i])
		if err != nil {
			t.Fatal(err)
		}
		inner[i] = p
	}
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1))
	c := &Core{Name: "loop", Out: []Spec{{f32, tensor.Shape{1}}}, Kernel: func(x *Exec, out, in []*tensor.Dense) error {
		errs := make([]error, len(inner))
		one := func(_, i int) {
			v := dense(make([]float32, 1<<16)...)
			dtype.Slice[float32](v)[i] = 1
			errs[i] = errors.Join(inner[i].Bind(ins[i], v), inner[i].Run(x.Context()))
		}
		x.Pool().Run(len(inner), one)
		one(0, 0)
		dtype.Slice[float32](out[0])[0] = 0 // outputs have arbitrary values before
		for i, p := range inner {
			dtype.Slice[float32](out[0])[0] += dtype.Slice[float32](p.Value(outs[i]).(*tensor.Dense))[i]
		}
		return errors.Join(errs...)
	}}
	y := apply(t, c, nil, x)[0]
	p, err := Compile(Options{Pool: pool}, y)
	if err != nil {
		t.Fatal(err)
	}
	run(t, p)
	wantFloats(t, "y", p.Value(y), 12)
}

func BenchmarkSteps(b *testing.B) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2, 3, 4))
	h := x
	for range 1000 {
		h = apply(b, scale("s", tensor.Shape{4}, 1), nil, h)[0]
	}
	p := compile(b, h)
	b.ReportAllocs()
	for b.Loop() {
		run(b, p)
	}
}

func BenchmarkCompile(b *testing.B) {
	d := randomDAG(b, 1, 3000)
	for b.Loop() {
		compile(b, d.nodes[len(d.nodes)-1])
	}
}
