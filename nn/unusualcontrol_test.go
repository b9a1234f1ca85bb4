package nn_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// std1 applies an operator of the standard.
func std1(c op.Config, x ...*G.Node) *G.Node { return G.Must(std.Operators().Apply1(c, x...)) }

// scalarOf returns a constant beside x, in the type of v.
func scalarOf[T bool | int64](x *G.Node, v T) *G.Node {
	return G.Must(op.Const(x.Graph(), dtype.Scalar(v)))
}

func asFloat(like, x *G.Node) *G.Node {
	return std1(std.CastConfig{To: dtype.Of(like.Dtype())}, x)
}

// rows returns the slices along the first axis.
func rows(x *G.Node, n int) (list G.Nodes) {
	for t := range n {
		list = append(list, G.Must(G.Slice(x, G.S(t))))
	}
	return list
}

// stacked puts values along a new first axis.
func stacked(list ...*G.Node) *G.Node {
	var all G.Nodes
	for _, x := range list {
		all = append(all, std1(std.UnsqueezeConfig{}, x, G.Must(op.Const(x.Graph(), must(dtype.FromSlice([]int64{0}, 1))))))
	}
	return std1(std.ConcatConfig{}, all...)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var unusualControls = []control{
	{"no turns", []string{"x %s[N,3]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return nn.For(0, func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{grow(s[1], w)}, nil }, x[0])
	}, func(x ...*G.Node) (G.Nodes, error) { // the weights are read, and of no consequence
		zero := G.Must(G.HadamardProd(grow(x[0], weight(x[0], "w", 3, 3)), number(x[0], 0)))
		return one(G.Add(x[0], zero))
	}},
	{"a condition that never holds", []string{"x %s[N,3]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return nn.While(func(s ...*G.Node) (*G.Node, error) { return G.Lt(energy(s[0]), number(x[0], -1), false) },
			func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{grow(s[0], w)}, nil }, x[0])
	}, func(x ...*G.Node) (G.Nodes, error) {
		zero := G.Must(G.HadamardProd(grow(x[0], weight(x[0], "w", 3, 3)), number(x[0], 0)))
		return one(G.Add(x[0], zero))
	}},
	{"values of two graphs around", []string{"x %s[4,N,3]", "y %s[N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		twice := G.Must(G.Add(x[1], x[1]))
		final, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
			around := G.Must(G.HadamardProd(s[0], s[1])) // of the body around
			out, err := nn.For(2, func(r ...*G.Node) (G.Nodes, error) {
				return nn.Cond(G.Must(G.Gt(energy(around), number(x[0], -1), false)),
					func(y ...*G.Node) (G.Nodes, error) {
						sum := G.Must(G.Add(G.Must(G.Mul(y[0], w)), G.Must(G.Add(around, twice))))
						return one(G.Tanh(G.Must(G.Add(sum, s[0]))))
					},
					func(y ...*G.Node) (G.Nodes, error) { return G.Nodes{x[1]}, nil }, r[1])
			}, s[1])
			return append(out, out[0]), err
		}, G.Nodes{x[1]}, G.Nodes{x[0]})
		return append(final, all...), err
	}, func(x ...*G.Node) (G.Nodes, error) {
		w, h := weight(x[0], "w", 3, 3), x[1]
		twice := G.Must(G.Add(x[1], x[1]))
		var all G.Nodes
		for _, s := range rows(x[0], 4) {
			around, y := G.Must(G.HadamardProd(h, s)), s
			for range 2 {
				sum := G.Must(G.Add(G.Must(G.Mul(y, w)), G.Must(G.Add(around, twice))))
				y = G.Must(G.Tanh(G.Must(G.Add(sum, h))))
			}
			h, all = y, append(all, y)
		}
		return G.Nodes{h, stacked(all...)}, nil
	}},
	{"what does not change", []string{"x %s[3,N,3]", "h %s[N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		final, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
			return G.Nodes{s[0], s[1], w, s[0], number(x[0], 3)}, nil // state, slice, weight, state again, a number
		}, G.Nodes{x[1]}, G.Nodes{x[0]})
		return append(final, all...), err
	}, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		three := asFloat(x[0], G.Must(op.Const(x[0].Graph(), must(dtype.FromSlice([]int64{3, 3, 3}, 3)))))
		return G.Nodes{x[1], x[0], stacked(w, w, w), stacked(x[1], x[1], x[1]), three}, nil
	}},
	{"integers and booleans", []string{"x %s[N,3]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		out, err := nn.While(func(s ...*G.Node) (*G.Node, error) { return s[1], nil }, func(s ...*G.Node) (G.Nodes, error) {
			n := std1(op.Plain("Add"), s[0], scalarOf(x[0], int64(2)))
			return G.Nodes{n, std1(op.Plain("Less"), n, scalarOf(x[0], int64(7))), grow(s[2], w)}, nil
		}, scalarOf(x[0], int64(1)), scalarOf(x[0], true), x[0])
		if err != nil {
			return nil, err
		}
		return G.Nodes{asFloat(x[0], out[0]), asFloat(x[0], out[1]), out[2]}, nil
	}, func(x ...*G.Node) (G.Nodes, error) { // 1, 3, 5, 7
		w, h := weight(x[0], "w", 3, 3), x[0]
		for range 3 {
			h = grow(h, w)
		}
		return G.Nodes{asFloat(x[0], scalarOf(x[0], int64(7))), asFloat(x[0], scalarOf(x[0], false)), h}, nil
	}},
	{"constants to begin with", []string{"x %s[N,3]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		return nn.For(3, func(s ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.Add(s[1], energy(s[2]))), G.Must(G.Sin(s[2])), number(x[0], 2)}, nil
		}, number(x[0], 1), x[0], number(x[0], 5))
	}, func(x ...*G.Node) (G.Nodes, error) {
		sum, h := number(x[0], 1), x[0]
		for range 3 {
			sum, h = G.Must(G.Add(sum, energy(h))), G.Must(G.Sin(h))
		}
		return G.Nodes{sum, h, asFloat(x[0], scalarOf(x[0], int64(2)))}, nil
	}},
	{"states change places", []string{"x %s[N,3]", "y %s[N,3]"}, "Loop", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return nn.For(3, func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{s[2], grow(s[1], w)}, nil }, x[0], x[1])
	}, func(x ...*G.Node) (G.Nodes, error) {
		w, a, b := weight(x[0], "w", 3, 3), x[0], x[1]
		for range 3 {
			a, b = b, grow(a, w)
		}
		return G.Nodes{a, b}, nil
	}},
	{"several results", []string{"x %s[3,N,3]", "y %s[3,N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		zero := G.Must(G.HadamardProd(G.Must(G.Slice(x[0], G.S(0))), number(x[0], 0)))
		final, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
			a, b := grow(G.Must(G.Add(s[0], s[2])), w), G.Must(G.HadamardProd(s[1], s[3]))
			return G.Nodes{a, G.Must(G.Add(b, s[2])), G.Must(G.Square(a)), energy(b), b}, nil
		}, G.Nodes{zero, zero}, G.Nodes{x[0], x[1]})
		return append(final, all...), err
	}, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		a := G.Must(G.HadamardProd(G.Must(G.Slice(x[0], G.S(0))), number(x[0], 0)))
		b := a
		ys := rows(x[1], 3)
		var all [3]G.Nodes
		for t, s := range rows(x[0], 3) {
			a = grow(G.Must(G.Add(a, s)), w)
			p := G.Must(G.HadamardProd(b, ys[t]))
			b = G.Must(G.Add(p, s))
			for i, v := range (G.Nodes{G.Must(G.Square(a)), energy(p), p}) {
				all[i] = append(all[i], v)
			}
		}
		return G.Nodes{a, b, stacked(all[0]...), stacked(all[1]...), stacked(all[2]...)}, nil
	}},
	{"nothing is carried", []string{"x %s[4,N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		_, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{grow(s[0], w)}, nil }, nil, G.Nodes{x[0]})
		return all, err
	}, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		var all G.Nodes
		for _, s := range rows(x[0], 4) {
			all = append(all, grow(s, w))
		}
		return G.Nodes{stacked(all...)}, nil
	}},
	{"layers whose weights are stacked", []string{"x %s[N,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		final, _, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{grow(s[0], s[1])}, nil }, G.Nodes{x[0]}, G.Nodes{weight(x[0], "w", 4, 3, 3)})
		return final, err
	}, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for _, w := range rows(weight(x[0], "w", 4, 3, 3), 4) {
			h = grow(h, w)
		}
		return G.Nodes{h}, nil
	}},
	{"a weight to begin with", []string{"x %s[4,3,3]"}, "Scan", func(x ...*G.Node) (G.Nodes, error) {
		final, _, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) { return one(G.Tanh(G.Must(G.Add(s[0], s[1])))) }, G.Nodes{weight(x[0], "h", 3, 3)}, G.Nodes{x[0]})
		return final, err
	}, func(x ...*G.Node) (G.Nodes, error) {
		h := weight(x[0], "h", 3, 3)
		for _, s := range rows(x[0], 4) {
			h = G.Must(G.Tanh(G.Must(G.Add(h, s))))
		}
		return G.Nodes{h}, nil
	}},
	{"branches with several results", []string{"x %s[N,3]"}, "If", func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return nn.Cond(G.Must(G.Gt(energy(x[0]), number(x[0], 0), false)),
			func(y ...*G.Node) (G.Nodes, error) { h := grow(y[0], w); return G.Nodes{h, y[0], h, energy(h)}, nil },
			func(y ...*G.Node) (G.Nodes, error) {
				return G.Nodes{y[0], y[0], G.Must(G.Square(y[0])), number(x[0], 1)}, nil
			}, x[0])
	}, func(x ...*G.Node) (G.Nodes, error) {
		h := grow(x[0], weight(x[0], "w", 3, 3))
		return G.Nodes{h, x[0], h, energy(h)}, nil
	}},
}

