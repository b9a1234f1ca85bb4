package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
)

// Pattern describes what a call computes, for kernels that can compute it together with their own result. The patterns of
// packages epilogue and loops can be used by every operator, see Scheduling.Patterns; a package may also define its own
// patterns and the rules for them, see Set.Fusing.
type Pattern interface {
	// PatternName returns the name by which rules refer to the pattern. It must work on zero values.
	PatternName() string
}

// Meeting is a pair of calls that may be fused: output 0 of the first is only read by the second, as its input Slot.
type Meeting struct {
	FirstInputs, SecondInputs int // number of inputs of the kernels

	Slot  int
	Sides bool // other outputs of the second than output 0 are read
}

// Fused is a kernel that computes two calls. Its inputs are those of the first call, followed by those of the second
// except Meeting.Slot; its outputs are those of the second call, followed by those of the first except output 0.
type Fused struct {
	Kernel        Kernel             // computes both calls
	InPlace       []int              // inputs whose memory output 0 may take over, as in Scheduling
	Patterns      []Pattern          // of the fused call
	KeepsSides    bool               // it also computes the other outputs of the first call; otherwise it is only used if nothing reads them
	Rematerialize *Rematerialization // see Scheduling.Rematerialize
}

// Fusion is a rule by which two calls are computed by one kernel.
type Fusion struct {
	First, Second string // names of the patterns that the rule combines
	Last          bool   // try the rule only when no other rule finds anything to fuse

	fuse func(first, second engine.Pattern, m Meeting) *Fused
}

// NewFusion returns the rule that fuses a call with pattern P and the call with pattern Q that reads it. fuse returns nil
// if it cannot.
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

// Fusing returns the set with more rules of fusion, which are tried before those that it has.
func (s Set) Fusing(rules ...Fusion) Set {
	s.fusions = slices.Concat(rules, s.fusions)
	return s
}

// Fusions returns the rules of fusion in the order in which they are tried.
func (s Set) Fusions() []Fusion { return slices.Clone(s.fusions) }

// fuse applies the rules, in order, to all pairs of patterns.
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

// describe sets the patterns of a core, and how they can be fused.
func (s Set) describe(core *engine.Core, list []Pattern) {
	for _, p := range list {
		core.Patterns = append(core.Patterns, p)
	}
	if len(list) > 0 {
		core.Fuse = s.fuse
	}
}

// Rematerialization computes output 0 of a call again, with identical results. If output 0 is read both early and late in
// a program, it need not be kept in memory in between. Training can use it to save memory.
type Rematerialization struct {
	Kernel Kernel // its inputs are those of the call, followed by the outputs in Needs
	Needs  []int  // outputs of the call that it reads
	Spares []int  // inputs of the call that it does not read and that are nil
}

func (r *Rematerialization) engine() *engine.Rematerialization {
	if r == nil {
		return nil
	}
	return &engine.Rematerialization{Kernel: r.Kernel.engine(), Needs: r.Needs, Spares: r.Spares}
}
