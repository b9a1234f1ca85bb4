package nn

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// Limits of the search for bodies of loops.
const (
	leastTurns  = 3   // shorter loops stay unrolled
	largestBody = 500 // nodes
	candidates  = 16  // preceding nodes that are compared as the node of the previous iteration
)

// roll replaces each chain of equal bodies by a Loop or Scan: nodes with the same operators, attributes and connections,
// of which each iteration reads what the previous one computed, or whose results are concatenated. Their other inputs
// are the same in all iterations, or integer constants with a constant increment. Other nodes are unchanged.
func (e *Edit) roll() {
	for e.err == nil {
		e.sortNodes()
		c := e.carrying()
		if c == nil {
			c = e.mapped()
		}
		if c == nil {
			return
		}
		e.rolled(c)
	}
}

// carrying returns a chain with state: each iteration reads what the previous one computed. nil: there is none.
func (e *Edit) carrying() *chain {
	for i, n := range slices.Backward(e.g.nodes()) {
		if c := e.chainAt(n, e.g.nodes()[:i]); c != nil {
			return c
		}
	}
	return nil
}

// chain is an unrolled loop, its iterations from the last to the first. All list their nodes in the order of the last.
type chain struct {
	turns [][]*Node
	index map[*Node]int // in the last iteration
	reads []reading
}

// reading is an input of a node of the body that is computed outside of it.
type reading struct {
	node, in int
	carried  bool // output out of node from, in the previous iteration
	from     int
	out      int
	steps    []int64 // increments of a constant; nil: it is the same in all iterations
}

// body returns the nodes of the last iteration.
func (c *chain) body() []*Node { return c.turns[0] }

// at returns what an iteration reads there.
func (c *chain) at(turn int, r reading) *Value { return c.turns[turn][r.node].in[r.in] }

// chainAt returns the chain whose last iteration ends with n, nil if there is none.
func (e *Edit) chainAt(n *Node, earlier []*Node) *chain {
	if !rolls(n) {
		return nil
	}
	mine := upstream(n)
	tried := 0
	for _, m := range slices.Backward(earlier) {
		if !mine[m] || !sameKind(n, m) {
			continue
		}
		if tried++; tried > candidates {
			return nil
		}
		if c := chainOf(n, m, mine); c != nil {
			return c
		}
	}
	return nil
}

// rolls reports whether a node may be in a Loop: it is not random, has no state and no subgraphs.
func rolls(n *Node) bool {
	o := n.op
	return o != nil && !o.Random && o.State == nil && len(n.bodies()) == 0 && len(n.captured) == 0 && len(n.annotations) == 0
}

// upstream returns the nodes that n depends on, n included.
func upstream(n *Node) map[*Node]bool {
	set := map[*Node]bool{n: true}
	for stack := []*Node{n}; len(stack) > 0; {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, v := range x.reads() {
			if v != nil && v.producer != nil && !set[v.producer] {
				set[v.producer] = true
				stack = append(stack, v.producer)
			}
		}
	}
	return set
}

// sameKind reports whether two nodes have the same operator, attributes and result types.
func sameKind(a, b *Node) bool {
	return len(a.in) == len(b.in) && reflect.DeepEqual(a.config, b.config) && slices.EqualFunc(a.out, b.out, func(v, w *Value) bool {
		return v.typed().String() == w.typed().String()
	})
}

// chainOf follows the iterations that end with n, m and so on.
func chainOf(n, m *Node, mine map[*Node]bool) *chain {
	c := &chain{turns: [][]*Node{nil}, index: map[*Node]int{}}
	if !c.take(n, mine, upstream(m)) {
		return nil
	}
	root := len(c.body()) - 1
	for m != nil {
		goesOn := c.goesOn
		if len(c.turns) == 1 {
			goesOn = c.classify
		}
		turn := c.image(m, root, nil)
		if turn == nil || !goesOn(turn) {
			break
		}
		c.turns = append(c.turns, turn)
		m = nil
		for _, r := range c.reads {
			if r.carried && r.from == root {
				m = c.at(len(c.turns)-1, r).producer
			}
		}
	}
	for len(c.turns) >= leastTurns && !c.begins() {
		c.turns = c.turns[:len(c.turns)-1]
	}
	if len(c.turns) < leastTurns {
		return nil
	}
	return c
}

