// Package coupling describes how the indices along the axes of an operator's inputs and outputs correspond, so that a
// channel that is removed in one place is removed wherever it is computed or read. See op.Op.Couple.
package coupling

// Coupling relates the indices of two axes: when an index of From is removed, the corresponding
// indices of To, given by Map, are removed with it, and vice versa.
type Coupling struct {
	From, To Axis
	Map      Map
}

// Axis is one axis of an input or an output of a call.
type Axis struct {
	Output bool // of an output rather than an input
	Slot   int  // which input or output
	Axis   int  // always counted from the front
}

// In returns an axis of input i.
func In(i, axis int) Axis { return Axis{Slot: i, Axis: axis} }

// Out returns an axis of output i.
func Out(i, axis int) Axis { return Axis{Output: true, Slot: i, Axis: axis} }

// Relation is the form of an index map.
type Relation uint8

// The forms of index maps; n is the length of the From axis.
const (
	Identity    Relation = iota // i ↔ i
	Offset                      // i ↔ i + Shift, for 0 ≤ i < Count (0: all): concatenation, splitting, slices
	Factor                      // the axis is one factor of the other: To = (Outer, n, Inner) row-major, i ↔ every (o, i, k)
	Permutation                 // i ↔ Perm[i]
	Group                       // Groups equal blocks: an index within a block leaves every block, or whole blocks leave
	Gates                       // Groups blocks, one per gate of a recurrent cell: i ↔ every g·n + i
	Norm                        // as Identity, but a normalization runs over the axis: a cut changes the function
	Resplit                     // both axis lists hold the same elements row by row (Reshape): refine both to common factors
	NormGroup                   // as Group, between axes of the same length, but a normalization runs over each block
)

// Map is a relation between the indices of two axes. Which of the fields apply depends on the Relation.
type Map struct {
	Relation     Relation
	Shift, Count int   // see the Relations
	Outer, Inner int   // see the Relations
	Perm         []int // see the Relations
	Groups       int   // see the Relations
}
