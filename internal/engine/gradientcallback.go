package engine

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GradientCallback is a root whose value is passed on while the program runs: the gradient of a parameter, which can be updated
// before the other gradients are computed.
type GradientCallback struct {
	Root *gorgonia.Node
	// After, if not nil, is an input node all of whose readers run before the value is passed on: its elements may
	// then be changed.
	After *gorgonia.Node
}

// Receiver receives the values that a program passes on while it runs. An error ends the run and is returned
// unchanged.
type Receiver interface {
	// Begin is called once, before the first Check, when the value of Options.LossReady has been computed.
	Begin() error
	// Check is called once for each Handover before the first Take: with its value d, or, if it is computed after the
	// check, with d nil and a bound on the absolute values of its elements (NaN if a factor is not finite). It must
	// not change d.
	Check(i int, d *tensor.Dense, bound float64) error
	// Take receives the value of the i-th Handover. Until it returns it may overwrite d.
	Take(i int, d *tensor.Dense) error
}

// hand adds the steps that pass values on and makes the others the only roots that are kept. All values are checked
// first: those in memory directly, those that need less memory as factors by a bound.
func (b *builder) hand(o Options, roots []*gorgonia.Node, values map[*gorgonia.Node]*value) error {
	given := map[*gorgonia.Node]bool{}
	for _, h := range o.Callbacks {
		b.turn()
		given[h.Root] = true
	}
	m := b.readings()
	stays, mine := map[*value]bool{}, map[*value]bool{} // mine: its memory is the program's own and must not be passed to a receiver
	for _, r := range roots {
		b.turn()
		if v := values[r]; v != nil && !given[r] {
			stays[v], mine[m.of(v)] = true, true
		}
	}
	lossReady := values[o.LossReady]
	if lossReady == nil || given[o.LossReady] {
		return errors.New("engine: the loss must be a root that is kept, not passed on")
	}
	if o.Eager {
		return b.callEagerly(o, m, values, stays)
	}
	lastPriority := b.postpone(o, m, values, mine)
	m = b.readings()
	begin, commit := m.made(lossReady), len(b.steps)-1
	for _, s := range lastPriority {
		b.turn()
		commit = min(commit, m.made(s.out[0])-1)
	}
	after := map[int][]*step{begin: {{kind: lossReadyStep, name: "loss ready", in: []*value{lossReady}}}} // by the step that they follow
	commits := &step{kind: commitStep, name: "commit"}
	var takes []*step // directly after the commit
	for i, h := range o.Callbacks {
		b.turn()
		v := values[h.Root]
		if v == nil {
			return fmt.Errorf("engine: %s is not among the roots", nodeName(h.Root))
		}
		at := max(commit, m.made(v), m.read(v))
		gives := b.values[h.After]
		if gives != nil {
			at = max(at, m.read(gives))
		}
		if w := m.of(v); v.kind == placed && (mine[w] || w.kind == source) {
			c, err := newValue(placed, v.node, v.dtype, v.shape)
			if err != nil {
				return err
			}
			c.from = &step{kind: copyStep, name: "copy " + v.name(), in: []*value{v}, out: []*value{c}}
			after[m.made(v)] = slices.Insert(after[m.made(v)], 0, c.from)
			v.root = stays[v]
			v = c
		} else {
			mine[w], v.root = true, false
		}
		if s := lastPriority[m.of(v)]; s != nil {
			commits.in, commits.lastPriority = append(commits.in, m.of(s.in[0]), m.of(s.in[1])), append(commits.lastPriority, i)
		} else {
			made := max(begin, m.made(values[h.Root]))
			after[made] = append(after[made], &step{kind: checkStep, name: "check " + v.name(), in: []*value{v}, callback: i})
		}
		s := &step{kind: callbackStep, name: "callback " + v.name(), in: []*value{v}, callback: i, gives: gives}
		if at == commit {
			takes = append(takes, s)
		} else {
			after[at] = append(after[at], s)
		}
	}
	after[commit] = append(append(after[commit], commits), takes...)
	b.insert(after)
	for n := range given {
		b.turn()
		delete(values, n)
	}
	return nil
}

// callEagerly adds the steps that pass values on directly after those that compute them, but not before the loss is ready.
func (b *builder) callEagerly(o Options, m readings, values map[*gorgonia.Node]*value, stays map[*value]bool) error {
	lossReady := values[o.LossReady]
	begin := m.made(lossReady)
	after := map[int][]*step{begin: {{kind: lossReadyStep, name: "loss ready", in: []*value{lossReady}}}}
	for i, h := range o.Callbacks {
		b.turn()
		v := values[h.Root]
		if v == nil {
			return fmt.Errorf("engine: %s is not among the roots", nodeName(h.Root))
		}
		v.root = stays[v]
		at := max(begin, m.made(v))
		after[at] = append(after[at], &step{kind: callbackStep, name: "callback " + v.name(), in: []*value{v}, callback: i})
	}
	b.insert(after)
	for _, h := range o.Callbacks {
		b.turn()
		delete(values, h.Root)
	}
	return nil
}

// insert puts steps after others, by index; those at -1 come first.
func (b *builder) insert(after map[int][]*step) {
	steps := after[-1]
	for i, s := range b.steps {
		b.turn()
		steps = append(append(steps, s), after[i]...)
	}
	b.steps = steps
}

// readings records when values are computed and read for the last time, also through views of them.
type readings struct {
	whole map[*value]*value // the value that a value is a view of, or itself
	at    map[*value]int
	last  map[*value]int // by whole
}

func (b *builder) readings() readings {
	m := readings{map[*value]*value{}, map[*value]int{}, map[*value]int{}}
	for i, s := range b.steps {
		b.turn()
		for _, v := range s.in {
			b.turn()
			if v != nil {
				m.last[m.of(v)] = i
			}
		}
		for k, v := range s.out {
			b.turn()
			if v == nil {
				continue
			}
			m.at[v] = i
			if k == 0 && s.kind == kernelStep && s.core.View && len(s.in) > 0 && s.in[0] != nil {
				m.whole[v] = m.of(s.in[0])
			}
		}
	}
	return m
}

func (m readings) of(v *value) *value {
	if w := m.whole[v]; w != nil {
		return w
	}
	return v
}

// made returns the step that computes v, −1 if v is a source.
func (m readings) made(v *value) int {
	if i, ok := m.at[v]; ok {
		return i
	}
	return -1
}

// read returns the last step that reads v or a value that shares its memory, −1 if none does.
func (m readings) read(v *value) int {
	if i, ok := m.last[m.of(v)]; ok && v != nil {
		return i
	}
	return -1
}
