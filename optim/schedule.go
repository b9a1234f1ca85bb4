package optim

import "math"

// Schedule is a factor of the learning rates of all rules, as a function of the progress of training.
// Implementations are pure functions, so a resumed run continues exactly.
type Schedule interface {
	// At returns the factor for update number step, counted from 0, of total.
	// Steps from total on get the last value. If total is unknown (0 or less),
	// schedules that need it return their first value.
	At(step, total int) float64
}

// progress returns the fraction of the run that is complete at step, in [0, 1].
func progress(step, total int) float64 {
	if total <= 0 || step <= 0 {
		return 0
	}
	return min(1, float64(step)/float64(total))
}

// ConstantLR is 1 throughout.
type ConstantLR struct{}

// At implements [Schedule].
func (ConstantLR) At(step, total int) float64 { return 1 }

// or returns def if v is zero, 0 if v is Off, and otherwise v.
func or(v, def float64) float64 {
	switch v {
	case 0:
		return def
	case Off:
		return 0
	}
	return v
}

// StepLR multiplies by Gamma at regular intervals, as torch's StepLR.
type StepLR struct {
	Every int     // steps between drops; 0: a third of the run
	Gamma float64 // 0.1
}

// At implements [Schedule].
func (s StepLR) At(step, total int) float64 {
	every := s.Every
	if every <= 0 {
		every = max(1, (max(total, 0)+2)/3)
		if total <= 0 {
			return 1
		}
		step = min(step, total-1)
	}
	return math.Pow(or(s.Gamma, 0.1), float64(max(step, 0)/every))
}

// MultiStepLR multiplies by Gamma at each milestone, as torch's MultiStepLR.
type MultiStepLR struct {
	Milestones []int   // steps, in any order
	Gamma      float64 // 0.1
}

// At implements [Schedule].
func (s MultiStepLR) At(step, total int) float64 {
	f := 1.0
	for _, m := range s.Milestones {
		if step >= m {
			f *= or(s.Gamma, 0.1)
		}
	}
	return f
}

// ExponentialLR multiplies by Gamma at each step, as torch's ExponentialLR;
// usually inside [PerEpoch].
type ExponentialLR struct {
	Gamma float64 // 0.95
}

// At implements [Schedule].
func (s ExponentialLR) At(step, total int) float64 {
	return math.Pow(or(s.Gamma, 0.95), float64(max(step, 0)))
}

// LinearLR goes from From to To in a straight line over the whole run. Neither has a default: zero means zero.
type LinearLR struct {
	From float64 // first factor
	To   float64 // last factor
}

// At implements [Schedule].
func (s LinearLR) At(step, total int) float64 {
	return s.From + (s.To-s.From)*progress(step, total)
}

// PolynomialLR falls from 1 to To as (1 − step/total)^Power, as torch's
// PolynomialLR.
type PolynomialLR struct {
	Power float64 // 1
	To    float64 // 0
}

// At implements [Schedule].
func (s PolynomialLR) At(step, total int) float64 {
	to := or(s.To, 0)
	return to + (1-to)*math.Pow(1-progress(step, total), or(s.Power, 1))
}

// PerEpoch evaluates its schedule by epochs instead of steps: the value changes
// only between epochs.
type PerEpoch struct {
	Schedule Schedule // nil: ConstantLR
	Steps    int      // steps in one epoch; 0 counts as 1
}

// At implements [Schedule].
func (s PerEpoch) At(step, total int) float64 {
	if s.Schedule == nil {
		return 1
	}
	n := max(s.Steps, 1)
	return s.Schedule.At(step/n, (total+n-1)/n)
}
