package op

// Coupling says how the indices of one axis follow those of another: when an index of From
// leaves, the indices of To that Map gives leave with it, and the other way round.
type Coupling struct {
	From, To AxisRef
	Map      IndexMap
}

// AxisRef is an axis of an input or an output of the call.
type AxisRef struct {
	Output bool // of an output rather than an input
	Slot   int  // which input or output
	Axis   int  // always counted from the front
}

// InAxis is an axis of input i.
func InAxis(i, axis int) AxisRef { return AxisRef{Slot: i, Axis: axis} }

// OutAxis is an axis of output i.
func OutAxis(i, axis int) AxisRef { return AxisRef{Output: true, Slot: i, Axis: axis} }

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

// IndexMap is an index map in one of the forms of Relation.
type IndexMap struct {
	Relation     Relation
	Shift, Count int   // see the Relations
	Outer, Inner int   // see the Relations
	Perm         []int // see the Relations
	Groups       int   // see the Relations
}
