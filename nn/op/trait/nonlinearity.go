package trait

// Activation declares how an elementwise nonlinear function is used.
type Activation uint8

// The uses.
const (
	NoActivation     Activation = iota
	HiddenActivation            // used between layers
	GateActivation              // may also be a gate or an output, judging by its form: Sigmoid, Tanh
	ClampActivation             // used between layers if its lower bound is 0, otherwise it may just limit a range: Clip
)

// SigmoidKind is the kind of an increasing function between two bounds.
type SigmoidKind uint8

// The kinds of sigmoid functions.
const (
	noSigmoid   SigmoidKind = iota
	UnitSigmoid             // from 0 to 1 with f(x) + f(−x) = 1: x·f(x) is an activation
	OddSigmoid              // from −1 to 1 with f(−x) = −f(x): ½·(1 + f(x)) is a UnitSigmoid
)