// A sequence of no elements leaves the state, stacks nothing and has gradients of zero. ONNX Runtime takes a Scan over none for an
// error; a Loop of no turns it runs (TestControl).
func TestForEachOfNothing(t *testing.T) {
	f := func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		final, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
			h := grow(G.Must(G.Add(s[0], s[1])), w)
			return G.Nodes{h, h}, nil
		}, G.Nodes{x[1]}, G.Nodes{x[0]})
		return append(final, all...), err
	}
	g, err := nn.Trace(loss(f), "x float32[T,N,3]", "h float32[N,3]")
	if err != nil {
		t.Fatal(err)
	}
	feed := nn.Feed{"x": dtype.New(dtype.Float32, 0, 2, 3), "h": random(3, 2, 3)}
	out, err := g.Eval(t.Context(), feed)
	if err != nil {
		t.Fatal(err)
	}
	y := g.Outputs()
	if _, err := (dtype.Tolerance{}).Compare(out[y[0].Name()], feed["h"]); err != nil {
		t.Error(err)
	}
	if s := out[y[1].Name()].Shape(); len(s) != 3 || s[0] != 0 || s[1] != 2 || s[2] != 3 {
		t.Errorf("stacked has shape %v, want [0 2 3]", s)
	}
	grads, err := g.Grad(t.Context(), feed, y[2].Name(), "x", "h", "w")
	if err != nil {
		t.Fatal(err)
	}
	if s := grads["x"].Shape(); s[0] != 0 {
		t.Errorf("the gradient of x has shape %v", s)
	}
	for i, v := range numbersOf(t, grads["h"]) {
		if want := 2 * numbersOf(t, feed["h"])[i]; v != want {
			t.Errorf("gradient of h, element %d: %g, want %g", i, v, want)
		}
	}
	for _, v := range numbersOf(t, grads["w"]) {
		if v != 0 {
			t.Errorf("gradient of w: %g", v)
		}
	}
	file := filepath.Join(t.TempDir(), "none.onnx")
	if err := onnxio.Save(file, g); err != nil {
		t.Fatal(err)
	}
	in := map[string]oracle.Tensor{}
	for name, v := range feed {
		in[name] = oracle.Tensor{DType: "float32", Shape: append([]int{}, v.Shape()...), Data: dtype.Bytes(v.(*tensor.Dense))}
	}
	if _, err := oracle.ORT(t).RunFile(file, in); err == nil || !strings.Contains(err.Error(), "Scan") {
		t.Errorf("ONNX Runtime, which refuses a Scan over nothing, says %v", err)
	}
}

