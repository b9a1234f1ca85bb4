package nn_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// draw fills tensors for the graph's inputs: floats in [−1, 1), integers 0 or 1.
func draw(g *nn.Graph, batch, open int, r *rand.Rand) ([]*tensor.Dense, error) {
	var in []*tensor.Dense
	size := map[string]int{}
	for _, v := range g.Inputs() {
		t := v.Type()
		var shape []int
		for i, d := range t.Shape {
			n := d.Size
			if !d.Known() || n == 0 {
				n = open
				if i == 0 {
					n = batch
				}
				if s, ok := size[d.Sym]; ok && d.Sym != "" {
					n = s
				}
				size[d.Sym] = n
			}
			shape = append(shape, n)
		}
		n, _ := dtype.Count(shape)
		var d *tensor.Dense
		var err error
		if t.DType.IsFloat() {
			x := make([]float64, n)
			for i := range x {
				x[i] = 2*r.Float64() - 1
			}
			d, err = dtype.FromFloats(t.DType, x, shape...)
		} else {
			x := make([]int, n)
			for i := range x {
				x[i] = r.IntN(2)
			}
			d, err = dtype.FromInts(t.DType, x, shape...)
		}
		if err != nil {
			return nil, err
		}
		in = append(in, d)
	}
	return in, nil
}

// zeroSlices zeroes what a plan cuts in a graph that was not cut, denominators aside.
func zeroSlices(g *nn.Graph, cuts []nn.Cut) error {
	return g.Edit(func(e *nn.Edit) {
		for _, c := range cuts {
			v := e.Value(c.Initializer)
			if v == nil || v.Param() == nil || divides(v) {
				continue
			}
			d := dtype.Clone(v.Param().Data())
			zeroAlong(d, c.Axis, c.Removed)
			e.SetData(v, d)
		}
	})
}

func divides(v *nn.Value) bool {
	for _, u := range v.Users() {
		if u.Type() == "Div" && u.In(1) == v || u.Type() == "Pow" || u.Type() == "Gather" && u.In(1) == v {
			return true
		}
	}
	return false
}

func zeroAlong(d *tensor.Dense, axis int, index []int) {
	inner := int(d.Dtype().Size())
	outer := 1
	for i, n := range d.Shape() {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	n := d.Shape()[axis]
	b := dtype.Bytes(d)
	for o := range outer {
		for _, i := range index {
			clear(b[(o*n+i)*inner:][:inner])
		}
	}
}

// prove checks that a cut model computes what the whole one does with the cut slices zeroed.
func prove(t testing.TB, g *nn.Graph, batch, open int, f func(e *nn.Edit)) *nn.Plan {
	t.Helper()
	whole, cut := nntest.Clone(t, g), nntest.Clone(t, g)
	p, err := cut.Plan(f)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if err := p.Apply(); err != nil {
		t.Fatalf("apply: %v", err)
	}
	if err := cut.Check(); err != nil {
		t.Fatal(err)
	}
	if err := zeroSlices(whole, p.Cuts()); err != nil {
		t.Fatal(err)
	}
	in, err := draw(g, batch, open, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := whole.Run(context.Background(), in...)
	if err != nil {
		t.Fatalf("whole: %v", err)
	}
	got, err := cut.Run(context.Background(), in...)
	if err != nil {
		t.Fatalf("cut: %v\n%v", err, p)
	}
	for i := range want {
		if err := agree(got[i], want[i], 1e-5); err != nil {
			t.Fatalf("output %d: %v\n%v", i, err, p)
		}
	}
	return p
}

func agree(got, want *tensor.Dense, tol float64) error {
	if !got.Shape().Eq(want.Shape()) {
		return fmt.Errorf("shape %v, want %v", got.Shape(), want.Shape())
	}
	a, err := dtype.Float64s(got)
	if err != nil {
		return err
	}
	b, _ := dtype.Float64s(want)
	most, scale := 0.0, 1e-6
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
		scale = max(scale, math.Abs(b[i]))
		if math.IsNaN(a[i]) != math.IsNaN(b[i]) {
			return fmt.Errorf("element %d is %v, want %v", i, a[i], b[i])
		}
	}
	if most > tol*scale {
		return fmt.Errorf("differs by %g of %g", most, scale)
	}
	return nil
}

var openSizes = map[string]int{"byte-bilstm": 11, "silero-vad-16k": 576}

// TestCutModels cuts every group of every model, one by one and all at once.
func TestCutModels(t *testing.T) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	files, _ := filepath.Glob(filepath.Join(shared, "models", "*", "model.onnx"))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			open := openSizes[name]
			if open == 0 {
				open = 5
			}
			groups := g.Channels().Groups()
			cuttable := 0
			for i, gr := range groups {
				t.Logf("group %d: %d atoms normalized=%v %v", i, len(gr.Atoms), gr.Normalized, describeGroup(gr))
				if !gr.Normalized && len(gr.Atoms) > 1 {
					cuttable++
				}
			}
			if cuttable == 0 {
				t.Skip("nothing to cut")
			}
			r := rand.New(rand.NewPCG(3, 4))
			take := func(e *nn.Edit, only int) {
				var atoms []*nn.Atom
				for i, gr := range e.Channels().Groups() {
					if gr.Normalized || only >= 0 && i != only {
						continue
					}
					n := len(gr.Atoms)
					for _, k := range r.Perm(n)[:n/3] {
						atoms = append(atoms, gr.Atoms[k])
					}
					if n > 1 && n < 3 {
						atoms = append(atoms, gr.Atoms[r.IntN(n)])
					}
				}
				e.RemoveAtoms(atoms...)
			}
			for i, gr := range groups {
				if i < 6 && !gr.Normalized && len(gr.Atoms) > 1 {
					prove(t, g, 3, open, func(e *nn.Edit) { take(e, i) })
				}
			}
			p := prove(t, g, 2, open, func(e *nn.Edit) { take(e, -1) })
			before, after := p.Cost()
			t.Logf("%d groups, %d cuttable; parameters %d → %d, multiply-adds %d → %d", len(groups), cuttable, before.Params, after.Params, before.MACs, after.MACs)
		})
	}
}

func describeGroup(g *nn.Group) string {
	s := ""
	for _, p := range g.Params() {
		s += fmt.Sprintf(" %s[%d]:%d/%d", p.Value.Name(), p.Axis, p.PerAtom, p.Size)
	}
	return s
}

// TestCutNetworks cuts the first atom and the last of every group of the networks of TestDescribed.
func TestCutNetworks(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "networks", "*.txt"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if name == "opaque" {
			continue // nothing of it runs
		}
		g := readNetwork(t, name, "float32")
		for i, x := range g.Channels().Groups() {
			if x.Normalized || len(x.Atoms) < 2 {
				continue
			}
			for _, k := range []int{0, len(x.Atoms) - 1} {
				t.Run(fmt.Sprintf("%s/%d.%d", name, i, k), func(t *testing.T) {
					prove(t, g, 2, 5, func(e *nn.Edit) { e.RemoveAtoms(e.Channels().Groups()[i].Atoms[k]) })
				})
			}
		}
	}
}
