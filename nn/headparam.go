package nn

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// renew gives the head's node new weights for k classes.
func (e *Edit) renew(s site, h Head, k int) {
	if e.err != nil {
		return
	}
	n := s.node
	init := h.Init
	if init == nil {
		init = initial.FanIn{}
	}
	if s.layer.Out == 1 && n.in[s.layer.Weight].typ.Rank() == 2 {
		init = initial.Transposed{Of: init}
	}
	e.resizeParam(s, h, n, s.layer.Weight, s.layer.Out, k, init)
	if i := s.layer.Bias; i > 0 && n.input(i) != nil {
		e.renewBias(s, h, n, i, k)
	}
}

// renewBias gives input i of n, a bias, k elements; one that is the same for all classes stays.
func (e *Edit) renewBias(s site, h Head, n *Node, i, k int) {
	v := n.in[i]
	if e.err != nil {
		return
	}
	if !fixed(v) || !v.typ.Static() {
		e.fail(&Error{Op: n.opType, Node: n.label(), Input: v.name, Err: fmt.Errorf("is computed: a new head cannot give it %d elements", k)})
		return
	}
	axis := -1
	for a, d := range v.typ.Shape {
		if d.Size == s.classes && s.classes > 1 {
			axis = a
		}
	}
	if axis < 0 && (s.classes > 1 || v.typ.Elements() != 1 || v.typ.Rank() == 0) {
		if v.typ.Elements() == 1 {
			return
		}
		e.fail(&Error{Op: n.opType, Node: n.label(), Input: v.name, Err: fmt.Errorf("is %v: it has no axis of %d classes", v.typ, s.classes)})
		return
	}
	if axis < 0 { // one class so far
		axis = v.typ.Rank() - 1
		if n != s.node {
			axis = max(v.typ.Rank()-(s.node.out[0].typ.Rank()-s.channels()), 0)
		}
	}
	init := h.BiasInit
	if init == nil {
		init = initial.BiasFanIn{Fan: s.fan}
	}
	e.resizeParam(s, h, n, i, axis, k, init)
}

// resizeParam replaces input i of n by a new parameter with k elements along an axis, which takes over the name of
// the old one.
func (e *Edit) resizeParam(s site, h Head, n *Node, i, axis, k int, init initial.Filler) {
	old := n.in[i]
	shape := old.typ.Sizes()
	from := slices.Clone(shape)
	shape[axis] = k
	if len(h.Keep) > 0 {
		if old.param == nil || old.param.data == nil {
			e.fail(&Error{Op: n.opType, Node: n.label(), Input: old.name, Err: fmt.Errorf("is computed from a parameter: its classes cannot be kept")})
			return
		}
		data, err := dtype.Float64s(old.param.data)
		if err != nil {
			e.fail(err)
			return
		}
		for _, c := range h.Keep {
			if c < -1 || c >= s.classes {
				e.Failf("there is no old class %d to keep: there are %d", c, s.classes)
				return
			}
		}
		init = keeping(init, h.Keep, data, from, axis)
	}
	if old.param != nil && len(old.users) == 1 && !slices.Contains(e.g.outputs, old) {
		e.removeValue(old) // the name becomes free for the new one
		v := e.ParamOf(old.name, old.typ.DType, init, shape...)
		if e.err != nil {
			return
		}
		e.setRead(n, i, v)
		e.log[len(e.log)-1].text = fmt.Sprintf("new parameter %s %v for %v", v.name, v.typ, old.typ)
		return
	}
	name := source(old)
	e.swapInput(n, i, e.ParamOf(name, old.typ.DType, init, shape...), name)
}

// swapInput makes v input i of n, removes what only the former input needed, and renames v to name if that
// is free now.
func (e *Edit) swapInput(n *Node, i int, v *Value, name string) {
	if e.err != nil {
		return
	}
	old := n.in[i]
	e.setRead(n, i, v)
	e.sweep(old)
	if e.err == nil && e.g.values[name] == nil {
		e.RenameValue(v, name)
	}
}

// source returns the name of the parameter that v is computed from, or v's own.
func source(v *Value) string {
	for x := v; x != nil; {
		if x.param != nil {
			return x.name
		}
		if x.producer == nil || len(x.producer.in) == 0 {
			break
		}
		x = x.producer.in[0]
	}
	return v.name
}

