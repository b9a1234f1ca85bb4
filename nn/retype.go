package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// retype changes the type of an input. A dimension that was a number and is now open is followed
// through the graph: every node is inferred at the old size and at twice the size, constants that
// spell out the old size are rewritten, and the first node that cannot follow is named.
func (e *Edit) retype(v *Value, t op.Type) {
	old := v.typ
	if old.DType != t.DType && old.Present() {
		e.fail(&Error{Input: v.name, Want: old.DType, Got: t})
		return
	}
	if !old.Unranked && !t.Unranked && len(old.Shape) != len(t.Shape) {
		e.fail(&Error{Input: v.name, Want: fmt.Sprintf("rank %d", len(old.Shape)), Got: t})
		return
	}
	if !old.Unranked && !t.Unranked {
		for axis, d := range old.Shape {
			now := t.Shape[axis]
			switch {
			case d.Sym == "" && d.Known() && !now.Known():
				e.free(v, axis)
			case d.Differ(now):
				e.resize(v, axis, now.Size)
			}
			if e.err != nil {
				return
			}
		}
	}
	e.setType(v, t)
}

// free makes the graph right for any size of a dimension that the file fixed.
func (e *Edit) free(v *Value, axis int) { e.resize(v, axis, 2*max(v.typ.Shape[axis].Size, 1)) }

// resize rewrites constants so that the graph is right when the dimension has n elements.
func (e *Edit) resize(v *Value, axis, n int) {
	before, ok := e.shapesAt(v, axis, v.typ.Shape[axis].Size)
	if !ok {
		return // other inputs are too open to tell; inference at the end has the last word
	}
	w := e.concreteWalk(v, axis, n)
	for _, node := range e.g.nodes {
		if node.op == nil {
			e.fail(&Error{Op: node.opType, Node: node.Label(), Err: fmt.Errorf("is unknown, so %s of input %q cannot change from %v", axisName(axis), v.name, v.typ.Shape[axis])})
			return
		}
		e.adapt(node, before, w)
		if e.err != nil {
			return
		}
		if err := w.visit(node); err != nil {
			e.fail(&Error{Op: node.opType, Node: node.Label(), Err: fmt.Errorf("prevents %s of input %q from changing from %v: %w", axisName(axis), v.name, v.typ.Shape[axis], err)})
			return
		}
	}
}

func axisName(axis int) string {
	if axis == 0 {
		return "the batch dimension"
	}
	return fmt.Sprintf("dimension %d", axis)
}

// concreteWalk infers with numbers for all dimensions of inputs: n for the one concerned, what
// the graph says for the others, and stand-ins for what is open.
func (e *Edit) concreteWalk(v *Value, axis, n int) *walker {
	w := newWalker(e.g, walkInfer)
	standIn := map[string]int{}
	for _, in := range e.g.inputs {
		t := in.typ
		t.Shape = slices.Clone(t.Shape)
		for i, d := range t.Shape {
			if !d.Known() {
				s := standIn[d.Sym]
				if s == 0 {
					s = 2
					standIn[d.Sym] = s
				}
				t.Shape[i] = op.D(s)
			}
		}
		if in == v {
			t.Shape[axis] = op.D(n)
		}
		w.env[in] = &binding{typ: t}
	}
	return w
}

func (e *Edit) shapesAt(v *Value, axis, n int) (map[*Value]op.Type, bool) {
	w := e.concreteWalk(v, axis, n)
	if err := w.walk(e.g.nodes); err != nil {
		return nil, false
	}
	shapes := map[*Value]op.Type{}
	for x, b := range w.env {
		shapes[x] = b.typ
	}
	return shapes, true
}

// adapt rewrites the constants of a node that spell out the old size of a dimension.
func (e *Edit) adapt(n *Node, before map[*Value]op.Type, w *walker) {
	in := n.In(0)
	if in == nil || len(n.out) == 0 || n.out[0] == nil {
		return
	}
	was, ok := before[in]
	b := w.env[in]
	if !ok || b == nil || !was.Static() || !b.typ.Static() {
		return
	}
	axis := changedAxis(was.Sizes(), b.typ.Sizes())
	if axis < 0 {
		return
	}
	switch n.opType {
	case "Reshape":
		e.adaptReshape(n, axis, was.Sizes(), b.typ.Sizes(), before[n.out[0]], w)
	case "Expand":
		e.adaptExpand(n, axis, was.Sizes(), w)
	case "Slice":
		e.adaptSlice(n, axis, was.Sizes()[axis], w)
	}
}

