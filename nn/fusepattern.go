package nn

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// term is one place of a pattern: an operator on terms, a number, or any value.
type term struct {
	op   string   // operator of the standard domain; "" for a leaf
	in   []term   // its first inputs; build looks at those behind them
	alts []term   // one of these, in place of all else
	num  *float64 // a known number
	name string   // what the value is called in the match; the same name is the same value
	open bool     // others may read the value, too: it is computed for them by itself
}

// rule says which groups of nodes one operator replaces.
type rule struct {
	name    string
	pattern term
	build   func(m *matching) *fused // nil: it does not fit after all
}

// roots are the operators that a match may end in.
func (r rule) roots() []string {
	if r.pattern.alts == nil {
		return []string{r.pattern.op}
	}
	var list []string
	for _, t := range r.pattern.alts {
		for _, o := range (rule{pattern: t}).roots() {
			if !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	return list
}

// on is operator o on terms. Sums and products match either way round.
func on(o string, in ...term) term { return term{op: o, in: in} }

// anything is a value that the match calls name.
func anything(name string) term { return term{name: name} }

// num is a value known to be x, up to rounding in the type of the graph.
func num(x float64) term { return term{num: &x} }

// scalar is a known number that the match calls name.
func scalar(name string) term { nan := math.NaN(); return term{num: &nan, name: name} }

// as names the value of a term.
func (t term) as(name string) term { t.name = name; return t }

// either matches where one of the terms does; the first that does counts.
func either(list ...term) term { return term{alts: list} }

// alsoRead lets others read the value of a term.
func (t term) alsoRead() term { t.open = true; return t }

// triple is a·b·c however it is bracketed.
func triple(a, b, c term) term {
	return either(on("Mul", on("Mul", a, b), c), on("Mul", on("Mul", a, c), b), on("Mul", on("Mul", b, c), a))
}

// timesOrOver is x·k, or x/(1/k).
func timesOrOver(x term, k float64) term {
	return either(on("Mul", x, num(k)), on("Div", x, num(1/k)))
}

// matching is an attempt to find a pattern that ends in a node.
type matching struct {
	w     *walker
	root  *Node
	nodes []*Node // of the group, as far as it was followed
	named map[string]*Value
	nums  map[string]float64
}

// try matches a rule; nil if it does not apply.
func (m *matching) try(r rule) *fused {
	m.named, m.nums = map[string]*Value{}, map[string]float64{}
	var f *fused
	m.value(&r.pattern, m.root.out[0], func() bool {
		if !m.closed() {
			return false
		}
		f = r.build(m)
		return f != nil
	})
	return f
}

// closed says that nothing outside of the group reads what its inner nodes compute.
func (m *matching) closed() bool {
	for _, n := range m.nodes {
		if n == m.root {
			continue
		}
		for _, v := range n.out {
			if v == nil {
				continue
			}
			if m.w.fuser.keep[v] {
				return false
			}
			for _, u := range v.users {
				if m.w.fuser.live[u] && !slices.Contains(m.nodes, u) {
					return false
				}
			}
		}
	}
	return true
}

// value matches a term with a value and, if that went well, what follows. What was noted down on
// the way is taken back when either fails.
func (m *matching) value(t *term, v *Value, next func() bool) bool {
	if v == nil {
		return false
	}
	for i := range t.alts {
		if m.value(&t.alts[i], v, next) {
			return true
		}
	}
	switch {
	case t.alts != nil:
		return false
	case t.num != nil:
		return m.number(t, v, next)
	case t.name == "":
		return m.node(t, v, next)
	}
	if old, seen := m.named[t.name]; seen {
		return old == v && m.node(t, v, next)
	}
	m.named[t.name] = v
	if m.node(t, v, next) {
		return true
	}
	delete(m.named, t.name)
	return false
}

// node matches the operator that computes v with that of a term.
func (m *matching) node(t *term, v *Value, next func() bool) bool {
	if t.op == "" {
		return next()
	}
	n := v.producer
	if n == nil || n.op == nil || n.domain != "" || len(n.out) != 1 || !m.w.fuser.live[n] || m.w.at(v) == nil {
		return false
	}
	had := len(m.nodes)
	if !t.open {
		m.nodes = append(m.nodes, n)
	}
	if n.opType == "Identity" && t.op != "Identity" && n != m.root {
		if m.node(t, n.in[0], next) {
			return true
		}
	}
	if n.opType == t.op && len(n.in) >= len(t.in) && !m.w.g.ops.Replaced(n.op.Operator()) {
		if m.inputs(t.in, n.in, next) {
			return true
		}
		if (t.op == "Add" || t.op == "Mul") && len(t.in) == 2 && m.inputs(t.in, []*Value{n.in[1], n.in[0]}, next) {
			return true
		}
	}
	m.nodes = m.nodes[:had]
	return false
}

func (m *matching) inputs(terms []term, in []*Value, next func() bool) bool {
	if len(terms) == 0 {
		return next()
	}
	return m.value(&terms[0], in[0], func() bool { return m.inputs(terms[1:], in[1:], next) })
}

// number matches a value that is known, the same wherever it is added or multiplied.
func (m *matching) number(t *term, v *Value, next func() bool) bool {
	x, ok := m.known(v)
	if !ok {
		return false
	}
	if want := *t.num; !math.IsNaN(want) {
		return near(x, want, m.w.at(v).typ.DType) && next()
	}
	old, seen := m.nums[t.name]
	if seen {
		return old == x && next()
	}
	m.nums[t.name] = x
	if next() {
		return true
	}
	delete(m.nums, t.name)
	return false
}

// known is the only element of v, if that is known before anything runs.
func (m *matching) known(v *Value) (float64, bool) {
	b := m.w.at(v)
	if b == nil || !b.typ.Static() || b.typ.Elements() != 1 || b.typ.Rank() > 1 {
		return 0, false
	}
	d, ok := b.known.Value.(*tensor.Dense)
	if !ok {
		return 0, false
	}
	x, err := dtype.Float64s(d)
	if err != nil || len(x) != 1 {
		return 0, false
	}
	return x[0], true
}

// near says whether x is want, rounded to type t or computed in it.
func near(x, want float64, t dtype.DType) bool {
	tol := 1e-6
	if t.Size() < 4 {
		tol = 4e-3
	}
	return math.Abs(x-want) <= tol*math.Abs(want)
}

// typ is the type of a named value.
func (m *matching) typ(name string) op.Type { return m.w.at(m.named[name]).typ }

// config is the configuration of the node that computes a named value.
func (m *matching) config(name string) op.Config { return m.named[name].producer.config }
