package engine

import "slices"

// worthwhile is the smallest fraction of a program's memory, as a divisor, for which a value is rematerialized.
const worthwhile = 512

// rematerialize recomputes values that are alive at the peak of memory use, but not read there, after the peak: one
// at a time, the largest first. The values that they are computed from must be in memory anyway.
func (b *builder) rematerialize() {
	b.spreadViews()
	for {
		l := b.lives()
		if s, t := l.candidate(b); s == nil {
			return
		} else {
			b.repeat(s, t)
		}
	}
}

// spreadViews copies the view of an intermediate value in front of each step that reads it, so that the lifetime of
// the value ends with its last reader.
func (b *builder) spreadViews() {
	readers := map[*value][]*step{}
	for _, s := range b.steps {
		b.turn()
		for _, v := range s.in {
			b.turn()
			if v == nil {
				continue
			}
			if list := readers[v]; len(list) == 0 || list[len(list)-1] != s {
				readers[v] = append(list, s)
			}
		}
	}
	front := map[*step][]*step{} // steps to insert before a step
	moved := map[*step]bool{}    // they have one reader
	for _, s := range slices.Backward(b.steps) {
		b.turn()
		if !s.views() || s.out[0].root || len(readers[s.out[0]]) == 0 {
			continue
		}
		live := slices.DeleteFunc(readers[s.out[0]], func(r *step) bool { return r.kind == deadStep })
		if len(live) == 1 {
			front[live[0]] = append(front[live[0]], s)
			moved[s] = true
			continue
		}
		s.kind = deadStep
		for _, r := range live {
			b.turn()
			w := b.viewLike(s, s.in[0])
			r.replace(s.out[0], w.out[0])
			front[r] = append(front[r], w)
			readers[s.in[0]] = append(readers[s.in[0]], w)
		}
	}
	var steps []*step
	var emit func(s *step)
	emit = func(s *step) {
		for _, w := range front[s] {
			b.turn()
			emit(w)
		}
		b.turn()
		steps = append(steps, s)
	}
	for _, s := range b.steps {
		b.turn()
		if s.kind != deadStep && !moved[s] {
			emit(s)
		}
	}
	b.steps = steps
}

// views reports whether s only changes the shape of a value.
func (s *step) views() bool {
	return s.kind == kernelStep && s.core.View && len(s.in) > 0 && s.in[0] != nil && s.in[0].kind == placed &&
		s.out[0] != nil && !s.sides() && s.in[0].bytes == s.out[0].bytes && s.in[0].dtype == s.out[0].dtype
}

// viewLike returns a step like s, which views another value.
func (b *builder) viewLike(s *step, v *value) *step {
	out := *s.out[0]
	w := &step{kind: kernelStep, name: s.name, core: s.core, in: slices.Clone(s.in), out: slices.Clone(s.out)}
	w.in[0], w.out[0], out.from = v, &out, w
	b.views = append(b.views, &out)
	return w
}

// replace makes s read another value in place of v.
func (s *step) replace(v, by *value) {
	for i, x := range s.in {
		if x == v {
			s.in[i] = by
		}
	}
}

// lives records when values are read, for steps in order.
type lives struct {
	reads map[*value][]int
	made  map[*value]int
	stays map[*value]bool // a root is a view of it
	given map[*value]int  // by source: the step from which its elements may change
	peak  int             // the step at which the most bytes are alive …
	most  int64           // … and their number
}

func (b *builder) lives() *lives {
	l := &lives{reads: map[*value][]int{}, made: map[*value]int{}, stays: map[*value]bool{}, given: map[*value]int{}}
	for i, s := range b.steps {
		b.turn()
		for _, v := range s.in {
			b.turn()
			if v != nil {
				l.reads[v] = append(l.reads[v], i)
			}
		}
		if s.kind == callbackStep && s.gives != nil {
			l.given[s.gives] = i
		}
		if s.views() {
			l.stays[s.in[0]] = l.stays[s.in[0]] || s.out[0].root
			continue // it is a view
		}
		for _, v := range s.out {
			b.turn()
			if v != nil {
				l.made[v] = i
			}
		}
	}
	change := make([]int64, len(b.steps)+1)
	for v, i := range l.made {
		b.turn()
		if v.kind == placed && v.bytes > 0 {
			first, behind := i, min(l.last(v, len(b.steps))+1, len(b.steps))
			if l.takesOver(v, i) {
				first = min(i+1, behind) // until then the memory counts as the input's
			}
			change[first] += v.bytes
			change[behind] -= v.bytes
		}
	}
	now := int64(0)
	for i, c := range change {
		b.turn()
		if now += c; now > l.most {
			l.peak, l.most = i, now
		}
	}
	return l
}

