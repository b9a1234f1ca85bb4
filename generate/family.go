package generate

import (
	"fmt"
	"slices"
	"strings"
)

// family is a block and its instances. The template is the instance with the most steps; others may lack some.
type family struct {
	template  segment
	outs      []*value // values that steps outside read
	inputs    []*value
	instances []*instance
	bypass    []int          // by step of the template
	makers    map[*value]int // by value: the step of the template that has it as its first output
	saved     int            // number of statements that the function saves, see saves
}

// instance is a segment that a template matches.
type instance struct {
	segment segment
	steps   []*step // by step of the template; nil: missing
	ext     map[*value]*value
	outs    []*value // by output of the family; nil: nothing reads it
}

// saves estimates the number of statements that the function saves.
func (f *family) saves() int {
	n := -2 - len(f.inputs) - 2*(len(f.outs)-1)
	for _, x := range f.instances[1:] {
		n += len(x.segment.steps) - 1
	}
	return n - f.differ()
}

// differ returns half the number of literals that are not equal in all instances, since parameters make a block harder to read.
func (f *family) differ() int {
	n := 0
	seen := map[string]bool{}
	for i, t := range f.template.steps {
		rows := make([][]*lit, len(f.instances))
		for k, x := range f.instances {
			if x.steps[i] != nil {
				x.steps[i].each(func(l *lit) { rows[k] = append(rows[k], l) })
			}
		}
		at := 0
		t.each(func(l *lit) {
			equal := l.hint == "name" || !slices.ContainsFunc(rows, func(row []*lit) bool { return row != nil && !same(row[at].v, l.v) })
			if !equal {
				var key strings.Builder
				for _, row := range rows {
					if row != nil {
						fmt.Fprint(&key, row[at].v, " ")
					}
				}
				if !seen[key.String()] {
					seen[key.String()] = true
					n++
				}
			}
			at++
		})
	}
	return n / 2
}

// match finds the template in a list of segments that matches most of the others.
func (r *reader) match(list []segment) *family {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b segment) int { return len(b.steps) - len(a.steps) })
	var best *family
	tried := map[string]bool{}
	for _, t := range sorted {
		if len(t.steps) < 2 {
			break
		}
		_, key := formsOf(t.steps)
		if tried[key] {
			continue
		}
		if !r.spend(len(t.steps)) {
			break
		}
		tried[key] = true
		if f := r.against(t, list); f != nil && f.saved > 2 && (best == nil || f.saved > best.saved) {
			best = f
		}
	}
	return best
}

// mostInputs is the maximum number of values that a block's function takes.
const mostInputs = 6

