package engine

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// Check implements Receiver; it lets everything pass.
func (n *notes) Check(i int, d *tensor.Dense, bound float64) error {
	if n.checked = append(n.checked, i); n.check != nil {
		return n.check(i, d, bound)
	}
	return nil
}

// notes is a Receiver that writes down what it gets, spoils it, and changes what it came for.
type notes struct {
	begun   int
	checked []int
	check   func(i int, d *tensor.Dense, bound float64) error
	got     map[int][]float32
	begin   func() error
	take    func(i int) error
}

func (n *notes) Begin() error {
	n.begun++
	if n.begin != nil {
		return n.begin()
	}
	return nil
}

func (n *notes) Take(i int, d *tensor.Dense) error {
	if n.got == nil {
		n.got = map[int][]float32{}
	}
	n.got[i] = slices.Clone(dtype.Slice[float32](d))
	for k := range dtype.Slice[float32](d) {
		dtype.Slice[float32](d)[k] = -1e9
	}
	if n.take != nil {
		return n.take(i)
	}
	return nil
}

// chain is loss = Σ w·x and three values made of it: two times w, a view of that, and x·x, the last
// read by another root as well.
func chain(t *testing.T, w *tensor.Dense) (loss, twice, view, square, stays *gorgonia.Node, in []*gorgonia.Node) {
	g := gorgonia.NewGraph()
	r := rand.New(rand.NewSource(1))
	shape := tensor.Shape{4, 8}
	wn, x := input(g, "w", w), input(g, "x", random(r, 4, 8))
	sum := floats("loss", tensor.Shape{1}, func(out []float32, in ...[]float32) {
		out[0] = 0
		for i, v := range in[0] {
			out[0] += v * in[1][i]
		}
	})
	loss = apply(t, sum, nil, wn, x)[0]
	twice = apply(t, scale("twice", shape, 2), nil, wn)[0]
	view = apply(t, reshape(32), nil, twice)[0]
	square = apply(t, floats("square", shape, func(out []float32, in ...[]float32) {
		for i, v := range in[0] {
			out[i] = v * v
		}
	}), nil, x)[0]
	// Reads w after twice is there, and square.
	stays = apply(t, floats("late", shape, func(out []float32, in ...[]float32) {
		for i := range out {
			out[i] = in[0][i] + in[1][i] + in[2][i]
		}
	}), nil, wn, square, twice)[0]
	return loss, twice, view, square, stays, []*gorgonia.Node{wn, x}
}

// TestCallbacks checks that values passed to callbacks are those of a program without callbacks, that no input changes before all
// readers have run, and that receivers may overwrite their values without changing others.
func TestCallbacks(t *testing.T) {
	for _, private := range []bool{false, true} {
		w := random(rand.New(rand.NewSource(2)), 4, 8)
		loss, twice, view, square, stays, in := chain(t, w)
		want := map[*gorgonia.Node][]float32{}
		plain := compile(t, loss, twice, view, square, stays)
		run(t, plain)
		for _, n := range []*gorgonia.Node{loss, twice, view, square, stays} {
			want[n] = slices.Clone(slice(t, plain.Value(n)))
		}
		callbacks := []GradientCallback{{Root: twice, After: in[0]}, {Root: view}, {Root: square, After: in[1]}, {Root: square}}
		p, err := Compile(Options{Private: private, LossReady: loss, Callbacks: callbacks}, loss, twice, view, square, stays)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context()); err == nil {
			t.Error("Run does not mind that nobody receives")
		}
		before := dtype.Clone(w)
		for range 3 {
			copy(dtype.Bytes(w), dtype.Bytes(before))
			ctx, cancel := context.WithCancel(t.Context())
			r := &notes{take: func(i int) error {
				cancel() // too late
				if i == 0 {
					clear(dtype.Slice[float32](w))
				}
				return nil
			}, begin: func() error {
				if !slices.Equal(slice(t, p.Value(loss)), want[loss]) {
					t.Error("there is no loss yet")
				}
				return nil
			}, check: func(i int, d *tensor.Dense, bound float64) error {
				if d == nil || !slices.Equal(dtype.Slice[float32](d), want[callbacks[i].Root]) || bound != 0 {
					t.Errorf("%d: checked %v, bound %v", i, d, bound)
				}
				return nil
			}}
			if err := p.RunWithCallbacks(ctx, r); err != nil {
				t.Fatal(err)
			}
			for i, h := range callbacks {
				if !slices.Equal(r.got[i], want[h.Root]) {
					t.Errorf("%d: got %v, want %v", i, r.got[i], want[h.Root])
				}
			}
			if r.begun != 1 || !slices.Equal(slice(t, p.Value(stays)), want[stays]) {
				t.Errorf("begun %d times, %v stays, want %v", r.begun, p.Value(stays), want[stays])
			}
		}
		if p.Value(twice) != nil {
			t.Error("the program still knows what it passed on")
		}
		no := errors.New("no")
		for _, r := range []*notes{{begin: func() error { return no }}, {take: func(int) error { return no }}} {
			if err := p.RunWithCallbacks(t.Context(), r); err != no {
				t.Errorf("error %v", err)
			}
		}
		p.Close()
		if err := p.RunWithCallbacks(t.Context(), &notes{}); err == nil {
			t.Error("a closed program runs")
		}
	}
}

