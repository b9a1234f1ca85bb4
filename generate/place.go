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
	var front []*step
	for _, p := range r.shared {
		first, last := -1, -1
		var common []string
		known := true
		for i, s := range r.steps {
			if !slices.Contains(s.values(), p.out[0]) {
				continue
			}
			if last = i; first < 0 {
				first, common = i, s.scope
			}
			n := 0
			for n < len(common) && n < len(s.scope) && common[n] == s.scope[n] {
				n++
			}
			common, known = common[:n], known && s.scope != nil
		}
		if first < 0 {
			continue
		}
		if known && !slices.ContainsFunc(common, func(w string) bool { return digits.MatchString(w) }) || last-first > near {
			front = append(front, p)
			continue
		}
		p.scope = nil
		if known {
			p.scope = append(slices.Clone(common), scopeOf(lastPart(p.in[0].con.name.v.(string)))...)
		}
		r.steps = slices.Insert(r.steps, first, p)
	}
	slices.Reverse(front) // in the order of their readers, which were read backwards
	r.steps = append(front, r.steps...)
}

// lastPart returns a name without its scopes.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
