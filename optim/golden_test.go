package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// golden is testdata/golden.json, written by the script beside it.
type golden struct {
	W     []float64
	Grads [][]float64
	Cases []struct {
		Name             string
		Shape            []int
		Float64, Float32 struct {
			Weights [][]float64
			State   map[string][]float64
		}
	}
	Schedules map[string][]float64
	Metrics   []float64
}

func readGolden(t *testing.T) golden {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// cases are the rules that every check runs on, by their names in the golden
// file. Those with default settings are zero values on purpose.
var cases = []struct {
	name string
	rule optim.Rule
}{
	{"sgd", optim.SGD{}},
	{"sgd decay", optim.SGD{LR: 0.1, WeightDecay: 0.1}},
	{"sgd momentum", optim.SGD{LR: 0.1, Momentum: 0.9}},
	{"sgd dampening", optim.SGD{LR: 0.1, Momentum: 0.8, Dampening: 0.3, WeightDecay: 0.05}},
	{"sgd nesterov", optim.SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.05, Nesterov: true}},
	{"adam", optim.Adam{}},
	{"adam decay", optim.Adam{LR: 0.02, Beta1: 0.8, Beta2: 0.99, Eps: 1e-6, WeightDecay: 0.1}},
	{"adam amsgrad", optim.Adam{LR: 0.02, AMSGrad: true}},
	{"adam beta1 off", optim.Adam{Beta1: optim.Off}},
	{"adamw", optim.AdamW{}},
	{"adamw off", optim.AdamW{WeightDecay: optim.Off}},
	{"adamw amsgrad", optim.AdamW{LR: 0.03, Beta1: 0.85, Beta2: 0.95, WeightDecay: 0.2, AMSGrad: true}},
	{"rmsprop", optim.RMSprop{}},
	{"rmsprop decay", optim.RMSprop{LR: 0.02, Alpha: 0.9, Eps: 1e-6, WeightDecay: 0.1}},
	{"rmsprop centered", optim.RMSprop{Centered: true, Eps: 1e-3}},
	{"rmsprop momentum", optim.RMSprop{LR: 1e-3, Centered: true, Momentum: 0.9, Eps: 1e-3, WeightDecay: 0.1}},
	{"adagrad", optim.Adagrad{}},
	{"adagrad decay", optim.Adagrad{LR: 0.1, LRDecay: 0.1, WeightDecay: 0.1, Initial: 0.2, Eps: 1e-6}},
	{"nadam", optim.NAdam{}},
	{"nadam decay", optim.NAdam{LR: 0.02, Beta1: 0.8, Beta2: 0.99, WeightDecay: 0.1, MomentumDecay: 0.01}},
	{"radam", optim.RAdam{}},
	{"radam decay", optim.RAdam{LR: 0.02, Beta1: 0.8, Beta2: 0.99, WeightDecay: 0.1}},
	{"lion", optim.Lion{}},
	{"lion decay", optim.Lion{LR: 0.01, Beta1: 0.8, Beta2: 0.95, WeightDecay: 0.1}},
	{"lamb", optim.LAMB{}},
	{"lamb off", optim.LAMB{LR: 0.02, WeightDecay: optim.Off}},
	{"adafactor", optim.Adafactor{}},
	{"adafactor vector", optim.Adafactor{LR: 0.3, Beta2Decay: 0.7, WeightDecay: 0.1}},
	{"adafactor filters", optim.Adafactor{LR: 0.3, Clip: 0.5, WeightDecay: 0.1}},
	{"adadelta", optim.Adadelta{}},
	{"adadelta decay", optim.Adadelta{LR: 0.5, Rho: 0.8, Eps: 1e-4, WeightDecay: 0.1}},
	{"adamax", optim.Adamax{}},
	{"adamax decay", optim.Adamax{LR: 0.02, Beta1: 0.8, Beta2: 0.9, Eps: 1e-6, WeightDecay: 0.1}},
}

func dense(t tensor.Dtype, v []float64, shape ...int) *tensor.Dense {
	if t == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(append([]float64(nil), v...)))
	}
	f := make([]float32, len(v))
	for i := range v {
		f[i] = float32(v[i])
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(f))
}

func floats(t *tensor.Dense) []float64 {
	if t.Dtype() == tensor.Float64 {
		return t.Float64s()
	}
	out := make([]float64, 0, t.Shape().TotalSize())
	for _, v := range t.Float32s() {
		out = append(out, float64(v))
	}
	return out
}

// hyper returns the script's rate.
func hyper(step int) optim.Hyper {
	return optim.Hyper{Rate: 1 - 0.05*float64(step%4), Step: step}
}

func compare(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= tol*max(1, math.Abs(want[i]))) {
			t.Fatalf("%s[%d] = %v, want %v (off by %.2g)", what, i, got[i], want[i], d)
		}
	}
}

// TestPyTorch compares every rule with PyTorch after each of twelve steps:
// float64 to 1e-12; float32 to 2e-6, a few roundings of weights around 1.
func TestPyTorch(t *testing.T) {
	g := readGolden(t)
	if len(g.Cases) != len(cases) {
		t.Errorf("golden file has %d cases, the table %d", len(g.Cases), len(cases))
	}
	for i, c := range cases {
		want := g.Cases[i]
		if want.Name != c.name {
			t.Fatalf("case %d is %q in the golden file, %q in the table", i, want.Name, c.name)
		}
		for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			t.Run(c.name+"/"+dt.String(), func(t *testing.T) {
				steps, tol := want.Float64, 1e-12
				if dt == tensor.Float32 {
					steps, tol = want.Float32, 2e-6
				}
				w := dense(dt, g.W, want.Shape...)
				s, err := c.rule.Init(w)
				if err != nil {
					t.Fatal(err)
				}
				for step, ref := range steps.Weights {
					if err := c.rule.Step(w, dense(dt, g.Grads[step], want.Shape...), s, hyper(step)); err != nil {
						t.Fatal(err)
					}
					compare(t, "weight", floats(w), ref, tol)
				}
				for _, slot := range s {
					if ref, ok := steps.State[slot.Name]; ok {
						compare(t, slot.Name, floats(slot.Data), ref, tol)
					} else {
						t.Errorf("slot %q is unknown to PyTorch", slot.Name)
					}
				}
			})
		}
	}
}
