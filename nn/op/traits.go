package op

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// Traits describe an operator to code that changes, prunes or trains graphs. Each is plain data or a function of a call;
// the zero value means that the trait does not apply. Code looks them up in the operator that the graph's Set gave a
// node, so operators of a program can have all of them; a node of an unknown operator has none.
type Traits struct {
	// Zero reports whether the slices of output 0 along an axis are zero if those of the inputs are. See ZeroFirst and
	// similar functions for the usual rules. nil: never.
	Zero func(c *Call, in ZeroInputs) bool
	// Range bounds the elements of the outputs, given bounds of those of the inputs. See RangeFirst and similar functions
	// for the usual rules. nil: any number.
	Range func(c *Call, in func(i int) trait.Interval) trait.Interval

	// Moves: the outputs hold elements of the inputs at other positions, in other shapes or types.
	Moves trait.Movement
	// Bounds: the operator maps each element of a parameter to a rate, a gate or a share, and the parameter is still
	// trained: exp, sigmoid, softmax.
	Bounds bool
	// Trains reports whether a floating-point parameter in input i is trained by default. nil: if the slot has the role
	// Weight. It is not called for slots with the role State.
	Trains func(i int, from Sources) bool
	// LooksUp: the operator selects rows of input 0, a table, so that its result counts as data even if the table is a
	// parameter.
	LooksUp bool
	// StraightThrough: gradients flow through the operator as if it were the identity, although its derivative is zero:
	// rounding.
	StraightThrough bool

	// Activation: the operator is a nonlinear function of single elements of input 0, as used between layers.
	Activation trait.Activation
	// Keeps reports whether the operator returns every number of the interval r in input 0 unchanged. nil: it does not.
	Keeps func(c *Call, r trait.Interval) bool
	// Odd returns gain and scale such that φ(scale·x) − φ(−scale·x) = gain·scale·x, exactly or nearly so for small scales.
	// nil: there are none.
	Odd func(c *Call) (gain, scale float64, ok bool)
	// Periodic: the operator is a periodic function of single elements of input 0.
	Periodic bool
	// Sigmoid: the operator increases from one bound to another, so that the product with its argument is an activation:
	// x·sigmoid(x), x·½·(1+erf(x)).
	Sigmoid trait.SigmoidKind
	// Arithmetic is the operation that the operator applies to two operands.
	Arithmetic trait.Arithmetic

	// WeightedSums describes an operator that multiplies data by a matrix or kernels: a layer whose channels can be counted,
	// pruned and masked, and that Head can replace. If there are several ways to see it, the first whose weight does not
	// depend on data applies. nil: the operator is no such layer.
	WeightedSums func(c *Call) []trait.WeightedSum
	// Layout declares on which axis of input 0 the operator expects the channels; output 0 has them on the same axis.
	Layout trait.Layout
	// Removable: the operator can be removed, with its input in place of its output: normalizations, pools.
	Removable bool
	// Starts declares for each input how a new index of a parameter is initialized when channels are
	// added. The last element also holds for further inputs.
	Starts []trait.Start
	// Reads reports whether indices along an axis of parameter i are columns that read channels rather than rows that
	// compute them, if couplings cannot tell because both are the same channels. nil: couplings can tell.
	Reads func(i, axis int) bool

	// Joins: the operator combines values of the same shape, in any order, so that an operand can be added or removed. An
	// operator with a variadic input takes any number.
	Joins bool
	// Concat returns the axis along which the inputs are concatenated; nil: they are not.
	Concat func(c *Call) (axis int, err error)
	// Reduces: each axis of input 0 that Couple does not mention is reduced to one element.
	Reduces trait.Reduction
	// Resize adapts attributes, and integer inputs that hold lengths, to a change of shapes around the call. nil: nothing
	// needs to change.
	Resize func(r *Resizing) error
	// Open rewrites the lengths in the call so that an axis of input 0, whose length differs between Old and New,
	// may have any length: -1 instead of a number. It reads r as Resize does. nil: nothing in the call prevents it.
	Open func(r *Resizing) error
	// ShapeInput is the input that holds the shape of output 0, 0 if there is none.
	ShapeInput int
	// OfLengths: input 0 holds the shape of output 0, whose elements do not depend on their positions: constants.
	OfLengths bool
	// Lengths returns the element of output 0 that the length of an axis of input 0 determines; -1 if it determines all
	// elements, which the output does not otherwise depend on. It reports false if it determines none. nil: the operator
	// does not read lengths.
	Lengths func(c *Call, axis int) (element int, ok bool)
	// Picks returns the indices of an axis of input 0 that output 0 holds, in its order; a single one if output 0 lacks the
	// axis. Resize must adapt them. nil as a function or as its result: they are not known, or depend on data.
	Picks func(c *Call, axis int) []int

	// Window returns the window that the operator slides over the spatial axes of input 0; nil as a function or as its
	// result: none.
	Window func(c *Call) *Window
	// Draws reports whether the call draws random numbers even when it does not train. nil: if Op.Random is set.
	Draws func(c *Call) bool
	// Probabilities: output 0 holds probabilities computed from scores, input 0, so a loss can be computed from the scores.
	// nil as a function or as its result: it does not.
	Probabilities func(c *Call) *trait.Probabilities
	// Call: the operator computes its only subgraph, whose inputs are those of the node: a function of the model.
	Call bool
	// Slices reports whether the subgraph reads slices of input i, of that many inputs, one in each iteration. nil: of none.
	Slices func(c Config, i, inputs int) bool
	// Training declares how a file can request the operator's behaviour in training. nil: it is the same as elsewhere, or no
	// file can request it.
	Training *TrainingMode

	// LimitMomentum returns the attributes with a momentum of running statistics (the fraction of the old ones that an update keeps) of at
	// most limit, and whether that changes them; nil: there are no running statistics.
	LimitMomentum func(c Config, limit float32) (limited Config, changed bool)
}

// TrainingMode declares how a node can be made to behave as in training wherever it runs.
type TrainingMode struct {
	Since  int                 // the operator set that introduced the setting
	Config func(Config) Config // returns the configuration with the setting; nil: the setting is an input
	Off    func(Config) Config // returns the configuration without the setting, for a node with its first output alone
	Input  int                 // the input that must be true
	// Outputs is the number of outputs that a node with the setting has in a file, whether they are read or not.
	Outputs int
}

// StartAt returns how a new index of a parameter in input i is initialized.
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
