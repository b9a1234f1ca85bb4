package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// builder converts nodes to steps.
type builder struct {
	kids   map[*gorgonia.Node][]*gorgonia.Node
	values map[*gorgonia.Node]*value
	steps  []*step
	views  []*value // further views of values, beside those in values
	groups map[string]*step
	latest map[*Core]*step
	ids    map[any]int // small numbers for the pointers and types in group keys

	context context.Context // nil: compiling cannot be canceled
	turns   int
}

// turn counts a turn of a loop over nodes, steps or values. It panics with [kernel.Stopped] if the context has ended and a check is due.
func (b *builder) turn() { b.did(1) }

// did counts n turns.
func (b *builder) did(n int) {
	if b.turns += n; b.turns < 256 {
		return
	}
	b.turns = 0
	if b.context != nil && b.context.Err() != nil {
		panic(kernel.Stopped{})
	}
}

func newBuilder(ctx context.Context) *builder {
	return &builder{
		context: ctx,
		kids:    map[*gorgonia.Node][]*gorgonia.Node{},
		values:  map[*gorgonia.Node]*value{},
		groups:  map[string]*step{},
		latest:  map[*Core]*step{},
		ids:     map[any]int{},
	}
}

// children returns the operands of n in order, duplicates included.
func children(n *gorgonia.Node) []*gorgonia.Node {
	g := n.Graph()
	if g == nil || n.Op() == nil {
		return nil
	}
	it := g.From(n.ID())
	if it == nil {
		return nil
	}
	var kids []*gorgonia.Node
	for it.Next() {
		kids = append(kids, it.Node().(*gorgonia.Node))
	}
	return kids
}

// order returns the nodes that roots depend on, each after its children. It is not recursive: graphs may be deep.
func (b *builder) order(roots []*gorgonia.Node) []*gorgonia.Node {
	type frame struct {
		n    *gorgonia.Node
		next int
	}
	var order []*gorgonia.Node
	var stack []frame
	push := func(n *gorgonia.Node) {
		if _, seen := b.kids[n]; !seen {
			kids := children(n)
			b.did(len(kids))
			b.kids[n] = kids
			stack = append(stack, frame{n: n})
		}
	}
	for _, r := range roots {
		push(r)
		for len(stack) > 0 {
			b.turn()
			top := &stack[len(stack)-1]
			if kids := b.kids[top.n]; top.next < len(kids) {
				top.next++
				push(kids[top.next-1])
				continue
			}
			order = append(order, top.n)
			stack = stack[:len(stack)-1]
		}
	}
	return order
}

// add schedules node n, whose children are scheduled.
func (b *builder) add(n *gorgonia.Node) error {
	op := n.Op()
	if isStatement(op) {
		return nil
	}
	in := make([]*value, len(b.kids[n]))
	for i, k := range b.kids[n] {
		b.turn()
		if in[i] = b.values[k]; in[i] == nil {
			return fmt.Errorf("engine: %s takes the value of statement %s", nodeName(n), nodeName(k))
		}
	}
	if isSource(op, len(in)) {
		dt, shape := nodeSpec(n)
		v, err := newValue(source, n, dt, shape)
		if err != nil {
			return err
		}
		b.values[n] = v
		return nil
	}
	if own, ok := op.(Op); ok {
		return b.addOwn(n, own, in)
	}
	return b.addForeign(n, op, in)
}

