// Package coupling holds the words in which operators say how the indices of their axes follow each other, so that a channel that
// is cut at one place is cut at all that compute or read it: see op.Op.Couple.
package coupling

// Coupling says how the indices of one axis follow those of another: when an index of From
// leaves, the indices of To that Map gives leave with it, and the other way round.
type Coupling struct {
	From, To Axis
	Map      Map
}

// Axis is an axis of an input or an output of the call.
type Axis struct {
	Output bool // of an output rather than an input
	Slot   int  // which input or output
	Axis   int  // always counted from the front
}

// In is an axis of input i.
func In(i, axis int) Axis { return Axis{Slot: i, Axis: axis} }

// Out is an axis of output i.
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

// Map is an index map in one of the forms of Relation.
type Map struct {
	Relation     Relation
	Shift, Count int   // see the Relations
	Outer, Inner int   // see the Relations
	Perm         []int // see the Relations
	Groups       int   // see the Relations
}
