package nn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// apply1 adds an operator of the standard's.
func apply1(c op.Config, in ...*G.Node) *G.Node { return G.Must(std.Operators().Apply1(c, in...)) }

func apply2(c op.Config, in ...*G.Node) (*G.Node, *G.Node) {
	out, err := std.Operators().ApplyN(2, c, in...)
	if err != nil {
		panic(err)
	}
	return out[0], out[1]
}

// whole returns a constant of int64, a scalar without a shape.
func whole(shape tensor.Shape, v ...int) *G.Node {
	d, err := dtype.FromInts(dtype.Int64, v, shape...)
	if err != nil {
		panic(err)
	}
	return G.NewConstant(d)
}

// turns repeats f with the state.
func turns(n int, h *G.Node, f func(t int, h *G.Node) *G.Node) (G.Nodes, error) {
	for t := range n {
		h = f(t, h)
	}
	return G.Nodes{h}, nil
}

func tanh(x *G.Node) *G.Node { return G.Must(G.Tanh(x)) }

func plus(a, b *G.Node) *G.Node { return G.Must(G.Add(a, b)) }

func times(a, b *G.Node) *G.Node { return G.Must(G.HadamardProd(a, b)) }

// besides are loops that differ from those of unrolled in one thing.
var besides = []unrolledLoop{
	{"one node a turn", []string{"x %s[N,3]"}, "Loop", 3, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return turns(4, x[0], func(_ int, h *G.Node) *G.Node { return G.Must(G.Mul(h, w)) })
	}},
	{"absent inputs", []string{"x %s[N,3]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[0], func(_ int, h *G.Node) *G.Node {
			return apply1(op.Plain("Clip"), plus(h, x[0]), nil, number(h, 0.75))
		})
	}},
	{"an input absent once", []string{"x %s[N,3]"}, "", 20, func(x ...*G.Node) (G.Nodes, error) {
		return turns(5, x[0], func(t int, h *G.Node) *G.Node {
			low := number(h, -0.5)
			if t == 2 {
				low = nil
			}
			return apply1(op.Plain("Clip"), plus(h, x[0]), low, number(h, 0.75))
		})
	}},
	{"one more input once", []string{"x %s[N,3]"}, "", 20, func(x ...*G.Node) (G.Nodes, error) {
		return turns(5, x[0], func(t int, h *G.Node) *G.Node {
			if t == 2 {
				return apply1(op.Plain("Sum"), h, x[0], x[0])
			}
			return apply1(op.Plain("Sum"), h, x[0])
		})
	}},
	{"rows that differ in one thing", []string{"x %s[N,15,3]", "y %s[N,15,3]", "h %s[N,3]"}, "Scan", 20, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[2], func(t int, h *G.Node) *G.Node {
			h = tanh(times(plus(h, row(x[0], t)), row(x[0], t+4)))
			return tanh(plus(times(h, row(x[0], 8+2*t)), row(x[1], t)))
		})
	}},
	{"rows from one place on", []string{"x %s[N,15,3]", "h %s[N,3]"}, "Scan", 20, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[1], func(t int, h *G.Node) *G.Node {
			return tanh(plus(times(h, apply1(std.GatherConfig{Axis: 1}, x[0], whole(nil, t))), apply1(std.GatherConfig{Axis: 1}, x[0], whole(nil, 2*t))))
		})
	}},
	{"rows that other turns read as well", []string{"x %s[N,9,3]", "y %s[N,9,3]", "h %s[N,3]"}, "", 40, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[2], func(t int, h *G.Node) *G.Node {
			h = times(plus(h, row(x[0], t)), row(x[0], t+1))
			return tanh(plus(times(h, row(x[0], 2*t)), row(x[1], t)))
		})
	}},
	{"rows and columns", []string{"x %s[4,4,3]", "h %s[4,3]"}, "Scan", 6, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[1], func(t int, h *G.Node) *G.Node {
			return tanh(plus(times(h, row(x[0], t)), G.Must(G.Slice(x[0], G.S(t)))))
		})
	}},
	{"the same rows twice", []string{"x %s[N,4,3]", "h %s[N,3]"}, "Scan", 6, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[1], func(t int, h *G.Node) *G.Node {
			at := func(h *G.Node) *G.Node { return apply1(std.GatherConfig{Axis: 1}, x[0], whole(nil, t)) }
			return tanh(plus(times(h, at(h)), tanh(at(h))))
		})
	}},
	{"every second row", []string{"x %s[N,5,3]", "h %s[N,3]"}, "Scan", 6, func(x ...*G.Node) (G.Nodes, error) {
		return turns(3, x[1], func(t int, h *G.Node) *G.Node { return tanh(plus(h, row(x[0], 2*t))) })
	}},
	{"mapped thrice", []string{"x %s[3,N,3]"}, "Scan", 5, func(x ...*G.Node) (G.Nodes, error) {
		return one(G.Concat(1, tanh(G.Must(G.Slice(x[0], G.S(0)))), tanh(G.Must(G.Slice(x[0], G.S(1)))), tanh(G.Must(G.Slice(x[0], G.S(2))))))
	}},
	{"mapped twice", []string{"x %s[2,N,3]"}, "", 9, func(x ...*G.Node) (G.Nodes, error) {
		return one(G.Concat(1, tanh(G.Must(G.Slice(x[0], G.S(0)))), tanh(G.Must(G.Slice(x[0], G.S(1))))))
	}},
	{"turned four times", []string{"x %s[3,4]"}, "", 12, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[0], func(_ int, h *G.Node) *G.Node { return tanh(G.Must(G.Transpose(h, 1, 0))) })
	}},
	{"turned six times", []string{"x %s[3,4]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		return turns(6, x[0], func(_ int, h *G.Node) *G.Node { return tanh(G.Must(G.Transpose(h, 1, 0))) })
	}},
	{"a number that is computed once", []string{"x %s[N,3]"}, "", 20, func(x ...*G.Node) (G.Nodes, error) {
		return turns(5, x[0], func(t int, h *G.Node) *G.Node {
			k := number(h, 0.5)
			if t == 2 {
				k = G.Must(G.Sum(x[0]))
			}
			return tanh(times(h, k))
		})
	}},
	{"a place that is computed once", []string{"x %s[N,5,3]", "h %s[N,3]"}, "", 40, func(x ...*G.Node) (G.Nodes, error) {
		return turns(5, x[1], func(t int, h *G.Node) *G.Node {
			k := whole(nil, t)
			if t == 2 {
				k = apply1(std.ReduceSumConfig{KeepDims: new(bool)}, apply1(op.Plain("Shape"), weight(x[0], "two", 1, 1)))
			}
			return tanh(plus(h, apply1(std.GatherConfig{Axis: 1}, x[0], k)))
		})
	}},
	{"the state is read twice", []string{"x %s[N,3]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		return turns(4, x[0], func(_ int, h *G.Node) *G.Node { return plus(tanh(G.Must(G.Mul(h, w))), h) })
	}},
	{"begins with two values", []string{"x %s[N,3]", "y %s[N,3]"}, "Loop", 7, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		other := x[1]
		return turns(4, x[0], func(_ int, h *G.Node) *G.Node {
			h, other = plus(tanh(G.Must(G.Mul(h, w))), other), nil
			other = h
			return h
		})
	}},
	{"begins with another shape, thrice", []string{"x %s[N,3]", "h %s[1,3]"}, "", 10, func(x ...*G.Node) (G.Nodes, error) {
		return turns(3, x[1], func(t int, h *G.Node) *G.Node { return tanh(apply1(op.Plain("Add"), h, x[0])) })
	}},
	{"beside the last state", []string{"x %s[N,4,3]", "h %s[N,3]"}, "Scan", 30, func(x ...*G.Node) (G.Nodes, error) {
		h, all := x[1], G.Nodes{}
		for t := range 4 {
			h = tanh(plus(row(x[0], t), h))
			all = append(all, h)
		}
		for t := range all {
			all[t] = G.Must(G.Sub(all[t], h))
		}
		return one(G.Concat(1, all...))
	}},
	{"beside what is computed once", []string{"x %s[N,4,3]", "h %s[N,3]"}, "Scan", 7, func(x ...*G.Node) (G.Nodes, error) {
		h, w, all := x[1], tanh(x[1]), G.Nodes{}
		for t := range 4 {
			h = tanh(plus(row(x[0], t), h))
			all = append(all, times(h, w))
		}
		return one(G.Concat(1, all...))
	}},
	{"the last inner value is read", []string{"x %s[N,3]"}, "Loop", 9, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 3)
		var inner *G.Node
		h, err := turns(4, x[0], func(_ int, h *G.Node) *G.Node {
			inner = G.Must(G.Mul(h, w))
			return tanh(inner)
		})
		return append(G.Nodes{inner}, h...), err
	}},
	{"a column of the state", []string{"x %s[N,3]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		return turns(3, x[0], func(t int, h *G.Node) *G.Node {
			return tanh(apply1(op.Plain("Mul"), h, G.Must(G.Reshape(row(h, t), tensor.Shape{h.Shape()[0], 1}))))
		})
	}},
	{"tables that grow", []string{"x %s[N,3]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		return turns(4, x[0], func(t int, h *G.Node) *G.Node {
			table, err := op.Const(h.Graph(), whole(tensor.Shape{3}, 1, 2+t, 3).Value().(*tensor.Dense))
			if err != nil {
				panic(err)
			}
			k := apply1(std.GatherConfig{}, table, whole(nil, 1))
			return tanh(apply1(op.Plain("Mul"), h, apply1(std.CastConfig{To: op.NodeType(h).DType}, k)))
		})
	}},
	{"two lists of results", []string{"x %s[N,4,3]", "h %s[N,3]"}, "Scan", 8, func(x ...*G.Node) (G.Nodes, error) {
		h, a, b := x[1], G.Nodes{}, G.Nodes{}
		for t := range 4 {
			inner := plus(row(x[0], t), h)
			h = tanh(inner)
			a, b = append(a, h), append(b, G.Must(G.Exp(inner)))
		}
		return G.Nodes{G.Must(G.Concat(1, a...)), G.Must(G.Concat(0, b...))}, nil
	}},
	{"one list of both results", []string{"x %s[N,4,3]", "h %s[N,3]"}, "Scan", 16, func(x ...*G.Node) (G.Nodes, error) {
		h, a, b := x[1], G.Nodes{}, G.Nodes{}
		for t := range 4 {
			inner := plus(row(x[0], t), h)
			h = tanh(inner)
			a, b = append(a, h), append(b, G.Must(G.Exp(inner)))
		}
		return one(G.Concat(1, append(a, b...)...))
	}},
	{"two open sizes in a list", []string{"x %s[N,S]"}, "Loop", 30, func(x ...*G.Node) (G.Nodes, error) {
		h, all := x[0], G.Nodes{}
		for range 4 {
			h = tanh(plus(h, x[0]))
			all = append(all, G.Must(G.Reshape(h, tensor.Shape{1, h.Shape()[0], h.Shape()[1]})))
		}
		return one(G.Concat(0, all...))
	}},
	{"another output is read once", []string{"x %s[N,4]"}, "", 40, func(x ...*G.Node) (G.Nodes, error) {
		return turns(5, x[0], func(t int, h *G.Node) *G.Node {
			a, b := apply2(std.SplitConfig{Axis: 1, NumOutputs: 2}, h)
			if t == 2 {
				a, b = b, a
			}
			return apply1(std.ConcatConfig{Axis: 1}, tanh(b), a)
		})
	}},
	{"mapped to two results", []string{"x %s[4,N,6]"}, "Scan", 12, func(x ...*G.Node) (G.Nodes, error) {
		var left, right G.Nodes
		for t := range 4 {
			a, b := apply2(std.SplitConfig{Axis: 1, NumOutputs: 2}, tanh(G.Must(G.Slice(x[0], G.S(t)))))
			left, right = append(left, a), append(right, b)
		}
		return G.Nodes{G.Must(G.Concat(0, left...)), G.Must(G.Concat(1, right...))}, nil
	}},
}

