package nn

import (
	"math"
	"slices"
	"sync"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// Role is the purpose of a parameter.
type Role string

// The roles of parameters.
const (
	Weight    Role = "weight"    // trained unless frozen
	Statistic Role = "statistic" // running mean or variance: updated by the operator, not by gradients
	Constant  Role = "constant"
)

// Role returns what the parameter is for. It follows from the operators that read it: a floating-point tensor of rank one
// or more in a weight slot is a Weight, one in a state slot a Statistic; all others are Constants. A file does not say
// more, so a fixed matrix that data is multiplied by, such as a Fourier basis or an adjacency matrix, counts as a weight; a
// mask of attention, whose elements are 0 or very low, is recognized when a file is loaded and is a Constant, and so is a
// factor of integers whose product only sines and cosines read: the frequencies of positions or times.
// Edit.SetRole overrides the role, and Edit.Freeze excludes the parameter from training.
func (p *Param) Role() Role {
	defer p.locked().unlock()
	return there(p).purpose()
}

func (p *Param) purpose() Role {
	if p.role != nil {
		return *p.role
	}
	return p.inferred()
}

// Inferred returns the role that follows from the operators that read the parameter, regardless of Edit.SetRole.
func (p *Param) Inferred() Role {
	defer p.locked().unlock()
	return there(p).inferred()
}

func (p *Param) inferred() Role {
	if p.data == nil || !dtype.Of(p.data.Dtype()).IsFloat() {
		return Constant
	}
	role := p.value.paramRole(nil)
	if role == Weight && (p.mask || p.value.typ.Rank() == 0) {
		return Constant
	}
	return role
}

// masked is the largest value by which attention masks suppress scores; Swin's use −100, others −10000,
// the lowest number of the type, or −∞.
const masked = -100

// isMask reports whether a loaded tensor is a mask rather than a weight: it has infinite elements, or
// all of its elements are 0 or very low, with both present. It reads weights only until a block shows
// that they are weights.
func isMask(d *tensor.Dense) bool {
	n := d.Shape().TotalSize()
	flat, err := dtype.View(d, n)
	if err != nil || !dtype.Of(d.Dtype()).IsFloat() {
		return false
	}
	zero, low, infinite, other := false, false, false, false
	const block = 1024
	for from := 0; from < n; from += block {
		part, err := dtype.Rows(flat, from, min(from+block, n))
		if err != nil {
			return false
		}
		list, err := dtype.Float64s(part)
		if err != nil {
			return false
		}
		for _, x := range list {
			switch {
			case math.IsInf(x, 0):
				infinite = true
			case x == 0:
				zero = true
			case x <= masked:
				low = true
			default:
				other = true
			}
		}
		if infinite || other {
			break
		}
	}
	return infinite || zero && low && !other
}

// paramRole returns the role that follows from the users of v.
func (v *Value) paramRole(seen map[*Value]bool) Role {
	if seen[v] {
		return Constant
	}
	users, role := v.users, Constant
	if seen != nil {
		seen[v] = true
	} else if v.graph.body == nil {
		use := v.graph.data.use(v)
		users, role = use.open, use.role
	}
	for _, n := range users {
		if role == Statistic {
			break
		}
		role = role.or(n.roleOf(v, seen))
	}
	return role
}

// or returns the role of a parameter that one node uses as r and another as s.
func (r Role) or(s Role) Role {
	if r == Statistic || s == Constant {
		return r
	}
	return s
}

// use caches how the users of a parameter use it.
type use struct {
	users int     // number of users examined
	role  Role    // role by those whose answer changes only if they are changed
	open  []*Node // the others
}

// use examines the users that have not been examined since the graph last changed otherwise than by additions.
func (m *dataCache) use(v *Value) use {
	m.mutex.Lock()
	u, ok := m.uses[v]
	m.mutex.Unlock()
	if !ok {
		u.role = Constant
	}
	if u.users == len(v.users) {
		return u
	}
	u.open = slices.Clip(u.open) // others may read it
	for i, n := range v.users[u.users:] {
		if !m.sure(n) {
			rest := u
			rest.open = slices.Concat(u.open, v.users[u.users+i:])
			m.remember(v, u, u.users+i)
			return rest
		}
		if n.passesOn(v) || len(n.bodies()) > 0 || n.combinesPositions() {
			u.open = append(u.open, n)
		} else {
			u.role = u.role.or(n.roleOf(v, nil))
		}
	}
	m.remember(v, u, len(v.users))
	u.users = len(v.users)
	return u
}

// remember stores how the first users of v use it.
func (m *dataCache) remember(v *Value, u use, users int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.uses == nil {
		m.uses = map[*Value]use{}
	}
	u.users = users
	m.uses[v] = u
}

// roleOf returns how node n uses v. For operators that move elements or map each of them, and for subgraphs, this is the
// role of their result.
func (n *Node) roleOf(v *Value, seen map[*Value]bool) Role {
	if n.op == nil {
		return Constant
	}
	if n.combinesPositions() && n.onlyPeriodic() {
		return Constant
	}
	formal := n.op.In.List()
	role := Constant
	for i, x := range n.in {
		if x != v {
			continue
		}
		switch s, _ := op.At(formal, i); {
		case s.Role == op.State:
			return Statistic
		case n.trains(i, s):
			role = Weight
		}
	}
	if n.passesOn(v) {
		if seen == nil {
			seen = map[*Value]bool{v: true}
		}
		for _, o := range n.out {
			if o == nil {
				continue
			}
			if r := o.paramRole(seen); r != Constant {
				return r
			}
		}
		return role
	}
	for _, o := range n.inBodies(v, (*Node).handsOn) {
		role = role.or(o.paramRole(seen))
	}
	return role
}

// inBodies returns what stands for v in the subgraphs of the node: placeholders for what they capture, and their inputs for
// those inputs of the node for which handsOn reports true. A subgraph's inputs are those of the node, or the last of them.
func (n *Node) inBodies(v *Value, handsOn func(n *Node, i int) bool) (list []*Value) {
	for _, b := range n.bodies() {
		for k, o := range b.outer {
			if n.capturedBy(b, k) == v {
				list = append(list, o)
			}
		}
		first := max(0, len(n.in)-len(b.Graph.inputs))
		for i, x := range n.in {
			if k := i - first; x == v && k >= 0 && k < len(b.Graph.inputs) && handsOn(n, i) {
				list = append(list, b.Graph.inputs[k])
			}
		}
	}
	return list
}

// handsOn reports whether a subgraph makes a weight of a parameter in input i of the node if one of its operators does: in
// calls of functions, in slices, and as initial state if the parameter was repeated for the batch, as for recurrent layers.
func (n *Node) handsOn(i int) bool {
	t := n.traits()
	return t.Call || t.Slices != nil && t.Slices(n.config, i, len(n.in)) || n.input(i).isRepeated()
}

// passesOn reports whether the output of a node is still the parameter v: its elements moved, or each
// mapped by a bounded function, since rates and gates are often learned as logarithms. Mixed with
// data, only moved parameters are.
func (n *Node) passesOn(v *Value) bool {
	t := n.traits()
	return slices.ContainsFunc(n.in, func(x *Value) bool { return x == v }) && t.Moves == trait.MovedAll ||
		v == n.input(0) && (t.Moves != trait.NotMoved || t.Bounds && !v.carriesData())
}

// combinesPositions reports whether the node computes a function of parameters and of something that is not differentiable, such
// as positions or times that are integers. While types are not known it does not.
func (n *Node) combinesPositions() bool {
	return len(n.in) > 1 && n.graph.data.sure(n) && !slices.ContainsFunc(n.in, (*Value).carriesData) && slices.ContainsFunc(n.in, func(v *Value) bool { return v != nil && !v.fromParams() && !fixed(v) })
}

// onlyPeriodic reports whether the output of the node has readers and all are periodic functions, if need be after other factors
// without data, or operators that move elements.
func (n *Node) onlyPeriodic() bool {
	if len(n.out) != 1 || n.out[0] == nil || len(n.out[0].users) == 0 || slices.Contains(n.graph.outputs, n.out[0]) {
		return false
	}
	return !slices.ContainsFunc(n.out[0].users, func(u *Node) bool {
		t := u.traits()
		passes := t.Moves != trait.NotMoved || t.Arithmetic == trait.Multiplies && !slices.ContainsFunc(u.in, (*Value).carriesData)
		return !t.Periodic && !(passes && u.onlyPeriodic())
	})
}

// trains reports whether a parameter in input i of the node is a weight.
func (n *Node) trains(i int, s op.FormalParameter) bool {
	if f := n.traits().Trains; f != nil {
		return f(i, sources{n})
	}
	return s.Role == op.Weight
}

// isRepeated reports whether the value is a parameter that was repeated.
func (v *Value) isRepeated() bool {
	for v.source().traits().Moves != trait.NotMoved {
		if v.producer.traits().Moves == trait.MovedOften {
			return true
		}
		v = v.producer.input(0)
	}
	return false
}

// fromParams reports whether the value is a floating-point parameter, possibly with its elements moved.
func (v *Value) fromParams() bool {
	for v.source().traits().Moves != trait.NotMoved {
		v = v.producer.input(0)
	}
	return v.held() != nil && v.typ.DType.IsFloat()
}

// dataCache caches which values carry data, see carriesData, and how parameters are used. Additions of an edit leave
// existing entries valid; any other change clears it.
type dataCache struct {
	mutex sync.Mutex
	known map[*Value]bool
	uses  map[*Value]use
	fixed map[*Node]bool // nodes that depend on parameters only
}

func (m *dataCache) forget() {
	m.mutex.Lock()
	m.known, m.uses, m.fixed = nil, nil, nil
	m.mutex.Unlock()
}

// fixedNode reports whether the node depends on parameters only.
func (m *dataCache) fixedNode(n *Node) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.fixed == nil {
		m.fixed = map[*Node]bool{}
	}
	type frame struct {
		n     *Node
		reads []*Value
	}
	open := map[*Node]bool{n: true}
	for stack := []frame{{n, n.reads()}}; len(stack) > 0; {
		f := &stack[len(stack)-1]
		if len(f.reads) == 0 {
			m.fixed[f.n] = true
			stack = stack[:len(stack)-1]
			continue
		}
		v := f.reads[0]
		f.reads = f.reads[1:]
		if v == nil || v.param != nil {
			continue
		}
		known, ok := m.fixed[v.producer]
		switch {
		case v.producer == nil || ok && !known: // so depends what the search is in
			for _, f := range stack {
				m.fixed[f.n] = false
			}
			return false
		case !ok && !open[v.producer]:
			open[v.producer] = true
			stack = append(stack, frame{v.producer, v.producer.reads()})
		}
	}
	return m.fixed[n]
}

