package epilogue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// applied is a host with the steps that it has taken over, beside what they compute one after the other.
type applied struct {
	typ     op.DType
	n, c, s int
	slopes  bool
	host    *Host
	list    List
	in      []*tensor.Dense // of the kernel
	want    []float64
	affine  bool     // as the documentation has it
	last    StepKind // that is not a view
	r       *rand.Rand
}

func (a *applied) random(low, high float64, shape ...int) *tensor.Dense {
	x := make([]float64, dtype.Product(shape))
	for i := range x {
		x[i] = low + a.r.Float64()*(high-low)
	}
	d, err := dtype.FromFloats(a.typ, x, shape...)
	if err != nil {
		panic(err)
	}
	return d
}

func at(d *tensor.Dense, i int, absent float64) float64 {
	if d == nil {
		return absent
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		panic(err)
	}
	return x[i]
}

// draw returns a step, the other inputs of its call, the operand's among them, and what it makes of element i with value x in channel c.
func (a *applied) draw() (s *Step, slot int, in []*tensor.Dense, f func(x float64, i, c int) float64) {
	maybe := func(d *tensor.Dense) *tensor.Dense {
		if a.r.IntN(3) == 0 {
			return nil
		}
		return d
	}
	s = &Step{Kind: StepKind(a.r.IntN(7)), Slots: []int{0}, DType: a.typ, Channels: a.c}
	switch s.Kind {
	case Normalize:
		s.Epsilon = 0.5
		in = []*tensor.Dense{nil, a.random(0.5, 2, a.c), a.random(-1, 1, a.c), a.random(-1, 1, a.c), a.random(0, 2, a.c)}
		f = func(x float64, _, c int) float64 {
			return (x-at(in[3], c, 0))/math.Sqrt(at(in[4], c, 0)+0.5)*at(in[1], c, 1) + at(in[2], c, 0)
		}
	case Scale, Shift, Add:
		s.Slots, slot = []int{0, 1}, a.r.IntN(2)
		in = []*tensor.Dense{nil, nil}
		other := a.random(0.5, 2, a.c)
		if s.Kind == Add {
			other = a.random(-1, 1, a.n, a.c, a.s)
		}
		in[1-slot] = other
		f = func(x float64, i, c int) float64 {
			return map[StepKind]float64{Scale: x * at(other, c%other.Shape().TotalSize(), 0), Shift: x + at(other, c%other.Shape().TotalSize(), 0), Add: x + at(other, i%other.Shape().TotalSize(), 0)}[s.Kind]
		}
	case Activate:
		s.Func, _ = Function([]string{"Relu", "Tanh", "Clip"}[a.r.IntN(3)], -0.25, 0.75)
		in = []*tensor.Dense{nil}
		f = func(x float64, _, _ int) float64 { return max(x, 0) }
		switch s.Func.Kind {
		case functions["Tanh"]:
			f = func(x float64, _, _ int) float64 { return math.Tanh(x) }
		case functions["Clip"]:
			in = []*tensor.Dense{nil, maybe(a.random(-1, -0.5)), maybe(a.random(0.25, 0.5))}
			f = func(x float64, _, _ int) float64 { return min(max(x, at(in[1], 0, -0.25)), at(in[2], 0, 0.75)) }
		}
	case Slope:
		s.Func, _ = Function("Gelu", 0, 0)
		point := a.random(-2, 2, a.n, a.c, a.s)
		in = []*tensor.Dense{nil, point}
		gelu := func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }
		f = func(x float64, i, _ int) float64 {
			p := at(point, i, 0)
			return x * (gelu(p+1e-5) - gelu(p-1e-5)) / 2e-5
		}
	case View:
		in, f = []*tensor.Dense{nil, dtype.New(dtype.Int64, 1)}, func(x float64, _, _ int) float64 { return x }
	}
	return s, slot, in, f
}

// legal reports what the documentation says of a step that is to follow.
func (a *applied) legal(s *Step) bool {
	switch {
	case s.Kind == View:
		return true
	case s.Kind < Add:
		return a.affine && a.last < Add && s.Channels == a.c
	case s.Kind == Slope && !a.slopes:
		return false
	}
	return s.Kind > a.last
}

