package generate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"
)

// namer assigns unique names to layers and parameters. Names of operators' values, and names that are a prefix of
// another before a dot, are not available.
type namer struct {
	taken    map[string]bool
	prefixes map[string]bool // of those, before a dot
	tried    map[string]int  // by what precedes a number: those up to it are not free
}

func newNamer() *namer {
	return &namer{taken: map[string]bool{}, prefixes: map[string]bool{}, tried: map[string]int{}}
}

func (m *namer) take(name string) {
	m.taken[name] = true
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			m.prefixes[name[:i]] = true
		}
	}
}

func (m *namer) free(name string) bool { return !m.taken[name] && !m.prefixes[name] }

// numbered returns the free name of base with the lowest number, at least from.
func (m *namer) numbered(base string, from int) string {
	return numberedName(m.tried, base, from, m.free)
}

// numberedName returns the free name of base with the lowest number, at least from. Those with numbers up to tried[base] are known not to be free.
func numberedName(tried map[string]int, base string, from int, free func(name string) bool) string {
	for i := max(from, tried[base]+1); ; i++ {
		if name := base + strconv.Itoa(i); free(name) {
			tried[base] = i - 1
			return name
		}
	}
}

func (m *namer) give(name, kind string) string {
	if name == "" {
		name = m.numbered(kind, 1)
	} else if !m.free(name) {
		name = m.numbered(name+".", 2)
	}
	m.take(name)
	return name
}

// identify names the layers with weights, and the parameters of operators, after the model's scopes; those in blocks get the given names,
// except parameters whose own names fit.
func (r *reader) identify(blocks map[*step]string, own map[*constant]bool) {
	m := newNamer()
	for _, v := range slices.Concat(r.g.Inputs(), r.g.Outputs()) {
		m.take(v.Name())
	}
	ports := maps.Clone(m.taken)
	for _, s := range r.steps {
		if s.layer == nil {
			m.take(s.kind)
		}
		for _, a := range s.in {
			if a.con != nil && a.con.kind != conParam && a.con.kind != conBlank {
				for ports[a.con.name.v.(string)] {
					a.con.name.v = a.con.name.v.(string) + "_constant"
				}
				m.take(a.con.name.v.(string))
			}
		}
	}
	layers := map[string]int{} // in order; names that start with one of these and a dot belong to the layer
	for _, s := range r.steps {
		name := strings.Join(s.scope, ".")
		if n := blocks[s]; n != "" {
			name = n
		}
		if len(s.weights) > 0 {
			name = m.give(name, s.kind)
			s.layer.field("Name").v = name
			for what := range s.weights {
				m.take(name + "." + what)
			}
			layers[name] = len(layers)
		}
	}
	for _, s := range r.steps {
		for _, a := range s.in {
			if a.con != nil && (a.con.kind == conParam || a.con.kind == conBlank) {
				full := strings.Join(scopeOf(a.con.name.v.(string)), ".")
				if n := blocks[s]; n != "" && !own[a.con] {
					full = n
					if parts := strings.Split(a.con.name.v.(string), "."); len(parts) > 0 && !strings.HasSuffix(n, "."+parts[len(parts)-1]) {
						full += "." + strings.Join(scopeOf(parts[len(parts)-1]), ".")
					}
				}
				a.con.name.v = m.give(outside(layers, full), "constant")
			}
		}
	}
}

// outside returns a name without the dot after one of the layers that it starts with, of each in turn.
func outside(layers map[string]int, name string) string {
	for next := 0; ; {
		first, at := len(layers), 0
		for i := range len(name) {
			if name[i] == '.' {
				if n, ok := layers[name[:i]]; ok && n >= next && n < first {
					first, at = n, i
				}
			}
		}
		if first == len(layers) {
			return name
		}
		name, next = name[:at]+"_"+name[at+1:], first+1
	}
}

// tensors returns the weights by their names in the generated model.
func (r *reader) tensors() map[string]*tensor.Dense {
	all := map[string]*tensor.Dense{}
	for _, s := range r.steps {
		for what, d := range s.weights {
			all[s.layer.field("Name").v.(string)+"."+what] = d
		}
		for _, a := range s.in {
			if a.con != nil && (a.con.kind == conParam || a.con.kind == conBlank) {
				if a.con.data.Shape().TotalSize() > 0 {
					all[a.con.name.v.(string)] = a.con.data
				}
			}
		}
	}
	return all
}
