package op

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// Traits are what code that changes, prunes or trains graphs wants to know of an operator beyond what computing
// needs. Each is plain data or a plain function of a call; the zero value says that the trait does not apply. Code
// reaches them through the operator that the graph's Set gave a node, so a user's operator has all that ours
// have, and a node of an operator that is not known has none.
type Traits struct {
	// Zero reports whether the slices of output 0 along an axis are zero where those of the inputs are. See ZeroFirst
	// and its neighbours for the usual rules. nil: never.
	Zero func(c *Call, in ZeroInputs) bool
	// Range bounds the elements of the outputs, given bounds of the elements of the inputs. See RangeFirst and its
	// neighbours for the usual rules. nil: any number.
	Range func(c *Call, in func(i int) trait.Interval) trait.Interval

	// Moves: the outputs hold elements of inputs at other places, in other shapes or types.
	Moves trait.Movement
	// Bounds: the operator maps each element of a parameter to a rate, a gate or a share, and the parameter is still
	// what is learned: exp, sigmoid, softmax.
	Bounds bool
	// Trains reports whether a floating-point parameter in input i is trained by default. nil: in slots of the role
	// Weight. Slots of the role State it is not asked about.
	Trains func(i int, from Sources) bool
	// LooksUp: the operator picks rows of input 0, a table, so that what it computes of a parameter is data.
	LooksUp bool
	// StraightThrough: where gradients are asked for, they pass as if the operator were the identity, although its
	// derivative is zero: rounding.
	StraightThrough bool

	// Activation: the operator is a nonlinear function of single elements of input 0, as stands between layers.
	Activation trait.Activation
	// Keeps reports whether the operator leaves every number of the interval in input 0 as it is. nil: it does not.
	Keeps func(c *Call, r trait.Interval) bool
	// Odd gives the numbers for which φ(scale·x) − φ(−scale·x) = gain·scale·x, exactly, or nearly for small scales.
	// nil: there are none.
	Odd func(c *Call) (gain, scale float64, ok bool)
	// Step: the operator rises from one bound to the other, so that with its argument it makes an activation:
	// x·sigmoid(x), x·½·(1+erf(x)).
	Step trait.Step
	// Arithmetic is the operation that the operator does on its operands.
	Arithmetic trait.Arithmetic

	// Layers describe an operator that multiplies data with a matrix or kernels: a layer whose channels can be
	// counted, pruned and masked, and that a head may replace. Of several ways to see it the first whose weight does not
	// depend on data counts. nil: it is none.
	WeightedSums func(c *Call) []trait.WeightedSum
	// Layout says which axis of input 0 the operator takes for the channels; output 0 has them on the same one.
	Layout trait.Layout
	// Removable: the operator can be left out, its input taking the place of its output: normalizations, pools.
	Removable bool
	// Starts gives, for each input, what a new index of a parameter there starts as when channels are added.
	// Inputs beyond the list start as its last one says.
	Starts []trait.Start
	// Reads reports whether indices along an axis of parameter i are columns that read channels rather than rows
	// that compute them, where couplings cannot tell because both are the same channels. nil: couplings tell.
	Reads func(i, axis int) bool

	// Joins: one value is made of several of the same shape, in any order, so that a term can be added or taken away. An
	// operator with a variadic input takes any number.
	Joins bool
	// Concat is the axis along which the inputs are put one after the other; nil: they are not.
	Concat func(c *Call) (axis int, err error)
	// Reduces: each axis of input 0 that Couple does not mention becomes one element.
	Reduces trait.Reduction
	// Resize makes attributes, and integer inputs that spell lengths out, follow a change of sizes around the call. nil: the
	// call says nothing about lengths that its inputs do not.
	Resize func(r *Resizing) error
	// Open rewrites what the call says about lengths so that an axis of input 0, whose length differs between Old and New, may
	// have any length: -1 in place of a number. It reads r as Resize does. nil: the call says nothing that prevents it.
	Open func(r *Resizing) error
	// ShapeInput is the input that spells out the shape of output 0, 0 where none does.
	ShapeInput int
	// OfLengths: input 0 holds the lengths of output 0, whose elements do not depend on where they are: constants.
	OfLengths bool
	// Lengths gives the element of output 0 that the length of an axis of input 0 goes into, -1 where it goes into all, on
	// whose elements the output does not depend. False: into none. nil: the operator does not read lengths.
	Lengths func(c *Call, axis int) (element int, ok bool)
	// Picks are the indices of an axis of input 0 that output 0 holds, in its order; where output 0 lacks the axis there is one
	// of them. Resize must make them follow. nil as a function or as its result: they are not known, or depend on data.
	Picks func(c *Call, axis int) []int

	// Window is the window that the operator slides over the spatial axes of input 0; nil as a function or as its result: none.
	Window func(c *Call) *Window
	// Draws reports whether the call draws random numbers as it is, outside of training. nil: where Op.Random says so.
	Draws func(c *Call) bool
	// Probabilities: output 0 holds probabilities that are made of scores, input 0, so that a loss can be computed from the
	// scores. nil as a function or as its result: it does not.
	Probabilities func(c *Call) *trait.Probabilities
	// Training says how a file asks for what the operator does in training. nil: it does the same, or no file can.
	Training *TrainingMode
}

// TrainingMode is how a node asks for what its operator does in training, wherever it runs.
type TrainingMode struct {
	Since  int                 // the operator set that has the way
	Config func(Config) Config // the configuration that says so; nil: an input does
	Input  int                 // the input that is true then
}

// StartAt is what a new index of a parameter in input i starts as.
func (t Traits) StartAt(i int) trait.Start {
	if len(t.Starts) == 0 {
		return trait.NoStart
	}
	return t.Starts[min(i, len(t.Starts)-1)]
}

// Numbers returns the elements of input i. It reports false if the value is not known.
func (c *Call) Numbers(i int) ([]float64, bool) {
	if i >= len(c.Known) {
		return nil, false
	}
	d, ok := c.Known[i].Value.(*tensor.Dense)
	if !ok || d == nil {
		return nil, false
	}
	x, err := dtype.Float64s(d)
	return x, err == nil
}

// Uniform returns the number that all elements of input i equal. It reports false if they differ or are not known.
func (c *Call) Uniform(i int) (float64, bool) {
	x, ok := c.Numbers(i)
	if !ok || len(x) == 0 {
		return 0, false
	}
	for _, v := range x {
		if v != x[0] {
			return 0, false
		}
	}
	return x[0], true
}
