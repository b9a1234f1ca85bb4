package op

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

// keepsPositive is the identity on numbers that are not negative.
func keepsPositive(_ *Call, r Interval) bool { return r.Lo >= 0 }

// keepsAll is the identity.
func keepsAll(*Call, Interval) bool { return true }

// oddBy is an Odd of two numbers.
func oddBy(gain, scale float64) func(*Call) (float64, float64, bool) {
	return func(*Call) (float64, float64, bool) { return gain, scale, true }
}

// small is the scale at which smooth functions are taken for linear: a power of two rounds nothing; the error falls
// with its square.
const small = 1.0 / 128

// rectifier are the traits of functions that leave positive numbers as they are and 0 at 0.
func rectifier() Traits {
	return Traits{Zero: ZeroFirst, Range: rangeRectified, Activation: HiddenActivation, Keeps: keepsPositive}
}

func rangeRectified(_ *Call, in func(i int) Interval) Interval {
	if r := in(0); r.Lo >= 0 {
		return r
	}
	return Anywhere
}

// gatedLinear are the traits of x·f(x), f a UnitStep.
func gatedLinear() Traits {
	return Traits{Zero: ZeroFirst, Range: rangeShrunk, Activation: HiddenActivation, Odd: oddBy(1, 1)}
}

// moved are the traits of operators that move elements of input 0.
func moved(m Movement) Traits { return Traits{Zero: ZeroFirst, Range: RangeFirst, Moves: m} }

// normalized are the traits of normalizations with scale and bias in inputs 1 and 2, mean and variance in 3 and 4.
func normalized(at Channels) Traits {
	return Traits{Zero: ZeroAffine, Channels: at, Removable: true, Starts: []Start{StartZero, StartOne, StartZero, StartZero, StartOne}}
}

// pooled are the traits of operators that work on channels one by one.
func pooled(r func(*Call, func(int) Interval) Interval) Traits {
	return Traits{Zero: ZeroFirst, Range: r, Channels: ChannelsFirst, Removable: true}
}

// recurrent are the traits of LSTM, GRU and RNN: the third axis of W and R, inputs 1 and 2, reads channels.
func recurrentTraits() Traits {
	return Traits{
		Zero: zeroAlways, Trains: trainsState, Channels: ChannelsLast, Starts: []Start{StartZero, StartRandom, StartRandom, StartZero},
		Reads: func(i, axis int) bool { return axis == 2 && (i == 1 || i == 2) },
	}
}

// normalizedLast are those of normalizations over the last axes. Numbers that are normalized first are trained as the
// network's beginning.
func normalizedLast() Traits {
	t := normalized(ChannelsLast)
	t.Trains = trainsAll
	return t
}