// TestCallbacksSaveMemory checks that products that need more memory than their factors are computed
// one after the other in the same memory, after a check of all; if that fails, nothing has been handed
// over.
func TestCallbacksSaveMemory(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", random(rand.New(rand.NewSource(1)), 64))
	loss := apply(t, floats("loss", tensor.Shape{1}, func(out []float32, in ...[]float32) { out[0] = in[0][0] }), nil, x)[0]
	roots := []*gorgonia.Node{loss}
	var callbacks []GradientCallback
	for i := range 8 {
		y := apply(t, scale("scaled", tensor.Shape{64}, float32(i)), nil, x)[0]
		outer := floats("outer", tensor.Shape{64, 64}, func(out []float32, in ...[]float32) {
			for k := range out {
				out[k] = in[0][k/64] * in[1][k%64]
			}
		})
		outer.Bilinear = true
		n := apply(t, outer, nil, x, y)[0]
		roots, callbacks = append(roots, n), append(callbacks, GradientCallback{Root: n})
	}
	p, err := Compile(Options{LossReady: loss, Callbacks: callbacks}, roots...)
	if err != nil {
		t.Fatal(err)
	}
	if have, most := p.Stats().Arena, int64(64*64*4+9*64*4+cacheLine); have > most {
		t.Errorf("the arena has %d bytes, %d would do", have, most)
	}
	bounds := map[int]float64{}
	r := &notes{check: func(i int, d *tensor.Dense, bound float64) error {
		if bounds[i] = bound; d != nil {
			t.Errorf("%d was computed before the check", i)
		}
		return nil
	}}
	if err := p.RunWithCallbacks(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for i := range callbacks {
		most := float32(0)
		for _, v := range r.got[i] {
			most = max(most, v, -v)
		}
		if len(r.got[i]) != 64*64 || float64(most) > bounds[i] || bounds[i] > 64*64*float64(most) {
			t.Errorf("%d: %d elements up to %v, bound %v", i, len(r.got[i]), most, bounds[i])
		}
	}
	no := errors.New("no")
	r = &notes{check: func(i int, _ *tensor.Dense, _ float64) error {
		if i == 7 {
			return no
		}
		return nil
	}}
	if err := p.RunWithCallbacks(t.Context(), r); err != no || len(r.got) > 0 {
		t.Errorf("error %v, %d were taken", err, len(r.got))
	}
}

// TestCallbacksAreWhole checks that after the check scratch memory is allocated even beyond the limit,
// whereas before it the run ends with an error.
func TestCallbacksAreWhole(t *testing.T) {
	defer LimitMemory(0)
	g := gorgonia.NewGraph()
	x := input(g, "x", random(rand.New(rand.NewSource(1)), 64))
	loss := apply(t, floats("loss", tensor.Shape{1}, func(out []float32, in ...[]float32) { out[0] = in[0][0] }), nil, x)[0]
	outer := floats("outer", tensor.Shape{64, 64}, nil)
	outer.Bilinear = true
	outer.Kernel = func(x *Exec, out, in []*tensor.Dense) error {
		clear(x.Float32(1 << 20))
		clear(dtype.Slice[float32](out[0]))
		return nil
	}
	n := apply(t, outer, nil, x, apply(t, scale("scaled", tensor.Shape{64}, 2), nil, x)[0])[0]
	p, err := Compile(Options{LossReady: loss, Callbacks: []GradientCallback{{Root: n}}}, loss, n)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r := &notes{begin: func() error { LimitMemory(1); return nil }}
	if err := p.RunWithCallbacks(t.Context(), r); err != nil || len(r.got) != 1 {
		t.Errorf("%v, %d were taken", err, len(r.got))
	}
	p, err = Compile(Options{}, n)
	if err == nil {
		err = p.Run(t.Context())
	}
	if err == nil {
		t.Error("the limit does not hold elsewhere")
	}
}
