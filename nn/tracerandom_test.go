package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// sized is a node and what its dimensions are: k is a number, −k that many times the batch.
type sized struct {
	n    *G.Node
	dims []int
}

// randomExpr returns a function of a matrix [batch,4], made of random operators of Gorgonia's. What it does is the same at each batch.
func randomExpr(seed uint64) nn.Expr {
	return func(x ...*G.Node) (G.Nodes, error) {
		r := rand.New(rand.NewPCG(seed, 21))
		batch := x[0].Shape()[0]
		length := func(d int) int {
			if d < 0 {
				return -d * batch
			}
			return d
		}
		live := []sized{{x[0], []int{-1, 4}}}
		pick := func(rank int) (list []sized) {
			for _, v := range live {
				if rank == len(v.dims) {
					list = append(list, v)
				}
			}
			return list
		}
		add := func(n *G.Node, err error, dims ...int) {
			if err == nil {
				live = append(live, sized{n, dims})
			}
		}
		weight := func(name string, dims ...int) *G.Node {
			return fixed(x[0].Graph(), fmt.Sprint(name, len(live)), dims...)
		}
		for range 6 + r.IntN(6) {
			list := pick(2)
			a := list[r.IntN(len(list))]
			b := list[r.IntN(len(list))]
			rows, cols := a.dims[0], a.dims[1]
			same := fmt.Sprint(a.dims) == fmt.Sprint(b.dims)
			switch k := r.IntN(16); {
			case k == 0:
				f := []func(*G.Node) (*G.Node, error){G.Tanh, G.Sigmoid, G.Square, G.Neg, G.Abs, G.Rectify, G.Cos}[r.IntN(7)]
				n, err := f(a.n)
				add(n, err, a.dims...)
			case k == 1 && same:
				n, err := []func(a, b *G.Node) (*G.Node, error){G.Add, G.Sub, G.HadamardProd}[r.IntN(3)](a.n, b.n)
				add(n, err, a.dims...)
			case k == 2 && cols > 0:
				n, err := G.Mul(a.n, weight("w", cols, 2+r.IntN(3)))
				if err == nil {
					add(n, nil, rows, n.Shape()[1])
				}
			case k == 3 && cols > 1:
				n, err := G.BroadcastAdd(a.n, weight("b", cols), nil, []byte{0})
				add(n, err, a.dims...)
			case k == 4 && cols > 1:
				n, err := G.BroadcastHadamardProd(a.n, weight("s", 1, cols), nil, []byte{0})
				add(n, err, a.dims...)
			case k == 5: // the mean over the batch, or over columns, taken away
				axis := r.IntN(2)
				m, err := G.Mean(a.n, axis)
				if err != nil || length(a.dims[1-axis]) == 1 {
					continue
				}
				shape := tensor.Shape{length(rows), length(cols)}
				shape[axis] = 1
				if m, err = G.Reshape(m, shape); err == nil {
					n, err := G.BroadcastSub(a.n, m, nil, []byte{byte(axis)})
					add(n, err, a.dims...)
				}
			case k == 6 && rows == b.dims[0] && cols > 0 && b.dims[1] > 0:
				n, err := G.Concat(1, a.n, b.n)
				add(n, err, rows, cols+b.dims[1])
			case k == 7 && cols == b.dims[1] && rows < 0 && b.dims[0] < 0:
				n, err := G.Concat(0, a.n, b.n, a.n)
				add(n, err, 2*rows+b.dims[0], cols)
			case k == 8 && cols > 2:
				from := r.IntN(cols - 2)
				to := from + 2 + r.IntN(cols-from-1)
				n, err := G.Slice(a.n, nil, G.S(from, to))
				add(n, err, rows, to-from)
			case k == 9 && cols%2 == 0 && cols > 2 && rows < 0: // two rows of each
				n, err := G.Reshape(a.n, tensor.Shape{length(2 * rows), cols / 2})
				add(n, err, 2*rows, cols/2)
			case k == 10 && rows < 0 && cols > 0 && -rows*cols < 64: // one row of each sample
				n, err := G.Reshape(a.n, tensor.Shape{batch, -rows * cols})
				add(n, err, -1, -rows*cols)
			case k == 11:
				n, err := G.Transpose(a.n, 1, 0)
				add(n, err, cols, rows)
			case k == 12 && cols > 1:
				n, err := G.SoftMax(a.n)
				add(n, err, a.dims...)
			case k == 13:
				n, err := G.Mul(a.n, G.NewConstant([]float32{0.5, float32(length(rows)), 1 / float32(batch), float32(2*batch + 1)}[r.IntN(4)]))
				add(n, err, a.dims...)
			case k == 14 && cols > 0: // columns against columns
				at, err := G.Transpose(a.n, 1, 0)
				if err == nil && rows == b.dims[0] {
					n, err := G.Mul(at, b.n)
					add(n, err, cols, b.dims[1])
				}
			case k == 15: // each by what is larger than it
				sq, err := G.Square(a.n)
				if err == nil {
					more, err := G.Add(sq, G.NewConstant(float32(1)))
					if err == nil {
						n, err := G.Div(a.n, more)
						add(n, err, a.dims...)
					}
				}
			}
		}
		out := G.Nodes{live[len(live)-1].n, live[len(live)/2].n}
		sum, err := G.Sum(live[len(live)-1].n)
		return append(out, sum), err
	}
}

// bySteps runs f on the machine of Gorgonia's that keeps every value: the other one writes some over that are read again.
func bySteps(t *testing.T, f nn.Expr, x *tensor.Dense) []G.Value {
	t.Helper()
	g := G.NewGraph()
	out, err := f(G.NodeFromAny(g, x, G.WithName("x")))
	if err != nil {
		t.Fatal(err)
	}
	m := G.NewLispMachine(g, G.ExecuteFwdOnly())
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	var list []G.Value
	for _, n := range out {
		list = append(list, n.Value())
	}
	return list
}

// TestTraceRandom compares random functions, traced with a batch that is a symbol and with one that is a number, with what Gorgonia
// computes at several sizes.
func TestTraceRandom(t *testing.T) {
	for seed := range uint64(150) {
		f := randomExpr(seed)
		open, err := nn.Trace(f, "x float32[N,4]")
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for _, n := range []int{2, 3, 7} {
			x := random(seed+uint64(n), n, 4)
			want := bySteps(t, f, x)
			closed, err := nn.Trace(f, fmt.Sprintf("x float32[%d,4]", n))
			if err != nil {
				t.Fatalf("seed %d, batch %d: %v", seed, n, err)
			}
			for _, g := range []*nn.Graph{open, closed} {
				got, err := g.Run(t.Context(), x)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for i := range want {
					tapeNear(t, fmt.Sprintf("seed %d, batch %d, output %d", seed, n, i), got[i], want[i])
				}
			}
		}
	}
}
