package nn

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

// Selector reports whether to select a node; nil selects none.
type Selector func(*Node) bool

// accepted reports whether all selectors accept the node. The error is that of one that is relative to a node which is not there.
func accepted(sel []Selector, n *Node) (ok bool, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case misplaced:
			ok, err = false, p
		default:
			panic(p)
		}
	}()
	for _, s := range sel {
		if s == nil || !s(n) {
			return false, nil
		}
	}
	return true, nil
}

// misplaced is what a selector panics with that is relative to a node which is not in the graph, since it has no result that could be
// negated. An edit fails with it.
type misplaced struct{ error }

// relative returns a selector of the nodes that find returns for n, as the graph is now.
func relative(n *Node, find func() []*Node) Selector {
	if n == nil || n.graph == nil {
		return func(*Node) bool {
			panic(misplaced{errors.New("nodes before or after a node are selected, but the node is nil")})
		}
	}
	defer n.locked().unlock()
	lost := misplaced{fmt.Errorf("nodes before or after %q are selected, but it is not in this graph", n.label())}
	if !n.graph.contains(n) {
		return func(*Node) bool { panic(lost) }
	}
	set := map[*Node]bool{}
	for _, x := range find() {
		set[x] = true
	}
	return func(x *Node) bool {
		if x.graph.lock() != n.graph.lock() {
			panic(lost)
		}
		return set[x]
	}
}

// Glob selects nodes whose name, or the name of one of their outputs or parameters, matches one of the patterns. Patterns
// are those of path.Match, except that * also matches slashes. "@key" and "@key=value" select by annotation, see
// Annotated.
func Glob(patterns ...string) Selector {
	return func(n *Node) bool {
		defer n.locked().unlock()
		for _, p := range patterns {
			if key, ok := strings.CutPrefix(p, "@"); ok {
				key, value, some := strings.Cut(key, "=")
				if v, has := n.annotations[key]; has && (!some || plainText(v) == value) {
					return true
				}
				continue
			}
			for _, name := range n.names() {
				if match(p, name) {
					return true
				}
			}
		}
		return false
	}
}

// names returns the names by which a node can be found: its own, those of its outputs and of its parameters.
func (n *Node) names() []string {
	names := []string{n.name}
	for _, v := range n.out {
		if v != nil {
			names = append(names, v.name)
		}
	}
	for _, v := range n.in {
		if v.held() != nil {
			names = append(names, v.name)
		}
	}
	return names
}

// match is path.Match, except that * also matches slashes.
func match(pattern, name string) bool {
	const slash = "\x00"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
	return ok && err == nil
}

// Domain selects nodes whose operators belong to one of the domains; "" is the standard one.
func Domain(domains ...string) Selector {
	return func(n *Node) bool { return slices.Contains(domains, n.Domain()) }
}

// Ops selects nodes by operator. Operators of the standard domain are given by their type, others with their domain before
// it, as Summary lists them: Ops("Conv", "Gemm", "com.microsoft.FusedGemm"). A Gemm of another domain is another operator.
func Ops(names ...string) Selector {
	return func(n *Node) bool {
		defer n.locked().unlock()
		return slices.Contains(names, n.operator().String())
	}
}

// Not selects the nodes that s does not.
func Not(s Selector) Selector { return func(n *Node) bool { return s == nil || !s(n) } }

// Any selects nodes that at least one of the selectors accepts.
func Any(sel ...Selector) Selector {
	return func(n *Node) bool {
		for _, s := range sel {
			if s != nil && s(n) {
				return true
			}
		}
		return false
	}
}

// Before selects the nodes that n depends on, but not n itself, as the graph is when Before is called. An n that was removed is an
// error of the edit that selects, and a panic if the selector is called directly.
func Before(n *Node) Selector {
	return relative(n, func() []*Node { return ancestors(n.reads(), nil) })
}

// After selects the nodes that depend on n, but not n itself; see Before.
func After(n *Node) Selector {
	return relative(n, func() (found []*Node) {
		seen := map[*Node]bool{}
		for next := []*Node{n}; len(next) > 0; {
			x := next[len(next)-1]
			next = next[:len(next)-1]
			for _, v := range x.out {
				if v == nil {
					continue
				}
				for _, u := range v.users {
					if !seen[u] {
						seen[u] = true
						found, next = append(found, u), append(next, u)
					}
				}
			}
		}
		return found
	})
}

// Value returns the value with the given name, such as that of a parameter (see Value.Param). The error lists similar names.
func (g *Graph) Value(name string) (*Value, error) {
	if err := g.edited("value"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	return g.value(name)
}

// Lookup returns the value with the given name, nil if there is none. Code that expects many misses uses it: the error of Value takes time to make.
func (g *Graph) Lookup(name string) *Value {
	defer g.locked().unlock()
	return g.values[name]
}

func (g *Graph) value(name string) (*Value, error) {
	if v := g.values[name]; v != nil {
		return v, nil
	}
	names := make([]string, 0, len(g.values))
	for n := range g.values {
		names = append(names, n)
	}
	return nil, &Error{Kind: ErrNotFound, Err: fmt.Errorf("no value is named %q%s", name, similar(name, names))}
}

// Node returns the only node with the given name or, failing that, the node that computes the value with that name. The
// error lists similar names.
func (g *Graph) Node(name string) (*Node, error) {
	if err := g.edited("node"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	var found []*Node
	var names []string
	for _, n := range g.nodes() {
		if n.name == name && name != "" {
			found = append(found, n)
		}
		names = append(names, n.label())
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if n := g.values[name].source(); n != nil {
			return n, nil
		}
		return nil, &Error{Kind: ErrNotFound, Err: fmt.Errorf("no node is named %q%s", name, similar(name, names))}
	}
	return nil, &Error{Err: fmt.Errorf("%d nodes are named %q: name one by its output, such as %q", len(found), name, found[0].out[0].id())}
}

// similar is ": did you mean …?" with up to three names close to the one that was not found.
func similar(name string, names []string) string {
	type scored struct {
		name string
		d    int
	}
	var list []scored
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if strings.Contains(strings.ToLower(n), strings.ToLower(name)) {
			d = 1
		}
		if d <= max(2, len(name)/3) {
			list = append(list, scored{n, d})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].d != list[j].d {
			return list[i].d < list[j].d
		}
		return list[i].name < list[j].name
	})
	if len(list) == 0 {
		return ""
	}
	var close []string
	for _, s := range list[:min(3, len(list))] {
		close = append(close, fmt.Sprintf("%q", s.name))
	}
	return ": did you mean " + strings.Join(close, ", ") + "?"
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost = 1 + min(prev, row[j], row[j+1])
			}
			prev, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
