package engine

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// own returns a graph of toy operations, a view, stock additions and their gradients by Gorgonia.
func own(t testing.TB) network {
	r := rand.New(rand.NewSource(4))
	g := gorgonia.NewGraph()
	x, y := input(g, "x", random(r, 4, 3)), input(g, "y", random(r, 12))
	h := reshaped(t, x, 12)
	h = squared(t, h)
	h = gorgonia.Must(gorgonia.Add(h, y))
	h = gorgonia.Must(gorgonia.Add(squared(t, h), h))
	h = gorgonia.Must(gorgonia.Add(h, y))
	cost := gorgonia.Must(gorgonia.Sum(h))
	n := finish(t, g, cost, x, y)
	return n
}

func squared(t testing.TB, x *gorgonia.Node) *gorgonia.Node {
	c := floats("square", x.Shape(), func(out []float32, in ...[]float32) {
		for i, v := range in[0] {
			out[i] = v * v
		}
	})
	c.InPlace, c.Key = []int{0}, "square"
	return apply(t, c, func(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
		d := floats("square'", x.Shape(), func(out []float32, in ...[]float32) {
			for i, v := range in[0] {
				out[i] = 2 * v * in[1][i]
			}
		})
		d.InPlace = []int{1, 0}
		return gorgonia.Nodes{apply(t, d, nil, in[0], grad)[0]}, nil
	}, x)[0]
}

func reshaped(t testing.TB, x *gorgonia.Node, shape ...int) *gorgonia.Node {
	from := x.Shape()
	return apply(t, reshape(shape...), func(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
		return gorgonia.Nodes{reshaped(t, grad, from...)}, nil
	}, x)[0]
}

func TestOwnOpsAgreeWithTapeMachine(t *testing.T) {
	want := tape(t, own(t))
	n := own(t)
	p := compile(t, n.want...)
	run(t, p)
	for i, root := range n.want {
		if got := numbers(t, p.Value(root)); !near(got, want[i]) {
			t.Errorf("root %d: got %v, want %v", i, got, want[i])
		}
	}
}

// dag is a random graph and the values that plain evaluation gives its nodes.
type dag struct {
	nodes []*gorgonia.Node
	value map[*gorgonia.Node][]float32
}

func randomDAG(t testing.TB, seed int64, size int) dag {
	r := rand.New(rand.NewSource(seed))
	g := gorgonia.NewGraph()
	d := dag{value: map[*gorgonia.Node][]float32{}}
	const rows, cols = 3, 4
	note := func(n *gorgonia.Node, v []float32) {
		d.nodes = append(d.nodes, n)
		d.value[n] = v
	}
	for i := range 3 {
		v := random(r, rows, cols)
		note(input(g, fmt.Sprint("x", i), v), slices.Clone(dtype.Slice[float32](v)))
	}
	pick := func() *gorgonia.Node { // mostly recent nodes, sometimes old ones
		if r.Intn(3) == 0 {
			return d.nodes[r.Intn(len(d.nodes))]
		}
		return d.nodes[len(d.nodes)-1-r.Intn(min(4, len(d.nodes)))]
	}
	like := func(x *gorgonia.Node) *gorgonia.Node { // a node of the same shape
		for {
			if y := pick(); slices.Equal(y.Shape(), x.Shape()) {
				return y
			}
		}
	}
	for i := range size {
		x := pick()
		xv := d.value[x]
		switch r.Intn(6) {
		case 0:
			by := float32(r.Intn(5)) - 2
			c := scale(fmt.Sprint("scale", i), x.Shape(), by)
			c.Key = fmt.Sprint("scale ", by)
			note(apply(t, c, nil, x)[0], mapped(xv, xv, func(a, _ float32) float32 { return by * a }))
		case 1:
			shape := [][]int{{rows, cols}, {cols, rows}, {rows * cols}}[r.Intn(3)]
			note(apply(t, reshape(shape...), nil, x)[0], xv)
		case 2, 3:
			y := like(x)
			note(gorgonia.Must(gorgonia.Add(x, y)), mapped(xv, d.value[y], func(a, b float32) float32 { return a + b }))
		case 4: // two outputs, in place
			y := like(x)
			c := &Core{Name: fmt.Sprint("pair", i), InPlace: []int{r.Intn(2), r.Intn(2)}, Out: []Spec{{f32, x.Shape()}, {f32, x.Shape()}},
				Kernel: func(_ *Exec, out, in []*tensor.Dense) error {
					for k, a := range dtype.Slice[float32](in[0]) {
						b := dtype.Slice[float32](in[1])[k]
						for o, v := range []float32{a*0.5 - b, b*0.5 - a} {
							if out[o] != nil {
								dtype.Slice[float32](out[o])[k] = v
							}
						}
					}
					return nil
				}}
			n := apply(t, c, nil, x, y)
			note(n[0], mapped(xv, d.value[y], func(a, b float32) float32 { return a*0.5 - b }))
			note(n[1], mapped(xv, d.value[y], func(a, b float32) float32 { return b*0.5 - a }))
		case 5:
			note(gorgonia.Must(gorgonia.Tanh(x)), nil)
			n := d.nodes[len(d.nodes)-1]
			v, err := n.Op().Do(tensor.New(tensor.WithShape(x.Shape()...), tensor.WithBacking(slices.Clone(xv))))
			if err != nil {
				t.Fatal(err)
			}
			d.value[n] = numbers(t, v)
		}
	}
	return d
}

