package engine

import (
	"slices"
	"sync"
	"testing"
	"unsafe"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestScratch(t *testing.T) {
	var none *Exec
	var zero Exec
	for name, x := range map[string]*Exec{"nil": none, "zero": &zero} {
		if x.Pool() != nil || x.Context() == nil {
			t.Errorf("%s: has a pool or no context", name)
		}
		if a, b, c, d := x.Float32(3), x.Float64(4), x.Int(5), x.Bytes(6); len(a) != 3 || len(b) != 4 || len(c) != 5 || len(d) != 6 {
			t.Errorf("%s: wrong lengths", name)
		}
		if s := Scratch[float32](x)(7); len(s) != 7 {
			t.Errorf("%s: wrong length", name)
		}
	}
	x := &Exec{}
	ask := func() ([]float32, []byte) { return x.Float32(1000), x.Bytes(3) }
	ask()
	x.scratch.reset(nil) // grown to what the kernel asked for
	if n := testing.AllocsPerRun(10, func() { x.scratch.reset(nil); ask() }); n > 0 {
		t.Errorf("%v allocations after warm-up", n)
	}
	x.scratch.reset(nil)
	a, b := ask()
	for i := range a {
		a[i] = 1
	}
	clear(b)
	if a[999] != 1 || uintptr(unsafe.Pointer(&a[0]))%cacheLine != 0 || uintptr(unsafe.Pointer(&b[0]))%cacheLine != 0 {
		t.Error("scratch overlaps or is not aligned")
	}
}

func TestScratchFromWorkers(t *testing.T) {
	x := &Exec{}
	for range 3 {
		var wg sync.WaitGroup
		var got [8][]int
		for i := range got {
			wg.Go(func() {
				got[i] = x.Int(100)
				for k := range got[i] {
					got[i][k] = i
				}
			})
		}
		wg.Wait()
		for i, s := range got {
			for _, v := range s {
				if v != i {
					t.Fatalf("workers share scratch: %v", s)
				}
			}
		}
		x.scratch.reset(nil)
	}
}

// TestScratchInHoles checks that scratch memory is taken from free ranges of the arena first, and that
// several blocks do not overlap.
func TestScratchInHoles(t *testing.T) {
	buffers := []*buffer{{size: 4096, off: 0, first: 0, last: 3}, {size: 4096, off: 3 * 4096, first: 1, last: 1}, {size: 8192, off: 4096, first: 5, last: 5}}
	b := &builder{}
	for range 6 {
		b.steps = append(b.steps, &step{kind: kernelStep})
	}
	b.findHoles(buffers, 8*4096)
	list := b.steps[1].holes
	if want := []hole{{4 * 4096, 4 * 4096}, {4096, 2 * 4096}}; !slices.Equal(list, want) {
		t.Fatalf("holes %v, want %v", list, want)
	}
	var p scratchpad
	p.arena = alignedBytes(8 * 4096)
	for range 3 {
		p.reset(list)
		at := map[*byte]bool{}
		for range 12 {
			b := p.take(2000)
			clear(b)
			at[&b[0]] = true
		}
		b := p.take(5 * 4096)
		if len(at) != 12 || at[&b[0]] || len(p.blocks) != 1 {
			t.Fatalf("%d pieces, %d blocks", len(at), len(p.blocks))
		}
	}
}

// A kernel may use the memory of an input that nobody reads after it, and no other.
func TestMayOverwrite(t *testing.T) {
	shape := tensor.Shape{4}
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2, 3, 4))
	got := map[string][]bool{}
	node := func(name string, in ...*gorgonia.Node) *gorgonia.Node {
		return apply(t, &Core{Name: name, Out: []Spec{{f32, shape}}, Kernel: func(x *Exec, out, in []*tensor.Dense) error {
			got[name] = nil
			for _, d := range in {
				got[name] = append(got[name], x.MayOverwrite(d))
			}
			return nil
		}}, nil, in...)[0]
	}
	a := node("a", x)
	b := node("b", a, a)
	c := node("c", a, b)
	view := apply(t, reshape(4), nil, c)[0]
	d := node("d", c)
	e := node("e", view, d)
	run(t, compile(t, d, e))
	for name, want := range map[string][]bool{"a": {false}, "b": {false, false}, "c": {true, true}, "d": {false}, "e": {true, false}} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s may overwrite %v of its inputs, want %v", name, got[name], want)
		}
	}
	if (*Exec)(nil).MayOverwrite(dense(1)) || new(Exec).MayOverwrite(dense(1)) {
		t.Error("an input that is not the engine's may be overwritten")
	}
}
