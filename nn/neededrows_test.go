package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
)

// encoder returns a layer of a transformer on x [batch, 6, 8].
func encoder(s speller, x *nn.Value, name string) *nn.Value {
	times := func(x *nn.Value, part string, from, to int) *nn.Value {
		return s.on("MatMul", x, s.weight(name+part, from, to))
	}
	linear := func(x *nn.Value, part string, from, to int) *nn.Value {
		return s.on("Add", times(x, part, from, to), s.weight(name+part+" bias", to))
	}
	heads := func(x *nn.Value) *nn.Value { return s.turn(s.on("Reshape", x, []int{-1, 6, 2, 4}), 0, 2, 1, 3) }
	norm := func(x *nn.Value, part string) *nn.Value {
		return s.Node(std.LayerNormalizationConfig{}, x, s.weight(name+part, 8), s.weight(name+part+" bias", 8)).Out(0)
	}
	// Keys without a bias: its gradient is nothing but rounding.
	q, k, v := heads(linear(x, "q", 8, 8)), heads(times(x, "k", 8, 8)), heads(linear(x, "v", 8, 8))
	p := s.on("Softmax", s.on("Mul", s.on("MatMul", q, s.turn(k, 0, 1, 3, 2)), 0.5))
	y := s.on("Reshape", s.turn(s.on("MatMul", p, v), 0, 2, 1, 3), []int{-1, 6, 8})
	x = norm(s.on("Add", x, linear(y, "o", 8, 8)), "first norm")
	wide := s.on("Gelu", linear(x, "in", 8, 16))
	return norm(s.on("Add", x, linear(wide, "out", 16, 8)), "second norm")
}

// encoderWork returns the multiply-adds of the encoder on three sequences of six, of whose 18 rows so many
// are read: keys and values take all.
func encoderWork(rows int64) int64 { return 18*2*64 + rows*(2*64+2*128+2*6*8) }

// TestNeededRowsTurned picks after a Transpose, as exporters write it where the batch comes first.
func TestNeededRowsTurned(t *testing.T) {
	s := spelling{name: "turned", shapes: "4,3,8", build: func(s speller, in ...*nn.Value) *nn.Value {
		x := s.turn(s.on("Tanh", s.on("MatMul", in[0], s.weight("w", 8, 6))), 1, 2, 0)
		return s.Node(std.GatherConfig{Axis: -1}, x, s.Const("index", dtype.Scalar(int64(-1)))).Out(0)
	}}
	g := s.graph(t, dtype.Float64)
	feed := s.feed(t, g, dtype.Float64)
	got, err := g.MultiplyAdds(map[*nn.Value]dtype.Value{g.Inputs()[0]: feed["x"]}, g.Outputs()[0])
	if err != nil {
		t.Fatal(err)
	}
	if got != 3*8*6 {
		t.Errorf("%d multiply-adds, want those of 3 rows of 12, %d", got, 3*8*6)
	}
	sameWithAndWithout(t, g, feed, 1e-12)
}

// TestNeededRows: a classifier that reads one row computes the layers in front of it for that row, as
// far as they work row by row, and gets the same outputs and gradients.
func TestNeededRows(t *testing.T) {
	for _, c := range []struct {
		name  string
		index []int // nil: 0 alone, without an axis
		keep  bool  // the last layer is an output as well
		rows  int64 // of it that are computed
	}{
		{"the first row", nil, false, 3},
		{"two rows", []int{-1, 2}, false, 6},
		{"five of six rows", []int{0, 1, 2, 3, 4}, false, 18},
		{"all are asked for", nil, true, 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range []dtype.DType{dtype.Float64, dtype.Float32} {
				s := spelling{name: c.name, shapes: "3,6,8", build: func(s speller, in ...*nn.Value) *nn.Value {
					x := encoder(s, encoder(s, in[0], "a "), "b ")
					if c.keep {
						s.Output("rows", x)
					}
					index := s.Const("index", dtype.Scalar(int64(0)))
					if c.index != nil {
						index = s.Ints("index", c.index...)
					}
					y := s.Node(std.GatherConfig{Axis: 1}, x, index).Out(0)
					return s.on("MatMul", y, s.weight("classes", 8, 5))
				}}
				g := s.graph(t, d)
				feed := s.feed(t, g, d)
				want := g.Outputs()[:len(g.Outputs())-1] // without the loss
				got, err := g.MultiplyAdds(map[*nn.Value]dtype.Value{g.Inputs()[0]: feed["x"]}, want...)
				if err != nil {
					t.Fatal(err)
				}
				if w := encoderWork(18) + encoderWork(c.rows) + 3*8*5*int64(max(1, len(c.index))); got != w {
					t.Errorf("%d multiply-adds, want %d", got, w)
				}
				tol := 1e-6
				if d == dtype.Float32 {
					tol = 1e-5
				}
				sameWithAndWithout(t, g, feed, tol)
			}
		})
	}
}
