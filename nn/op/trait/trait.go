// Package trait holds the words in which operators say what code that changes, prunes or trains graphs wants to know of them: see
// op.Traits.
package trait

// Probabilities is what an operator makes of scores.
type Probabilities struct {
	Log  bool  // their natural logarithms
	Over []int // the axes over which they sum to 1; nil: each is that of an event of its own
}

// Reduction is how an operator makes one element of those along an axis.
type Reduction uint8

// Kinds of reductions.
const (
	NoReduction Reduction = iota
	Sums                  // zeros do not count: a slice of zeros may leave
	Weighs                // zeros count: means, extremes, products
)

// Movement is how an operator moves elements.
type Movement uint8

// The movements.
const (
	NotMoved     Movement = iota
	Moved                 // output elements are elements of input 0
	MovedAll              // output elements are elements of all inputs
	MovedOften            // output elements are elements of input 0, repeated
	MovedInOrder          // output elements are all elements of input 0 in their order: another shape or type
)

// Of reports whether elements of input i are moved.
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

// WeightedSum says how an operator multiplies data with a weight.
type WeightedSum struct {
	Weight  int // the input that holds the weight
	Bias    int // the input that holds an element for each channel it computes; 0: the operator has none
	In, Out int // axes of the weight: the one that is summed over, and the one of the channels it computes
	Groups  int // channels are mapped in so many groups by themselves; 0 or 1: all together
}

// Layout says which axis of a value holds the channels.
type Layout uint8

// The layouts.
const (
	AnyLayout     Layout = iota // the operator does not care
	ChannelsFirst               // axis 1, as images have them
	ChannelsLast                // the last axis, as sequences have them
)

// Start is what new indices of a parameter start as.
type Start uint8

// The starts.
const (
	NoStart     Start = iota // the operator does not say
	StartZero                // 0
	StartOne                 // 1
	StartLike                // as the index that they stand behind
	StartRandom              // random numbers of the parameter's mean square
)
