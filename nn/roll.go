package nn

import (
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// Limits of the search for bodies of loops.
const (
	leastTurns  = 3   // fewer are left as they are
	largestBody = 500 // nodes
	candidates  = 16  // nodes in front of one that may be where it was a turn ago
)

// roll puts a Loop in the place of each chain of equal bodies: nodes of the same operators and attributes, connected alike, in
// which each turn reads what the one before computed. What they read besides is the same in all turns, or integer constants
// that grow by the same steps. Other nodes stay as they are.
func (e *Edit) roll() {
	for again := true; again && e.err == nil; {
		again = false
		e.sortNodes()
		for i, n := range slices.Backward(e.g.nodes) {
			if c := e.chainAt(n, e.g.nodes[:i]); c != nil {
				e.loop(c)
				again = true
				break
			}
		}
	}
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

// at is what a turn reads there.
func (c *chain) at(turn int, r reading) *Value { return c.turns[turn][r.node].in[r.in] }

// chainAt is the chain whose last turn ends with n, nil if there is none.
func (e *Edit) chainAt(n *Node, earlier []*Node) *chain {
	if !e.rolls(n) {
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
		if c := e.chainOf(n, m, mine); c != nil {
			return c
		}
	}
	return nil
}

// rolls reports whether a node may be in a Loop: not one that draws at random, keeps state or has subgraphs of its own.
func (e *Edit) rolls(n *Node) bool {
	o := n.op
	return o != nil && !o.Random && o.State == nil && len(n.bodies()) == 0 && len(n.captured) == 0 && len(n.Annotations()) == 0
}

// upstream are the nodes that n depends on, n included.
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
	if a.domain != b.domain || a.opType != b.opType || len(a.in) != len(b.in) || len(a.out) != len(b.out) || !reflect.DeepEqual(a.Config(), b.Config()) {
		return false
	}
	for i, v := range a.out {
		if (v == nil) != (b.out[i] == nil) || v != nil && v.typ.String() != b.out[i].typ.String() {
			return false
		}
	}
	return true
}

// chainOf follows the turns that end with n, m and so on.
func (e *Edit) chainOf(n, m *Node, mine map[*Node]bool) *chain {
	before := upstream(m)
	c := &chain{index: map[*Node]int{}}
	var last []*Node
	var add func(x *Node) bool
	add = func(x *Node) bool {
		if _, ok := c.index[x]; ok {
			return true
		}
		if !e.rolls(x) {
			return false
		}
		for _, v := range x.in {
			if v != nil && v.producer != nil && mine[v.producer] && !before[v.producer] && !add(v.producer) {
				return false
			}
		}
		c.index[x] = len(last)
		last = append(last, x)
		return len(last) <= largestBody
	}
	if !add(n) {
		return nil
	}
	c.turns = [][]*Node{last}
	for m != nil {
		turn := c.image(m)
		if turn == nil || len(c.turns) == 1 && !c.classify(turn) || len(c.turns) > 1 && !c.goesOn(turn) {
			break
		}
		c.turns = append(c.turns, turn)
		m = nil
		for _, r := range c.reads {
			if r.carried && r.from == len(last)-1 {
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

// image is the turn that ends with m, nil if it is not like the last.
func (c *chain) image(m *Node) []*Node {
	last := c.turns[0]
	turn := make([]*Node, len(last))
	var match func(k int, x *Node) bool
	match = func(k int, x *Node) bool {
		if x == nil || turn[k] != nil {
			return turn[k] == x && x != nil
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
			if v == nil || v.producer == nil {
				continue
			}
			if at, inside := c.index[v.producer]; inside && (w.producer == nil || w.index != v.index || !match(at, w.producer)) {
				return false
			}
		}
		return true
	}
	if !match(len(last)-1, m) || slices.Contains(turn, nil) {
		return nil
	}
	for _, earlier := range c.turns {
		if slices.ContainsFunc(turn, func(x *Node) bool { return slices.Contains(earlier, x) }) {
			return nil
		}
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
	for k, x := range c.turns[0] {
		for i, v := range x.in {
			if v == nil {
				continue
			}
			if _, inside := c.index[v.producer]; inside && v.producer != nil {
				continue
			}
			w := turn[k].in[i]
			r := reading{node: k, in: i}
			if from, ok := of[v.producer]; ok && v.producer != nil {
				r.carried, r.from, r.out = true, from, v.index
				carries = carries || from == len(turn)-1
			} else if v != w {
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
		case v != w:
			return false
		}
	}
	return true
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
		if at[key] != nil && at[key] != v || v.typ.String() != c.turns[0][r.from].out[r.out].typ.String() {
			return false
		}
		at[key] = v
	}
	return true
}

// increase is what constant integers of one shape differ by, nil where they are not such.
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
	if v == nil || v.param == nil || v.param.data == nil || dtype.Of(v.param.data.Dtype()) != dtype.Int64 {
		return nil
	}
	return dtype.Slice[int64](v.param.data)
}

// loop puts a Loop in the place of a chain.
func (e *Edit) loop(c *chain) {
	first, count := len(c.turns)-1, len(c.turns)
	types := []string{"int64[]", "bool[]"}
	var start, captured []*Value
	var carried []reading
	place := map[*reading]int{} // among the inputs of the body
	for i := range c.reads {
		r := &c.reads[i]
		v := c.at(first, *r)
		switch {
		case r.carried:
			k := slices.IndexFunc(carried, func(x reading) bool { return x.from == r.from && x.out == r.out })
			if k < 0 {
				k = len(carried)
				carried, start, types = append(carried, *r), append(start, v), append(types, v.typ.String())
			}
			place[r] = 2 + k
		case r.steps == nil:
			k := slices.Index(captured, v)
			if k < 0 {
				k = len(captured)
				captured = append(captured, v)
			}
			place[r] = k
		}
	}
	collected := e.collected(c, carried)
	body := e.Body(e.New("turn"), types, captured, func(sub *Edit, in ...*Value) []*Value {
		made := e.turn(sub, c, func(r *reading) *Value {
			switch {
			case r.carried:
				return in[place[r]]
			case r.steps == nil:
				return in[2+len(carried)+place[r]]
			}
			return progression(sub, in[0], c.at(first, *r).param.data, r.steps)
		})
		if sub.err != nil {
			return nil
		}
		out := []*Value{do(sub, op.Plain("Identity"), in[1])}
		for _, r := range carried {
			out = append(out, made[r.from].Out(r.out))
		}
		for _, o := range collected {
			out = append(out, do(sub, op.Plain("Identity"), made[o[0]].Out(o[1])))
		}
		return out
	})
	if e.err != nil {
		return
	}
	n := e.NodeN(std.LoopConfig{Body: body}, len(carried)+len(collected), append([]*Value{constInt(e, count), nil}, start...)...)
	if e.err != nil {
		return
	}
	for k, r := range carried {
		e.takeOver(c.turns[0][r.from].out[r.out], n.Out(k))
	}
	for k, o := range collected {
		for t, turn := range slices.Backward(c.turns) {
			if v := turn[o[0]].out[o[1]]; e.err == nil && c.outside(e, v) {
				e.takeOver(v, do(e, std.GatherConfig{}, n.Out(len(carried)+k), constInt(e, first-t)))
			}
		}
	}
	for _, turn := range c.turns {
		for _, x := range slices.Backward(turn) {
			for _, v := range x.out {
				if v != nil && e.err == nil && e.g.values[v.name] == v {
					e.sweep(v)
				}
			}
		}
	}
}

// turn adds the nodes of the body, whose readings from outside are given.
func (e *Edit) turn(sub *Edit, c *chain, read func(r *reading) *Value) []*Node {
	from := map[[2]int]*reading{}
	for i := range c.reads {
		from[[2]int{c.reads[i].node, c.reads[i].in}] = &c.reads[i]
	}
	made := make([]*Node, len(c.turns[0]))
	for k, x := range c.turns[0] {
		args := make([]*Value, len(x.in))
		for i, v := range x.in {
			if r := from[[2]int{k, i}]; r != nil {
				args[i] = read(r)
			} else if v != nil {
				args[i] = made[c.index[v.producer]].Out(v.index)
			}
			if sub.err != nil {
				return nil
			}
		}
		if made[k] = sub.NodeN(x.Config(), len(x.out), args...); sub.err != nil {
			return nil
		}
	}
	return made
}

// progression is a constant that grows by steps from one turn to the next.
func progression(sub *Edit, turn *Value, first *tensor.Dense, steps []int64) *Value {
	if sub.err != nil {
		return nil
	}
	d := dtype.New(dtype.Int64, first.Shape()...)
	copy(dtype.Slice[int64](d), steps)
	grown := do(sub, op.Plain("Mul"), turn, sub.Const(sub.New("step"), d))
	if sub.err != nil {
		return nil
	}
	return do(sub, op.Plain("Add"), grown, sub.Const(sub.New("first"), first))
}

// collected are the outputs of nodes of the body that something outside reads, but for what the last turn carries out.
func (e *Edit) collected(c *chain, carried []reading) (list [][2]int) {
	for k, x := range c.turns[0] {
		for o := range x.out {
			out := slices.ContainsFunc(carried, func(r reading) bool { return r.from == k && r.out == o })
			for t, turn := range c.turns {
				if v := turn[k].out[o]; v != nil && (t > 0 || !out) && c.outside(e, v) {
					list = append(list, [2]int{k, o})
					break
				}
			}
		}
	}
	return list
}

// outside reports whether a node that is in no turn, or an output of the graph, is v.
func (c *chain) outside(e *Edit, v *Value) bool {
	if slices.Contains(e.g.outputs, v) {
		return true
	}
	return slices.ContainsFunc(v.users, func(u *Node) bool {
		return !slices.ContainsFunc(c.turns, func(turn []*Node) bool { return slices.Contains(turn, u) })
	})
}

// takeOver puts v in the place of old, name included where it is an output.
func (e *Edit) takeOver(old, v *Value) {
	if e.err != nil {
		return
	}
	name, output := old.name, slices.Contains(e.g.outputs, old)
	if e.Rewire(old, v); output && e.err == nil {
		e.RenameValue(old, e.unique(name+"_before"))
		e.RenameValue(v, name)
	}
}