// take adds x to the last iteration, after the nodes of mine that it depends on. It returns false if one of them may not
// be in a Loop, or if there are too many.
func (c *chain) take(x *Node, mine, before map[*Node]bool) bool {
	if _, ok := c.index[x]; ok {
		return true
	}
	if !rolls(x) {
		return false
	}
	for _, v := range x.in {
		if v != nil && mine[v.producer] && !before[v.producer] && !c.take(v.producer, mine, before) {
			return false
		}
	}
	c.index[x] = len(c.body())
	c.turns[0] = append(c.body(), x)
	return len(c.body()) <= largestBody
}

// image returns the iteration in which m corresponds to node root of the last one, given its known nodes; nil if it
// differs from the last one or a node would have two positions.
func (c *chain) image(m *Node, root int, known []*Node) []*Node {
	last := c.body()
	turn := make([]*Node, len(last))
	copy(turn, known)
	var match func(k int, x *Node) bool
	match = func(k int, x *Node) bool {
		if turn[k] != nil {
			return turn[k] == x
		}
		if !sameKind(last[k], x) {
			return false
		}
		turn[k] = x
		for i, v := range last[k].in {
			w := x.in[i]
			if (v == nil) != (w == nil) {
				return false
			}
			if v == nil {
				continue
			}
			if at, inside := c.index[v.producer]; inside && (w.producer == nil || w.index != v.index || !match(at, w.producer)) {
				return false
			}
		}
		return true
	}
	if !match(root, m) || slices.Contains(turn, nil) {
		return nil
	}
	seen := map[*Node]bool{}
	for _, x := range slices.Concat(append(slices.Clone(c.turns), turn)...) {
		if seen[x] {
			return nil
		}
		seen[x] = true
	}
	return turn
}

// classify determines what the body reads from outside, from the last two iterations.
func (c *chain) classify(turn []*Node) bool {
	of := map[*Node]int{}
	for k, x := range turn {
		of[x] = k
	}
	carries := false
	for k, x := range c.body() {
		for i, v := range x.in {
			if v == nil {
				continue
			}
			if _, inside := c.index[v.producer]; inside {
				continue
			}
			w := turn[k].in[i]
			r := reading{node: k, in: i}
			if from, ok := of[v.producer]; ok {
				r.carried, r.from, r.out = true, from, v.index
				carries = carries || from == len(turn)-1
			} else if !sameValue(v, w) {
				if r.steps = increase(w, v); r.steps == nil {
					return false
				}
			}
			c.reads = append(c.reads, r)
		}
	}
	return carries
}

// goesOn reports whether an iteration computes what the next one reads, and reads inputs of the same kinds.
func (c *chain) goesOn(turn []*Node) bool {
	after := c.turns[len(c.turns)-1]
	for _, r := range c.reads {
		v, w := after[r.node].in[r.in], turn[r.node].in[r.in]
		switch {
		case r.carried:
			if v != turn[r.from].out[r.out] {
				return false
			}
		case r.steps != nil:
			if !slices.Equal(increase(w, v), r.steps) {
				return false
			}
		case !sameValue(v, w):
			return false
		}
	}
	return true
}

// sameValue reports whether two values are identical, or constants with the same elements.
func sameValue(a, b *Value) bool {
	if a == b {
		return true
	}
	if a.param == nil || b.param == nil || a.param.data == nil || b.param.data == nil || a.param.trainable() || b.param.trainable() {
		return false
	}
	return dtype.SameType(a.param.data, b.param.data) == nil && bytes.Equal(dtype.Bytes(a.param.data), dtype.Bytes(b.param.data))
}

// begins reports whether the first iteration reads one value of the right type for each state.
func (c *chain) begins() bool {
	first := len(c.turns) - 1
	at := map[[2]int]*Value{}
	for _, r := range c.reads {
		if !r.carried {
			continue
		}
		v, key := c.at(first, r), [2]int{r.from, r.out}
		if at[key] != nil && at[key] != v || v.typ.String() != c.body()[r.from].out[r.out].typ.String() {
			return false
		}
		at[key] = v
	}
	return true
}

// increase returns the differences of integer constants of one shape, nil if they are not such constants.
func increase(a, b *Value) []int64 {
	x, y := integers(a), integers(b)
	if x == nil || y == nil || !slices.Equal([]int(a.param.data.Shape()), []int(b.param.data.Shape())) {
		return nil
	}
	d := make([]int64, len(x))
	for i := range x {
		d[i] = y[i] - x[i]
	}
	return d
}

func integers(v *Value) []int64 {
	if v.param == nil || v.param.data == nil || dtype.Of(v.param.data.Dtype()) != dtype.Int64 {
		return nil
	}
	return dtype.Slice[int64](v.param.data)
}
