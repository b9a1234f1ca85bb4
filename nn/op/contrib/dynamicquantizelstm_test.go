package contrib_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// Where X and the initial hidden states need no rounding, one step has the gradients of an LSTM with the weights that the
// integers stand for, with respect to every input of floats, scales included.
func TestDynamicLSTMGradient(t *testing.T) {
	const batch, width, hidden = 2, 3, 4
	levels := func(shape ...int) dtype.Value { // multiples of 0.01 that span 255 of them
		n, err := dtype.Count(shape)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i*37%200-90) * 0.01
		}
		x[0], x[1], x[n/2], x[n/2+1] = -1, 1.55, -1, 1.55
		d, err := dtype.FromSlice(x, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for direction, dirs := range map[string]int{"forward": 1, "reverse": 1, "bidirectional": 2} {
		cfg := contrib.DynamicQuantizeLSTMConfig{Direction: direction, HiddenSize: hidden}
		in := []dtype.Value{
			levels(1, batch, width), integers(dtype.Uint8, 1, dirs, width, 4*hidden), integers(dtype.Uint8, 2, dirs, hidden, 4*hidden),
			spread(3, dirs, 8*hidden), nil, levels(dirs, batch, hidden), spread(4, dirs, batch, hidden), spread(5, dirs, 3*hidden),
			diceOf(6).vector(0.004, 0.01, dirs), typed(dtype.Uint8, []int{120, 131}[:dirs], dirs), diceOf(7).columns(dirs, 4*hidden), typed(dtype.Uint8, make([]int, 4*dirs*hidden), dirs, 4*hidden),
		}
		wrt, feed := []string{"x0", "x3", "x5", "x6", "x7", "x8", "x10"}, nn.Feed{}
		for i, v := range in {
			if v != nil {
				feed[fmt.Sprintf("x%d", i)] = v
			}
		}
		grads := func(f func(e *nn.Edit, in []*nn.Value) *nn.Node) nn.Feed {
			g := nn.NewGraph("lstm", set(t), map[string]int{"": 21, contrib.Domain: 1})
			if err := g.Edit(func(e *nn.Edit) {
				given := make([]*nn.Value, len(in))
				for i, v := range in {
					if v != nil {
						given[i] = e.Input(fmt.Sprintf("x%d", i), op.TypeOf(v).String())
					}
				}
				n := f(e, given)
				squares := func(y *nn.Value) *nn.Value {
					return e.Node(std.ReduceSumSquareConfig{KeepDims: new(bool)}, y).Out(0)
				}
				e.Output("sum", e.Node(op.Plain("Sum"), squares(n.Out(0)), squares(n.Out(1)), squares(n.Out(2))).Out(0))
			}); err != nil {
				t.Fatal(err)
			}
			out, err := g.Grad(t.Context(), feed, "sum", wrt...)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		got := grads(func(e *nn.Edit, in []*nn.Value) *nn.Node { return e.NodeN(cfg, 3, in...) })
		want := grads(func(e *nn.Edit, in []*nn.Value) *nn.Node {
			floats := func(w, scale, zero *nn.Value, columns int) *nn.Value {
				shape := e.Const("", optest.Tensor([]int64{int64(dirs), 1, int64(columns)}, 3))
				as := func(v *nn.Value) *nn.Value { return e.Node(std.ReshapeConfig{}, v, shape).Out(0) }
				to := std.CastConfig{To: dtype.Float32}
				d := e.Node(op.Plain("Sub"), e.Node(to, w).Out(0), as(e.Node(to, zero).Out(0))).Out(0)
				return e.Node(std.TransposeConfig{Perm: []int{0, 2, 1}}, e.Node(op.Plain("Mul"), d, as(scale)).Out(0)).Out(0)
			}
			w, r := floats(in[1], in[8], in[9], 1), floats(in[2], in[10], in[11], 4*hidden)
			return e.NodeN(std.LSTMConfig{Direction: direction, HiddenSize: hidden}, 3, in[0], w, r, in[3], nil, in[5], in[6], in[7])
		})
		for _, name := range append(wrt, "sum") {
			a, b := dtype.Slice[float32](got[name].(*tensor.Dense)), dtype.Slice[float32](want[name].(*tensor.Dense))
			for i := range b {
				if d := a[i] - b[i]; d > 1e-3 || d < -1e-3 {
					t.Errorf("%s: %s is %v, want %v", direction, name, a, b)
					break
				}
			}
		}
	}
}

func TestDynamicLSTMRefusals(t *testing.T) {
	x, w, r, s, z := spread(1, 3, 2, 4), integers(dtype.Int8, 2, 1, 4, 12), integers(dtype.Int8, 3, 1, 3, 12), optest.Tensor([]float32{0.01}, 1), typed(dtype.Int8, []int{0}, 1)
	for want, in := range map[string][]dtype.Value{
		"input X: want 3 axes, got float32[3,8]":                {spread(1, 3, 8), w, r, nil, nil, nil, nil, nil, s, z, s, z},
		"input W: want 3 axes, got int8[4,12]":                  {x, integers(dtype.Int8, 2, 4, 12), r, nil, nil, nil, nil, nil, s, z, s, z},
		"input R_scale: want [1] or [1,12], got float32[2]":     {x, w, r, nil, nil, nil, nil, nil, s, z, f32(0.1, 0.2), z},
		"input W_zero_point: want [1] or [1,12], got int8[1,3]": {x, w, r, nil, nil, nil, nil, nil, s, typed(dtype.Int8, make([]int, 3), 1, 3), s, z},
		"input W: want float32[1,12,4], got float32[1,12,5]":    {x, integers(dtype.Int8, 2, 1, 5, 12), r, nil, nil, nil, nil, nil, s, z, s, z},
		"hidden_size is 5, R has 3":                             {x, w, r, nil, nil, nil, nil, nil, s, z, s, z},
	} {
		size := 0
		if want[0] == 'h' {
			size = 5
		}
		optest.Fails(t, optest.Case{Name: want, Ops: set(t), Config: contrib.DynamicQuantizeLSTMConfig{HiddenSize: size}, In: in, Outputs: 3, Refusal: want})
	}
}
