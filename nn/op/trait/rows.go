package trait

// Rows describes an operator that computes each row of output 0 from one row of some inputs and from all of the others. A
// row is a run of contiguous elements; rows are numbered in memory order, whatever the shape.
type Rows struct {
	Out int   // elements of a row of output 0
	In  []int // elements of a row of each input; 0: all of the input is read
	// Groups is the number of equally large groups of rows that must be kept together, because all rows of a group read the
	// same part of another input. 0: rows are not grouped.
	Groups int
}
