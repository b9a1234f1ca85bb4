package nn

import "errors"

// made panics for an Edit that is nil or zero: only Graph.Edit and Graph.Plan make one.
func (e *Edit) made() {
	if e == nil || e.g == nil {
		panic("nn: an Edit is what Graph.Edit and Graph.Plan give their function: this one is nil or zero")
	}
}

// there panics for a nil graph.
func (g *Graph) there() {
	if g == nil {
		panic("nn: the Graph is nil")
	}
}

// made panics for a Site that was not made by a trace.
func (s *Site) made() {
	if s.t == nil || len(s.at) == 0 {
		panic("nn: a Site is what a trace gives its rules: this one is zero")
	}
}

// there panics for a zero Body.
func (b *Body) there() {
	if b.Graph == nil {
		panic("nn: a Body is made by Edit.Body and NewBody: this one is zero")
	}
}

// made panics for a zero Assembler.
func (a *Assembler) made() {
	if a.g == nil {
		panic("nn: an Assembler is made by Assemble and AssembleBody: this one is zero")
	}
}

// made panics for zero Channels.
func (c *Channels) made() {
	if c == nil || c.a == nil {
		panic("nn: Channels are made by Graph.Channels: these are zero")
	}
}

// made returns an error for a Plan that is nil or zero.
func (p *Plan) made() error {
	if p == nil {
		return &Error{Stage: "plan", Err: errors.New("there is no plan")}
	}
	if p.g == nil {
		return &Error{Stage: "plan", Err: errors.New("is zero: Graph.Plan makes one")}
	}
	return nil
}

// there returns a zero handle for a nil one, which has nothing: a failed edit returns nil handles.
func there[T Node | Value | Param](h *T) *T {
	if h == nil {
		return new(T)
	}
	return h
}
