package train

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/optim"
)

// checkRates returns an error if the settings of one of optim's schedules, or of one in it, or of a Plateau cannot be meant: rates could
// become negative or not finite. Other schedules are not checked.
func checkRates(settings any) (err error) {
	refuse := func(field string, v any, want string) {
		if err == nil {
			err = fmt.Errorf("%s is %v: want %s", field, v, want)
		}
	}
	whole := func(field string, n int) {
		if n < 0 {
			refuse(field, n, "0 or more")
		}
	}
	number := func(field string, v float64) {
		if !(v >= 0) || math.IsInf(v, 0) {
			refuse(field, v, "a finite number, 0 or more")
		}
	}
	orOff := func(field string, v float64) {
		if v != optim.Off {
			number(field, v)
		}
	}
	part := func(field string, v float64) {
		if orOff(field, v); v > 1 {
			refuse(field, v, "a fraction from 0 to 1")
		}
	}
	switch s := settings.(type) {
	case optim.Plateau:
		part("Plateau: Factor", s.Factor)
		orOff("Plateau: Threshold", s.Threshold)
		whole("Plateau: Cooldown", s.Cooldown)
		part("Plateau: Min", s.Min)
	case optim.StepLR:
		whole("StepLR: Every", s.Every)
		orOff("StepLR: Gamma", s.Gamma)
	case optim.MultiStepLR:
		orOff("MultiStepLR: Gamma", s.Gamma)
	case optim.ExponentialLR:
		orOff("ExponentialLR: Gamma", s.Gamma)
	case optim.LinearLR:
		number("LinearLR: From", s.From)
		number("LinearLR: To", s.To)
	case optim.PolynomialLR:
		orOff("PolynomialLR: Power", s.Power)
		orOff("PolynomialLR: To", s.To)
	case optim.CosineLR:
		orOff("CosineLR: To", s.To)
	case optim.OneCycleLR:
		part("OneCycleLR: Up", s.Up)
		number("OneCycleLR: Div", s.Div)
		number("OneCycleLR: FinalDiv", s.FinalDiv)
	case optim.PerEpoch:
		if whole("PerEpoch: Steps", s.Steps); err == nil {
			return checkRates(s.Schedule)
		}
	case optim.Warmup:
		whole("Warmup: Steps", s.Steps)
		part("Warmup: Share", s.Share)
		if orOff("Warmup: From", s.From); err == nil {
			return checkRates(s.Then)
		}
	}
	return err
}
