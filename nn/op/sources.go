package op

// Sources returns where the inputs of a node come from in its graph.
type Sources interface {
	Inputs() int             // number of inputs
	Role(i int) InputRole    // role of formal input i
	Data(i int) bool         // input i depends, through floating-point numbers, on the graph's inputs or on rows looked up in a table
	Repeated(i int) bool     // input i is a parameter that was expanded, perhaps along the batch
	Parameter(i int) bool    // input i is a floating-point parameter, perhaps transposed or reshaped
	Leads(i, other int) bool // input other also depends on input i by a path that does not contain the node
}
