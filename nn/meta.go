package nn

import (
	"encoding/json"
	"maps"
)

// MetaLabels is the key of the model's metadata that holds the names of its classes, in order, as a JSON list.
const MetaLabels = "graft.labels"

// Name returns the name of the model.
func (g *Graph) Name() string {
	g.there()
	defer g.locked().unlock()
	return g.name
}

// Doc returns the documentation of the model.
func (g *Graph) Doc() string {
	g.there()
	defer g.locked().unlock()
	return g.doc
}

// Meta returns a copy of the model's metadata; Edit.SetMeta changes them.
func (g *Graph) Meta() map[string]string {
	g.there()
	defer g.locked().unlock()
	return maps.Clone(g.meta)
}

// Opsets returns a copy of the operator-set versions by domain, "" for the standard one; Edit.SetOpset changes that.
func (g *Graph) Opsets() map[string]int {
	g.there()
	defer g.locked().unlock()
	return maps.Clone(g.opsets)
}

// Origin returns what the package that loaded the model keeps of its file, beyond what the graph holds, in order to save
// it again.
func (g *Graph) Origin() any {
	g.there()
	return g.origin
}

// SetOrigin is for packages that load files, see Origin.
func (g *Graph) SetOrigin(o any) {
	g.there()
	g.origin = o
}

// SetName renames the model.
func (e *Edit) SetName(name string) {
	e.made()
	e.describe(&e.g.name, "name", name)
}

// SetDoc sets the documentation of the model.
func (e *Edit) SetDoc(doc string) {
	e.made()
	e.describe(&e.g.doc, "description", doc)
}

func (e *Edit) describe(at *string, what, text string) {
	if e.err != nil || *at == text {
		return
	}
	old := *at
	e.act(action{do: func() { *at = text }, undo: func() { *at = old }, text: what + " = " + text})
}

// SetMeta sets an entry of the graph's metadata; an empty value removes the entry.
func (e *Edit) SetMeta(key, value string) {
	e.made()
	if e.err != nil {
		return
	}
	g := e.g
	old, had := g.meta[key]
	set := func(v string, on bool) {
		if !on {
			delete(g.meta, key)
			return
		}
		if g.meta == nil {
			g.meta = map[string]string{}
		}
		g.meta[key] = v
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

// SetLabels stores the names of the classes in the metadata of the graph; without any, it removes them.
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

// Labels returns the names of the classes from the metadata of the graph, nil if there are none or MetaLabels is not a JSON list.
func (g *Graph) Labels() []string {
	defer g.locked().unlock()
	var list []string
	if json.Unmarshal([]byte(g.meta[MetaLabels]), &list) != nil {
		return nil
	}
	return list
}
