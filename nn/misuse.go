package nn

import "errors"

// made panics for an Edit that is nil or zero: only Graph.Edit and Graph.Plan make one.
func (e *Edit) made() {
	if e == nil || e.g == nil {
		panic("nn: an Edit is what Graph.Edit and Graph.Plan give their function: this one is nil or zero")
	}
}

// there panics for a graph that is nil.
func (g *Graph) there() {
	if g == nil {
		panic("nn: the Graph is nil")
	}
}

// made panics for a Site that no trace made.
func (s *Site) made() {
	if s.t == nil || len(s.at) == 0 {
		panic("nn: a Site is what a trace gives its rules: this one is zero")
	}
}

// there panics for a Body that is zero.
func (b *Body) there() {
	if b.Graph == nil {
		panic("nn: a Body is made by Edit.Body and NewBody: this one is zero")
	}
}

// made panics for an Assembler that is zero.
func (a *Assembler) made() {
	if a.g == nil {
		panic("nn: an Assembler is made by Assemble and AssembleBody: this one is zero")
	}
}

// made panics for Channels that are zero.
func (c *Channels) made() {
	if c == nil || c.a == nil {
		panic("nn: Channels are made by Graph.Channels: these are zero")
	}
}

// made reports a Plan that is nil or zero.
func (p *Plan) made() error {
	if p == nil {
		return &Error{Stage: "plan", Err: errors.New("there is no plan")}
	}
	if p.g == nil {
		return &Error{Stage: "plan", Err: errors.New("is zero: Graph.Plan makes one")}
	}
	return nil
}
