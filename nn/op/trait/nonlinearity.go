package trait

// Activation says what a nonlinear function of single elements is used for.
type Activation uint8

// The uses.
const (
	NoActivation     Activation = iota
	HiddenActivation            // stands between layers
	GateActivation              // may as well be a gate or an output, by its form: Sigmoid, Tanh
	ClampActivation             // stands between layers where its results begin at 0, else it may be a bound: Clip
)

// Step says between which bounds a function rises.
type Step uint8

// The steps.
const (
	NoStep   Step = iota
	UnitStep      // from 0 to 1 with f(x) + f(−x) = 1: x·f(x) is an activation
	OddStep       // from −1 to 1 with f(−x) = −f(x): ½·(1 + f(x)) is a UnitStep
)
