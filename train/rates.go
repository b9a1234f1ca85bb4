package train

import (
	"fmt"
	"math"
	"strings"

	"github.com/graft-ml/graft/optim"
)

// checkRates returns an error if the settings of one of optim's schedules, or of one in it, or of a Plateau cannot be meant: rates could
// become negative or not finite. Other schedules are not checked.
func checkRates(settings any) (err error) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", settings), "optim.")
	refuse := func(field string, v any, want string) {
		if err == nil {
			err = fmt.Errorf("%s: %s is %v: want %s", name, field, v, want)
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
		part("Factor", s.Factor)
		orOff("Threshold", s.Threshold)
		whole("Cooldown", s.Cooldown)
		part("Min", s.Min)
	case optim.StepLR:
		whole("Every", s.Every)
		orOff("Gamma", s.Gamma)
	case optim.MultiStepLR:
		orOff("Gamma", s.Gamma)
	case optim.ExponentialLR:
		orOff("Gamma", s.Gamma)
	case optim.LinearLR:
		number("From", s.From)
		number("To", s.To)
	case optim.PolynomialLR:
		orOff("Power", s.Power)
		orOff("To", s.To)
	case optim.CosineLR:
		orOff("To", s.To)
	case optim.OneCycleLR:
		part("Up", s.Up)
		number("Div", s.Div)
		number("FinalDiv", s.FinalDiv)
	case optim.PerEpoch:
		if whole("Steps", s.Steps); err == nil {
			return checkRates(s.Schedule)
		}
	case optim.Warmup:
		whole("Steps", s.Steps)
		part("Share", s.Share)
		if orOff("From", s.From); err == nil {
			return checkRates(s.Then)
		}
	}
	return err
}
