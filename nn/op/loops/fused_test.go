package loops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// index is the number of the element of a broadcast input that element i of the result reads.
func index(i int, shape, out []int) int {
	at, stride := 0, 1
	for k := len(out) - 1; k >= 0; k-- {
		coordinate := i % out[k]
		i /= out[k]
		if s := k - (len(out) - len(shape)); s >= 0 {
			if shape[s] != 1 {
				at += coordinate * stride
			}
			stride *= shape[s]
		}
	}
	return at
}

// TestBroadcast: for each shape that is broadcast to each small one, the access reads what broadcasting does, or there is none that does.
func TestBroadcast(t *testing.T) {
	sizes := []int{1, 2, 3, 16}
	var outs [][]int
	for _, a := range sizes {
		outs = append(outs, []int{a})
		for _, b := range sizes {
			outs = append(outs, []int{a, b})
			for _, c := range sizes {
				outs = append(outs, []int{a, b, c})
			}
		}
	}
	outs = append(outs, nil, []int{2, 15}, []int{2, 17}, []int{3, 4, 4}, []int{3, 3, 5})
	for _, out := range outs {
		n := dtype.Product(out)
		for mask := range 1 << len(out) {
			for skip := 0; skip <= len(out); skip++ {
				shape := slices.Clone(out[skip:])
				for k := range shape {
					if mask>>(k+skip)&1 == 1 {
						shape[k] = 1
					}
				}
				count := dtype.Product(shape)
				inner := 0 // the only one with which i/inner%count might be right
				for inner = 1; inner <= n && index(inner, shape, out) == 0 && inner < n; inner++ {
				}
				right := func(inner, count int) bool {
					for i := range n {
						if i/inner%count != index(i, shape, out) {
							return false
						}
					}
					return true
				}
				a, ok := Broadcast(5, shape, out)
				want := right(inner, count) && (inner == 1 || count == 1 || inner >= shortRun)
				if ok != want {
					t.Errorf("%v to %v: %v, %v, want %v", shape, out, a, ok, want)
				}
				if ok && (a.Slot != 5 || a.Count != count || !right(a.Inner, a.Count)) {
					t.Errorf("%v to %v: %v", shape, out, a)
				}
				if ok && a.Whole(n) != (count == n) {
					t.Errorf("%v to %v: %v is whole: %v", shape, out, a, a.Whole(n))
				}
			}
		}
	}
}

// drawn is a loop, or several, with what they compute element by element.
type drawn struct {
	loop   *Loop
	sizes  []int // of the kernel's inputs
	plain  func(i int, read func(slot, at int) float32) float32
	kernel op.Kernel
	place  []int
	whole  []int // inputs that are read one to one
	free   []int // … and not by the last loop, or it may overwrite them
}

// draw returns a loop over a few operands, which it overwrites only where it says so.
func draw(r *rand.Rand, out []int) drawn {
	n := dtype.Product(out)
	d := drawn{loop: &Loop{N: n}}
	var weights []float32
	for slot := range 1 + r.IntN(3) {
		var a Access
		for ok := false; !ok; {
			shape := slices.Clone(out[r.IntN(len(out)+1):])
			for k := range shape {
				if r.IntN(3) == 0 {
					shape[k] = 1
				}
			}
			if r.IntN(2) == 0 {
				shape = out
			}
			a, ok = Broadcast(slot, shape, out)
		}
		d.loop.Reads = append(d.loop.Reads, a)
		d.sizes = append(d.sizes, a.Count)
		if a.Whole(n) {
			if d.whole = append(d.whole, slot); r.IntN(2) == 0 {
				d.loop.InPlace = append(d.loop.InPlace, slot)
			}
		}
		weights = append(weights, float32(1+r.IntN(5))/4)
	}
	own := float32(r.IntN(9))
	d.loop.Run = func(dst []float32, in []Block) {
		sum := make([]float32, len(dst))
		add := func(k int) {
			for i := range sum {
				if in[k].One {
					sum[i] += weights[k] * in[k].Elems[0]
				} else {
					sum[i] += weights[k] * in[k].Elems[:len(dst)][i]
				}
			}
		}
		for _, k := range d.loop.InPlace {
			add(k)
		}
		for i := range dst {
			dst[i] = float32(math.NaN())
		}
		for k := range in {
			if !slices.Contains(d.loop.InPlace, k) {
				add(k)
			}
		}
		for i := range dst {
			dst[i] = sum[i] + own
		}
	}
	reads := d.loop.Reads
	d.plain = func(i int, read func(slot, at int) float32) float32 {
		y := own
		for k, a := range reads {
			y += weights[k] * read(a.Slot, i/a.Inner%a.Count)
		}
		return y
	}
	c := fusedOf(d.loop)
	d.kernel, d.place, d.free = c.kernel(), c.inPlace(), d.loop.InPlace
	return d
}

