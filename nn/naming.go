package nn

import "strconv"

// naming finds values by name, and generates new names without searching all of them.
type naming struct {
	values map[string]*Value
	bases  map[string]int // for each prefix before a dot, the number of names that have it; nil until requested
	tried  map[string]int // for each stem, the numbers known to be taken; forgotten when a name is removed
	labels map[string]int // number of nodes by name; nil until requested
}

func (s *naming) add(v *Value) {
	s.values[v.name] = v
	s.count(v.name, 1)
}

func (s *naming) remove(name string) {
	delete(s.values, name)
	s.count(name, -1)
	s.tried = nil
}

func (s *naming) count(name string, by int) {
	for i := 0; s.bases != nil && i < len(name); i++ {
		if name[i] == '.' {
			s.bases[name[:i]] += by
		}
	}
}

// leads reports whether a value has the name, or one that continues it with a dot: conv1 is taken if
// there is a conv1.weight.
func (s *naming) leads(base string) bool {
	if s.bases == nil {
		s.bases = map[string]int{}
		for name := range s.values {
			s.count(name, 1)
		}
	}
	return s.has(base) || s.bases[base] > 0
}

// numbered returns the stem with a number appended, the first from 1 on that is not known to be taken.
func (s *naming) numbered(stem string, taken func(string) bool) string {
	for i := s.tried[stem] + 1; ; i++ {
		name := stem + strconv.Itoa(i)
		if !taken(name) {
			return name
		}
		if s.tried == nil {
			s.tried = map[string]int{}
		}
		s.tried[stem] = i
	}
}

// has reports whether a value has the name.
func (s *naming) has(name string) bool { return s.values[name] != nil }

// labelled reports whether a node has the name. Several nodes of a file may have the same, which runtimes refuse.
func (g *Graph) labelled(name string) bool {
	if g.labels == nil {
		g.labels = make(map[string]int, len(g.nodes))
		for _, n := range g.nodes {
			g.labels[n.name]++
		}
	}
	return name != "" && g.labels[name] > 0
}

// relabel records that nodes received or lost a name.
func (s *naming) relabel(name string, by int) {
	if s.labels != nil {
		s.labels[name] += by
	}
	if by < 0 {
		s.tried = nil
	}
}

// leadsAny reports whether a node has the name, or values continue it.
func (g *Graph) leadsAny(base string) bool { return g.leads(base) || g.labelled(base) }

// label returns a name for a new node: the given one or, if a node has it already, with a number appended.
func (g *Graph) label(name string) string {
	if !g.labelled(name) {
		return name
	}
	return g.numbered(name+"_", g.leadsAny)
}
