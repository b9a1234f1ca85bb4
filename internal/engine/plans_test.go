package engine

import (
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

var update = flag.Bool("update", false, "write testdata/plans.txt anew")

// planned is a random graph of whatever a plan has rules for, with the values that plain evaluation gives.
type planned struct {
	t       testing.TB
	r       *rand.Rand
	nodes   []*gorgonia.Node // of float32
	inputs  []*gorgonia.Node
	outer   []*gorgonia.Node // products larger than their factors
	late    []*gorgonia.Node // large, read again at the end
	value   map[*gorgonia.Node][]float32
	renamed int
}

func (d *planned) note(n *gorgonia.Node, v []float32) *gorgonia.Node {
	d.nodes = append(d.nodes, n)
	d.value[n] = v
	return n
}

func (d *planned) name(s string) string {
	d.renamed++
	return fmt.Sprintf("%s%d", s, d.renamed)
}

// pick is a node, mostly a recent one.
func (d *planned) pick() *gorgonia.Node {
	if d.r.Intn(3) == 0 {
		return d.nodes[d.r.Intn(len(d.nodes))]
	}
	return d.nodes[len(d.nodes)-1-d.r.Intn(min(5, len(d.nodes)))]
}

func (d *planned) like(x *gorgonia.Node) *gorgonia.Node {
	for {
		if y := d.pick(); slices.Equal(y.Shape(), x.Shape()) {
			return y
		}
	}
}

// grow adds one or more random nodes.
func (d *planned) grow() {
	t, r := d.t, d.r
	x := d.pick()
	xv, shape := d.value[x], x.Shape()
	switch r.Intn(10) {
	case 0:
		by := float32(r.Intn(5)) - 2
		c := scale(d.name("scale"), shape, by)
		if r.Intn(2) == 0 {
			c.Key = fmt.Sprint("scale ", by)
		}
		d.note(apply(t, c, nil, x)[0], mapped(xv, xv, func(a, _ float32) float32 { return by * a }))
	case 1:
		to := []int{len(xv)}
		if r.Intn(2) == 0 && len(xv)%4 == 0 {
			to = []int{4, len(xv) / 4}
		}
		d.note(apply(t, reshape(to...), nil, x)[0], xv)
	case 2, 3:
		y := d.like(x)
		d.note(gorgonia.Must(gorgonia.Add(x, y)), mapped(xv, d.value[y], func(a, b float32) float32 { return a + b }))
	case 4:
		y := d.like(x)
		c := &Core{Name: d.name("pair"), InPlace: []int{r.Intn(2), r.Intn(2)}[:r.Intn(3)], Out: []Spec{{f32, shape}, {f32, shape}},
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
		d.note(n[0], mapped(xv, d.value[y], func(a, b float32) float32 { return a*0.5 - b }))
		if r.Intn(2) == 0 {
			d.note(n[1], mapped(xv, d.value[y], func(a, b float32) float32 { return b*0.5 - a }))
		}
	case 5:
		by := float32(r.Intn(5))
		d.note(apply(t, adder(d.name("adder"), by, shape...), nil, x)[0], mapped(xv, xv, func(a, _ float32) float32 { return a + by }))
	case 6:
		d.again(x)
	case 7: // three operands, of which the second may be absent
		y, z := d.like(x), d.like(x)
		c := floats(d.name("mix"), shape, func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = in[0][i]/2 + in[2][i]/4
				if in[1] != nil {
					out[i] -= in[1][i]
				}
			}
		})
		c.Inputs, c.Slots, c.InPlace = 3, []int{0, 2}, []int{2, 0}[r.Intn(2):]
		both := mapped(xv, d.value[z], func(a, b float32) float32 { return a/2 + b/4 })
		if r.Intn(2) == 0 {
			d.note(apply(t, c, nil, x, z)[0], both)
			return
		}
		c.Slots = []int{0, 1, 2}
		d.note(apply(t, c, nil, x, y, z)[0], mapped(both, d.value[y], func(a, b float32) float32 { return a - b }))
	case 8:
		if len(xv) > 16 {
			return
		}
		y := d.like(x)
		n := len(xv)
		c := floats(d.name("outer"), tensor.Shape{n, n}, func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = in[0][i/n] * in[1][i%n]
			}
		})
		c.Bilinear = true
		v := make([]float32, n*n)
		for i := range v {
			v[i] = xv[i/n] * d.value[y][i%n]
		}
		o := apply(t, c, nil, x, y)[0]
		d.outer = append(d.outer, o)
		d.value[o] = v
	case 9:
		n := gorgonia.Must(gorgonia.Tanh(x))
		v, err := n.Op().Do(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Clone(xv))))
		if err != nil {
			t.Fatal(err)
		}
		d.note(n, numbers(t, v))
	}
}

