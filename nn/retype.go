package nn

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// freed is a dimension of an input whose number was changed or removed.
type freed struct {
	v    *Value
	axis int
	old  int
	now  op.Dim
}

// size returns the number for inference before or after the change. Twice the old size is used for
// a dimension that is open now.
func (f freed) size(after bool) int {
	switch {
	case !after:
		return f.old
	case f.now.Known():
		return f.now.Size
	}
	return 2 * max(f.old, 1)
}

// retype changes the type of an input. The consequences are computed at the end of the edit,
// for all inputs together: of several batch dimensions one alone cannot be freed.
func (e *Edit) retype(v *Value, t op.Type) {
	old := v.typ
	if old.DType != t.DType && old.Present() {
		e.fail(&Error{Input: v.name, Want: old.DType, Got: t})
		return
	}
	if !old.Unranked && !t.Unranked && old.Present() {
		if len(old.Shape) != len(t.Shape) {
			e.fail(&Error{Input: v.name, Want: fmt.Sprintf("rank %d", len(old.Shape)), Got: t})
			return
		}
		for axis, d := range old.Shape {
			now := t.Shape[axis]
			if d.Sym == "" && d.Known() && (!now.Known() || now.Size != d.Size) {
				e.freed = append(e.freed, freed{v, axis, d.Size, now})
			}
		}
	}
	e.setType(v, t)
}

// FreeBatch replaces the first dimension of every input by the given symbol if the file fixes it to a
// number. Inputs that already have a symbolic dimension are not changed, since that is assumed to be
// their batch.
func (e *Edit) FreeBatch(symbol string) {
	for _, v := range e.Inputs() {
		if e.err != nil || len(v.typ.Shape) == 0 || slices.ContainsFunc(v.typ.Shape, func(d op.Dim) bool { return !d.Known() }) {
			continue
		}
		t := v.typ
		t.Shape = slices.Clone(t.Shape)
		t.Shape[0] = op.Sym(symbol)
		e.retype(v, t)
	}
}

// follow adapts the graph to the freed dimensions. Dimensions with the same symbol are
// processed together: every node is inferred at the old and at the new sizes, constants that
// contain the old size are rewritten, and the first node that cannot follow is reported.
func (e *Edit) follow() {
	done := map[string]bool{}
	for i, f := range e.freed {
		key := f.now.Sym
		if key == "" {
			key = fmt.Sprint("#", i)
		}
		if e.err != nil || done[key] {
			continue
		}
		done[key] = true
		var group []freed
		for _, x := range e.freed {
			if x == f || f.now.Sym != "" && x.now.Sym == f.now.Sym {
				group = append(group, x)
			}
		}
		e.followGroup(group)
	}
}

