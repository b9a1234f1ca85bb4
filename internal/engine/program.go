package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/kernel"
)

// Options say how to run a program. The zero value is the default.
type Options struct {
	// Pool are the workers; nil: kernel.Default(). Programs may share one: a program that finds it busy runs on its
	// own goroutine alone.
	Pool *kernel.Pool
	// Unfused runs every core by itself, for comparison.
	Unfused bool
	// Lean rematerializes values that are cheap to compute instead of keeping them, where that reduces the program's
	// memory.
	Lean bool
	// Private: what Value returned is not used after the program has run again, was closed or is unreachable. Its
	// memory may then be outside of the Go heap.
	Private bool
	// Context, if not nil, ends a compilation that takes long.
	Context context.Context
	// Gate, if not nil, is a root that is computed before any value is passed on.
	LossReady *gorgonia.Node
	// Callbacks are roots whose values are passed on while the program runs, see RunWithCallbacks. Their memory is reused
	// afterwards; Value does not return them.
	Callbacks []GradientCallback
	// Eager passes each value on as soon as it is computed, without checks: the receiver changes neither it nor an
	// input before the run has ended, and ctx may end the run at any time.
	Eager bool
}

// Program is a compiled expression graph: its steps in order, and the memory of all intermediate values. It must not be
// used by several goroutines at once; different programs may run at once.
type Program struct {
	sources      map[*gorgonia.Node]*value
	inputs       []*value // the same, in order of use
	roots        map[*gorgonia.Node]*value
	steps        []*step
	stats        Stats
	exec         Exec
	memory       *memory
	hasCallbacks bool // Options.Callbacks is not empty
	running      atomic.Bool
}

// Stats describes a compiled program, for tests and benchmarks.
type Stats struct {
	Arena int64    // bytes of the arena
	Naive int64    // bytes of all intermediate values together
	Steps []string // names of the steps, in the order they run
}

// Compile plans the computation of roots. The graph must not change meanwhile, and only one goroutine at a time may
// compile it. The program keeps no reference to the graph except its input nodes, whose values it reads. It is an error
// if the Core of an Op contradicts itself or a shape exceeds any memory.
func Compile(o Options, roots ...*gorgonia.Node) (p *Program, err error) {
	if slices.Contains(roots, nil) {
		return nil, errors.New("engine: a root is nil")
	}
	p = &Program{sources: map[*gorgonia.Node]*value{}, roots: map[*gorgonia.Node]*value{}, memory: &memory{private: o.Private}}
	defer func() {
		if r := recover(); r == (kernel.Stopped{}) {
			p.memory.free()
			p, err = nil, o.Context.Err()
		} else if r != nil {
			panic(r)
		}
	}()
	b := newBuilder(o.Context)
	order := b.order(roots)
	for _, n := range order {
		b.turn()
		if err := b.add(n); err != nil {
			return nil, err
		}
	}
	copies := map[*value]*value{}
	for _, r := range roots {
		b.turn()
		v, err := b.root(r, copies)
		if err != nil {
			return nil, err
		}
		if v != nil {
			p.roots[r] = v
		}
	}
	for _, n := range order {
		b.turn()
		if v := b.values[n]; v != nil && v.kind == source {
			p.sources[n] = v
			p.inputs = append(p.inputs, v)
		}
	}
	if !o.Unfused {
		b.fuse()
	}
	b.collapse()
	if p.hasCallbacks = len(o.Callbacks) > 0; p.hasCallbacks {
		if err := b.hand(o, roots, p.roots); err != nil {
			return nil, err
		}
	}
	if o.Lean {
		b.rematerialize()
	}
	if p.stats.Arena, p.stats.Naive, err = b.plan(); err != nil {
		return nil, err
	}
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.kind == deadStep })
	p.steps = b.steps
	workers := o.Pool
	if workers == nil {
		workers = kernel.Default()
	}
	p.exec.pool = workers.Stoppable()
	if err := p.allocate(b); err != nil {
		return nil, fmt.Errorf("engine: the graph%s %w", b.largest(), err)
	}
	runtime.AddCleanup(p, (*memory).free, p.memory)
	return p, nil
}

// largest says which step makes the largest value.
func (b *builder) largest() string {
	var most *value
	at := ""
	for _, s := range b.steps {
		b.turn()
		for _, v := range s.out {
			b.turn()
			if v != nil && v.buf != nil && (most == nil || v.bytes > most.bytes) {
				most, at = v, s.name
			}
		}
	}
	if most == nil {
		return ""
	}
	return fmt.Sprintf(", in which %s makes shape %v of %v,", at, most.shape, most.dtype)
}

// Close releases the program's memory. It cannot run any more.
func (p *Program) Close() {
	if p.running.CompareAndSwap(false, true) { // permanently
		p.memory.free()
	}
}

// allocate makes the arena and the tensor headers over it.
func (p *Program) allocate(b *builder) error {
	arena, err := p.memory.values(p.stats.Arena)
	if err != nil {
		return err
	}
	p.exec.scratch.from, p.exec.scratch.arena = p.memory, arena
	place := func(v *value) {
		if v == nil || v.kind != placed || v.dense != nil || v.buf == nil && v.bytes > 0 {
			return // the last: a dimension within a sum has no memory
		}
		var mem []byte
		if v.buf != nil {
			mem = arena[v.buf.off : v.buf.off+v.bytes : v.buf.off+v.bytes]
		}
		v.dense = header(v.dtype, v.shape, mem)
	}
	for _, v := range b.values {
		b.turn()
		place(v)
	}
	for _, v := range b.views {
		b.turn()
		place(v)
	}
	for _, s := range p.steps {
		b.turn()
		p.stats.Steps = append(p.stats.Steps, s.name)
		s.din = make([]*tensor.Dense, len(s.in))
		s.dout = make([]*tensor.Dense, len(s.out))
		for i, v := range s.out {
			b.turn()
			if v != nil {
				place(v)
				s.dout[i] = v.dense
			}
		}
		if s.kind == sumStep {
			s.sum = newSum(s)
		}
	}
	return nil
}

// Bind sets the value of input node n for the following runs, without copying it; nil unsets it. Without a value, a run
// reads n.Value(). It is an error if the element type or shape differs from that of the node. Binding an input that the
// roots do not depend on has no effect.
func (p *Program) Bind(n *gorgonia.Node, v gorgonia.Value) error {
	s := p.sources[n]
	if s == nil {
		if n == nil || n.Op() != nil {
			return errors.New("engine: Bind wants an input node")
		}
		return nil
	}
	if v != nil {
		if err := s.accepts(v); err != nil {
			return err
		}
	}
	s.bound = v
	return nil
}

// Value returns the value of root n, in memory of the program, valid until the next Run. Rank 0 is a *tensor.Dense of
// shape (). Roots that are the same computation share a value. It is nil if n is not a root.
func (p *Program) Value(n *gorgonia.Node) gorgonia.Value {
	v := p.roots[n]
	switch {
	case v == nil:
		return nil
	case v.kind == placed:
		return v.dense
	}
	return v.val
}

// Stats describes the program.
func (p *Program) Stats() Stats { return p.stats }