// takesOver reports whether v, the result of step i, will reuse the memory of an input whose last reader is that
// step. The arena decides that later; this predicts it where no views are involved.
func (l *lives) takesOver(v *value, i int) bool {
	s := v.from
	if s == nil || s.kind != kernelStep || s.out[0] != v {
		return false
	}
	for _, k := range s.core.InPlace {
		if k >= len(s.in) || s.in[k] == nil {
			continue
		}
		in := s.in[k]
		if in.kind == placed && in.bytes == v.bytes && !in.root && !l.stays[in] && l.last(in, i) == i {
			return true
		}
	}
	return false
}

// last returns the last of n steps at which v is needed.
func (l *lives) last(v *value, steps int) int {
	if v.root {
		return steps
	}
	if r := l.reads[v]; len(r) > 0 {
		return r[len(r)-1]
	}
	return l.made[v]
}

// candidate returns the step of b whose output 0 takes the most memory at the peak without being read there,
// and the first step that reads it after the peak; nil if none is worthwhile.
func (l *lives) candidate(b *builder) (found *step, before int) {
	size := l.most / worthwhile
	for _, s := range b.steps[:l.peak] {
		b.turn()
		if s.kind != kernelStep || s.core.Rematerialize == nil || s.out[0] == nil {
			continue
		}
		v := s.out[0]
		if v.root || v.kind != placed || v.bytes <= size || l.stays[v] {
			continue
		}
		r := l.reads[v]
		k, at := slices.BinarySearch(r, l.peak)
		if at || k == 0 || k == len(r) {
			continue
		}
		if list := s.repeated(); list != nil && l.present(list, r[k], len(b.steps)) {
			found, before, size = s, r[k], v.bytes
		}
	}
	return found, before
}

// present reports whether values are in memory, unchanged, when step i begins.
func (l *lives) present(list []*value, i, steps int) bool {
	for _, v := range list {
		if v == nil {
			continue
		}
		v = v.whole()
		if at, ok := l.given[v]; ok && at < i {
			return false
		}
		if v.kind != source && (v.kind != placed || l.last(v, steps) < i) {
			return false
		}
	}
	return true
}

// repeated lists what output 0 is computed from the second time; nil if some of it is not available.
func (s *step) repeated() []*value {
	list := slices.Clone(s.in)
	for _, k := range s.core.Rematerialize.Spares {
		list[k] = nil
	}
	for _, k := range s.core.Rematerialize.Needs {
		if s.out[k] == nil {
			return nil
		}
		list = append(list, s.out[k])
	}
	return list
}

// whole returns the value that v is a view of, or v itself.
func (v *value) whole() *value {
	for v.from != nil && v.from.views() {
		v = v.from.in[0]
	}
	return v
}

// repeat computes output 0 of s again in front of step t, for t and all later readers.
func (b *builder) repeat(s *step, t int) {
	v := *s.out[0]
	c := &Core{Name: s.core.Name + " again", Out: s.core.Out[:1], Kernel: s.core.Rematerialize.Kernel}
	more := &step{kind: kernelStep, name: c.Name, core: c, in: s.repeated(), out: []*value{&v}}
	v.from = more
	for _, r := range b.steps[t:] {
		b.did(1 + len(r.in)/16)
		r.replace(s.out[0], &v)
	}
	steps := []*step{more}
	for i, x := range more.in {
		b.turn()
		for at := &more.in[i]; x != nil && x.from != nil && x.from.views(); x = x.from.in[0] {
			w := b.viewLike(x.from, x.from.in[0])
			*at, at = w.out[0], &w.in[0]
			steps = append(steps, w)
		}
	}
	slices.Reverse(steps) // views first
	b.steps = slices.Insert(b.steps, t, steps...)
}
