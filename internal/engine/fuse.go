package engine

import "slices"

// fuse merges a step with the only step that reads its result, where that result is not requested: a convolution with
// its normalization and activation, for example. The cores decide which pairs can be fused, see [Core].Fuse; a fused
// step runs in place of the later one.
func (b *builder) fuse() {
	p := b.newPlaces()
	for _, last := range []bool{false, true} {
		for _, s := range b.steps {
			b.turn()
			if t, next, slot := p.follower(s); t != nil {
				m := s.core.Fuse(Meeting{Self: s.core, Next: next, Slot: slot, Sides: t.sides(), Last: last})
				if m != nil && (m.KeepsSides || !s.sides()) {
					p.merge(s, t, next, slot, m) // t is tried later
				}
			}
		}
	}
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.kind == deadStep })
}

// mostFused bounds how many steps are fused into one, and their inputs: the cost of creating a fused step grows with
// both.
const mostFused = 512

// length returns what s contributes to mostFused.
func (s *step) length() int { return max(s.fused+1, len(s.in)) }

// sides reports whether an output other than the first is read.
func (s *step) sides() bool {
	return slices.ContainsFunc(s.out[1:], func(v *value) bool { return v != nil })
}

// places records the positions of steps and the readers of their values.
type places struct {
	at      map[*step]int
	readers map[*value][]*step // one entry for each input, see reader
	part    map[*step]*step    // the fused step that a step is now part of
}

// reader returns the step that s runs as, which may be a fused step.
func (p *places) reader(s *step) *step {
	for p.part[s] != nil {
		if next := p.part[p.part[s]]; next != nil {
			p.part[s] = next // path halving
		}
		s = p.part[s]
	}
	return s
}

func (b *builder) newPlaces() *places {
	p := &places{at: map[*step]int{}, readers: map[*value][]*step{}, part: map[*step]*step{}}
	for i, s := range b.steps {
		b.turn()
		p.at[s] = i
		for _, v := range s.in {
			b.turn()
			if v != nil {
				p.readers[v] = append(p.readers[v], s)
			}
		}
	}
	return p
}

// follower returns the step that s may be fused with, its core, and the input through which it reads s; nil if there
// is none.
func (p *places) follower(s *step) (t *step, next *Core, slot int) {
	if s.kind != kernelStep || s.core.Fuse == nil || s.out[0] == nil || s.out[0].root || len(p.readers[s.out[0]]) != 1 {
		return nil, nil, 0
	}
	if t = p.reader(p.readers[s.out[0]][0]); s.length()+t.length() > mostFused {
		return nil, nil, 0
	}
	if next = t.core; t.kind == foreignStep && addsUp(t) {
		next = &Core{Name: t.name, Out: []Spec{{t.out[0].dtype, t.out[0].shape}}, Inputs: 2, Patterns: []Pattern{Addition{t.out[0].dtype}}}
	} else if t.kind != kernelStep || len(next.Patterns) == 0 {
		return nil, nil, 0
	}
	for _, v := range s.out[1:] {
		for _, r := range p.readers[v] {
			if p.at[p.reader(r)] <= p.at[t] {
				return nil, nil, 0 // it would be computed too late
			}
		}
	}
	return t, next, slices.Index(t.in, s.out[0])
}

// merge makes t, which computed next, the step that computes both with core m.
func (p *places) merge(s, t *step, next *Core, slot int, m *Core) {
	p.part[s] = t
	t.in = slices.Concat(s.in, t.in[:slot], t.in[slot+1:])
	t.out = slices.Concat(t.out, s.out[1:])
	for _, v := range s.out[1:] {
		if v != nil {
			v.from = t
		}
	}
	m.Name = s.core.Name + ", " + next.Name
	m.Inputs = len(t.in)
	m.Out = slices.Concat(next.Out, s.core.Out[1:])
	t.kind, t.name, t.core = kernelStep, m.Name, m
	t.fused += s.fused + 1
	s.kind = deadStep
}