// again adds 2·x, which can be computed again from x and its sum; it returns what goes on from there if x is large.
func (d *planned) again(x *gorgonia.Node) (on *gorgonia.Node) {
	t, xv, shape := d.t, d.value[x], x.Shape()
	calls := 0
	c := doubled(shape, &calls)
	whole := c.Kernel
	c.Kernel = func(x *Exec, out, in []*tensor.Dense) error { // outputs may be unwanted
		for i, s := range c.Out {
			if out = slices.Clone(out); out[i] == nil {
				out[i] = dtype.New(dtype.Float32, s.Shape...)
			}
		}
		return whole(x, out, in)
	}
	n := apply(t, c, nil, x)
	twice := mapped(xv, xv, func(a, _ float32) float32 { return 2 * a })
	d.note(n[0], twice)
	if len(xv) > 16 {
		d.late = append(d.late, n[0], x)
		c := floats(d.name("on"), shape, func(out []float32, in ...[]float32) {
			for i, v := range in[0] {
				out[i] = v/2 + 1
			}
		})
		on = d.note(apply(t, c, nil, n[0])[0], mapped(xv, xv, func(a, _ float32) float32 { return a + 1 }))
	}
	y := d.like(n[0])
	sum := float32(0)
	for _, v := range xv {
		sum += v
	}
	plus := floats(d.name("plus"), y.Shape(), func(out []float32, in ...[]float32) {
		for i, v := range in[0] {
			out[i] = v/4 + in[1][0]/64
		}
	})
	d.note(apply(t, plus, nil, y, n[1])[0], mapped(d.value[y], d.value[y], func(a, _ float32) float32 { return a/4 + sum/64 }))
	return on
}

func plannedGraph(t testing.TB, seed int64, size int) *planned {
	d := &planned{t: t, r: rand.New(rand.NewSource(seed)), value: map[*gorgonia.Node][]float32{}}
	g := gorgonia.NewGraph()
	for i, shape := range [][]int{{3, 4}, {3, 4}, {16, 24}, {16, 24}} {
		v := random(d.r, shape...)
		d.inputs = append(d.inputs, d.note(input(g, fmt.Sprint("x", i), v), slices.Clone(dtype.Slice[float32](v))))
	}
	if seed%3 == 0 {
		for x := d.inputs[3]; len(d.late) < 10; {
			x = d.again(x)
		}
	}
	for range size {
		d.grow()
	}
	for i, x := range slices.Backward(d.late) { // as a gradient reads what was computed forward
		y := d.inputs[2]
		if i < len(d.late)-1 {
			y = d.nodes[len(d.nodes)-1]
		}
		c := floats(d.name("back"), y.Shape(), func(out []float32, in ...[]float32) {
			for i := range out {
				out[i] = in[0][i]/2 + in[1][i]/4
			}
		})
		d.note(apply(t, c, nil, y, x)[0], mapped(d.value[y], d.value[x], func(a, b float32) float32 { return a/2 + b/4 }))
	}
	return d
}