// addOwn finds or creates the step that computes n's Core for these inputs.
func (b *builder) addOwn(n *gorgonia.Node, op Op, kids []*value) error {
	core, i := op.Core(), op.Output()
	if core == nil {
		return fmt.Errorf("engine: %s has no core", nodeName(n))
	}
	if i < 0 || i >= len(core.Out) {
		return fmt.Errorf("engine: %s: node %s is output %d of %d", core.Name, nodeName(n), i, len(core.Out))
	}
	in, err := core.place(kids)
	if err != nil {
		return err
	}
	s := b.latest[core] // outputs of one core are adjacent: their key need not be computed again
	if s == nil || !slices.Equal(s.in, in) {
		s = nil
	}
	key := ""
	if s == nil {
		key = b.key(core, in)
		s = b.groups[key]
	}
	if s == nil {
		s = &step{kind: kernelStep, name: core.Name, core: core, in: in, out: make([]*value, len(core.Out))}
		if core.Func != nil {
			s.kind = funcStep
		}
		b.groups[key] = s
		b.steps = append(b.steps, s)
	}
	b.latest[core] = s
	if s.out[i] == nil {
		k, spec := placed, core.Out[i]
		if core.Func != nil {
			k = heap
		}
		shape := spec.Shape
		if shape == nil {
			shape = tensor.ScalarShape()
		}
		v, err := newValue(k, n, spec.DType, shape)
		if err != nil {
			return err
		}
		if k == placed && v.bytes < 0 {
			return fmt.Errorf("engine: %s: output %d of type %v has no flat storage, the core needs Func", core.Name, i, spec.DType)
		}
		v.from, s.out[i] = s, v
	}
	b.values[n] = s.out[i]
	return nil
}

// place checks c and maps the children to inputs by Slots.
func (c *Core) place(kids []*value) ([]*value, error) {
	if (c.Kernel == nil) == (c.Func == nil) {
		return nil, fmt.Errorf("engine: %s: want exactly one of Kernel and Func", c.Name)
	}
	n := c.Inputs
	if n == 0 {
		n = len(kids)
	}
	if c.Slots == nil && len(kids) > n || c.Slots != nil && len(c.Slots) != len(kids) {
		return nil, fmt.Errorf("engine: %s: %d children for %d inputs and %d slots", c.Name, len(kids), n, len(c.Slots))
	}
	in := make([]*value, n)
	for k, v := range kids {
		slot := k
		if c.Slots != nil {
			slot = c.Slots[k]
		}
		if slot < 0 || slot >= n || in[slot] != nil {
			return nil, fmt.Errorf("engine: %s: child %d has no input slot %d of its own", c.Name, k, slot)
		}
		in[slot] = v
	}
	return in, nil
}

// key describes everything that siblings have in common. Equal keys mean equal results: the whole text is compared,
// not a hash of it.
func (b *builder) key(c *Core, in []*value) string {
	var s strings.Builder
	if c.Key == "" {
		fmt.Fprintf(&s, "core %d", b.id(c))
	} else {
		s.WriteString(strconv.Quote(c.Key))
	}
	for _, o := range c.Out {
		b.turn()
		fmt.Fprintf(&s, " %d%d", b.id(o.DType.Type), []int(o.Shape))
	}
	for _, v := range in {
		b.turn()
		if v == nil {
			s.WriteString(" nil")
		} else {
			s.WriteString(" v")
			s.WriteString(strconv.Itoa(b.id(v)))
		}
	}
	return s.String()
}

func (b *builder) id(x any) int {
	id, ok := b.ids[x]
	if !ok {
		id = len(b.ids)
		b.ids[x] = id
	}
	return id
}

// addForeign schedules a node that is run by Gorgonia. Such nodes are never merged: their Ops may have state.
func (b *builder) addForeign(n *gorgonia.Node, op gorgonia.Op, in []*value) error {
	dt, shape := nodeSpec(n)
	k := placed
	if shape == nil || !flat(dt) {
		k = heap
	}
	v, err := newValue(k, n, dt, shape)
	if err != nil {
		return err
	}
	s := &step{kind: foreignStep, name: op.String(), op: op, in: in, out: []*value{v}}
	v.from = s
	b.steps = append(b.steps, s)
	b.values[n] = v
	return nil
}

// root marks the value of r to be kept, or a copy of it if its memory is not the program's.
func (b *builder) root(r *gorgonia.Node, copies map[*value]*value) (*value, error) {
	v := b.values[r]
	if v == nil || v.kind != source || v.bytes < 0 {
		if v != nil {
			v.root = true
		}
		return v, nil
	}
	if c := copies[v]; c != nil {
		return c, nil
	}
	c, err := newValue(placed, v.node, v.dtype, v.shape)
	if err != nil {
		return nil, err
	}
	c.from = &step{kind: copyStep, name: "copy " + v.name(), in: []*value{v}, out: []*value{c}}
	b.steps = append(b.steps, c.from)
	c.root = true
	copies[v] = c
	return c, nil
}