func (e *Edit) followGroup(group []freed) {
	order, err := topological(e.g.nodes(), e.watched())
	if err != nil {
		e.fail(err)
		return
	}
	w := e.concreteWalk(group, false)
	if err := w.visitAll(order); err != nil {
		return // other inputs are open: inference at the end decides
	}
	before := map[*Value]op.Type{}
	for x, b := range w.env {
		before[x] = b.typ
	}
	w = e.concreteWalk(group, true)
	at := fmt.Sprintf("%s of input %q from %d to %v", axisName(group[0].axis), group[0].v.name, group[0].old, group[0].now)
	for _, node := range order {
		if e.ended() {
			return
		}
		if node.op == nil {
			e.fail(&Error{Op: node.opType, Node: node.label(), Err: fmt.Errorf("is unknown, which prevents a change of %s", at)})
			return
		}
		e.adapt(node, before, w)
		if e.err != nil {
			return
		}
		if err := w.visit(node); err != nil {
			e.fail(&Error{Op: node.opType, Node: node.label(), Err: fmt.Errorf("prevents a change of %s: %w", at, err)})
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

// concreteWalk infers with numbers for all dimensions of inputs: those of the group before or
// after the change, other freed ones as before, and stand-ins for dimensions that were open already.
func (e *Edit) concreteWalk(group []freed, after bool) *walker {
	w := lowering{g: e.g, mode: walkInfer}.walker()
	standIn := map[string]int{}
	fixed := map[*Value]map[int]int{}
	for _, f := range e.freed {
		n := f.size(after && slices.Contains(group, f))
		if fixed[f.v] == nil {
			fixed[f.v] = map[int]int{}
		}
		fixed[f.v][f.axis] = n
		if f.now.Sym != "" {
			standIn[f.now.Sym] = n
		}
	}
	for _, in := range e.g.inputs {
		t := in.typ
		t.Shape = slices.Clone(t.Shape)
		for i, d := range t.Shape {
			n, ok := fixed[in][i]
			switch {
			case ok:
			case d.Known():
				continue
			case standIn[d.Sym] != 0:
				n = standIn[d.Sym]
			default:
				n = 2
			}
			t.Shape[i] = op.D(n)
		}
		w.env[in] = &binding{typ: t}
	}
	return w
}

// adapt rewrites the constants of a node that contain the old size of a dimension.
func (e *Edit) adapt(n *Node, before map[*Value]op.Type, w *walker) {
	in := n.input(0)
	if in == nil || len(n.out) == 0 || n.out[0] == nil {
		return
	}
	was, b := before[in], w.env[in]
	if b == nil || !was.Static() || !b.typ.Static() {
		return
	}
	if n.op.Traits.Open == nil {
		return
	}
	c := n.call()
	r := &op.Resizing{
		Call: c, In: make([]op.Resized, len(c.In)), Out: make([]op.Resized, len(c.Out)),
		Ints: func(i int) ([]int, bool) { return w.constant(n, i) },
	}
	r.In[0] = op.Resized{Old: was.Sizes(), New: b.typ.Sizes()}
	if t := before[n.out[0]]; t.Static() {
		r.Out[0].Old = t.Sizes()
	}
	if err := n.op.Traits.Open(r); err != nil {
		e.fail(err)
		return
	}
	if r.Config != nil {
		e.setConfig(n, r.Config)
	}
	for _, i := range slices.Sorted(maps.Keys(r.Set)) {
		e.replaceInts(n, i, r.Set[i])
	}
	for _, i := range slices.Sorted(maps.Keys(r.First)) {
		e.keepFirst(n, i, r.First[i], w)
	}
}

// keepFirst shortens input i of a node to length 1 on an axis, if it is a constant that repeats along it.
func (e *Edit) keepFirst(n *Node, i, axis int, w *walker) {
	b := w.at(n.in[i])
	d, _ := b.known.Value.(*tensor.Dense)
	if d == nil { // or it is trained
		return
	}
	shape := d.Shape()
	lead, rest := dtype.Product(shape[:axis]), dtype.Product(shape[axis+1:])*dtype.Of(d.Dtype()).Size()
	first := dtype.New(dtype.Of(d.Dtype()), append(append(slices.Clone(shape[:axis]), 1), shape[axis+1:]...)...)
	from, to := dtype.Bytes(d), dtype.Bytes(first)
	for k := range lead {
		at := k * shape[axis] * rest
		copy(to[k*rest:], from[at:at+rest])
		for j := 1; j < shape[axis]; j++ {
			if !bytes.Equal(from[at:at+rest], from[at+j*rest:at+(j+1)*rest]) {
				return
			}
		}
	}
	old := n.in[i]
	c := e.Const(old.name+"_first", first)
	if e.err != nil {
		return
	}
	e.setRead(n, i, c)
	e.sweep(old)
}

// constant returns the value of input i of a node if it is constant in the model.
func (w *walker) constant(n *Node, i int) ([]int, bool) {
	v := n.input(i)
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

// replaceInts replaces input i of a node by a separate constant.
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
