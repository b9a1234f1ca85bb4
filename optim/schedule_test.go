package optim_test

import (
	"testing"

	"github.com/graft-ml/graft/optim"
)

func TestSchedulesMatchPyTorch(t *testing.T) {
	want := readGolden(t).Schedules
	for name, s := range map[string]optim.Schedule{
		"step":                optim.StepLR{Every: 6},
		"multistep":           optim.MultiStepLR{Milestones: []int{15, 4, 11}, Gamma: 0.3},
		"exponential":         optim.ExponentialLR{Gamma: 0.9},
		"cosine":              optim.CosineLR{To: 0.1},
		"linear":              optim.LinearLR{From: 1.0 / 3, To: 1},
		"polynomial":          optim.PolynomialLR{Power: 2},
		"onecycle":            optim.OneCycleLR{},
		"onecycle straight":   optim.OneCycleLR{Up: 0.4, Div: 10, FinalDiv: 100, Straight: true},
		"onecycle threephase": optim.OneCycleLR{ThreePhase: true},
	} {
		var got []float64
		for step := range 20 {
			got = append(got, s.At(step, 20))
		}
		compare(t, name, got, want[name], 1e-12)
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     optim.Schedule
		total int
		want  []float64 // at 0, 1, 2 …
	}{
		{"polynomial", optim.PolynomialLR{Power: 2, To: 0.5}, 4, []float64{1, 0.78125, 0.625, 0.53125, 0.5}},
		{"constant", optim.ConstantLR{}, 3, []float64{1, 1, 1, 1}},
		{"step by thirds", optim.StepLR{Gamma: 0.5}, 6, []float64{1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25}},
		{"step, total unknown", optim.StepLR{}, 0, []float64{1, 1, 1}},
		{"gamma off", optim.MultiStepLR{Milestones: []int{2}, Gamma: optim.Off}, 4, []float64{1, 1, 0, 0}},
		{"linear", optim.LinearLR{From: 1}, 4, []float64{1, 0.75, 0.5, 0.25, 0, 0}},
		{"linear from 0", optim.LinearLR{To: 1}, 2, []float64{0, 0.5, 1}},
		{"linear, total unknown", optim.LinearLR{From: 1}, 0, []float64{1, 1}},
		{"cosine", optim.CosineLR{}, 2, []float64{1, 0.5, 0, 0}},
		{"warm-up", optim.Warmup{Steps: 3, Then: optim.LinearLR{From: 1}}, 5, []float64{0.25, 0.5, 0.75, 1, 0.5, 0}},
		{"warm-up share", optim.Warmup{Share: 0.5, From: 0.1}, 2, []float64{0.55, 1, 1}},
		{"warm-up, total unknown", optim.Warmup{Steps: 1}, 0, []float64{0.5, 1, 1}},
		{"warm-up off", optim.Warmup{Share: optim.Off, Then: optim.LinearLR{From: 1}}, 2, []float64{1, 0.5, 0}},
		{"epochs", optim.PerEpoch{Schedule: optim.LinearLR{From: 1}, Steps: 2}, 4, []float64{1, 1, 0.5, 0.5, 0}},
		{"epochs, nothing inside", optim.PerEpoch{}, 4, []float64{1, 1}},
		{"one cycle of one step", optim.OneCycleLR{}, 1, []float64{1 / 25.0 / 1e4}},
		{"one cycle, total unknown", optim.OneCycleLR{}, 0, []float64{0.04, 0.04}},
	} {
		var got []float64
		for step := range c.want {
			got = append(got, c.s.At(step, c.total))
		}
		compare(t, c.name, got, c.want, 1e-15)
	}
}

func TestPlateauMatchesPyTorch(t *testing.T) {
	g := readGolden(t)
	p := optim.Plateau{Factor: 0.5, Patience: 2, Cooldown: 1, Min: 0.1}
	var s optim.PlateauState
	var got []float64
	for _, m := range g.Metrics {
		s = p.Next(s, m)
		got = append(got, s.Rate)
	}
	compare(t, "plateau", got, g.Schedules["plateau"], 1e-15)

	up := optim.Plateau{Higher: true, Patience: -1}
	s = up.Next(up.Next(optim.PlateauState{}, 0.5), 0.6)
	if s.Rate != 1 {
		t.Errorf("rate %v after an improvement, want 1", s.Rate)
	}
	if s = up.Next(s, 0.55); s.Rate != 0.1 {
		t.Errorf("rate %v after a step back, want 0.1", s.Rate)
	}
}
