package nn

import (
	"container/heap"
	"sort"
	"strconv"
	"strings"
)

// naming finds values by name, and generates new names without searching all of them.
type naming struct {
	values map[string]*Value
	bases  map[string]int       // for each prefix before a dot, the number of names that have it; nil until requested
	tried  map[string]*suffixes // by stem
	labels map[string]int       // number of nodes by name; nil until requested
}

// suffixes are the numbers appended to one stem: 1 to last are taken, except for those that were freed.
type suffixes struct {
	last   int
	freed  sort.IntSlice // a heap; some may be taken again
	listed map[int]bool  // those of freed
}

// Push and Pop make it a heap.Interface.
func (x *suffixes) Push(i any) {
	x.freed = append(x.freed, i.(int))
	x.listed[i.(int)] = true
}

func (x *suffixes) Pop() any {
	last := len(x.freed) - 1
	i := x.freed[last]
	x.freed = x.freed[:last]
	delete(x.listed, i)
	return i
}

func (x *suffixes) Len() int           { return len(x.freed) }
func (x *suffixes) Less(i, j int) bool { return x.freed.Less(i, j) }
func (x *suffixes) Swap(i, j int)      { x.freed.Swap(i, j) }

func (s *naming) add(v *Value) {
	s.values[v.name] = v
	s.count(v.name, 1)
}

func (s *naming) remove(name string) {
	delete(s.values, name)
	s.count(name, -1)
	s.release(name)
}

// release records that names may have become free: this one, and those that it continues with a dot.
func (s *naming) release(name string) {
	for end := len(name); end > 0 && len(s.tried) > 0; end = strings.LastIndexByte(name[:end], '.') {
		stem := strings.TrimRight(name[:end], "0123456789")
		if t := s.tried[stem]; t != nil {
			if i, err := strconv.Atoi(name[len(stem):end]); err == nil && i > 0 && i <= t.last && !t.listed[i] {
				heap.Push(t, i)
			}
		}
	}
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
	t := s.tried[stem]
	if t == nil {
		if s.tried == nil {
			s.tried = map[string]*suffixes{}
		}
		t = &suffixes{listed: map[int]bool{}}
		s.tried[stem] = t
	}
	for ; t.Len() > 0; heap.Pop(t) {
		if name := stem + strconv.Itoa(t.freed[0]); !taken(name) {
			return name
		}
	}
	for ; ; t.last++ {
		if name := stem + strconv.Itoa(t.last+1); !taken(name) {
			return name
		}
	}
}

// has reports whether a value has the name.
func (s *naming) has(name string) bool { return s.values[name] != nil }

// labelled reports whether a node has the name. Several nodes of a file may have the same, which runtimes refuse.
func (g *Graph) labelled(name string) bool {
	if g.labels == nil {
		g.labels = make(map[string]int, len(g.nodes()))
		for _, n := range g.nodes() {
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
		s.release(name)
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
