package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// sequence is a value of which a node of the body reads one slice in each iteration, without the axis: at index first,
// first + step and so on.
type sequence struct {
	rows
	nodes []int // of the body: several if they read the same slice
}

type rows struct {
	value             *Value
	axis, first, step int
}

// sequences returns the values that a Scan in place of the chain iterates over. It returns false if nothing is sliced,
// or if iterations read other values of their own.
func (c *chain) sequences() ([]sequence, bool) {
	reads := map[int][]reading{}
	for _, r := range c.reads {
		reads[r.node] = append(reads[r.node], r)
	}
	var list []sequence
	for k := range c.body() {
		numbered := slices.ContainsFunc(reads[k], func(r reading) bool { return r.steps != nil })
		if !numbered {
			continue
		}
		s, ok := c.sequenceOf(k, reads[k])
		if !ok {
			return nil, false
		}
		if i := slices.IndexFunc(list, func(x sequence) bool { return x.rows == s.rows }); i >= 0 {
			list[i].nodes = append(list[i].nodes, k)
		} else {
			list = append(list, s)
		}
	}
	return list, len(list) > 0
}

// sequenceOf returns the value whose slices node k reads.
func (c *chain) sequenceOf(k int, reads []reading) (sequence, bool) {
	x := c.body()[k]
	none := sequence{}
	if x.op.Traits.Picks == nil || x.out[0].typ.Rank() != x.in[0].typ.Rank()-1 {
		return none, false
	}
	for i := range x.in {
		fixed := func(r reading) bool { return r.in == i && !r.carried && (r.steps == nil) == (i == 0) }
		if !slices.ContainsFunc(reads, fixed) {
			return none, false
		}
	}
	for axis := range x.in[0].typ.Shape {
		var at []int
		for _, turn := range slices.Backward(c.turns) {
			if list := turn[k].op.Traits.Picks(turn[k].call(), axis); len(list) == 1 {
				at = append(at, list[0])
			}
		}
		if len(at) != len(c.turns) {
			continue
		}
		s := sequence{rows{x.in[0], axis, at[0], at[1] - at[0]}, []int{k}}
		for t, i := range at {
			if i != s.first+t*s.step {
				return none, false // negative indices could wrap around
			}
		}
		return s, s.step != 0
	}
	return none, false
}

// input returns the value that the Scan iterates over; a direction of 1 is backward.
func (s sequence) input(e *Edit, turns int) (v *Value, direction int) {
	first, last := s.first, s.first+(turns-1)*s.step
	if s.step < 0 {
		first, last, direction = last, first, 1
	}
	if s.value.typ.Shape[s.axis].Size == turns {
		return s.value, direction
	}
	number := func(name string, n int) *Value {
		d := dtype.New(dtype.Int64, 1)
		dtype.Slice[int64](d)[0] = int64(n)
		return e.Const(e.New(name), d)
	}
	return do(e, op.Plain("Slice"), s.value, number("starts", first), number("ends", last+1), number("axes", s.axis), number("steps", max(s.step, -s.step))), direction
}

// gathering is a node that concatenates results of the iterations, and nothing else.
type gathering struct {
	n     *Node
	axis  int
	at    int // the first of them among its inputs
	roots []*Node
}

// gatherings returns the nodes that may concatenate the results of that many iterations, for a chain that does not have
// them yet.
func (e *Edit) gatherings(c *chain) (list []gathering) {
	for _, n := range e.g.nodes() {
		if n.op == nil || n.op.Traits.Concat == nil || len(n.in) < leastTurns {
			continue
		}
		turns := len(c.turns)
		if turns == 0 {
			turns = len(n.in)
		}
		axis, err := n.op.Traits.Concat(n.call())
		for at := 0; err == nil && at+turns <= len(n.in); at++ {
			var roots []*Node
			for _, v := range n.in[at : at+turns] {
				if v.producer != nil && v.index == 0 && !slices.Contains(roots, v.producer) {
					roots = append(roots, v.producer)
				}
			}
			if len(roots) == turns {
				slices.Reverse(roots) // as iterations are
				list = append(list, gathering{n, axis, at, roots})
			}
		}
	}
	return list
}

