package nn

import (
	"iter"
	"slices"
)

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of changes.
const (
	NodeAdded    ChangeKind = "node added"
	NodeRemoved  ChangeKind = "node removed"
	NodeChanged  ChangeKind = "node changed"
	ParamAdded   ChangeKind = "parameter added"
	ParamRemoved ChangeKind = "parameter removed"
	ParamCut     ChangeKind = "parameter cut" // an axis lost or gained indices: see Change.Axis and Change.Keep
	ParamChanged ChangeKind = "parameter changed"
	ValueRenamed ChangeKind = "value renamed"
	PortsChanged ChangeKind = "inputs or outputs changed"
	Forgotten    ChangeKind = "forgotten" // changes up to Version are no longer in the journal, see Changes
)

// Change is one entry of a graph's journal (Graph.Changes): what optimizer states, averages and caches must follow. Its
// pointers may refer to nodes and parameters that have since been removed from the graph.
type Change struct {
	Version int        // version of the graph after the edit
	Kind    ChangeKind // what was changed
	Node    *Node      // set if a node changed
	Param   *Param     // set if a parameter changed
	Name    string     // name of the node or value
	Old     string     // former name
	Axis    int        // of ParamCut: the axis that was cut or grown
	Keep    []int      // of ParamCut: for each index after the change the index before it, −1 for a new one
	Size    int        // of ParamCut: length of the axis before
	// Like and Scale are set for a ParamCut that copies channels. Like holds, for each index after the change, the index
	// before it that it was copied from, −1 if none. Scale holds the factor that each index was multiplied by; nil: 1.
	Like  []int
	Scale []float64 // factors along the axis
	// Undoes is the version whose changes this one reverts; 0: it reverts none.
	Undoes int
	held   int // approximate number of bytes that the entry keeps from being collected
}

// Changes iterates over the changes made by all edits after version since, in order. The journal of a graph that is
// edited very often drops the oldest entries: if some of those asked for are missing, the first entry is of kind
// Forgotten.
func (g *Graph) Changes(since int) iter.Seq[Change] {
	lock := g.locked()
	j := g.journal
	lock.unlock()
	return func(yield func(Change) bool) {
		if since < j.forgotten && !yield(Change{Kind: Forgotten, Version: j.forgotten}) {
			return
		}
		for _, c := range j.changes {
			if c.Version > since && !yield(c) {
				return
			}
		}
	}
}

// journal holds the latest changes of edits.
type journal struct {
	changes   []Change
	forgotten int // changes up to this version have been dropped
	bytes     int // bytes that the entries keep
}

// The limits of a journal; the latest edits are kept in any case.
const (
	journalBytes = 1 << 20
	journalEdits = 256
)

// holds returns approximately how many bytes an entry keeps from being collected, such as those of a removed parameter.
func (c Change) holds() int {
	n := 256 + 8*(len(c.Keep)+len(c.Like)+len(c.Scale))
	if c.Kind == ParamRemoved {
		n += c.Param.size() * 4
	}
	return n
}

// add appends the changes of one version.
func (j *journal) add(version int, log []action) {
	n := 0
	for i := range log {
		if log[i].change != nil {
			n++
		}
	}
	j.changes = slices.Grow(j.changes, n) // there may be hundreds of thousands, which take long to copy
	for _, a := range log {
		if a.change != nil {
			c := *a.change
			c.Version, c.held = version, c.holds()
			j.changes = append(j.changes, c)
			j.bytes += c.held
		}
	}
	gone := 0
	for j.bytes > journalBytes && j.changes[gone].Version <= version-journalEdits {
		for j.forgotten = j.changes[gone].Version; gone < len(j.changes) && j.changes[gone].Version == j.forgotten; gone++ {
			j.bytes -= j.changes[gone].held
		}
	}
	if gone > 0 {
		j.changes = slices.Clone(j.changes[gone:]) // iterations over the old list are not affected
	}
}
