package nn

import "encoding/json"

// MetaLabels is the key under which a model's metadata keeps the names of its classes, in order, as
// a JSON list.
const MetaLabels = "graft.labels"

// SetMeta writes an entry of the graph's metadata; an empty value removes it.
func (e *Edit) SetMeta(key, value string) {
	if e.err != nil {
		return
	}
	g := e.g
	old, had := g.Meta[key]
	set := func(v string, on bool) {
		if !on {
			delete(g.Meta, key)
			return
		}
		if g.Meta == nil {
			g.Meta = map[string]string{}
		}
		g.Meta[key] = v
	}
	text := "metadata " + key + " = " + value
	if value == "" {
		if !had {
			return
		}
		text = "remove metadata " + key
	}
	e.act(action{do: func() { set(value, value != "") }, undo: func() { set(old, had) }, text: text})
}

// SetLabels writes the names of the classes into the graph's metadata; none removes them.
func (e *Edit) SetLabels(labels ...string) {
	if e.err != nil {
		return
	}
	if len(labels) == 0 {
		e.SetMeta(MetaLabels, "")
		return
	}
	b, err := json.Marshal(labels)
	e.fail(err)
	e.SetMeta(MetaLabels, string(b))
}

// Labels are the names of the classes in the graph's metadata, nil when there are none.
func (g *Graph) Labels() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var list []string
	if json.Unmarshal([]byte(g.Meta[MetaLabels]), &list) != nil {
		return nil
	}
	return list
}
