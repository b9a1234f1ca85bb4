package nn

import "iter"

// ChangeKind says what a Change did.
type ChangeKind string

// The kinds of changes.
const (
	NodeAdded    ChangeKind = "node added"
	NodeRemoved  ChangeKind = "node removed"
	NodeChanged  ChangeKind = "node changed"
	ParamAdded   ChangeKind = "parameter added"
	ParamRemoved ChangeKind = "parameter removed"
	ParamCut     ChangeKind = "parameter cut" // Keep says which indices of Axis stay
	ParamChanged ChangeKind = "parameter changed"
	ValueRenamed ChangeKind = "value renamed"
	PortsChanged ChangeKind = "inputs or outputs changed"
)

// Change is one entry of a graph's journal: what optimizer states, averages and caches must
// follow. Pointers are to nodes and parameters that may have left the graph since.
type Change struct {
	Version int // of the graph after the edit that made the change
	Kind    ChangeKind
	Node    *Node
	Param   *Param
	Name    string // of the node or value concerned
	Old     string // former name
	Axis    int    // of ParamCut
	Keep    []int  // of ParamCut: the old index behind each new one; -1: new
	Size    int    // of ParamCut: how many indices there were
	// Like and Scale, of a ParamCut that copies channels, are the old index that each new one was
	// copied from (-1: none) and the factor that each index was multiplied by; nil: 1.
	Like  []int
	Scale []float64
	// Undoes is the version whose changes this one takes back; 0: it takes nothing back.
	Undoes int
}

// Changes lists the changes of all edits after version since, in order.
func (g *Graph) Changes(since int) iter.Seq[Change] {
	g.mu.RLock()
	list := g.changes
	g.mu.RUnlock()
	return func(yield func(Change) bool) {
		for _, c := range list {
			if c.Version > since && !yield(c) {
				return
			}
		}
	}
}