// against matches a template with all segments; it returns nil if fewer than two match.
func (r *reader) against(t segment, list []segment) *family {
	outs, ok := r.escapes(t)
	if !ok {
		return nil
	}
	f := &family{template: t, outs: outs, bypass: slices.Repeat([]int{-1}, len(t.steps)), makers: map[*value]int{}}
	inner := map[*value]bool{}
	for i, s := range t.steps {
		for _, v := range s.values() {
			if !inner[v] && !slices.Contains(f.inputs, v) {
				if f.inputs = append(f.inputs, v); len(f.inputs) > mostInputs {
					return nil
				}
			}
		}
		for _, v := range s.out {
			inner[v] = true
		}
		f.makers[s.out[0]] = i
	}
	if len(f.inputs) == 0 {
		return nil
	}
	for _, s := range list {
		if x := r.instance(f, s); x != nil {
			f.instances = append(f.instances, x)
		}
	}
	if len(f.instances) < 2 {
		return nil
	}
	constant := func(v *value) bool { // the same in all instances
		for _, x := range f.instances {
			if x.ext[v] != f.instances[0].ext[v] {
				return false
			}
		}
		return true
	}
	slices.SortStableFunc(f.inputs, func(a, b *value) int {
		switch x, y := constant(a), constant(b); {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	})
	if f.carried(); slices.ContainsFunc(f.instances, func(x *instance) bool { return x.ext[f.inputs[0]] == nil }) {
		return nil
	}
	f.saved = f.saves()
	return f
}

// carried moves the inputs that are outputs of the previous instance to the front, and orders the outputs likewise.
func (f *family) carried() {
	var inputs, outs []*value
	for _, v := range f.inputs {
		for j, o := range f.outs {
			for k, x := range f.instances[1:] {
				if w := x.ext[v]; w != nil && w == f.instances[k].outs[j] && !slices.Contains(outs, o) && !slices.Contains(inputs, v) {
					inputs, outs = append(inputs, v), append(outs, o)
				}
			}
		}
	}
	for _, v := range f.inputs {
		if !slices.Contains(inputs, v) {
			inputs = append(inputs, v)
		}
	}
	for _, o := range f.outs {
		if !slices.Contains(outs, o) {
			outs = append(outs, o)
		}
	}
	for _, x := range f.instances {
		list := make([]*value, len(outs))
		for i, o := range outs {
			list[i] = x.outs[slices.Index(f.outs, o)]
		}
		x.outs = list
	}
	f.inputs, f.outs = inputs, outs
}

// instance matches a segment with the template; it returns nil if it does not match.
func (r *reader) instance(f *family, s segment) *instance {
	steps := r.align(f.template.steps, s.steps)
	if steps == nil {
		return nil
	}
	outs, ok := r.escapes(s)
	if !ok {
		return nil
	}
	x := &instance{segment: s, steps: steps}
	var open []int // steps of the template whose bypass is not determined yet
	for i, t := range f.template.steps {
		if steps[i] != nil || f.bypass[i] >= 0 {
			continue
		}
		if len(t.out) != 1 {
			return nil
		}
		open = append(open, i)
	}
	var try func(k int) bool
	try = func(k int) bool {
		if k == len(open) {
			return r.spend(len(steps)) && f.wired(x, outs)
		}
		for i, a := range f.template.steps[open[k]].in {
			if a.val == nil {
				continue
			}
			if f.bypass[open[k]] = i; try(k + 1) {
				return true
			}
			if r.work < len(steps) || r.ended() {
				break
			}
		}
		f.bypass[open[k]] = -1
		return false
	}
	if len(open) > 12 || !try(0) {
		return nil
	}
	return x
}

// wired reports whether the steps of an instance are connected like those of the template, and steps outside read only outs.
func (f *family) wired(x *instance, outs []*value) bool {
	x.ext, x.outs = map[*value]*value{}, nil
	made := map[*value]*value{}
	match := func(t, v *value) bool {
		if w, ok := made[t]; ok {
			return w == v
		}
		if w, ok := x.ext[t]; ok {
			return w == v
		}
		x.ext[t] = v
		return true
	}
	inner := map[*value]bool{}
	for i, t := range f.template.steps {
		for _, v := range t.out {
			inner[v] = v != nil
		}
		if x.steps[i] != nil {
			for k, v := range t.out {
				if v != nil {
					made[v] = x.steps[i].out[k]
				}
			}
		}
	}
	var past func(v *value) *value // the value itself or, if its step is missing, the input that replaces it
	past = func(v *value) *value {
		if !inner[v] || made[v] != nil {
			return v
		}
		if i, ok := f.makers[v]; ok {
			return past(f.template.steps[i].in[f.bypass[i]].val)
		}
		return v
	}
	for i, t := range f.template.steps {
		s := x.steps[i]
		if s == nil {
			continue
		}
		for k, a := range t.in {
			if a.val != nil && !match(past(a.val), s.in[k].val) {
				return false
			}
		}
	}
	own := map[*value]bool{}
	for _, s := range x.segment.steps {
		for _, v := range s.out {
			own[v] = true
		}
	}
	for _, v := range f.inputs {
		if x.ext[v] == nil && len(f.outs) == 1 || own[x.ext[v]] {
			return false
		}
	}
	for _, o := range f.outs {
		v := past(o)
		w := made[v]
		if w == nil {
			w = x.ext[v]
		}
		if !slices.Contains(outs, w) {
			w = nil
		}
		x.outs = append(x.outs, w)
	}
	return !slices.ContainsFunc(outs, func(w *value) bool { return !slices.Contains(x.outs, w) })
}

// align assigns the steps of a segment to those of a template, in order, so that most literals agree; it returns nil if
// that is not possible for all steps.
func (r *reader) align(t, s []*step) []*step {
	more := len(t) - len(s) // steps of the template that are missing
	if more < 0 || 5*len(s) < 3*len(t) || !r.spend(1) {
		return nil
	}
	if more == 0 {
		if slices.EqualFunc(t, s, func(a, b *step) bool { return a.number == b.number }) && r.spend(len(t)) {
			return slices.Clone(s)
		}
		return nil
	}
	if !r.spend(len(t) * (more + 1)) {
		return nil
	}
	const no = -1 << 30
	// The best way for t[i:] and s[k:]; between 0 and more of the steps t[i:] are missing.
	table := slices.Repeat([]float64{no}, (len(t)+1)*(more+1))
	best := func(i, k int) *float64 { return &table[i*(more+1)+more-i+k] }
	fits := func(i, k int) bool { return k >= 0 && k < len(s) && t[i].number == s[k].number }
	*best(len(t), len(s)) = 0
	for i := len(t) - 1; i >= 0; i-- {
		for k := max(0, i-more); k <= min(i, len(s)); k++ {
			if i-k < more { // t[i] is missing
				*best(i, k) = *best(i+1, k)
			}
			if fits(i, k) {
				*best(i, k) = max(*best(i, k), *best(i+1, k+1)+1+alike(t[i], s[k]))
			}
		}
	}
	if *best(0, 0) < 0 {
		return nil
	}
	out := make([]*step, len(t))
	k := 0
	for i := range t {
		if fits(i, k) && *best(i, k) == *best(i+1, k+1)+1+alike(t[i], s[k]) && (i-k == more || *best(i, k) >= *best(i+1, k)) {
			out[i] = s[k]
			k++
		}
	}
	if k < len(s) {
		return nil
	}
	return out
}

// alike returns the fraction of literals in which two steps agree.
func alike(a, b *step) float64 {
	var list []*lit
	a.each(func(l *lit) { list = append(list, l) })
	i, equal := 0, 0
	b.each(func(l *lit) {
		if i < len(list) && same(list[i].v, l.v) {
			equal++
		}
		i++
	})
	if i == 0 {
		return 0
	}
	return float64(equal) / float64(i)
}

// local returns the name of a step within its segment: the rest of its scopes, or its kind.
func (s segment) local(x *step) string {
	if s.scope > 0 && len(x.scope) > s.scope {
		return strings.Join(x.scope[s.scope:], ".")
	}
	return x.kind
}
