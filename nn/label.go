package nn

// Label is what the names of a layer's nodes and parameters begin with: the name that it was given, or its kind and the next number that
// is free. No other name of the graph begins like it.
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

// Scope calls f, for which the labels that Label makes begin with a prefix in place of the one around.
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