// TestSteps: random steps, one after the other, are taken over in the order of their kinds, and applied as one.
func TestSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	long := 0
	for trial := range 600 {
		a := &applied{typ: []op.DType{dtype.Float32, dtype.Float64}[trial%2], n: 1 + r.IntN(2), c: 1 + r.IntN(4), s: 1 + r.IntN(5), affine: r.IntN(4) > 0, slopes: r.IntN(2) == 0, r: r}
		a.host = &Host{DType: a.typ, Channels: a.c, Affine: a.affine, Slopes: a.slopes}
		a.host.Kernel = func(e List) op.Kernel { a.list = e; return nil }
		a.host.InPlace = func(e List) []int { return []int{len(e.Parts)} }
		a.host.Rematerialize = func(e List) *op.Rematerialization { return &op.Rematerialization{} }
		y := a.random(-2, 2, a.n, a.c, a.s)
		a.want, _ = dtype.Float64s(y)
		a.in = []*tensor.Dense{nil, nil}
		for range 1 + r.IntN(6) {
			s, slot, in, f := a.draw()
			m := op.Meeting{FirstInputs: len(a.in), SecondInputs: len(in), Slot: slot}
			legal := a.legal(s)
			switch r.IntN(12) {
			case 0:
				m.Sides, legal = true, false
			case 1:
				s.DType, legal = dtype.Float16, false
			case 2:
				s.Slots, legal = []int{slot + 1}, false
			case 3:
				if s.Channels++; s.Kind < Add {
					legal = false
				}
			}
			before := len(a.list.Parts)
			fused := fuse(a.host, s, m)
			if (fused != nil) != legal {
				t.Fatalf("trial %d: %+v after %v: taken over is %v, want %v", trial, s, a.list.Parts, fused != nil, legal)
			}
			if fused == nil {
				continue
			}
			a.host = fused.Patterns[0].(*Host)
			if !fused.KeepsSides || fused.Rematerialize == nil || !slices.Equal(fused.InPlace, []int{len(a.list.Parts)}) {
				t.Fatalf("trial %d: %+v", trial, fused)
			}
			if s.Kind == View {
				if a.affine = false; len(a.list.Parts) != before || a.list.Affine {
					t.Fatalf("trial %d: a view: %+v", trial, a.list)
				}
				// Nothing is read of its other inputs; the kernel has them nevertheless.
				a.in = append(a.in, in[1:]...)
				continue
			}
			a.last = s.Kind
			for k, d := range in {
				if k != slot {
					a.in = append(a.in, d)
				}
			}
			for i, x := range a.want {
				a.want[i] = f(x, i, i/a.s%a.c)
			}
		}
		long += len(a.list.Parts)
		adds := slices.ContainsFunc(a.list.Parts, func(p part) bool { return p.Kind == Add })
		if a.list.Adds() != adds {
			t.Errorf("trial %d: adds is %v", trial, !adds)
		}
		a.list.Apply(nil, a.in, y, a.c, a.s)
		got, _ := dtype.Float64s(y)
		tolerance := map[op.DType]float64{dtype.Float32: 2e-5, dtype.Float64: 1e-8}[a.typ]
		for i := range got {
			if !(math.Abs(got[i]-a.want[i]) <= tolerance*(1+math.Abs(a.want[i]))) {
				t.Fatalf("trial %d, %v: element %d is %v, want %v", trial, a.list.Parts, i, got[i], a.want[i])
			}
		}
		a.keys(t)
	}
	if long < 600 {
		t.Errorf("%d steps were applied", long)
	}
}

// keys checks the inputs and the key of what scales and shifts.
func (a *applied) keys(t *testing.T) {
	t.Helper()
	first := dtype.New(dtype.Float32, 1)
	in := slices.Clone(a.in)
	in[1] = first
	want := []*tensor.Dense{first}
	key := ""
	for _, p := range a.list.Parts {
		if p.Kind >= Add {
			continue
		}
		for _, k := range p.in {
			if k >= 0 && in[k] != nil {
				want = append(want, in[k])
			}
		}
		key += fmt.Sprint(p.Kind, p.Epsilon, p.in, ";")
	}
	if got := a.list.AffineInputs(in, 0, 1, len(in)); !slices.Equal(got, want) {
		t.Errorf("%v: %d inputs scale and shift, want %d", a.list.Parts, len(got), len(want))
	}
	if a.list.AffineKey() != key {
		t.Errorf("%v has key %s, want %s", a.list.Parts, a.list.AffineKey(), key)
	}
}

// TestHosts: a kernel that can only add takes one sum over and nothing after it; types that kernels round take nothing.
func TestHosts(t *testing.T) {
	m := op.Meeting{FirstInputs: 2, SecondInputs: 2}
	sum := &Host{DType: dtype.Float32, Channels: 2, SumOnly: true, Kernel: func(List) op.Kernel { return nil }}
	for kind := Normalize; kind <= View; kind++ {
		for _, typ := range []op.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Int32} {
			f := fuse(sum, &Step{Kind: kind, Slots: []int{0}, DType: typ, Channels: 2}, m)
			if (f != nil) != (kind == Add && typ == dtype.Float32) {
				t.Errorf("kind %d of %v: taken over is %v", kind, typ, f != nil)
			}
			if f != nil && (f.Patterns != nil || f.InPlace != nil || f.Rematerialize != nil) {
				t.Errorf("what can only add goes on: %+v", f)
			}
			_, ok := List{}.With(&Step{Kind: kind, Slots: []int{0}, DType: typ}, typ, 2, m)
			if want := typ.IsFloat() && typ != dtype.Float16 && (kind == Add || kind == Activate || kind == View); ok != want {
				t.Errorf("kind %d after nothing, of %v: %v", kind, typ, ok)
			}
		}
	}
	if rules := Fusions(); len(rules) != 3 {
		t.Errorf("%d rules", len(rules))
	}
}
