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

// Source is a value that a Match returns, or a constant that a Rewrite uses. The zero Source is an absent input.
type Source struct {
	Type     Type  // of the value
	Known    Known // what is known before the graph runs
	Gradient bool  // the run computes a gradient through the value
	Ref      any   // identifies it in the graph; nil for a constant
}

// Constant returns the Source of a value that is part of a rule.
func Constant(v dtype.Value) Source { return Source{Type: TypeOf(v), Known: Known{Value: v}} }

// Present reports whether there is a value.
func (s Source) Present() bool { return s.Ref != nil || s.Known.Value != nil }

// Number returns the only element of a scalar, or of a vector of length one, if it is known before the graph runs.
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

// Term is a part of a pattern: an operator applied to terms, a number, or any value.
type Term struct {
	op   Name
	in   []Term   // its first inputs
	each bool     // all inputs match the only term
	alts []Term   // one of these, instead of the other fields
	num  *float64 // a known number; NaN: any
	name string
	open bool
}

// On matches operator o, with any attributes, whose first inputs match the terms. If o is commutative (Traits.Joins) and
// has two inputs, they may be in either order. A nil o panics.
func On(o Config, in ...Term) Term {
	if o == nil {
		panic("op: On: the operator is nil")
	}
	return Term{op: o.Operator(), in: in}
}

// OnEach matches operator o with any number of inputs, each of which matches the term. A nil o panics.
func OnEach(o Config, each Term) Term {
	if o == nil {
		panic("op: OnEach: the operator is nil")
	}
	return Term{op: o.Operator(), in: []Term{each}, each: true}
}

// Anything matches any value and gives it a name; further terms with that name match the same value.
func Anything(name string) Term { return Term{name: name} }

// Num matches a value known to be x up to rounding in its type.
func Num(x float64) Term { return Term{num: &x} }

// AnyNumber matches a known number and gives it a name; further terms with that name match the same number.
func AnyNumber(name string) Term { nan := math.NaN(); return Term{num: &nan, name: name} }

// Either matches what one of the terms matches, the first if several do.
func Either(list ...Term) Term { return Term{alts: list} }

// As returns the term with a name for its value.
func (t Term) As(name string) Term { t.name = name; return t }

// AlsoRead returns the term with its value allowed to have other users as well; it is then computed separately for them.
func (t Term) AlsoRead() Term { t.open = true; return t }

// Name returns the name of the term's value or number, "" if it has none.
func (t Term) Name() string { return t.name }

// Shared reports whether the value may have other users, see AlsoRead.
func (t Term) Shared() bool { return t.open }

// Alternatives returns the terms of Either, nil for other terms.
func (t Term) Alternatives() []Term { return t.alts }

// IsNumber reports whether the term is a Num or an AnyNumber.
func (t Term) IsNumber() bool { return t.num != nil }

// Admits reports whether a Num or AnyNumber matches the number x of type d.
func (t Term) Admits(x float64, d DType) bool {
	return t.num != nil && (math.IsNaN(*t.num) || Near(x, *t.num, d))
}

// Operator returns the operator that computes the term's value. It reports false if the term matches any value.
func (t Term) Operator() (Name, bool) { return t.op, t.op != Name{} }

// Inputs returns the terms for the inputs of a node that has n. It reports false if the term needs more of them.
func (t Term) Inputs(n int) ([]Term, bool) {
	if t.each {
		return slices.Repeat(t.in, n), n > 0
	}
	return t.in, n >= len(t.in)
}

// Roots returns the operators that a group may end in.
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

// Rewriting returns the set with more rules by which groups of nodes are computed as one operator. They are tried before
// those that it has.
func (s Set) Rewriting(rules ...Rewrite) Set {
	s.rewrites = slices.Concat(rules, s.rewrites)
	return s
}

// Rewrites returns the rules by which groups of nodes are computed as one operator. If several match a group that ends in
// the same node, the first one is used.
func (s Set) Rewrites() []Rewrite { return slices.Clone(s.rewrites) }