// keeping initializes as init does, then copies the kept slices along an axis from the old data.
func keeping(init initial.Filler, keep []int, old []float64, shape []int, axis int) initial.Filler {
	return initial.FillerFunc(func(v []float64, to []int, r *rand.Rand) {
		init.Fill(v, to, r)
		outer, inner := 1, 1
		for i, d := range shape {
			if i < axis {
				outer *= d
			} else if i > axis {
				inner *= d
			}
		}
		for o := range outer {
			for c, was := range keep {
				if was >= 0 {
					copy(v[(o*to[axis]+c)*inner:][:inner], old[(o*shape[axis]+was)*inner:])
				}
			}
		}
	})
}

// carry adapts a node between head and output to k classes.
func (e *Edit) carry(s site, n *Node, h Head, k int) {
	if e.err != nil {
		return
	}
	if i := n.op.Traits.ShapeInput; i > 0 {
		e.carryShape(s, n, i, k)
		return
	}
	for i, v := range n.in {
		switch {
		case v == nil || !fixed(v) || e.err != nil:
		case n.op.Traits.Arithmetic == trait.Adds:
			e.renewBias(s, h, n, i, k)
		case n.normalizes() && (slices.Contains(s.held[n], v) || s.classes == 1 && v.typ.Rank() == 1):
			init := initial.Filler(initial.Zeros{})
			if n.op.Traits.StartAt(i) == trait.StartOne {
				init = initial.Ones{}
			}
			e.resizeParam(s, h, n, i, 0, k, init)
		case slices.Contains(s.held[n], v):
			e.fail(&Error{Op: n.opType, Node: n.label(), Input: v.name, Err: fmt.Errorf("has an element for each of the %d classes: replace the node by hand", s.classes)})
		}
	}
}

// normalizes reports whether the node scales what it reads by parameters that start at one.
func (n *Node) normalizes() bool {
	for i := range n.in {
		if n.op.Traits.StartAt(i) == trait.StartOne {
			return true
		}
	}
	return false
}

// channels returns the axis of the layer's output that is indexed by class.
func (s *site) channels() int {
	if s.node.in[s.layer.Weight].typ.Rank() > 2 {
		return 1
	}
	return s.node.out[0].typ.Rank() - 1
}

// carryShape rewrites the number of classes in input i, which contains the node's shape.
func (e *Edit) carryShape(s site, n *Node, i, k int) {
	if len(n.in) <= i {
		e.carryTarget(s, n, k)
		return
	}
	if n.input(i) == nil || !fixed(n.in[i]) {
		return
	}
	t := n.in[i]
	target, err := targetOf(t)
	if err != nil {
		e.fail(&Error{Op: n.opType, Node: n.label(), Input: t.name, Err: err})
		return
	}
	target, found := withClasses(target, s.classes, k)
	if !found {
		if s.classes != k && !slices.Contains(target, -1) && !slices.Contains(target, 0) {
			e.fail(&Error{Op: n.opType, Node: n.label(), Input: t.name, Err: fmt.Errorf("%v fixes the number of classes: replace the node by hand", target)})
		}
		return
	}
	name := source(t)
	e.swapInput(n, i, e.Ints(name, target...), name)
}

// carryTarget rewrites the number of classes in an attribute that contains the node's shape.
func (e *Edit) carryTarget(s site, n *Node, k int) {
	c := n.call()
	old := c.Out[0].Sizes()
	next, found := withClasses(old, s.classes, k)
	if !found || n.op.Traits.Resize == nil {
		return
	}
	r := &op.Resizing{Call: c, In: make([]op.Resized, len(c.In)), Out: []op.Resized{{Old: old, New: next}}, Ints: func(int) ([]int, bool) { return nil, false }}
	if err := n.op.Traits.Resize(r); err != nil {
		e.fail(err)
		return
	}
	if r.Config != nil && !reflect.DeepEqual(r.Config, n.config) {
		e.setConfig(n, r.Config)
	}
}

// targetOf returns the value of a constant vector of integers.
func targetOf(v *Value) ([]int, error) {
	if v.param != nil && v.param.data != nil {
		return dtype.Ints(v.param.data)
	}
	c := op.Call{In: []op.Type{v.typ}, Known: []op.Known{v.known}, Op: &op.Op{In: "shape int64"}}
	return c.Ints(0)
}

// withClasses returns the target with k in place of the last element that is the number of classes.
func withClasses(target []int, classes, k int) ([]int, bool) {
	for i := len(target) - 1; i >= 0; i-- {
		if target[i] == classes {
			target = slices.Clone(target)
			target[i] = k
			return target, true
		}
	}
	return target, false
}
