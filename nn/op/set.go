package op

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Set is an immutable collection of operators, found by domain and name. There is no global registry: a Set is passed to
// a loader, kept by the graph, and part of every Call, whose gradient and decomposition look up the operators that they
// use in it.
type Set struct {
	ops      map[Name]*Op
	replaced map[Name]bool
	fusions  []Fusion
	rewrites []Rewrite
}

// NewSet returns a set of operators, with the rules by which they are fused, in the order in which these are tried. It
// does not validate the operators: a test of their package should. With does.
func NewSet(ops []*Op, rules ...Fusion) Set {
	s := Set{ops: structural(), fusions: rules}
	for _, o := range ops {
		s.ops[o.Operator()] = o
	}
	return s
}

// structural returns the operators that every set has: gradients of any operator are written with them.
func structural() map[Name]*Op {
	ops := map[Name]*Op{}
	for _, o := range []*Op{gradientMark(), reshapeTo(), expandTo(), sumTo(), zerosLike()} {
		ops[o.Operator()] = o
	}
	return ops
}

// IsZero reports whether the set has no operators, which options take to mean the default set.
func (s Set) IsZero() bool { return len(s.ops) == 0 }

// With returns the set with operators added or replaced, after it has validated them.
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

// Union returns the set with those operators of t that it lacks. Its rules of fusion and rewriting are those of s.
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

// Find returns the operator, or nil. "ai.onnx" is another name of the standard domain. An operator named "*" stands for
// every unknown name in its domain.
func (s Set) Find(domain, name string) *Op {
	if domain == "ai.onnx" {
		domain = ""
	}
	if o := s.ops[Name{domain, name}]; o != nil {
		return o
	}
	return s.ops[Name{domain, "*"}]
}

// Of returns the operator that a configuration names. The error names the operator if the set does not have it.
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

// Replaced reports whether With replaced an operator of the set by another. Rewrites, which assume what the operators of
// a group compute, do not apply to such operators.
func (s Set) Replaced(n Name) bool { return s.replaced[n] }

// List returns all operators, sorted by domain and name.
func (s Set) List() []*Op {
	list := slices.Collect(maps.Values(s.ops))
	slices.SortFunc(list, func(a, b *Op) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Name, b.Name))
	})
	return list
}
