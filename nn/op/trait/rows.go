package trait

// Rows describes an operator each row of whose output 0 is computed from one row of some inputs, and
// from all of the others. A row is some elements of a tensor that are contiguous; rows are numbered in
// the order of memory, whatever the shape.
type Rows struct {
	Out int   // elements of a row of output 0
	In  []int // elements of a row of each input; 0: all of the input is read
	// Groups is the number of groups of equally many rows that must stay together, as the rows of a
	// group read what belongs to it in other inputs. 0: there are none.
	Groups int
}
