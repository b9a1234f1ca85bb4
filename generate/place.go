package generate

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
)

// alone reports whether a single node reads the elements of a parameter; copies that become separate parameters are not readers.
func (r *reader) alone(v *nn.Value) bool {
	n := 0
	for _, u := range readersOf(v) {
		if !copies(u) || r.folded[u.Out(0)] == nil {
			n++
		}
	}
	return n < 2
}

// near is the maximum distance, in steps, between readers of a parameter that is written before the first of them.
const near = 12

// place moves parameters that several steps read before the first of these, if they are all in one block; otherwise before all
// steps.
func (r *reader) place() {
	if len(r.shared) == 0 {
		return
	}
	readers := map[*value][]int{} // of what is placed: the positions of the steps that read it
	for _, p := range r.shared {
		readers[p.out[0]] = nil
	}
	for i, s := range r.steps {
		for _, v := range s.values() {
			if list, ok := readers[v]; ok && (len(list) == 0 || list[len(list)-1] != i) {
				readers[v] = append(list, i)
			}
		}
	}
	var front []*step
	before := map[int][]*step{} // by position: what is placed before the step
	for _, p := range r.shared {
		list := readers[p.out[0]]
		if len(list) == 0 {
			continue
		}
		first, last := list[0], list[len(list)-1]
		common, known := r.steps[first].scope, true
		for _, i := range list {
			s := r.steps[i]
			n := 0
			for n < len(common) && n < len(s.scope) && common[n] == s.scope[n] {
				n++
			}
			common, known = common[:n], known && s.scope != nil
		}
		distance := last - first
		for i := first + 1; i <= last && distance <= near; i++ {
			distance += len(before[i])
		}
		if known && !slices.ContainsFunc(common, func(w string) bool { return digits.MatchString(w) }) || distance > near {
			front = append(front, p)
			continue
		}
		p.scope = nil
		if known {
			p.scope = append(slices.Clone(common), scopeOf(lastPart(p.in[0].con.name.v.(string)))...)
		}
		before[first] = append(before[first], p)
	}
	slices.Reverse(front) // in the order of their readers, which were read backwards
	list := front
	for i, s := range r.steps {
		list = append(append(list, before[i]...), s)
	}
	r.steps = list
}

// lastPart returns a name without its scopes.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
