package op

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Set is an immutable collection of operators, found by domain and name. There is no global
// registry: a Set is passed to Load, kept by the graph, and part of every Call, whose gradient and
// decomposition take the operators that they apply from it.
type Set struct {
	ops      map[Name]*Op
	replaced map[Name]bool
	fusions  []Fusion
	rewrites []Rewrite
}

// NewSet is a set of operators and of the rules by which they run as one kernel, in the order in which these are tried.
// It trusts that a test of their package validates the operators; With validates them itself.
func NewSet(ops []*Op, rules ...Fusion) Set {
	s := Set{ops: structural(), fusions: rules}
	for _, o := range ops {
		s.ops[o.Operator()] = o
	}
	return s
}

// structural are the operators that every set has: gradients of any operator are written with them.
func structural() map[Name]*Op {
	ops := map[Name]*Op{}
	for _, o := range []*Op{gradientPart(), reshapeTo(), expandTo(), sumTo(), zerosLike()} {
		ops[o.Operator()] = o
	}
	return ops
}

// IsZero reports whether the set holds no operator: the value that options have when they name none.
func (s Set) IsZero() bool { return len(s.ops) == 0 }

// With is the set with operators added or replaced. A replaced operator keeps its name.
func (s Set) With(ops ...*Op) (Set, error) {
	n := Set{ops: maps.Clone(s.ops), replaced: maps.Clone(s.replaced), fusions: s.fusions, rewrites: s.rewrites}
	if n.ops == nil {
		n.ops = structural()
	}
	if n.replaced == nil {
		n.replaced = map[Name]bool{}
	}
	for _, o := range ops {
		if o == nil || o.Name == "" {
			return s, fmt.Errorf("an operator has no name")
		}
		if err := Validate(o); err != nil {
			return s, err
		}
		if old := n.ops[o.Operator()]; old != nil && old != o {
			n.replaced[o.Operator()] = true
		}
		n.ops[o.Operator()] = o
	}
	return n, nil
}

// Union is the set with the operators of t that it lacks. Its rules of fusion and rewriting are those of s.
func (s Set) Union(t Set) Set {
	n := Set{ops: maps.Clone(t.ops), replaced: maps.Clone(s.replaced), fusions: s.fusions, rewrites: s.rewrites}
	if n.ops == nil {
		return s
	}
	for k, o := range s.ops {
		n.ops[k] = o
	}
	for k := range t.replaced {
		if n.ops[k] == t.ops[k] {
			if n.replaced == nil {
				n.replaced = map[Name]bool{}
			}
			n.replaced[k] = true
		}
	}
	return n
}

// Find returns the operator, or nil. "ai.onnx" is the standard domain's other name. An operator
// named "*" answers for every unknown name of its domain.
func (s Set) Find(domain, name string) *Op {
	if domain == "ai.onnx" {
		domain = ""
	}
	if o := s.ops[Name{domain, name}]; o != nil {
		return o
	}
	return s.ops[Name{domain, "*"}]
}

// Of returns the operator that a configuration names, or an error that names it.
func (s Set) Of(c Config) (*Op, error) {
	if c == nil {
		return nil, errors.New("an operator is nil")
	}
	n := c.Operator()
	if n.Name == "" {
		return nil, errors.New("an operator has no name")
	}
	if o := s.Find(n.Domain, n.Name); o != nil {
		return o, nil
	}
	return nil, &Error{Kind: ErrNotFound, Err: fmt.Errorf("there is no operator %q", n.String())}
}

// Replaced reports whether With put another operator in the place of one that the set held. Rewrites that take
// a group of operators for one, and so presume what each of them computes, leave replaced ones alone.
func (s Set) Replaced(n Name) bool { return s.replaced[n] }

// List is every operator, sorted by domain and name.
func (s Set) List() []*Op {
	list := slices.Collect(maps.Values(s.ops))
	slices.SortFunc(list, func(a, b *Op) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Name, b.Name))
	})
	return list
}