// TestRollLimits: the largest body, and how far back the same operator is looked for.
func TestRollLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  string
		turn func(h *G.Node) *G.Node
	}{
		{"500 nodes", "Loop", leaks(500)}, {"501 nodes", "", leaks(501)}, {"16 layers", "Loop", products(16)}, {"17 layers", "", products(17)},
	} {
		g, err := nn.Tracer{Roll: true}.Trace(func(x ...*G.Node) (G.Nodes, error) {
			return turns(3, x[0], func(_ int, h *G.Node) *G.Node { return c.turn(h) })
		}, "x float32[2,2]")
		if err != nil {
			t.Fatal(err)
		}
		if got := operators(g); got != c.ops && (c.ops != "" || strings.Contains(got, "Loop")) {
			t.Errorf("%s are %.100s, want %q", c.name, got, c.ops)
		}
	}
}

// leaks are layers that all have another number.
func leaks(n int) func(h *G.Node) *G.Node {
	return func(h *G.Node) *G.Node {
		for i := range n {
			alpha := 1 / float32(i+1)
			h = apply1(std.LeakyReluConfig{Alpha: &alpha}, h)
		}
		return h
	}
}

// products are layers with weights of their own.
func products(n int) func(h *G.Node) *G.Node {
	var list G.Nodes
	return func(h *G.Node) *G.Node {
		for i := range n {
			if len(list) == i {
				list = append(list, weight(h, fmt.Sprint("w", i), 2, 2))
			}
			h = G.Must(G.Mul(h, list[i]))
		}
		return h
	}
}
