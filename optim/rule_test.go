package optim_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// noise returns a fixed sequence of n numbers around zero.
func noise(n, seed int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Sin(float64(3*i+7*seed)) * (1 + 0.1*float64(seed%3))
	}
	return v
}

func steps(t *testing.T, r optim.Rule, w *tensor.Dense, s []optim.Slot, from, to int) {
	t.Helper()
	for step := from; step < to; step++ {
		g := dense(w.Dtype(), noise(w.Shape().TotalSize(), step), w.Shape()...)
		if err := r.Step(w, g, s, hyper(step)); err != nil {
			t.Fatal(err)
		}
	}
}

func clone(s []optim.Slot) []optim.Slot {
	s = slices.Clone(s)
	for i := range s {
		s[i].Data = s[i].Data.Clone().(*tensor.Dense)
	}
	return s
}

// TestResume: stopping after any step and going on with copies of weight and
// slots gives the same bits.
func TestResume(t *testing.T) {
	for _, c := range cases {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			a := dense(dt, noise(12, 5), 3, 4)
			s, err := c.rule.Init(a)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			steps(t, c.rule, a, s, 0, 4)
			b, kept := a.Clone().(*tensor.Dense), clone(s)
			steps(t, c.rule, a, s, 4, 9)
			steps(t, c.rule, b, kept, 4, 9)
			if !slices.Equal(floats(a), floats(b)) {
				t.Errorf("%s %v: resumed run differs", c.name, dt)
			}
		}
	}
}

// TestAxes: each axis of a slot has the size of the axis it follows, or 1.
func TestAxes(t *testing.T) {
	for _, c := range cases {
		for _, shape := range [][]int{{}, {5}, {3, 4}, {2, 3, 1, 4}, {0}, {3, 0}} {
			n := 1
			for _, d := range shape {
				n *= d
			}
			w := dense(tensor.Float32, noise(n, 1), shape...)
			s, err := c.rule.Init(w)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for _, slot := range s {
				if len(slot.Axes) != slot.Data.Dims() {
					t.Fatalf("%s: slot %s of rank %d has %d axes", c.name, slot.Name, slot.Data.Dims(), len(slot.Axes))
				}
				for i, a := range slot.Axes {
					if want := slot.Data.Shape()[i]; (a >= 0 && shape[a] != want) || (a < 0 && want != 1) {
						t.Errorf("%s: slot %s: axis %d of size %d follows axis %d of %v", c.name, slot.Name, i, want, a, shape)
					}
				}
			}
			steps(t, c.rule, w, s, 0, 3)
			for _, v := range floats(w) {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s %v: weight became %v", c.name, shape, v)
				}
			}
		}
	}
}

// rows keeps the given rows of axis a of a matrix or vector.
func rows(x *tensor.Dense, a int, keep []int) *tensor.Dense {
	if a < 0 {
		return x.Clone().(*tensor.Dense)
	}
	shape := slices.Clone(x.Shape())
	inner := 1
	for _, d := range shape[a+1:] {
		inner *= d
	}
	var out []float64
	all := floats(x)
	for o := 0; o < len(all); o += shape[a] * inner {
		for _, k := range keep {
			out = append(out, all[o+k*inner:o+(k+1)*inner]...)
		}
	}
	shape[a] = len(keep)
	return dense(x.Dtype(), out, shape...)
}

// TestCut: cutting channels from weight and slots, along Axes, and going on is
// the same as going on and cutting, for rules that look at one element at a
// time; the others must go on without an error.
func TestCut(t *testing.T) {
	keep := []int{0, 2}
	for _, c := range cases {
		for axis := range 2 {
			w := dense(tensor.Float64, noise(12, 5), 3, 4)
			s, err := c.rule.Init(w)
			if err != nil {
				t.Fatal(err)
			}
			steps(t, c.rule, w, s, 0, 3)
			cutW, cutS := rows(w, axis, keep), clone(s)
			for i := range cutS {
				cutS[i].Data = rows(s[i].Data, slices.Index(s[i].Axes, axis), keep)
			}
			g := dense(tensor.Float64, noise(12, 3), 3, 4)
			cutG := rows(g, axis, keep)
			if err := c.rule.Step(w, g, s, hyper(3)); err != nil {
				t.Fatal(err)
			}
			if err := c.rule.Step(cutW, cutG, cutS, hyper(3)); err != nil {
				t.Fatalf("%s: after a cut along %d: %v", c.name, axis, err)
			}
			switch c.rule.(type) {
			case optim.LAMB, optim.Adafactor:
			default:
				if !slices.Equal(floats(cutW), floats(rows(w, axis, keep))) {
					t.Errorf("%s: cut along %d differs", c.name, axis)
				}
			}
		}
	}
}

