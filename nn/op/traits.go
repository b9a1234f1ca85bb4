package op

// Traits are what code that changes, prunes or trains graphs wants to know of an operator beyond what computing
// needs. Each is plain data or a plain function of a call; the zero value says that the trait does not apply. Code
// reaches them through the operator that the graph's Set gave a node, so a user's operator has all that ours
// have, and a node of an operator that is not known has none.
type Traits struct {
	// LooksUp: the operator picks rows of input 0, a table, so that what it computes of a parameter is data.
	LooksUp bool
	// StraightThrough: where gradients are asked for, they pass as if the operator were the identity, although its
	// derivative is zero: rounding.
	StraightThrough bool
}