// carriesData reports whether the value depends differentiably on an input of the graph or on
// rows looked up in a table.
func (v *Value) carriesData() bool {
	if v == nil {
		return false
	}
	m := &v.graph.data
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known == nil {
		m.known = map[*Value]bool{}
	}
	carries, _ := m.of(v)
	return carries
}

// sure reports whether carriesData is known for all inputs of a node.
func (m *dataCache) sure(n *Node) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known == nil {
		m.known = map[*Value]bool{}
	}
	return !slices.ContainsFunc(n.in, func(v *Value) bool { _, sure := m.of(v); return !sure })
}

// of returns carriesData of one value; sure: all types on the way are known.
func (m *dataCache) of(v *Value) (carries, sure bool) {
	switch {
	case v == nil || v.param != nil:
		return false, true
	case !v.typ.Present():
		return false, false
	case v.typ.Kind == op.Tensor && !v.typ.DType.IsFloat():
		return false, true
	case v.producer == nil:
		return true, true
	}
	if known, ok := m.known[v]; ok {
		return known, true
	}
	n := v.producer
	sure = true
	for i, x := range n.in {
		lookedUp := n.traits().LooksUp && i == 0 && x.held() != nil
		c, s := m.of(x)
		if carries = lookedUp || c; carries {
			sure = true
			break
		}
		sure = sure && s
	}
	if sure {
		m.known[v] = carries
	}
	return carries, sure
}

// reaches reports whether x depends on v by a path that does not contain a node.
func (v *Value) reaches(x *Value, except *Node, seen map[*Value]bool) bool {
	if v == nil || seen[v] {
		return false
	}
	if v == x {
		return true
	}
	seen[v] = true
	for _, n := range v.users {
		if n == except {
			continue
		}
		for _, o := range n.out {
			if o.reaches(x, except, seen) {
				return true
			}
		}
	}
	return false
}
