package optim

import "gorgonia.org/tensor"

// Off means zero in a setting whose zero value means a default:
// AdamW{WeightDecay: Off} does not decay, Adam{Beta1: Off} has no momentum. It
// works in every float setting of this package; other negative settings are
// errors.
const Off = -1.0

// Rule updates one weight from its gradient. Implementations are plain
// settings: a value may be shared by all weights and by goroutines working on
// different weights.
type Rule interface {
	// Init returns the fresh state of the weight w, or an error when the
	// settings are out of range or w is not a contiguous float32 or float64
	// tensor.
	Init(w *tensor.Dense) ([]Slot, error)
	// Step updates w and its slots in place. The gradient has w's shape and
	// element type and is scratch: its contents are undefined afterwards. On an
	// error nothing has been changed.
	Step(w, grad *tensor.Dense, s []Slot, h Hyper) error
}

// Slot is one tensor of the state that a rule keeps for a weight.
type Slot struct {
	// Name is PyTorch's name of the state where it has one: "exp_avg".
	Name string
	// Data is updated in place by Step.
	Data *tensor.Dense
	// Axes has, for each axis of Data, the axis of the weight that it follows:
	// when that axis of the weight is cut or grown, so is this one. −1: none.
	Axes []int
}

// Hyper holds the arguments that change from step to step.
type Hyper struct {
	// Rate is the schedule's value times the factor of the weight's group. The
	// rule multiplies its LR by it.
	Rate float64
	// Step is the number of previous updates of this weight, 0 at the first
	// one. Bias corrections are computed from it.
	Step int
}
