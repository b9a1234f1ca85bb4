package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
)

// Pattern is one thing that a call computes, described for kernels that can compute it together with a result of
// their own, or the other way round. Those of the packages epilogue and loops are open to every operator, see
// Op.Patterns; a package may have patterns of its own and the rules that know them, see Set.Fusing.
type Pattern interface {
	// PatternName is what the list of rules calls the pattern. It is asked of zero values, too.
	PatternName() string
}

// Meeting is two calls that may run as one: output 0 of the first is read by the second alone, as its input Slot,
// and wanted by nobody else.
type Meeting struct {
	FirstInputs, SecondInputs int // how many inputs the kernels of the calls have

	Slot  int
	Sides bool // somebody wants other outputs of the second than output 0
}

// Fused is a kernel that runs in place of two. Its inputs are those of the first, then those of the second without
// Meeting.Slot; its outputs those of the second, then those of the first without output 0.
type Fused struct {
	Kernel        Kernel             // what computes both
	InPlace       []int              // inputs whose memory output 0 may take over, as in Schedule
	Patterns      []Pattern          // of the whole, for what follows
	KeepsSides    bool               // it computes the other outputs of the first, too; else it serves only where nobody wants them
	Rematerialize *Rematerialization // see Op.Rematerialize
}

// Fusion is a rule by which two calls become one kernel.
type Fusion struct {
	First, Second string // the names of the patterns that meet
	Last          bool   // asked when no other rule finds anything to fuse any more

	fuse func(first, second engine.Pattern, m Meeting) *Fused
}

// NewFusion is the rule that fuses a call that has pattern P with the one that reads it and has pattern Q. fuse
// returns nil where it cannot.
func NewFusion[P, Q Pattern](fuse func(first P, second Q, m Meeting) *Fused) Fusion {
	var p P
	var q Q
	return Fusion{First: p.PatternName(), Second: q.PatternName(), fuse: func(first, second engine.Pattern, m Meeting) *Fused {
		p, is := first.(P)
		q, are := second.(Q)
		if !is || !are {
			return nil
		}
		return fuse(p, q, m)
	}}
}

// Fusing is the set with more rules by which calls run as one kernel. They are tried before those that it has.
func (s Set) Fusing(rules ...Fusion) Set {
	s.fusions = slices.Concat(rules, s.fusions)
	return s
}

// Fusions lists the rules by which calls run as one kernel, in the order in which they are tried.
func (s Set) Fusions() []Fusion { return slices.Clone(s.fusions) }

// fuse asks the rules, in order, about all pairs of patterns.
func (s Set) fuse(m engine.Meeting) *engine.Core {
	meeting := Meeting{FirstInputs: m.Self.Inputs, SecondInputs: m.Next.Inputs, Slot: m.Slot, Sides: m.Sides}
	for _, rule := range s.fusions {
		if rule.Last != m.Last {
			continue
		}
		for _, first := range m.Self.Patterns {
			for _, second := range m.Next.Patterns {
				if f := rule.fuse(first, second, meeting); f != nil {
					return s.fused(f)
				}
			}
		}
	}
	return nil
}

func (s Set) fused(f *Fused) *engine.Core {
	core := &engine.Core{Kernel: f.Kernel.engine(), InPlace: f.InPlace, KeepsSides: f.KeepsSides, Rematerialize: f.Rematerialize.engine()}
	s.describe(core, f.Patterns)
	return core
}

// describe gives a core patterns, and what they let it do.
func (s Set) describe(core *engine.Core, list []Pattern) {
	for _, p := range list {
		core.Patterns = append(core.Patterns, p)
	}
	if len(list) > 0 {
		core.Fuse = s.fuse
	}
}

// Rematerialization computes output 0 of a call once more, to the last bit. Where it is read early and late in a
// program, it then need not stay in memory between, which training asks for to save memory.
type Rematerialization struct {
	Kernel Kernel // of the inputs of the call and, after them, the outputs in Needs
	Needs  []int  // outputs of the call
	Spares []int  // inputs of the call that the kernel does not read: they are nil
}

func (r *Rematerialization) engine() *engine.Rematerialization {
	if r == nil {
		return nil
	}
	return &engine.Rematerialization{Kernel: r.Kernel.engine(), Needs: r.Needs, Spares: r.Spares}
}
