package generate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/tensor"
)

// namer assigns unique names to layers and parameters. Names of operators' values, and names that are a prefix of
// another before a dot, are not available.
type namer struct{ taken map[string]bool }

func (m *namer) free(name string) bool {
	if m.taken[name] {
		return false
	}
	for other := range m.taken {
		if strings.HasPrefix(other, name+".") {
			return false
		}
	}
	return true
}

func (m *namer) give(name, kind string) string {
	if name == "" {
		name = kind + "1"
		for i := 2; !m.free(name); i++ {
			name = fmt.Sprintf("%s%d", kind, i)
		}
	}
	base := name
	for i := 2; !m.free(name); i++ {
		name = fmt.Sprintf("%s.%d", base, i)
	}
	m.taken[name] = true
	return name
}

// identify names the layers with weights, and the parameters of operators, after the model's scopes; those in blocks get the given names,
// except parameters whose own names fit.
func (r *reader) identify(blocks map[*step]string, own map[*constant]bool) {
	m := &namer{taken: map[string]bool{}}
	for _, v := range slices.Concat(r.g.Inputs(), r.g.Outputs()) {
		m.taken[v.Name()] = true
	}
	ports := maps.Clone(m.taken)
	for _, s := range r.steps {
		m.taken[s.kind] = m.taken[s.kind] || s.layer == nil
		for _, a := range s.in {
			if a.con != nil && a.con.kind != conParam && a.con.kind != conBlank {
				for ports[a.con.name.v.(string)] {
					a.con.name.v = a.con.name.v.(string) + "_constant"
				}
				m.taken[a.con.name.v.(string)] = true
			}
		}
	}
	var layers []string // names that start with one of these and a dot belong to the layer
	for _, s := range r.steps {
		name := strings.Join(s.scope, ".")
		if n := blocks[s]; n != "" {
			name = n
		}
		if len(s.weights) > 0 {
			name = m.give(name, s.kind)
			s.layer.field("Name").v = name
			for what := range s.weights {
				m.taken[name+"."+what] = true
			}
			layers = append(layers, name)
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
				for _, name := range layers {
					if rest, ok := strings.CutPrefix(full, name+"."); ok {
						full = name + "_" + rest
					}
				}
				a.con.name.v = m.give(full, "constant")
			}
		}
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
