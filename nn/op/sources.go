package op

// Sources answers where the inputs of a node come from in its graph.
type Sources interface {
	Inputs() int             // how many there are
	Role(i int) Role         // the role of the formal input
	Data(i int) bool         // input i depends, through numbers that are differentiated, on the graph's inputs or on rows looked up in a table
	Repeated(i int) bool     // input i is a parameter that was repeated, for the batch perhaps
	Parameter(i int) bool    // input i is a floating-point parameter, perhaps moved
	Leads(i, other int) bool // input other depends on input i otherwise than through the node
}