// then fuses d with next, which reads it in a slot; nil if it cannot.
func (d drawn) then(next drawn, slot int) *drawn {
	first := len(d.sizes)
	f := fuse(d.loop, next.loop, op.Meeting{FirstInputs: first, SecondInputs: len(next.sizes), Slot: slot})
	if f == nil {
		return nil
	}
	both := &drawn{loop: f.Patterns[0].(*Loop), kernel: f.Kernel, place: f.InPlace}
	both.sizes = slices.Concat(d.sizes, next.sizes[:slot], next.sizes[slot+1:])
	moved := func(list []int) (to []int) {
		for _, s := range list {
			if s < slot {
				to = append(to, s+first)
			} else if s > slot {
				to = append(to, s+first-1)
			}
		}
		return to
	}
	both.whole, both.free = append(slices.Clip(d.whole), moved(next.whole)...), append(slices.Clip(d.whole), moved(next.free)...)
	both.plain = func(i int, read func(slot, at int) float32) float32 {
		return next.plain(i, func(s, at int) float32 {
			switch {
			case s == slot:
				return d.plain(at, read)
			case s < slot:
				return read(s+first, at)
			}
			return read(s+first-1, at)
		})
	}
	return both
}

// TestFused: random loops that are fused compute what they compute one after the other, also in the memory of each input that the result may take.
func TestFused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	outs := [][]int{{1}, {7}, {4, 16}, {3, 5, 7}, {40, 32}, {2, 1024}, {1023}, {1025}, {3, 512}, {33, 300}, {8, 16, 80}, {8192}, {8193}, {2, 3, 17, 90}}
	for trial := range 200 {
		out := outs[trial%len(outs)]
		n := dtype.Product(out)
		d := draw(r, out)
		for range r.IntN(5) {
			next := draw(r, out)
			if r.IntN(3) == 0 {
				if more := next.then(draw(r, out), 0); more != nil {
					next = *more
				}
			}
			slot := r.IntN(len(next.sizes))
			if both := d.then(next, slot); both != nil {
				d = *both
			}
		}
		in := make([]*tensor.Dense, len(d.sizes))
		for k, size := range d.sizes {
			in[k] = dtype.New(dtype.Float32, size)
			for i := range dtype.Slice[float32](in[k]) {
				dtype.Slice[float32](in[k])[i] = float32(r.IntN(64)) / 8
			}
		}
		want := make([]float32, n)
		for i := range want {
			want[i] = d.plain(i, func(slot, at int) float32 { return dtype.Slice[float32](in[slot])[at] })
		}
		run := func(what string, y *tensor.Dense, in []*tensor.Dense) {
			if err := d.kernel(nil, []*tensor.Dense{y}, in); err != nil {
				t.Fatal(err)
			}
			for i, got := range dtype.Slice[float32](y) {
				if math.Abs(float64(got-want[i])) > 1e-4*math.Abs(float64(want[i])) {
					t.Fatalf("trial %d, %v, %s: element %d is %v, want %v; %+v", trial, out, what, i, got, want[i], d.sizes)
				}
			}
		}
		if place := slices.Sorted(slices.Values(d.place)); !slices.Equal(place, slices.Sorted(slices.Values(d.free))) {
			t.Errorf("trial %d: the result may be in the place of %v, want %v", trial, place, d.free)
		}
		run("elsewhere", dtype.New(dtype.Float32, n), in)
		for _, slot := range d.place {
			list := slices.Clone(in)
			list[slot] = dtype.Clone(in[slot])
			run(fmt.Sprintf("in the place of %d", slot), list[slot], list)
		}
	}
}

// TestFuseRefuses: loops that have other lengths, read a result by another way than one to one, or are too many, and results that others read.
func TestFuseRefuses(t *testing.T) {
	whole := func(n int) *Loop {
		return &Loop{N: n, Reads: []Access{{Slot: 0, Inner: 1, Count: n}}, Run: func(dst []float32, in []Block) { copy(dst, in[0].Elems) }}
	}
	m := op.Meeting{FirstInputs: 1, SecondInputs: 1}
	if fuse(whole(4), whole(4), m) == nil {
		t.Error("two copies are not fused")
	}
	sides := m
	sides.Sides = true
	for what, f := range map[string]*op.Fused{
		"other lengths": fuse(whole(4), whole(8), m), "others read": fuse(whole(4), whole(4), sides),
		"repeated": fuse(whole(4), &Loop{N: 4, Reads: []Access{{Slot: 0, Inner: 1, Count: 2}}}, m),
		"spread":   fuse(whole(4), &Loop{N: 4, Reads: []Access{{Slot: 0, Inner: 2, Count: 2}}}, m),
		"a scalar": fuse(whole(4), &Loop{N: 4, Reads: []Access{{Slot: 0, Inner: 1, Count: 1}}}, m),
	} {
		if f != nil {
			t.Errorf("%s: fused", what)
		}
	}
	chain := whole(4)
	for k := 2; k <= maxLoops+1; k++ {
		f := fuse(chain, whole(4), m)
		if (f != nil) != (k <= maxLoops) {
			t.Fatalf("%d loops: fused is %v", k, f != nil)
		}
		if f != nil {
			chain = f.Patterns[0].(*Loop)
		}
	}
	if rule := Fusion(); !rule.Last {
		t.Error("the rule is not the last")
	}
}
