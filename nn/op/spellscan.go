package op

import "slices"

// Scan is the subgraph of a Part that iterates over sequences. Part.In lists the states, the sequences, which are sliced
// along their first axis, and the values that the subgraph captures; Part.Out lists the last states, followed by the
// stacked outputs.
type Scan struct {
	States, Sequences int        // number of states and of sequences
	Back              bool       // iterates from the last slice to the first
	In                []*Operand // placeholders for Part.In inside the subgraph
	Parts             []*Part    // in an order in which they can be computed
	Out               []*Operand // the next states, followed by a slice of each stacked output
}

// Scan adds a Scan (operator set 9 or later) before n, for sequences whose length is unknown. f adds the nodes of the
// subgraph to a separate spelling: it receives placeholders for the states, the slices and the captured values, and
// returns the next states and the values to stack. The results must not be passed to Give; another node has to follow.
func (n *Spelling) Scan(back bool, states, sequences, captured []*Operand, f func(in *Spelling, states, slices, captured []*Operand) (next, stacked []*Operand)) (last, stacked []*Operand) {
	n.made()
	s := &Scan{States: len(states), Sequences: len(sequences), Back: back}
	all := slices.Concat(states, sequences, captured)
	for i, x := range all {
		t := x.Type
		if i >= s.States && i < s.States+s.Sequences && t.Rank() > 0 {
			t = t.With(t.Shape[1:]...)
		}
		s.In = append(s.In, &Operand{Type: t, Name: x.Name})
	}
	sub := &Spelling{Part: n.Part, set: n.set, gone: true, Call: n.Call, calls: n.calls}
	next, out := f(sub, s.In[:s.States:s.States], s.In[s.States:s.States+s.Sequences], s.In[s.States+s.Sequences:])
	if sub.Err != nil {
		n.Err = sub.Err
		return next, out
	}
	s.Out = slices.Concat(next, out)
	s.Parts = liveParts(sub.before, s.Out)
	p := &Part{Config: Plain("Scan"), In: all, Scan: s}
	for i, x := range s.Out {
		t := x.Type
		if i >= len(next) && t.Present() {
			t = t.With(slices.Insert(slices.Clone(t.Shape), 0, Unknown())...)
		}
		p.Out = append(p.Out, &Operand{Type: t, Name: x.Name})
	}
	n.before = append(n.before, p)
	return p.Out[:len(next)], p.Out[len(next):]
}

// respell writes the nodes of the subgraph for other operator-set versions.
func (s *Scan) respell(set Set, to func(domain string) int) error {
	var list []*Part
	for _, q := range s.Parts {
		more, err := set.written(q, to)
		if err != nil {
			return err
		}
		list = append(list, more...)
	}
	s.Parts = list
	return nil
}
