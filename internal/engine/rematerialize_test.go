package engine

import (
	"math/rand"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// doubled gives 2·in and the sum of in; from the sum it knows how to compute the first again.
func doubled(shape tensor.Shape, calls *int) *Core {
	return &Core{
		Name: "doubled", Out: []Spec{{f32, shape}, {f32, tensor.Shape{1}}},
		Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
			sum := float32(0)
			for i, v := range dtype.Slice[float32](in[0]) {
				dtype.Slice[float32](out[0])[i] = 2 * v
				sum += v
			}
			dtype.Slice[float32](out[1])[0] = sum
			return nil
		},
		Rematerialize: &Rematerialization{Needs: []int{1}, Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
			*calls++
			for i, v := range dtype.Slice[float32](in[0]) {
				dtype.Slice[float32](out[0])[i] = 2*v + 0*dtype.Slice[float32](in[1])[0]
			}
			return nil
		}},
	}
}

// thereAndBack builds a forward and a backward chain: each layer reads the previous one, and in the
// backward chain its input and output again.
func thereAndBack(t *testing.T, viewed bool, calls *int) (root *gorgonia.Node) {
	shape := tensor.Shape{64, 64}
	g := gorgonia.NewGraph()
	x := input(g, "x", random(rand.New(rand.NewSource(1)), shape...))
	sum := func(in ...*gorgonia.Node) *gorgonia.Node {
		return apply(t, floats("mix", shape, func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = 1
				for k, x := range in {
					out[i] += float32(k+1) * x[i] / 4
				}
			}
		}), nil, in...)[0]
	}
	type layer struct{ in, out, sum *gorgonia.Node }
	var layers []layer
	h := sum(x)
	for range 6 {
		y := apply(t, doubled(shape, calls), nil, h)
		out := y[0]
		if viewed {
			out = apply(t, reshape(shape...), nil, out)[0]
		}
		layers = append(layers, layer{h, out, y[1]})
		h = sum(out)
	}
	for _, l := range slices.Backward(layers) {
		h = sum(h, l.out)
		h = apply(t, floats("back", shape, func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = in[0][i]/8 + in[1][i] + in[2][0]
			}
		}), nil, h, l.in, l.sum)[0]
	}
	return h
}

// A lean program computes the same with less memory.
func TestLean(t *testing.T) {
	for _, viewed := range []bool{false, true} {
		var want []float32
		var arenas [2]int64
		for i, lean := range []bool{false, true} {
			calls := 0
			root := thereAndBack(t, viewed, &calls)
			p, err := Compile(Options{Lean: lean}, root)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				run(t, p)
			}
			if lean != (calls > 0) {
				t.Errorf("lean %v, viewed %v: %d values were computed again", lean, viewed, calls)
			}
			if arenas[i] = p.Stats().Arena; want == nil {
				want = slices.Clone(slice(t, p.Value(root)))
			} else if !slices.Equal(want, slice(t, p.Value(root))) {
				t.Errorf("viewed %v: a lean program computes something else", viewed)
			}
		}
		if arenas[1] > arenas[0]*3/4 {
			t.Errorf("viewed %v: %d bytes, lean %d", viewed, arenas[0], arenas[1])
		}
	}
}

// An input that changes under way is not read after that.
func TestLeanReadsNoChangedInput(t *testing.T) {
	shape := tensor.Shape{64, 64}
	for _, lean := range []bool{false, true} {
		calls := 0
		g := gorgonia.NewGraph()
		w := random(rand.New(rand.NewSource(1)), shape...)
		x := input(g, "w", w)
		y := apply(t, doubled(shape, &calls), nil, x)
		loss := y[1]
		change := apply(t, scale("change", tensor.Shape{1}, 2), nil, loss)[0]
		early := apply(t, scale("early", shape, 0.5), nil, y[0])[0]
		big := apply(t, floats("big", tensor.Shape{256, 64}, func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = in[0][i%len(in[0])] + 0*in[1][0]
			}
		}), nil, early, change)[0]
		end := apply(t, floats("end", shape, func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = in[0][i] + in[1][i]
			}
		}), nil, big, y[0])[0]
		p, err := Compile(Options{Lean: lean, LossReady: loss, Callbacks: []GradientCallback{{Root: change, After: x}}}, loss, change, end)
		if err != nil {
			t.Fatal(err)
		}
		before := dtype.Clone(w)
		r := &notes{take: func(int) error { clear(dtype.Slice[float32](w)); return nil }}
		if err := p.RunWithCallbacks(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for i, v := range dtype.Slice[float32](before) {
			if got := slice(t, p.Value(end))[i]; got != 3*v {
				t.Fatalf("lean %v: %v, want %v", lean, got, 3*v)
			}
		}
	}
}
