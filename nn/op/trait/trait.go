// Package trait holds the types with which operators describe themselves to code that changes, prunes or trains graphs.
// See op.Traits.
package trait

// Probabilities declares that an operator converts scores to probabilities.
type Probabilities struct {
	Log  bool  // the output holds their natural logarithms
	Over []int // the axes over which they sum to 1; nil: each element is the probability of an independent event
}

// Reduction declares how an operator reduces the elements along an axis to one.
type Reduction uint8

// Kinds of reductions.
const (
	NoReduction Reduction = iota
	Sums                  // zeros do not contribute, so a slice of zeros may be removed
	Weighs                // zeros do contribute: means, extrema, products
)

// Movement declares how an operator moves elements from its inputs to its outputs.
type Movement uint8

// The movements.
const (
	NotMoved     Movement = iota
	Moved                 // output elements are elements of input 0
	MovedAll              // output elements are elements of all inputs
	MovedOften            // output elements are elements of input 0, repeated
	MovedInOrder          // output elements are all elements of input 0, in the same order: a new shape or type
)

// Of reports whether output elements are elements of input i.
func (m Movement) Of(i int) bool { return m == MovedAll || m != NotMoved && i == 0 }

// Arithmetic is an operation on two operands.
type Arithmetic uint8

// The operations.
const (
	NoArithmetic Arithmetic = iota
	Adds
	Subtracts
	Multiplies
	Divides
	Powers
)

// WeightedSum declares how an operator multiplies data by a weight and sums over an axis of it, as a
// Conv or a MatMul does.
type WeightedSum struct {
	Weight  int // the input that holds the weight
	Bias    int // the input that holds one element per output channel; 0: the operator has none
	In, Out int // axes of the weight: the one summed over, and the one of the output channels
	Groups  int // number of groups of channels that are computed separately; 0 or 1: channels are not grouped
}

// Layout declares which axis of a value holds the channels.
type Layout uint8

// The layouts.
const (
	AnyLayout     Layout = iota // the operator does not care
	ChannelsFirst               // axis 1, as images have them
	ChannelsLast                // the last axis, as sequences have them
)

// Start declares how new indices of a parameter are initialized.
type Start uint8

// The initial values.
const (
	NoStart     Start = iota // the operator does not say
	StartZero                // 0
	StartOne                 // 1
	StartLike                // as the index that they are inserted after
	StartRandom              // random numbers with the parameter's mean square
)
