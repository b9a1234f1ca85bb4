package engine

import (
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

// network is a graph of Gorgonia's own operations with the gradients of its parameters.
type network struct {
	graph *gorgonia.ExprGraph
	wrt   gorgonia.Nodes
	want  gorgonia.Nodes // cost and gradients
}

func finish(t testing.TB, g *gorgonia.ExprGraph, cost *gorgonia.Node, wrt ...*gorgonia.Node) network {
	t.Helper()
	grads, err := gorgonia.Grad(cost, wrt...)
	if err != nil {
		t.Fatal(err)
	}
	return network{g, wrt, append(gorgonia.Nodes{cost}, grads...)}
}

func mlp(t testing.TB) network {
	r := rand.New(rand.NewSource(1))
	g := gorgonia.NewGraph()
	x, y := input(g, "x", random(r, 5, 4)), input(g, "y", random(r, 5, 3))
	w1, b1 := input(g, "w1", random(r, 4, 6)), input(g, "b1", random(r, 6))
	w2, b2 := input(g, "w2", random(r, 6, 3)), input(g, "b2", random(r, 3))
	h := gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w1)), b1, nil, []byte{0}))
	h = gorgonia.Must(gorgonia.Tanh(h))
	o := gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(h, w2)), b2, nil, []byte{0}))
	p := gorgonia.Must(gorgonia.SoftMax(o))
	cost := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(p, y))))))
	return finish(t, g, cost, w1, b1, w2, b2)
}

func cnn(t testing.TB) network {
	r := rand.New(rand.NewSource(2))
	g := gorgonia.NewGraph()
	x, y := input(g, "x", random(r, 2, 1, 8, 8)), input(g, "y", random(r, 2, 3))
	k1, k2 := input(g, "k1", random(r, 4, 1, 3, 3)), input(g, "k2", random(r, 3, 4, 3, 3))
	w := input(g, "w", random(r, 12, 3))
	conv := func(x, k *gorgonia.Node) *gorgonia.Node {
		c := gorgonia.Must(gorgonia.Conv2d(x, k, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))
		return gorgonia.Must(gorgonia.MaxPool2D(gorgonia.Must(gorgonia.Rectify(c)), tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	}
	h := gorgonia.Must(gorgonia.Reshape(conv(conv(x, k1), k2), tensor.Shape{2, 12}))
	o := gorgonia.Must(gorgonia.LogSoftMax(gorgonia.Must(gorgonia.Mul(h, w)), 1))
	cost := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(o, y))))))
	return finish(t, g, cost, k1, k2, w)
}

// odds collects operations that slice, repeat, transpose, view and sum up in several ways.
func odds(t testing.TB) network {
	r := rand.New(rand.NewSource(3))
	g := gorgonia.NewGraph()
	x, y := input(g, "x", random(r, 4, 6)), input(g, "y", random(r, 4, 6))
	s := input(g, "s", dtype.Scalar(float32(0.5)))
	two := gorgonia.NewConstant(float32(2))
	a := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Add(x, y)), s))
	b := gorgonia.Must(gorgonia.Transpose(gorgonia.Must(gorgonia.Sigmoid(x)), 1, 0))
	c := gorgonia.Must(gorgonia.Reshape(b, tensor.Shape{4, 6}))
	d := gorgonia.Must(gorgonia.Concat(0, gorgonia.Must(gorgonia.Slice(a, gorgonia.S(0, 2))), gorgonia.Must(gorgonia.Slice(c, gorgonia.S(1, 3)))))
	e := gorgonia.Must(gorgonia.Pow(d, two))
	f := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Add(e, a)), c)), gorgonia.Must(gorgonia.Add(x, gorgonia.Must(gorgonia.Add(y, x))))))
	cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(f, gorgonia.Must(gorgonia.Exp(gorgonia.Must(gorgonia.Neg(x))))))))
	cost = gorgonia.Must(gorgonia.Add(cost, gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Max(x, 1))))))
	return finish(t, g, cost, x, y, s)
}

var networks = []struct {
	name  string
	build func(testing.TB) network
}{{"mlp", mlp}, {"cnn", cnn}, {"odds", odds}}

// numbers returns the elements of a value, whatever its form.
func numbers(t testing.TB, v gorgonia.Value) []float32 {
	t.Helper()
	switch v := v.(type) {
	case *gorgonia.F32:
		return []float32{float32(*v)}
	case *tensor.Dense:
		out := make([]float32, v.Shape().TotalSize())
		d := dtype.New(dtype.Float32, len(out))
		if err := flatten(d.Raw, v); err != nil {
			t.Fatal(err)
		}
		copy(out, dtype.Slice[float32](d))
		return out
	}
	t.Fatalf("value is a %T", v)
	return nil
}

