package std

import (
	"math"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// nonNegative is the interval of numbers from 0 on.
var nonNegative = trait.Interval{Lo: 0, Hi: math.Inf(1)}

// rangeSum returns the rule of sums.
func rangeSum(c *op.Call, in func(i int) trait.Interval) trait.Interval {
	r := in(0)
	for i := 1; i < len(c.In); i++ {
		s := in(i)
		r = trait.Interval{Lo: r.Lo + s.Lo, Hi: r.Hi + s.Hi}
	}
	return r
}

// rangeNonNegative returns the rule of norms and the like.
func rangeNonNegative(*op.Call, func(i int) trait.Interval) trait.Interval { return nonNegative }

// rangePositive returns the rule of max(0, x).
func rangePositive(_ *op.Call, in func(i int) trait.Interval) trait.Interval {
	return in(0).Clamped(trait.Interval{}, trait.Interval{Lo: math.Inf(1), Hi: math.Inf(1)})
}

// rangeProduct returns the bounds of products of nonnegative numbers.
func rangeProduct(c *op.Call, in func(i int) trait.Interval) trait.Interval {
	for i := range c.In {
		if !(in(i).Lo >= 0) {
			return trait.Anywhere()
		}
	}
	return nonNegative
}

// rangeScaled returns the rule of operators that scale or add up elements of input 0 which are not negative.
func rangeScaled(_ *op.Call, in func(i int) trait.Interval) trait.Interval {
	if in(0).Lo >= 0 {
		return nonNegative
	}
	return trait.Anywhere()
}

// rangeShrunk returns the rule of functions with 0 ≤ f(x) ≤ x for x ≥ 0.
func rangeShrunk(_ *op.Call, in func(i int) trait.Interval) trait.Interval {
	if r := in(0); r.Lo >= 0 {
		return trait.Interval{Lo: 0, Hi: r.Hi}
	}
	return trait.Anywhere()
}

// rangePadded returns the rule of operators whose windows may read zeros in addition to elements of input 0.
func rangePadded(_ *op.Call, in func(i int) trait.Interval) trait.Interval {
	return in(0).Hull(trait.Interval{})
}

// keepsPositive is the Keeps of functions that are the identity on nonnegative numbers.
func keepsPositive(_ *op.Call, r trait.Interval) bool { return r.Lo >= 0 }

// keepsAll is the identity.
func keepsAll(*op.Call, trait.Interval) bool { return true }

// oddBy returns an Odd of two numbers.
func oddBy(gain, scale float64) func(*op.Call) (float64, float64, bool) {
	return func(*op.Call) (float64, float64, bool) { return gain, scale, true }
}

// small is the scale at which smooth functions are taken for linear: a power of two rounds nothing; the error falls
// with its square.
const small = 1.0 / 128

// rectifier returns the traits of functions that are the identity on positive numbers and 0 at 0.
func rectifier() op.Traits {
	return op.Traits{Zero: op.ZeroFirst, Range: rangeRectified, Activation: trait.HiddenActivation, Keeps: keepsPositive}
}

func rangeRectified(_ *op.Call, in func(i int) trait.Interval) trait.Interval {
	if r := in(0); r.Lo >= 0 {
		return r
	}
	return trait.Anywhere()
}

// gatedLinear returns the traits of x·f(x), f a trait.UnitSigmoid.
func gatedLinear() op.Traits {
	return op.Traits{Zero: op.ZeroFirst, Range: rangeShrunk, Activation: trait.HiddenActivation, Odd: oddBy(1, 1)}
}

// moved returns the traits of operators that move elements of input 0.
func moved(m trait.Movement) op.Traits {
	return op.Traits{Zero: op.ZeroFirst, Range: op.RangeFirst, Moves: m}
}

// normalized returns the traits of normalizations with scale and bias in inputs 1 and 2, mean and variance in 3 and 4.
func normalized(at trait.Layout) op.Traits {
	return op.Traits{Zero: op.ZeroAffine, Layout: at, Removable: true, Starts: []trait.Start{trait.StartZero, trait.StartOne, trait.StartZero, trait.StartZero, trait.StartOne}}
}

// pooled returns the traits of operators that work on channels one by one.
func pooled(r func(*op.Call, func(int) trait.Interval) trait.Interval) op.Traits {
	return op.Traits{Zero: op.ZeroFirst, Range: r, Layout: trait.ChannelsFirst, Removable: true}
}

// recurrentTraits returns the traits of LSTM, GRU and RNN: the third axis of W and R, inputs 1 and 2, reads channels.
func recurrentTraits() op.Traits {
	return op.Traits{
		Zero: zeroAlways, Trains: trainsState, Layout: trait.ChannelsLast, Starts: []trait.Start{trait.StartZero, trait.StartRandom, trait.StartRandom, trait.StartZero},
		Reads: func(i, axis int) bool { return axis == 2 && (i == 1 || i == 2) },
	}
}

// normalizedLast returns those of normalizations over the last axes. Numbers that are normalized first are trained as the
// network's beginning.
func normalizedLast() op.Traits {
	t := normalized(trait.ChannelsLast)
	t.Trains = trainsAll
	return t
}

// group returns the number of groups for which the inner channels of a weight, axis 1, fit the channels of x.
func group(x op.Resized, w op.Resized, old int) int {
	if len(x.New) < 2 || len(w.New) < 2 {
		return old
	}
	return x.New[1] / max(w.New[1], 1)
}

// resizeShape makes the shape in integer input i, or its last axes, equal to that of output 0; ones
// remain if they stand for any length.
func resizeShape(i int, ones bool) func(r *op.Resizing) error {
	return func(r *op.Resizing) error {
		now, ok := r.Ints(i)
		want := r.Out[0].New
		if !ok || want == nil || len(now) > len(want) {
			return nil
		}
		next := append([]int(nil), want[len(want)-len(now):]...)
		for k, x := range now {
			if x == 1 && ones {
				next[k] = 1
			}
		}
		r.Put(i, next)
		return nil
	}
}

// resizing returns the traits with the operator's adaptation to a change of sizes, and the input that has its shape, if any.
func resizing(t op.Traits, shape int, f func(r *op.Resizing) error) op.Traits {
	t.ShapeInput, t.Resize = shape, f
	return t
}

// opening returns the traits with the way to make the call accept any length of an axis, and the indices that are picked, if any.
func opening(t op.Traits, f func(r *op.Resizing) error, picks func(c *op.Call, axis int) []int) op.Traits {
	t.Open, t.Picks = f, picks
	return t
}

// geometry is where a configuration holds the attributes of a sliding window.
type geometry struct {
	kernel, strides, dilations, pads *[]int
	autoPad                          *string
}

// sliding returns the traits with a window whose attributes are in a configuration of type C.
func sliding[C op.Config](t op.Traits, weight int, at func(*C) geometry) op.Traits {
	t.Window = func(c *op.Call) *op.Window {
		cfg := c.Config.(C)
		g := at(&cfg)
		w := &op.Window{Weight: weight, Kernel: *g.kernel, Strides: *g.strides, Dilations: *g.dilations, Pads: *g.pads, AutoPad: *g.autoPad}
		w.With = func(kernel, pads []int, autoPad string) op.Config {
			next := cfg
			g := at(&next)
			*g.kernel, *g.pads, *g.autoPad = kernel, pads, autoPad
			return next
		}
		return w
	}
	return t
}

// trainsFactor trains a factor of a product only if the other factor is computed from the network's
// inputs, rather than from positions; for one that is repeated over the batch, as learned queries are,
// a parameter suffices.
func trainsFactor(i int, from op.Sources) bool {
	for k := range from.Inputs() {
		if k != i && (from.Data(k) || from.Repeated(i) && from.Parameter(k)) {
			return true
		}
	}
	return false
}

// trainsOwn trains a parameter in input 0 that is divided by its own norm, or whose own mean is taken off, as a
// normalization of weights written out does.
func trainsOwn(i int, from op.Sources) bool { return i == 0 && from.Leads(0, 1) }

// trainsState also trains the initial state of a recurrent layer if it is repeated for the batch.
func trainsState(i int, from op.Sources) bool { return from.Role(i) == op.Weight || from.Repeated(i) }

// trainsImage also trains the constant image from which a generator starts, repeated for the batch.
func trainsImage(i int, from op.Sources) bool {
	return from.Role(i) == op.Weight || i == 0 && from.Repeated(0) && !from.Data(0)
}

// trainsAll trains parameters in every slot.
func trainsAll(int, op.Sources) bool { return true }

// zeroAlways is the rule of recurrent layers: a state is computed from parameters only.
func zeroAlways(*op.Call, op.ZeroInputs) bool { return true }
