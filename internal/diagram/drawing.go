package diagram

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/layered"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// drawing is a graph, the body of a node or a block, with its elements placed.
type drawing struct {
	title    string
	elements []*element
	wires    []*wire
	drawing  *layered.Drawing
}

// element is a drawn box: a node with the activation that follows it, an input, an output, or a block.
type element struct {
	strips []strip
	about  string
	round  bool // an input, an output or a value of the graph around
	port   bool // where a wire enters or leaves a block
	inner  []*drawing
	times  int // of a block

	width, height float64 // of the box; its place in the drawing may be wider
	ports         map[*nn.Value]int
}

// strip is one operator of an element.
type strip struct {
	title string
	kind  kind
	lines []string
}

// kind sets the color.
type kind string

const (
	plainKind      kind = "plain"
	layerKind      kind = "layer"
	activationKind kind = "activation"
	controlKind    kind = "control"
	unknownKind    kind = "unknown"
)

// wire is a value on its way.
type wire struct {
	value *nn.Value
	from  int
	to    []int
	label string
}

// farthest is the maximum number of elements that an edge may pass; readers beyond it show the value's name instead.
const farthest = 150

// builder makes the drawings of one graph.
type builder struct {
	folding
	all bool
}

// graph returns the drawing of a whole graph, or of a body with the placeholders for outer values.
func (o Options) graph(g *nn.Graph, outer []*nn.Value, opsets map[string]int) (*drawing, error) {
	b := &builder{all: o.All, folding: folding{
		visible: map[*nn.Node]bool{}, outputs: map[*nn.Value]bool{}, same: map[*nn.Value]*nn.Value{}, opsets: opsets,
	}}
	var nodes []*nn.Node
	rows, i := g.Summary().Rows, 0
	for n := range g.Nodes() {
		if o.All || !rows[i].Folded && !b.prepares(n) {
			b.visible[n] = true
			nodes = append(nodes, n)
		}
		i++
	}
	for _, v := range g.Outputs() {
		b.outputs[v] = true
	}
	var parts []part
	if o.All {
		for _, n := range nodes {
			parts = append(parts, part{node: n})
		}
	} else {
		parts = b.parts(inLayers(nodes))
	}
	p := &drawing{}
	made := map[*nn.Value]int{}
	for _, v := range g.Inputs() {
		if v.Param() == nil {
			made[v] = p.add(pill(v.Name(), shapeText(v.Type())))
		}
	}
	for _, v := range outer {
		if len(v.Users()) > 0 {
			made[v] = p.add(pill(v.Name(), "outer value"))
		}
	}
	if err := b.fill(p, parts, made); err != nil {
		return nil, err
	}
	for _, v := range g.Outputs() {
		at := p.add(pill(v.Name(), shapeText(v.Type())))
		b.join(p, made, v, at)
	}
	return p, p.place()
}

// prepares reports whether a node only brings weights and constants into another form.
func (b *builder) prepares(n *nn.Node) bool {
	return n.Op() != nil && !n.Op().Random && len(n.Inputs()) > 0 && len(n.Bodies()) == 0 && !slices.ContainsFunc(n.Inputs(), b.drawn)
}

// pill returns the element of an input or output.
func pill(name, shape string) *element {
	return &element{strips: []strip{{title: shorten(name), lines: []string{shape}}}, round: true, about: name}
}

func (p *drawing) add(e *element) int {
	p.elements = append(p.elements, e)
	return len(p.elements) - 1
}

// fill adds elements for parts. made are the elements that values come from.
func (b *builder) fill(p *drawing, parts []part, made map[*nn.Value]int) error {
	for _, x := range parts {
		if x.node == nil {
			if err := b.block(p, x, made); err != nil {
				return err
			}
			continue
		}
		if err := b.node(p, x.node, made); err != nil {
			return err
		}
	}
	return nil
}