// TestPlans: random graphs computed in every way that there is give the values of plain evaluation, and the plans, their steps and their memory, are
// those of testdata/plans.txt. -update writes it anew.
func TestPlans(t *testing.T) {
	var lines []string
	for seed := range int64(200) {
		for way := range 6 {
			d := plannedGraph(t, seed, 6+int(seed)%50)
			r := rand.New(rand.NewSource(seed))
			roots := []*gorgonia.Node{d.nodes[len(d.nodes)-1]}
			for range r.Intn(5) {
				roots = append(roots, d.nodes[r.Intn(len(d.nodes))])
			}
			roots = append(roots, d.outer...)
			o := []Options{{}, {Unfused: true}, {Lean: true}, {Lean: true, Private: true}, {Private: true}, {Eager: true}}[way]
			if way >= 4 {
				o.LossReady = roots[0]
				for _, n := range slices.Concat(roots, d.outer) {
					if n != o.LossReady && n.Op() != nil {
						h := GradientCallback{Root: n}
						if r.Intn(2) == 0 {
							h.After = d.inputs[r.Intn(len(d.inputs))]
						}
						o.Callbacks = append(o.Callbacks, h)
					}
				}
			}
			p, err := Compile(o, roots...)
			if err != nil {
				t.Fatalf("seed %d, way %d: %v", seed, way, err)
			}
			s := p.Stats()
			lines = append(lines, fmt.Sprintf("%d %d: %d of %d bytes, %d steps %08x", seed, way, s.Arena, s.Naive, len(s.Steps), crc32.ChecksumIEEE([]byte(strings.Join(s.Steps, ";")))))
			for range 2 {
				got := d.run(p, o)
				for i, n := range roots {
					if v, ok := got[n]; ok && !near(v, d.value[n]) {
						t.Fatalf("seed %d, way %d, root %d: got %v, want %v\n%v", seed, way, i, v, d.value[n], s.Steps)
					}
				}
			}
		}
	}
	const file = "testdata/plans.txt"
	text := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	for i := range lines {
		if i >= len(want) || lines[i] != want[i] {
			t.Fatalf("%s, want %s", lines[i], want[min(i, len(want)-1)])
		}
	}
}

// run runs the program and returns the values of its roots, and of what it hands over.
func (d *planned) run(p *Program, o Options) map[*gorgonia.Node][]float32 {
	d.t.Helper()
	got := map[*gorgonia.Node][]float32{}
	if len(o.Callbacks) == 0 {
		run(d.t, p)
	} else {
		n := &notes{check: func(i int, v *tensor.Dense, bound float64) error {
			for k, x := range d.value[o.Callbacks[i].Root] {
				if v != nil && !near(dtype.Slice[float32](v)[k:k+1], []float32{x}) || v == nil && !(float64(max(x, -x)) <= bound*(1+1e-6)) {
					d.t.Errorf("%d: element %d is %v; checked %v, bound %v", i, k, x, v, bound)
				}
			}
			return nil
		}}
		var r Receiver = n
		if o.Eager {
			r = gentle{n}
		}
		if err := p.RunWithCallbacks(d.t.Context(), r); err != nil {
			d.t.Fatal(err)
		}
		for i, h := range o.Callbacks {
			got[h.Root] = n.got[i]
		}
	}
	for n := range d.value {
		if v := p.Value(n); v != nil && n.Op() != nil {
			got[n] = slices.Clone(slice(d.t, v))
		}
	}
	for _, n := range d.inputs {
		if !slices.Equal(slice(d.t, n.Value()), d.value[n]) {
			d.t.Fatalf("input %s was overwritten", n.Name())
		}
	}
	return got
}

// gentle takes values and leaves them as they are.
type gentle struct{ *notes }

func (k gentle) Take(i int, d *tensor.Dense) error {
	v := slices.Clone(dtype.Slice[float32](d))
	if k.got == nil {
		k.got = map[int][]float32{}
	}
	k.got[i] = v
	return nil
}