func mapped(a, b []float32, f func(a, b float32) float32) []float32 {
	out := make([]float32, len(a))
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return out
}

// TestRandomGraphs compares random graphs with plain evaluation: whatever the plan shares, takes
// over or leaves out, the roots must come out as if every value had memory of its own.
func TestRandomGraphs(t *testing.T) {
	for seed := range int64(300) {
		d := randomDAG(t, seed, 5+int(seed)%60)
		r := rand.New(rand.NewSource(seed))
		roots := []*gorgonia.Node{d.nodes[len(d.nodes)-1]}
		for range r.Intn(5) {
			roots = append(roots, d.nodes[r.Intn(len(d.nodes))])
		}
		p := compile(t, roots...)
		s := p.Stats()
		if s.Arena > s.Naive {
			t.Errorf("seed %d: arena %d is larger than %d", seed, s.Arena, s.Naive)
		}
		for range 2 {
			run(t, p)
			for i, n := range roots {
				if got := slice(t, p.Value(n)); !slices.Equal(got, d.value[n]) && !near(got, d.value[n]) {
					t.Fatalf("seed %d root %d: got %v, want %v\n%v", seed, i, got, d.value[n], s.Steps)
				}
			}
			for n, v := range d.value { // inputs are as they were
				if n.Op() == nil && !slices.Equal(slice(t, n.Value()), v) {
					t.Fatalf("seed %d: input %s was overwritten", seed, n.Name())
				}
			}
		}
	}
}

func TestAdditionsBecomeOneSum(t *testing.T) {
	g := gorgonia.NewGraph()
	r := rand.New(rand.NewSource(1))
	var x []*gorgonia.Node
	for i := range 12 {
		x = append(x, input(g, fmt.Sprint("x", i), random(r, 5000)))
	}
	add := func(a, b *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Add(a, b)) }
	left := add(add(add(x[0], x[1]), x[2]), x[3])
	right := add(x[0], add(x[1], add(x[2], x[3])))
	tree := add(add(x[0], x[1]), add(x[2], x[3]))
	twice := add(x[0], x[1])
	long := x[0]
	for _, n := range x[1:] {
		long = add(long, n)
	}
	plain := func(a, b []float32) []float32 { return mapped(a, b, func(a, b float32) float32 { return a + b }) }
	v := func(i int) []float32 { return slice(t, x[i].Value()) }
	for _, c := range []struct {
		name  string
		roots []*gorgonia.Node
		steps int
		want  []float32
	}{
		{"left", []*gorgonia.Node{left}, 1, plain(plain(plain(v(0), v(1)), v(2)), v(3))},
		{"right", []*gorgonia.Node{right}, 1, plain(v(0), plain(v(1), plain(v(2), v(3))))},
		{"tree", []*gorgonia.Node{tree}, 2, plain(plain(v(0), v(1)), plain(v(2), v(3)))},
		{"used twice", []*gorgonia.Node{add(add(twice, x[2]), twice)}, 2, plain(plain(plain(v(0), v(1)), v(2)), plain(v(0), v(1)))},
		{"root", []*gorgonia.Node{add(twice, x[2]), twice}, 2, plain(plain(v(0), v(1)), v(2))},
		{"itself", []*gorgonia.Node{add(x[0], x[0])}, 1, plain(v(0), v(0))},
		{"long", []*gorgonia.Node{long}, 2, nil},
	} {
		p := compile(t, c.roots...)
		run(t, p)
		if s := p.Stats().Steps; len(s) != c.steps {
			t.Errorf("%s: steps %v, want %d", c.name, s, c.steps)
		}
		if c.want != nil && !slices.Equal(slice(t, p.Value(c.roots[0])), c.want) {
			t.Errorf("%s: the sum differs from that of single additions", c.name)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	g := gorgonia.NewGraph()
	r := rand.New(rand.NewSource(1))
	s := input(g, "x", random(r, 1<<20))
	for i := range 3 {
		s = gorgonia.Must(gorgonia.Add(s, input(g, fmt.Sprint("x", i), random(r, 1<<20))))
	}
	p := compile(b, s)
	b.SetBytes(5 << 22)
	b.ReportAllocs()
	for b.Loop() {
		run(b, p)
	}
}
