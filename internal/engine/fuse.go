package engine

import "slices"

// fuse lets steps take over the steps that read them, where the value between is read once and
// wanted by nobody else: a convolution its normalization and activation, say. What is possible the
// cores say, see [Core].Fuse; a fused step runs in place of the later one.
func (b *builder) fuse() {
	p := newPlaces(b.steps)
	for _, last := range []bool{false, true} {
		for _, s := range b.steps {
			if t, next, slot := p.follower(s); t != nil {
				m := s.core.Fuse(Meeting{Self: s.core, Next: next, Slot: slot, Sides: t.sides(), Last: last})
				if m != nil && (m.KeepsSides || !s.sides()) {
					p.merge(s, t, next, slot, m) // t has its turn later
				}
			}
		}
	}
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.kind == deadStep })
}

// mostFused bounds how many steps run as one, and their inputs: what a fused step costs to make grows with both.
const mostFused = 512

// length returns how much s counts of mostFused.
func (s *step) length() int { return max(s.fused+1, len(s.in)) }

// sides reports whether somebody wants another output than the first.
func (s *step) sides() bool {
	return slices.ContainsFunc(s.out[1:], func(v *value) bool { return v != nil })
}

// places knows where steps run and who reads their values.
type places struct {
	at      map[*step]int
	readers map[*value][]*step // one entry for each input, see reader
	part    map[*step]*step    // of what a fused step is now a part
}

// reader returns the step that s runs as, which may be a part of another by now.
func (p *places) reader(s *step) *step {
	for p.part[s] != nil {
		if next := p.part[p.part[s]]; next != nil {
			p.part[s] = next // half of the way for the next one who asks
		}
		s = p.part[s]
	}
	return s
}

func newPlaces(steps []*step) *places {
	p := &places{at: map[*step]int{}, readers: map[*value][]*step{}, part: map[*step]*step{}}
	for i, s := range steps {
		p.at[s] = i
		for _, v := range s.in {
			if v != nil {
				p.readers[v] = append(p.readers[v], s)
			}
		}
	}
	return p
}

// follower returns the step that s may be fused with, what it computes, and the input through which it reads s; nil if there is none.
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
				return nil, nil, 0 // it would come too late
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
