package train

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
)

// twoLayers is y = relu(x·w1ᵀ + b1)·w2ᵀ + b2 in float64: 3 inputs, 6 hidden units, 2 outputs.
func twoLayers(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("two")
	if err := g.Edit(func(e *nn.Edit) {
		p := func(name string, dims ...int) *nn.Value {
			return e.ParamOf(name, dtype.Float64, initial.Normal{Std: 0.7}, dims...)
		}
		x := e.Input("x", "float64[N,3]")
		h := e.Node(std.GemmConfig{TransB: true}, x, p("w1", 6, 3), p("b1", 6)).Out(0)
		h = e.Node(op.Plain("Relu"), h).Out(0)
		e.RenameValue(h, "hidden")
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, h, p("w2", 2, 6), p("b2", 2)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// hand is the same network with its optimizer, written out in loops. Rows of units are what
// surgery moves.
type hand struct {
	adam   bool
	step   int
	unit   []unit
	b2     cell
	b2b    cell
	decay  float64
	inputs [][]float64
	wanted [][]float64
}

// unit is a hidden unit: its row of w1, its bias, its column of w2.
type unit struct {
	in   []cell
	bias cell
	out  []cell
}

// cell is a weight with what the optimizer keeps: momentum or two moments, and its average.
type cell struct{ w, m, v, ema float64 }

func (c *cell) update(h *hand, g float64) {
	if h.adam {
		c.m = 0.9*c.m + 0.1*g
		c.v = 0.999*c.v + 0.001*g*g
		t := float64(h.step)
		c.w -= 0.01 * (c.m / (1 - math.Pow(0.9, t))) / (math.Sqrt(c.v/(1-math.Pow(0.999, t))) + 1e-8)
	} else {
		c.m = 0.8*c.m + g
		c.w -= 0.05 * c.m
	}
	keep := min(h.decay, (1+float64(h.step))/(10+float64(h.step)))
	c.ema += (1 - keep) * (c.w - c.ema)
}

func (h *hand) learn() {
	h.step++
	n := float64(2 * len(h.inputs))
	outBias := []*cell{&h.b2, &h.b2b}
	gOut := make([]float64, 2)
	type slopes struct {
		in, out []float64
		bias    float64
	}
	g := make([]slopes, len(h.unit))
	for i := range g {
		g[i] = slopes{in: make([]float64, 3), out: make([]float64, 2)}
	}
	for s, x := range h.inputs {
		act := make([]float64, len(h.unit))
		y := []float64{h.b2.w, h.b2b.w}
		for i, u := range h.unit {
			a := u.bias.w
			for k := range x {
				a += u.in[k].w * x[k]
			}
			act[i] = max(a, 0)
			for k := range y {
				y[k] += u.out[k].w * act[i]
			}
		}
		for k := range y {
			d := 2 * (y[k] - h.wanted[s][k]) / n
			gOut[k] += d
			for i, u := range h.unit {
				g[i].out[k] += d * act[i]
				if act[i] > 0 {
					g[i].bias += d * u.out[k].w
					for j := range x {
						g[i].in[j] += d * u.out[k].w * x[j]
					}
				}
			}
		}
	}
	for i := range h.unit {
		for k := range h.unit[i].in {
			h.unit[i].in[k].update(h, g[i].in[k])
		}
		h.unit[i].bias.update(h, g[i].bias)
		for k := range h.unit[i].out {
			h.unit[i].out[k].update(h, g[i].out[k])
		}
	}
	for k, c := range outBias {
		c.update(h, gOut[k])
	}
}

// fresh returns a unit whose weights stand at row i of the graph's parameters, unknown to the optimizer.
func fresh(t *testing.T, g *nn.Graph, i int) unit {
	at := func(name string, rows, k int) cell {
		w := weightsOf(t, g, name)[k]
		return cell{w: w, ema: w}
	}
	n := len(weightsOf(t, g, "b1"))
	u := unit{bias: at("b1", n, i)}
	for k := range 3 {
		u.in = append(u.in, at("w1", n, 3*i+k))
	}
	for k := range 2 {
		u.out = append(u.out, at("w2", 2, k*n+i))
	}
	return u
}

func weightsOf(t *testing.T, g *nn.Graph, name string) []float64 {
	t.Helper()
	v, err := g.Value(name)
	if err != nil {
		t.Fatal(err)
	}
	return numbers(t, v.Param().Data())
}

// compare looks at weights, optimizer and averages.
func (h *hand) compare(t *testing.T, what string, tr *Trainer) {
	t.Helper()
	n := len(h.unit)
	check := func(name string, i int, c cell) {
		t.Helper()
		v, err := tr.g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		s := tr.params[v.Param()]
		got := []float64{numbers(t, v.Param().Data())[i], numbers(t, s.slots[0].Data)[i], c.v, numbers(t, s.ema)[i]}
		if h.adam {
			got[2] = numbers(t, s.slots[1].Data)[i]
		}
		for k, w := range []float64{c.w, c.m, c.v, c.ema} {
			if math.Abs(got[k]-w) > 1e-12*(1+math.Abs(w)) {
				t.Fatalf("%s: %s[%d], %s: %v, want %v", what, name, i, []string{"weight", "momentum", "second moment", "average"}[k], got[k], w)
			}
		}
	}
	for i, u := range h.unit {
		for k, c := range u.in {
			check("w1", 3*i+k, c)
		}
		check("b1", i, u.bias)
		for k, c := range u.out {
			check("w2", k*n+i, c)
		}
	}
	check("b2", 0, h.b2)
	check("b2", 1, h.b2b)
}

// TestSurgeryWhileTraining cuts, widens, copies and takes back in the middle of a training and
// compares each step with one written out by hand on the units that there should be.
func TestSurgeryWhileTraining(t *testing.T) {
	for name, rule := range map[string]optim.Rule{"momentum": optim.SGD{LR: 0.05, Momentum: 0.8}, "adam": optim.Adam{LR: 0.01}} {
		t.Run(name, func(t *testing.T) {
			g := twoLayers(t)
			tr, err := New(g, Config{Rule: rule, EMA: 0.9, Loss: MSE{}})
			if err != nil {
				t.Fatal(err)
			}
			h, b := byHand(t, g, name == "adam")
			steps := func(what string) {
				t.Helper()
				for range 3 {
					if _, err := tr.Step(context.Background(), b); err != nil {
						t.Fatal(err)
					}
					h.learn()
				}
				h.compare(t, what, tr)
			}
			plan := func(f func(e *nn.Edit)) *nn.Plan {
				t.Helper()
				p, err := g.Plan(f)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			apply := func(f func() error) {
				t.Helper()
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}
			steps("uncut")
			cut := plan(func(e *nn.Edit) {
				a := e.Channels().Groups()[0].Atoms
				e.RemoveAtoms(a[1], a[4])
			})
			apply(cut.Apply)
			apply(cut.Undo) // as if it had never been
			steps("applied and undone")
			apply(cut.Apply) // an older plan, on weights that have moved on
			h.unit = append(h.unit[:1:1], h.unit[2], h.unit[3], h.unit[5])
			steps("cut")
			apply(func() error {
				return g.Edit(func(e *nn.Edit) { e.Resize(e.Value("hidden"), 6, nn.ResizeOptions{Axis: -1}) })
			})
			h.unit = append(h.unit, fresh(t, g, 4), fresh(t, g, 5))
			steps("widened")
			copies := plan(func(e *nn.Edit) { e.Resize(e.Value("hidden"), 7, nn.ResizeOptions{Axis: -1, Copy: true}) })
			apply(copies.Apply)
			last := h.unit[5]
			twin := fresh(t, g, 6)
			for k := range last.in {
				twin.in[k].ema = last.in[k].ema
			}
			twin.bias.ema = last.bias.ema
			for k := range last.out {
				h.unit[5].out[k].w /= 2
				h.unit[5].out[k].ema /= 2
				twin.out[k].ema = h.unit[5].out[k].ema
			}
			h.unit = append(h.unit, twin)
			steps("copied")
			apply(func() error {
				return g.Edit(func(e *nn.Edit) {
					a := e.Channels().Groups()[0].Atoms
					e.RemoveAtoms(a[6])
					e.Resize(e.Value("hidden"), 7, nn.ResizeOptions{Axis: -1})
				})
			})
			h.unit = append(h.unit[:6], fresh(t, g, 6))
			steps("cut and widened at once")
		})
	}
}

// byHand returns the network as the graph holds it, and a batch for both.
func byHand(t *testing.T, g *nn.Graph, adam bool) (*hand, data.Sample) {
	t.Helper()
	h := &hand{adam: adam, decay: 0.9}
	for i := range 6 {
		h.unit = append(h.unit, fresh(t, g, i))
	}
	b := weightsOf(t, g, "b2")
	h.b2, h.b2b = cell{w: b[0], ema: b[0]}, cell{w: b[1], ema: b[1]}
	r := rand.New(rand.NewPCG(1, 2))
	var xs, ys []float64
	for range 5 {
		x, y := make([]float64, 3), make([]float64, 2)
		for k := range x {
			x[k] = r.NormFloat64()
		}
		for k := range y {
			y[k] = r.NormFloat64()
		}
		h.inputs, h.wanted = append(h.inputs, x), append(h.wanted, y)
		xs, ys = append(xs, x...), append(ys, y...)
	}
	x, err := dtype.FromSlice(xs, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	y, err := dtype.FromSlice(ys, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	var s data.Sample
	s.X, s.Y = append(s.X, x), append(s.Y, y)
	return h, s
}

// TestResumeAfterSurgery interrupts a training after a cut and a widening: what the checkpoint
// continues is bit by bit what went on.
func TestResumeAfterSurgery(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 4))
	xs, ys := make([]float64, 40*3), make([]float64, 40*2)
	for i := range xs {
		xs[i] = r.NormFloat64()
	}
	for i := range ys {
		ys[i] = r.NormFloat64()
	}
	x, err := dtype.FromSlice(xs, 40, 3)
	if err != nil {
		t.Fatal(err)
	}
	y, err := dtype.FromSlice(ys, 40, 2)
	if err != nil {
		t.Fatal(err)
	}
	set, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Rule: optim.Adam{LR: 0.01}, EMA: 0.9, Loss: MSE{}, Epochs: 3, Batch: 8, Seed: 5, Dir: t.TempDir(), Log: Quiet}
	g := twoLayers(t)
	tr, err := New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	other := t.TempDir()
	for _, err := range tr.Epochs(ctx, set, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if err := g.Edit(func(e *nn.Edit) {
				e.RemoveAtoms(e.Channels().Groups()[0].Atoms[2:4]...)
				e.Resize(e.Value("hidden"), 7, nn.ResizeOptions{Axis: -1})
			}); err != nil {
				t.Fatal(err)
			}
		}
		if n == 2 {
			for _, f := range []string{lastModel, lastState} {
				b, err := os.ReadFile(filepath.Join(c.Dir, f))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(other, f), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	twin, err := onnxio.Load(filepath.Join(other, lastModel))
	if err != nil {
		t.Fatal(err)
	}
	c.Dir, c.Resume = other, true
	tr2, err := New(twin, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr2.Fit(ctx, set, nil); err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		v, err := twin.Value(p.Name())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(v.Param().Data())) {
			t.Errorf("%s differs", p.Name())
		}
	}
	if a, b := tr.progress.Step, tr2.progress.Step; a != b || a != 15 {
		t.Errorf("%d steps, resumed %d", a, b)
	}
}