// node adds a node, to the element of the one before it where it is an activation that alone reads its result.
func (b *builder) node(p *drawing, n *nn.Node, made map[*nn.Value]int) error {
	s := strip{title: operator(n), kind: kindOf(n)}
	for i, v := range n.Inputs() {
		if v != nil && !b.drawn(v) {
			s.lines = append(s.lines, held(slotName(n, i), v))
		}
	}
	at := -1
	if v := n.In(0); !b.all && s.kind == activationKind && len(n.Inputs()) == 1 && len(v.Users()) == 1 && !b.outputs[v] {
		if from, ok := made[v]; ok && len(p.elements[from].inner) == 0 && !p.elements[from].round && !p.elements[from].port && len(p.elements[from].ports) == 1 {
			at = from
			e := p.elements[at]
			e.strips = append(e.strips, s)
			e.about += "\n\n" + about(n, b.opsets)
			e.ports = map[*nn.Value]int{}
		}
	}
	if at < 0 {
		e := &element{strips: []strip{s}, about: about(n, b.opsets), ports: map[*nn.Value]int{}}
		for i, body := range n.Bodies() {
			inner, err := Options{All: b.all}.graph(body.Graph, body.Outer(), b.opsets)
			if err != nil {
				return err
			}
			inner.title = bodyName(n, i)
			e.inner = append(e.inner, inner)
		}
		at = p.add(e)
		for _, v := range reads(n) {
			b.join(p, made, v, at)
		}
	}
	for _, v := range n.Outputs() {
		if v != nil {
			made[v] = at
			p.elements[at].ports[v] = len(p.elements[at].ports)
		}
	}
	return nil
}

// block adds a block with its first instance inside.
func (b *builder) block(p *drawing, x part, made map[*nn.Value]int) error {
	inside := map[*nn.Value]bool{}
	var order []*nn.Value
	members := map[*nn.Node]bool{} // of all instances
	for _, n := range x.all {
		members[n] = true
	}
	x.nodes(func(n *nn.Node) {
		for _, v := range n.Outputs() {
			if v != nil {
				inside[v] = true
				order = append(order, v)
			}
		}
	})
	inner := &drawing{}
	madeInside := map[*nn.Value]int{}
	var entering []*nn.Value
	x.nodes(func(n *nn.Node) {
		for _, v := range reads(n) {
			v = b.shown(v)
			if b.drawn(v) && !inside[v] && !slices.Contains(entering, v) {
				entering = append(entering, v)
				madeInside[v] = inner.add(&element{port: true})
			}
		}
	})
	if err := b.fill(inner, x.block, madeInside); err != nil {
		return err
	}
	e := &element{strips: []strip{{title: fmt.Sprintf("× %d", x.times), kind: controlKind}}, inner: []*drawing{inner}, times: x.times, ports: map[*nn.Value]int{}}
	at := p.add(e)
	for _, v := range entering {
		b.join(p, made, v, at)
	}
	for _, v := range order {
		if b.leaves(v, members) {
			end := inner.add(&element{port: true})
			b.join(inner, madeInside, v, end)
			made[v] = at
			e.ports[v] = len(e.ports)
		}
	}
	return inner.place()
}

// leaves reports whether a result of a block is read outside: the value of its last instance.
func (b *builder) leaves(v *nn.Value, members map[*nn.Node]bool) bool {
	for of, shown := range b.same {
		if b.shown(shown) == b.shown(v) && b.read(of, members) {
			return true
		}
	}
	return b.read(v, members)
}

func (b *builder) read(v *nn.Value, members map[*nn.Node]bool) bool {
	return b.outputs[v] || slices.ContainsFunc(v.Users(), func(n *nn.Node) bool { return b.visible[n] && !members[n] })
}

// shown returns the value that is drawn instead of v.
func (b *builder) shown(v *nn.Value) *nn.Value {
	for b.same[v] != nil {
		v = b.same[v]
	}
	return v
}

// join draws the wire of a value to an element.
func (b *builder) join(p *drawing, made map[*nn.Value]int, v *nn.Value, to int) {
	v = b.shown(v)
	from, ok := made[v]
	if !ok || !b.drawn(v) {
		return
	}
	if to-from > farthest {
		p.elements[to].strips[0].lines = append(p.elements[to].strips[0].lines, "from "+shorten(v.Name()))
		return
	}
	for _, w := range p.wires {
		if w.value == v {
			if !slices.Contains(w.to, to) {
				w.to = append(w.to, to)
			}
			return
		}
	}
	label := shapeText(v.Type())
	if !v.Type().Present() || p.elements[from].round || p.elements[from].port {
		label = "" // the element or its edge shows it
	}
	p.wires = append(p.wires, &wire{v, from, []int{to}, label})
}

// kindOf sets the color of a node.
func kindOf(n *nn.Node) kind {
	switch o := n.Op(); {
	case o == nil:
		return unknownKind
	case len(n.Bodies()) > 0:
		return controlKind
	case o.Traits.Activation != trait.NoActivation:
		return activationKind
	case o.Traits.WeightedSums != nil:
		return layerKind
	}
	return plainKind
}

// bodyName returns the attribute that holds a body.
func bodyName(n *nn.Node, i int) string {
	for _, a := range op.Encode(n.Op().Latest(), n.Config()) {
		if b, ok := a.Value.(*nn.Body); ok && b == n.Bodies()[i] {
			return a.Name
		}
	}
	return fmt.Sprintf("body %d", i+1)
}