func changedAxis(a, b []int) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// constant is the value of input i of a node if it is fixed in the model.
func (w *walker) constant(n *Node, i int) ([]int, bool) {
	v := n.In(i)
	if v == nil {
		return nil, false
	}
	b := w.at(v)
	if b == nil {
		return nil, false
	}
	c := &op.Call{Op: n.op, In: []op.Type{b.typ}, Known: []op.Known{b.known}}
	x, err := c.Ints(0)
	return x, err == nil
}

// adaptReshape lets the dimension of the target that holds the changed one follow it.
func (e *Edit) adaptReshape(n *Node, axis int, was, now []int, out op.Type, w *walker) {
	target, ok := w.constant(n, 1)
	cfg, attr := n.config.(op.ReshapeConfig)
	if attr && n.op.Version(e.g.opset("")) < 5 {
		target, ok = cfg.Shape, true
	}
	if !ok || !out.Static() {
		return
	}
	size := out.Sizes()
	if len(target) != len(size) || followsByItself(target, axis, was) {
		return
	}
	lead := 1
	for _, d := range was[:axis] {
		lead *= d
	}
	j := holder(size, lead, was[axis])
	if j < 0 {
		e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("spells out the shape %v, in which dimension %d of its input (%v) cannot be found again", size, axis, was)})
		return
	}
	fixed := slices.Clone(size)
	fixed[j] = -1
	if j == axis && size[j] == was[axis] {
		fixed[j] = 0
	}
	if attr && n.op.Version(e.g.opset("")) < 5 {
		cfg.Shape = fixed
		e.setConfig(n, cfg)
		return
	}
	if cfg.AllowZero && fixed[j] == 0 {
		fixed[j] = -1
	}
	e.replaceInts(n, 1, fixed)
}

// followsByItself says whether a target with 0 or −1 gives the right shape at any size.
func followsByItself(target []int, axis int, was []int) bool {
	for i, t := range target {
		if t == 0 && i == axis {
			return true
		}
	}
	i := slices.Index(target, -1)
	if i < 0 {
		return false
	}
	// −1 takes up the change; it stands at the right place if what is before it is before the axis too.
	lead, before := 1, 1
	for _, d := range was[:axis] {
		lead *= d
	}
	for k, t := range target[:i] {
		if t == 0 && k < len(was) {
			t = was[k]
		}
		before *= t
	}
	return before == lead
}

// holder is the dimension of a shape that holds, row-major, the factor of size n behind lead elements.
func holder(size []int, lead, n int) int {
	before := 1
	for j, d := range size {
		if before == lead && n > 0 && d%n == 0 {
			return j
		}
		before *= d
	}
	return -1
}

func (e *Edit) adaptExpand(n *Node, axis int, was []int, w *walker) {
	target, ok := w.constant(n, 1)
	if !ok {
		return
	}
	j := axis + len(target) - len(was)
	if j < 0 || j >= len(target) || target[j] != was[axis] || target[j] == 1 {
		return
	}
	target = slices.Clone(target)
	target[j] = 1
	e.replaceInts(n, 1, target)
}

// adaptSlice opens an end that meant "all of it".
func (e *Edit) adaptSlice(n *Node, axis, size int, w *walker) {
	starts, ok1 := w.constant(n, 1)
	ends, ok2 := w.constant(n, 2)
	if !ok1 || !ok2 {
		return
	}
	axes, ok := w.constant(n, 3)
	if !ok {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	steps, _ := w.constant(n, 4)
	for i, a := range axes {
		if a == axis && i < len(starts) && starts[i] == 0 && ends[i] == size && (steps == nil || steps[i] == 1) {
			ends = slices.Clone(ends)
			ends[i] = math.MaxInt64
			e.replaceInts(n, 2, ends)
			return
		}
	}
}

// replaceInts gives input i of a node a constant of its own.
func (e *Edit) replaceInts(n *Node, i int, v []int) {
	old := n.in[i]
	d, err := dtype.FromInts(old.typ.DType, v, len(v))
	if err != nil {
		e.fail(err)
		return
	}
	c := e.Const(old.name+"_open", d)
	if e.err != nil {
		return
	}
	e.setRead(n, i, c)
	e.sweep(old)
}