// TestControlOfOtherShapes checks that values whose shape or type changes between iterations, and
// branches that differ, are refused with both types.
func TestControlOfOtherShapes(t *testing.T) {
	for want, f := range map[string]nn.Expr{
		"For: state 1 is float32[2,3], and float32[3,2] after an iteration": func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{s[1], G.Must(G.Transpose(s[2], 1, 0))}, nil }, x[0], x[0])
		},
		"For: state 0 is float32[2,3], and bool[2,3] after an iteration": func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) { return one(G.Gt(s[1], number(s[1], 0), false)) }, x[0])
		},
		"ForEach: state 0 is float32[2,3], and float32[3] after an iteration": func(x ...*G.Node) (G.Nodes, error) {
			out, _, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{s[1]}, nil }, G.Nodes{x[0]}, G.Nodes{x[0]})
			return out, err
		},
		"ForEach: the body returns 1 values, fewer than the state has: 2": func(x ...*G.Node) (G.Nodes, error) {
			out, _, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) { return s[:1], nil }, G.Nodes{x[0], x[0]}, G.Nodes{x[0]})
			return out, err
		},
		"Cond: has 1 values, 2 in the other branch": func(x ...*G.Node) (G.Nodes, error) {
			yes := func(x ...*G.Node) (G.Nodes, error) { return x, nil }
			return nn.Cond(G.Must(G.Gt(energy(x[0]), number(x[0], 0), false)), yes, func(x ...*G.Node) (G.Nodes, error) { return append(x, x[0]), nil }, x[0])
		},
		"Cond: result 0 is float32[2,3], and float32[] in the other branch": func(x ...*G.Node) (G.Nodes, error) {
			yes := func(x ...*G.Node) (G.Nodes, error) { return x, nil }
			return nn.Cond(G.Must(G.Gt(energy(x[0]), number(x[0], 0), false)), yes, func(x ...*G.Node) (G.Nodes, error) { return G.Nodes{energy(x[0])}, nil }, x[0])
		},
		"For: -1 iterations: want none or more": func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(-1, func(s ...*G.Node) (G.Nodes, error) { return s[1:], nil }, x[0])
		},
	} {
		if _, err := nn.Trace(f, "x float32[2,3]"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
