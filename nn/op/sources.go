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

// trainsFactor trains a factor of a product only if it meets what the network computes from its inputs, rather than
// positions; a parameter is enough for one that is repeated over the batch, as learned queries are.
func trainsFactor(i int, from Sources) bool {
	for k := range from.Inputs() {
		if k != i && (from.Data(k) || from.Repeated(i) && from.Parameter(k)) {
			return true
		}
	}
	return false
}

// trainsOwn trains a parameter in input 0 that is divided by its own norm, or whose own mean is taken off, as a
// normalization of weights written out does.
func trainsOwn(i int, from Sources) bool { return i == 0 && from.Leads(0, 1) }

// trainsState also trains what a recurrent layer begins with, where it is repeated for the batch.
func trainsState(i int, from Sources) bool { return from.Role(i) == Weight || from.Repeated(i) }

// trainsPicture also trains the picture that a generator begins with in place of data, repeated for the batch.
func trainsPicture(i int, from Sources) bool {
	return from.Role(i) == Weight || i == 0 && from.Repeated(0) && !from.Data(0)
}

// trainsAll trains parameters in every slot.
func trainsAll(int, Sources) bool { return true }
