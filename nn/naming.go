package nn

import "strconv"

// naming finds values by their names, and gives out new ones without looking through all of them.
type naming struct {
	values map[string]*Value
	bases  map[string]int // how many names go on with a dot behind this; nil until somebody asks
	tried  map[string]int // the numbers behind a stem that are known to be taken; forgotten when a name goes
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

// leads tells whether a value has the name, or one that goes on with a dot: conv1 does as soon as
// there is a conv1.weight.
func (s *naming) leads(base string) bool {
	if s.bases == nil {
		s.bases = map[string]int{}
		for name := range s.values {
			s.count(name, 1)
		}
	}
	return s.values[base] != nil || s.bases[base] > 0
}

// numbered is the stem with a number behind it, the first from 1 on that is not known to be taken.
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

// has tells whether a value has the name.
func (s *naming) has(name string) bool { return s.values[name] != nil }