// TestNoAllocation: a step allocates nothing.
func TestNoAllocation(t *testing.T) {
	for _, c := range cases {
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			w := dense(dt, noise(12, 5), 3, 4)
			g := dense(dt, noise(12, 6), 3, 4)
			s, err := c.rule.Init(w)
			if err != nil {
				t.Fatal(err)
			}
			h := optim.Hyper{Rate: 1, Step: 3}
			if n := testing.AllocsPerRun(20, func() { err = c.rule.Step(w, g, s, h) }); n != 0 || err != nil {
				t.Errorf("%s %v: %v allocations in a step, error %v", c.name, dt, n, err)
			}
		}
	}
}

// TestRefusals: what does not fit is an error and changes nothing.
func TestRefusals(t *testing.T) {
	f32 := func(shape ...int) *tensor.Dense { return dense(tensor.Float32, noise(12, 2), shape...) }
	turned := f32(4, 3)
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	ints := tensor.New(tensor.WithShape(3, 4), tensor.Of(tensor.Int32))
	one := optim.Hyper{Rate: 1}
	for _, c := range cases {
		w := f32(3, 4)
		s, err := c.rule.Init(w)
		if err != nil {
			t.Fatal(err)
		}
		short := []optim.Slot{}
		if len(s) == 0 {
			short = []optim.Slot{{Name: "extra", Data: f32(3, 4)}}
		}
		for _, bad := range []struct {
			w, g *tensor.Dense
			s    []optim.Slot
			h    optim.Hyper
			want string
		}{
			{w, f32(4, 3), s, one, "gradient has shape (4, 3), want the weight's (3, 4)"},
			{w, f32(12), s, one, "gradient has shape (12), want the weight's (3, 4)"},
			{w, dense(tensor.Float64, noise(12, 2), 3, 4), s, one, "gradient has element type float64, want the weight's float32"},
			{w, turned, s, one, "gradient is not contiguous"},
			{w, nil, s, one, "gradient is nil"},
			{nil, w, s, one, "weight is nil"},
			{ints, ints, s, one, "weight has element type int32, want float32 or float64"},
			{w, f32(3, 4), short, one, "slots, want"},
			{w, f32(3, 4), s, optim.Hyper{Rate: 1, Step: -1}, "step is -1"},
			{w, f32(3, 4), s, optim.Hyper{Rate: math.NaN()}, "rate is NaN"},
			{w, f32(3, 4), s, optim.Hyper{Rate: -1}, "rate is -1"},
			{w, f32(3, 4), s, optim.Hyper{Rate: math.Inf(1)}, "rate is +Inf"},
		} {
			before := slices.Clone(floats(w))
			err := c.rule.Step(bad.w, bad.g, bad.s, bad.h)
			if err == nil || !strings.Contains(err.Error(), bad.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want one with %q", c.name, err, bad.want)
			}
			if !slices.Equal(before, floats(w)) {
				t.Errorf("%s: weight changed by a refused step", c.name)
			}
		}
		for i := range s {
			wrong := clone(s)
			wrong[i].Data = f32(2, 6)
			if err := c.rule.Step(w, f32(3, 4), wrong, one); err == nil {
				t.Errorf("%s: slot %s of a wrong shape accepted", c.name, s[i].Name)
			}
			wrong = clone(s)
			wrong[i].Name = "other"
			if err := c.rule.Step(w, f32(3, 4), wrong, one); err == nil {
				t.Errorf("%s: slot %s under another name accepted", c.name, s[i].Name)
			}
		}
		for _, bad := range []*tensor.Dense{nil, ints, turned} {
			if _, err := c.rule.Init(bad); err == nil {
				t.Errorf("%s: Init accepted %v", c.name, bad)
			}
		}
	}
}