func tape(t testing.TB, n network) [][]float32 {
	t.Helper()
	vm := gorgonia.NewTapeMachine(n.graph, gorgonia.BindDualValues(n.wrt...))
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	out := [][]float32{numbers(t, n.want[0].Value())}
	for _, w := range n.wrt {
		d, err := w.Grad()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, numbers(t, d))
	}
	return out
}

func near(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		d := float64(x) - float64(y)
		return max(d, -d) <= 1e-5*max(1, float64(x), -float64(x))
	})
}

func TestStockGraphsAgreeWithTapeMachine(t *testing.T) {
	for _, c := range networks {
		t.Run(c.name, func(t *testing.T) {
			want := tape(t, c.build(t))
			n := c.build(t)
			p := compile(t, n.want...)
			for range 3 {
				run(t, p)
				for i, root := range n.want {
					if got := numbers(t, p.Value(root)); !near(got, want[i]) {
						t.Errorf("root %d: got %v, want %v", i, got, want[i])
					}
				}
			}
			m := c.build(t)
			vm := NewVM(m.graph, Options{})
			for range 2 {
				if err := vm.RunAll(); err != nil {
					t.Fatal(err)
				}
				vm.Reset()
				for i, w := range m.wrt {
					d, err := w.Grad()
					if err != nil {
						t.Fatal(err)
					}
					if got := numbers(t, d); !near(got, want[i+1]) {
						t.Errorf("gradient %d: got %v, want %v", i, got, want[i+1])
					}
				}
				if got := numbers(t, m.want[0].Value()); !near(got, want[0]) {
					t.Errorf("cost: got %v, want %v", got, want[0])
				}
			}
			if err := vm.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStockSolverTrainsOnVM(t *testing.T) {
	losses := func(vm func(network) gorgonia.VM) (out []float32) {
		n := mlp(t)
		m := vm(n)
		defer m.Close()
		var seen gorgonia.Value
		gorgonia.Read(n.want[0], &seen)
		s := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.1))
		for range 5 {
			if err := m.RunAll(); err != nil {
				t.Fatal(err)
			}
			out = append(out, numbers(t, n.want[0].Value())...)
			if err := s.Step(gorgonia.NodesToValueGrads(n.wrt)); err != nil {
				t.Fatal(err)
			}
			m.Reset()
		}
		return out
	}
	want := losses(func(n network) gorgonia.VM {
		return gorgonia.NewTapeMachine(n.graph, gorgonia.BindDualValues(n.wrt...))
	})
	got := losses(func(n network) gorgonia.VM { return NewVM(n.graph, Options{}) })
	if !near(got, want) || got[4] >= got[0] {
		t.Errorf("losses %v, want %v", got, want)
	}
}

func TestReadIsServed(t *testing.T) {
	g := gorgonia.NewGraph()
	x := input(g, "x", dense(1, 2))
	y := gorgonia.Must(gorgonia.Square(x))
	var into gorgonia.Value
	gorgonia.Read(y, &into)
	vm := NewVM(g, Options{})
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	wantFloats(t, "read value", into, 1, 4)
}

func TestProgramsRunAtOnce(t *testing.T) {
	pool := kernel.NewPool(2)
	defer pool.Close()
	for _, c := range []struct {
		name  string
		build func(testing.TB) network
	}{{"stock", mlp}, {"own", own}} {
		t.Run(c.name, func(t *testing.T) {
			shared := c.build(t)
			var wg sync.WaitGroup
			errs := make(chan error, 8)
			want := make([][]float32, len(shared.want))
			probe := c.build(t)
			first := compile(t, probe.want...)
			run(t, first)
			for i, n := range probe.want {
				want[i] = numbers(t, first.Value(n))
			}
			for range 4 {
				p, err := Compile(Options{Pool: pool}, shared.want...)
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					for range 10 {
						if err := p.Run(t.Context()); err != nil {
							errs <- err
							return
						}
						for i, n := range shared.want {
							if got := numbers(t, p.Value(n)); !near(got, want[i]) {
								errs <- fmt.Errorf("root %d: got %v, want %v", i, got, want[i])
								return
							}
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				t.Error(err)
			}
		})
	}
}