// mapped returns a chain without state: the same function of several slices, whose results are concatenated.
func (e *Edit) mapped() *chain {
	for _, x := range e.gatherings(&chain{}) {
		c := &chain{index: map[*Node]int{}, turns: make([][]*Node, len(x.roots))}
		moves := func(n *Node) bool { return n.op.Traits.Moves != trait.NotMoved || n.op.Traits.Picks != nil }
		if !c.extend(x.roots) || !slices.ContainsFunc(c.body(), func(n *Node) bool { return !moves(n) }) {
			continue
		}
		if _, ok := c.sequences(); ok {
			return c
		}
	}
	return nil
}

// extend adds to each iteration what its root depends on. If these nodes are not equal in all iterations, it returns
// false and changes nothing.
func (c *chain) extend(roots []*Node) bool {
	x := &chain{turns: [][]*Node{slices.Clone(c.body())}, index: map[*Node]int{}, reads: slices.Clone(c.reads)}
	for k, n := range c.body() {
		x.index[n] = k
	}
	mine, before := upstream(roots[0]), upstream(roots[1])
	for _, turn := range c.turns {
		for _, n := range turn {
			before[n] = true
		}
	}
	if !x.take(roots[0], mine, before) {
		return false
	}
	for t := range roots {
		if t == 0 {
			continue
		}
		turn := x.image(roots[t], x.index[roots[0]], c.turns[t])
		if turn == nil {
			return false
		}
		x.turns = append(x.turns, turn)
	}
	inside := map[*Node]bool{}
	for _, turn := range x.turns {
		for _, n := range turn {
			inside[n] = true
		}
	}
	for k := len(c.body()); k < len(x.body()); k++ {
		for i, v := range x.body()[k].in {
			if v == nil {
				continue
			}
			if _, ok := x.index[v.producer]; ok {
				continue
			}
			r, ok := x.shared(k, i, inside)
			if !ok {
				return false
			}
			x.reads = append(x.reads, r)
		}
	}
	*c = *x
	return true
}

// shared returns an input from outside that is the same in all iterations, or has a constant increment, and depends on
// none of them.
func (c *chain) shared(k, i int, inside map[*Node]bool) (reading, bool) {
	r := reading{node: k, in: i}
	for _, q := range c.reads { // the state of the previous iteration
		same := q.carried
		for t := range c.turns {
			same = same && c.at(t, q) == c.at(t, r)
		}
		if same {
			q.node, q.in = k, i
			return q, true
		}
	}
	v := c.at(0, r)
	for t := 1; t < len(c.turns); t++ {
		w := c.at(t, r)
		if sameValue(v, w) && r.steps == nil {
			continue
		}
		d := increase(w, c.at(t-1, r))
		if d == nil || t > 1 && !slices.Equal(d, r.steps) {
			return r, false
		}
		r.steps = d
	}
	if v.producer != nil {
		for n := range upstream(v.producer) {
			if inside[n] {
				return r, false
			}
		}
	}
	return r, true
}

// stack replaces a concatenation of results by the stacked output of the Scan, unless more than one dimension is
// unknown.
func (e *Edit) stack(x gathering, stacked *Value, turns int) {
	item := x.n.in[x.at].typ
	var shape []int64
	open := 0
	for i, d := range item.Shape {
		switch {
		case d.Known() && i == x.axis:
			shape = append(shape, int64(d.Size*turns))
		case d.Known() && d.Size > 0:
			shape = append(shape, int64(d.Size))
		case i < x.axis:
			shape = append(shape, 0) // the input's dimension
		default:
			shape, open = append(shape, -1), open+1
		}
	}
	if open > 1 {
		return
	}
	var v *Value
	if item.Shape[x.axis].Size == 1 {
		one := tensor.New(tensor.WithShape(1), tensor.WithBacking([]int64{int64(x.axis + 1)}))
		v = do(e, std.SqueezeConfig{}, stacked, e.Const(e.New("axes"), one))
	} else {
		v = do(e, op.Plain("Reshape"), stacked, e.Const(e.New("shape"), tensor.New(tensor.WithShape(len(shape)), tensor.WithBacking(shape))))
	}
	if len(x.n.in) > turns {
		list := slices.Concat(x.n.in[:x.at], []*Value{v}, x.n.in[x.at+turns:])
		if n := e.NodeN(x.n.config, 1, list...); e.err == nil {
			v = n.output(0)
		}
	}
	e.takeOver(x.n.out[0], v)
	e.sweep(x.n.out[0])
}