func TestSettingsOutOfRange(t *testing.T) {
	w := dense(tensor.Float32, noise(4, 1), 4)
	for _, c := range []struct {
		rule optim.Rule
		want string
	}{
		{optim.SGD{LR: -0.1}, "optim: SGD: LR is -0.1, want a number in [0, +Inf) or Off"},
		{optim.Adam{Beta1: 1}, "optim: Adam: Beta1 is 1, want a number in [0, 1) or Off"},
		{optim.AdamW{Beta2: 1.5}, "optim: AdamW: Beta2 is 1.5, want a number in [0, 1) or Off"},
		{optim.RMSprop{Alpha: math.NaN()}, "optim: RMSprop: Alpha is NaN, want a number in [0, 1) or Off"},
		{optim.Adagrad{Initial: -2}, "optim: Adagrad: Initial is -2, want a number in [0, +Inf) or Off"},
		{optim.NAdam{Eps: math.Inf(1)}, "optim: NAdam: Eps is +Inf, want a number in [0, +Inf) or Off"},
		{optim.RAdam{LR: -2}, "optim: RAdam: LR is -2, want a number in [0, +Inf) or Off"},
		{optim.Lion{WeightDecay: -3}, "optim: Lion: WeightDecay is -3, want a number in [0, +Inf) or Off"},
		{optim.LAMB{Beta1: 2}, "optim: LAMB: Beta1 is 2, want a number in [0, 1) or Off"},
		{optim.Adafactor{Eps1: -2}, "optim: Adafactor: Eps1 is -2, want a number in [0, +Inf) or Off"},
		{optim.Adadelta{Rho: 1}, "optim: Adadelta: Rho is 1, want a number in [0, 1) or Off"},
		{optim.Adamax{Eps: -2}, "optim: Adamax: Eps is -2, want a number in [0, +Inf) or Off"},
		{optim.ClipValue{Limit: -2}, "optim: ClipValue: Limit is -2, want a number in [0, +Inf) or Off"},
		{optim.Decay{L1: -2}, "optim: Decay: L1 is -2, want a number in [0, +Inf) or Off"},
		{optim.Chain{}, "optim: Chain: no rules"},
		{optim.Chain{optim.Adam{}, optim.SGD{}}, "optim: Chain: rule 0, optim.Adam, keeps slots; only the last may"},
	} {
		if _, err := c.rule.Init(w); err == nil || err.Error() != c.want {
			t.Errorf("%+v: error %v, want %q", c.rule, err, c.want)
		}
	}
}

// TestOff: a rate that is off changes nothing, a decay or eps that is off is
// zero and not the default.
func TestOff(t *testing.T) {
	for _, rule := range []optim.Rule{
		optim.SGD{LR: optim.Off}, optim.Adam{LR: optim.Off}, optim.AdamW{LR: optim.Off}, optim.RMSprop{LR: optim.Off},
		optim.Adagrad{LR: optim.Off}, optim.NAdam{LR: optim.Off}, optim.RAdam{LR: optim.Off}, optim.Lion{LR: optim.Off},
		optim.LAMB{LR: optim.Off}, optim.Adafactor{LR: optim.Off}, optim.Adadelta{LR: optim.Off}, optim.Adamax{LR: optim.Off},
		optim.Chain{optim.ClipValue{Limit: optim.Off}, optim.SGD{LR: optim.Off}},
	} {
		w := dense(tensor.Float64, noise(6, 1), 2, 3)
		before := slices.Clone(floats(w))
		s, err := rule.Init(w)
		if err != nil {
			t.Fatal(err)
		}
		steps(t, rule, w, s, 0, 2)
		if !slices.Equal(before, floats(w)) {
			t.Errorf("%T: weight changed at a rate of zero", rule)
		}
	}
	w := dense(tensor.Float64, []float64{4}, 1)
	s, err := optim.AdamW{LR: 1, WeightDecay: optim.Off, Eps: optim.Off, Beta1: optim.Off, Beta2: optim.Off}.Init(w)
	if err != nil {
		t.Fatal(err)
	}
	r := optim.AdamW{LR: 1, WeightDecay: optim.Off, Eps: optim.Off, Beta1: optim.Off, Beta2: optim.Off}
	if err := r.Step(w, dense(tensor.Float64, []float64{5}, 1), s, optim.Hyper{Rate: 1}); err != nil {
		t.Fatal(err)
	}
	compare(t, "weight", floats(w), []float64{3}, 0) // 4 − 5/√25
}

func TestChain(t *testing.T) {
	rule := optim.Chain{optim.ClipValue{Limit: 2}, optim.Decay{L1: 0.5, L2: 0.25}, optim.SGD{LR: 0.5, Momentum: 0.9}}
	w := dense(tensor.Float32, []float64{4, -8, 0}, 3)
	s, err := rule.Init(w)
	if err != nil || len(s) != 1 || s[0].Name != "momentum_buffer" {
		t.Fatalf("slots %v, error %v", s, err)
	}
	if err := rule.Step(w, dense(tensor.Float32, []float64{-3, 1, 7}, 3), s, optim.Hyper{Rate: 1}); err != nil {
		t.Fatal(err)
	}
	compare(t, "weight", floats(w), []float64{4 - 0.5*(-2+0.5+1), -8 - 0.5*(1-0.5-2), -0.5 * 2}, 0)
}

func TestNaNGradient(t *testing.T) {
	for _, c := range cases {
		w := dense(tensor.Float32, noise(4, 1), 4)
		s, err := c.rule.Init(w)
		if err != nil {
			t.Fatal(err)
		}
		g := dense(tensor.Float32, []float64{1, math.NaN(), 1, 1}, 4)
		if err := c.rule.Step(w, g, s, optim.Hyper{Rate: 1}); err != nil {
			t.Fatal(err)
		}
		if v := floats(w)[1]; !math.IsNaN(v) {
			t.Errorf("%s: a NaN gradient became the weight %v", c.name, v)
		}
	}
}
