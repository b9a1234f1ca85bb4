package op

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Rewrite is a rule by which a lowering that is only run computes a group of nodes as one operator, such as a layer
// normalization or an attention that an exporter wrote as a dozen small ones. The graph keeps its nodes. A rule refers to
// operators by name. It does not apply to operators that Set.With replaced, see Set.Replaced, nor to a group with an
// inner value that something else reads.
type Rewrite struct {
	Name    string // of the rule
	Pattern Term   // computes the output of the operator
	// Build returns what replaces a group that matches; nil: nothing. The set must contain the operator, and its output must
	// have the type of the group's; otherwise the group is not replaced.
	Build func(m Match) *Replacement
}

// Replacement is an operator with its inputs.
type Replacement struct {
	Config Config   // operator and attributes
	In     []Source // its inputs
}

// Source is a value that a Match gives, or a constant that a Rewrite makes; the zero Source is an absent input.
type Source struct {
	Type     Type  // of the value
	Known    Known // before anything runs
	Gradient bool  // the run asks for a gradient through the value
	Ref      any   // the graph's own name of it; nil for a constant
}

// Constant is the Source of a value that is part of the rule.
func Constant(v dtype.Value) Source { return Source{Type: TypeOf(v), Known: Known{Value: v}} }

// Present reports whether there is a value.
func (s Source) Present() bool { return s.Ref != nil || s.Known.Value != nil }

// Number is the only element of a scalar or a vector of one that is known before anything runs.
func (s Source) Number() (float64, bool) {
	d, ok := s.Known.Value.(*tensor.Dense)
	if !ok || d.Dims() > 1 {
		return 0, false
	}
	x, err := dtype.Float64s(d)
	if err != nil || len(x) != 1 {
		return 0, false
	}
	return x[0], true
}

// Match is a group of nodes that matches the pattern of a Rewrite.
type Match interface {
	// Value returns the value that the term with this name matched, the zero Source if none did.
	Value(name string) Source
	// Number returns the number that the AnyNumber with this name matched.
	Number(name string) (float64, bool)
	// Call returns the call that computes a value in this run; nil if no operator does.
	Call(s Source) *Call
	// Input returns input i of the node that computes a value, the zero Source if it is absent.
	Input(s Source, i int) Source
}

// Term is one place of a pattern: an operator on terms, a number, or any value.
type Term struct {
	op   Name
	in   []Term   // its first inputs
	each bool     // all inputs are as the only term says
	alts []Term   // one of these, in place of all else
	num  *float64 // a known number; not a number: any
	name string
	open bool
}

// On is operator o, with any attributes, on terms: its first inputs. Of sums and products (Traits.Joins) two match either way
// round. A nil o panics.
func On(o Config, in ...Term) Term {
	if o == nil {
		panic("op: On: the operator is nil")
	}
	return Term{op: o.Operator(), in: in}
}

// OnEach is operator o with any number of inputs, each of which matches the term. A nil o panics.
func OnEach(o Config, each Term) Term {
	if o == nil {
		panic("op: OnEach: the operator is nil")
	}
	return Term{op: o.Operator(), in: []Term{each}, each: true}
}

// Anything is a value that the match calls name; where the name stands again it is the same value.
func Anything(name string) Term { return Term{name: name} }

// Num is a value known to be x, up to rounding in its type.
func Num(x float64) Term { return Term{num: &x} }

// AnyNumber is a known number that the match calls name; where the name stands again it is the same number.
func AnyNumber(name string) Term { nan := math.NaN(); return Term{num: &nan, name: name} }

// Either matches where one of the terms does; the first that does counts.
func Either(list ...Term) Term { return Term{alts: list} }

// As names the value of a term.
func (t Term) As(name string) Term { t.name = name; return t }

// AlsoRead lets others read the value of a term: it is computed for them by itself.
func (t Term) AlsoRead() Term { t.open = true; return t }

// Name is what a match calls the term's value or number, "" where it has no name.
func (t Term) Name() string { return t.name }

// Shared reports whether others may read the value, see AlsoRead.
func (t Term) Shared() bool { return t.open }

// Alternatives are the terms of Either, nil for another term.
func (t Term) Alternatives() []Term { return t.alts }

// IsNumber reports whether the term is Num or AnyNumber.
func (t Term) IsNumber() bool { return t.num != nil }

// Admits reports whether a known number of type d is the one that Num wants; AnyNumber wants any.
func (t Term) Admits(x float64, d DType) bool {
	return t.num != nil && (math.IsNaN(*t.num) || Near(x, *t.num, d))
}

// Operator is the operator that computes the term's value; false where any value will do.
func (t Term) Operator() (Name, bool) { return t.op, t.op != Name{} }

// Inputs are the terms of the first inputs of a node that has n; false: there must be more of them.
func (t Term) Inputs(n int) ([]Term, bool) {
	if t.each {
		return slices.Repeat(t.in, n), n > 0
	}
	return t.in, n >= len(t.in)
}

// Roots are the operators that a match may end in.
func (t Term) Roots() []Name {
	if t.alts == nil {
		return []Name{t.op}
	}
	var list []Name
	for _, a := range t.alts {
		for _, o := range a.Roots() {
			if !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	return list
}

// Near reports whether x equals want up to rounding to type t.
func Near(x, want float64, t DType) bool {
	tol := 1e-6
	if t.Size() < 4 {
		tol = 4e-3
	}
	return math.Abs(x-want) <= tol*math.Abs(want)
}

// Rewriting is the set with more rules by which groups of nodes run as one operator. They are tried before those it has.
func (s Set) Rewriting(rules ...Rewrite) Set {
	s.rewrites = slices.Concat(rules, s.rewrites)
	return s
}

// Rewrites lists the rules by which groups of nodes run as one operator. Of several that end in one node the first that
// fits counts.
func (s Set) Rewrites() []Rewrite { return slices.Clone(s.rewrites) }
