package nn

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// Limits of the search for bodies of loops.
const (
	leastTurns  = 3   // fewer are left as they are
	largestBody = 500 // nodes
	candidates  = 16  // nodes in front of one that may be where it was a turn ago
)

// roll puts a Loop or Scan in the place of each chain of equal bodies: nodes of the same operators and attributes, connected
// alike, in which each turn reads what the one before computed, or whose results are put one after the other. What they read
// besides is the same in all turns, or integer constants that grow by the same steps. Other nodes stay as they are.
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

// carrying returns a chain whose turns read what the one before computed, nil if there is none.
func (e *Edit) carrying() *chain {
	for i, n := range slices.Backward(e.g.nodes) {
		if c := e.chainAt(n, e.g.nodes[:i]); c != nil {
			return c
		}
	}
	return nil
}

// chain is an unrolled loop, its turns from the last to the first. A turn has its nodes in the order of the last one's.
type chain struct {
	turns [][]*Node
	index map[*Node]int // in the last turn
	reads []reading
}

// reading is an input of a node of the body from outside of it.
type reading struct {
	node, in int
	carried  bool // output out of node from, a turn ago
	from     int
	out      int
	steps    []int64 // by which a constant grows; nil: it is the same in all turns
}

// body returns the nodes of the last turn.
func (c *chain) body() []*Node { return c.turns[0] }

// at is what a turn reads there.
func (c *chain) at(turn int, r reading) *Value { return c.turns[turn][r.node].in[r.in] }

// chainAt returns the chain whose last turn ends with n, nil if there is none.
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

// rolls reports whether a node may be in a Loop: not one that draws at random, keeps state or has subgraphs of its own.
func rolls(n *Node) bool {
	o := n.op
	return o != nil && !o.Random && o.State == nil && len(n.bodies()) == 0 && len(n.captured) == 0 && len(n.Annotations()) == 0
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

// sameKind reports whether two nodes are of the same operator with the same attributes and give values of the same types.
func sameKind(a, b *Node) bool {
	return len(a.in) == len(b.in) && reflect.DeepEqual(a.Config(), b.Config()) && slices.EqualFunc(a.out, b.out, func(v, w *Value) bool {
		return v.Type().String() == w.Type().String()
	})
}

// chainOf follows the turns that end with n, m and so on.
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

// take adds x to the last turn, behind what it depends on: that of mine which is not in before. False where one may not be in a
// Loop, or there are too many.
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

// image returns the turn that has m in the place of node root of the last one and the nodes that are known of it, nil if it is
// not like the last or has a node that is in another place, too.
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

// classify says what the body reads from outside, by the last two turns.
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

// goesOn reports whether a turn is what the one after it reads, and reads what it does.
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

// sameValue reports whether two values are one, or constants with the same elements.
func sameValue(a, b *Value) bool {
	if a == b {
		return true
	}
	if a.param == nil || b.param == nil || a.param.data == nil || b.param.data == nil || a.param.Trainable() || b.param.Trainable() {
		return false
	}
	return dtype.SameType(a.param.data, b.param.data) == nil && bytes.Equal(dtype.Bytes(a.param.data), dtype.Bytes(b.param.data))
}

// begins reports whether the first turn reads one value for each that is carried, of its type.
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

// increase returns what constant integers of one shape differ by, nil where they are not such.
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
