package nn

// Label returns a prefix for the names of a layer's nodes and parameters: the name that the layer was given, or its kind
// and the next free number. No other name in the graph begins with it.
func (e *Edit) Label(kind, name string) string {
	e.made()
	if name == "" {
		return e.g.numbered(e.scope+kind, e.g.leadsAny)
	}
	if base := e.scope + name; !e.g.leadsAny(base) {
		return base
	}
	return e.g.numbered(e.scope+name+"_", e.g.leadsAny)
}

// Scope calls f; labels that Label returns in the meantime begin with the given prefix instead of that of the enclosing
// scope.
func (e *Edit) Scope(prefix string, f func()) {
	e.made()
	if f == nil {
		e.fail(errNoFunction)
		return
	}
	old := e.scope
	e.scope = prefix
	defer func() { e.scope = old }()
	f()
}
