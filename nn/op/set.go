package op

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Set is an immutable collection of operators, found by domain and name. There is no global
// registry: a Set is passed to Load and kept by the graph.
type Set struct{ ops map[setKey]*Op }

type setKey struct{ domain, name string }

// The zero value of table is filled on first use. An initializer would close a cycle: the
// gradients of operators apply other operators.
var table struct {
	once sync.Once
	set  Set
}

// Standard holds every operator of graft.
func Standard() Set {
	table.once.Do(func() {
		table.set = Set{ops: map[setKey]*Op{}}
		for _, o := range all() {
			table.set.ops[setKey{o.Domain, o.Name}] = o
		}
	})
	return table.set
}

func standard(domain, name string) *Op {
	if o := Standard().ops[setKey{domain, name}]; o != nil {
		return o
	}
	panic("op: no operator " + domain + " " + name) // a spelling mistake in this package
}

// With is the set with operators added or replaced. A replaced operator keeps its name.
func (s Set) With(ops ...*Op) (Set, error) {
	n := Set{ops: maps.Clone(s.ops)}
	if n.ops == nil {
		n.ops = map[setKey]*Op{}
	}
	for _, o := range ops {
		if o == nil || o.Name == "" {
			return s, fmt.Errorf("an operator has no name")
		}
		if err := Validate(o); err != nil {
			return s, err
		}
		n.ops[setKey{o.Domain, o.Name}] = o
	}
	return n, nil
}

// Find returns the operator, or nil. "ai.onnx" is the standard domain's other name. An operator
// named "*" answers for every unknown name of its domain.
func (s Set) Find(domain, name string) *Op {
	if domain == "ai.onnx" {
		domain = ""
	}
	if o := s.ops[setKey{domain, name}]; o != nil {
		return o
	}
	return s.ops[setKey{domain, "*"}]
}

// List is every operator, sorted by domain and name.
func (s Set) List() []*Op {
	list := slices.Collect(maps.Values(s.ops))
	slices.SortFunc(list, func(a, b *Op) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Name, b.Name))
	})
	return list
}
