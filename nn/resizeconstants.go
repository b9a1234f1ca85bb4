package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// now returns the value of integer input i after the cut.
func (f *follower) now(n *Node, i int) ([]int, bool) {
	v := n.input(i)
	if v == nil || f.w.at(v) == nil {
		return nil, false
	}
	return f.w.constant(n, i)
}

// setElements changes the elements of integer input i in which was and now differ, except those computed from open
// dimensions.
func (f *follower) setElements(n *Node, i int, was, now []int) {
	v := n.input(i)
	if f.e.err != nil || v == nil || slices.Equal(was, now) {
		return
	}
	if v.param != nil || v.known.Value != nil {
		f.setInts(n, i, now)
		return
	}
	for k := range now {
		if was[k] == now[k] {
			continue
		}
		x := f.adjusted(n.input(i), k, was[k], now[k])
		if x == nil || f.e.err != nil {
			f.e.Failf("%s %s: element %d of its shape cannot be rewritten", n.opType, n.label(), k)
			return
		}
		old := n.in[i]
		f.e.setRead(n, i, x)
		f.e.sweep(old)
	}
}

// adjusted returns an integer value like v except that element k is to instead of from, because the number in the model that
// it comes from is changed. nil if there is no such number.
func (f *follower) adjusted(v *Value, k, from, to int) *Value {
	if x, ok := f.fixedInts(v); ok {
		x = slices.Clone(x)
		x[k] = to
		return f.ints64(v, x)
	}
	n := v.producer
	if n == nil || f.e.err != nil {
		return nil
	}
	in := slices.Clone(n.in)
	switch t := n.traits(); {
	case t.Moves == trait.MovedInOrder:
		in[0] = f.adjusted(in[0], k, from, to)
	case t.Concat != nil:
		for i, x := range in {
			size := f.w.at(x).typ.Elements()
			if k < size {
				if in[i] = f.adjusted(x, k, from, to); in[i] == nil {
					return nil
				}
				return f.again(n, in)
			}
			k -= size
		}
		return nil
	case t.Arithmetic == trait.Multiplies:
		for i := range in {
			c, ok := f.fixedInts(in[i])
			if !ok || len(c) != 1 || c[0] == 0 || from%c[0] != 0 || from == 0 || to%(from/c[0]) != 0 {
				continue
			}
			in[i] = f.ints64(in[i], []int{to / (from / c[0])})
			return f.again(n, in)
		}
		return nil
	default:
		return nil
	}
	return f.again(n, in)
}

// again adds a node like n with other inputs.
func (f *follower) again(n *Node, in []*Value) *Value {
	if slices.Contains(in, nil) && !slices.Contains(n.in, nil) {
		return nil
	}
	c := f.e.Repeat(n, in...)
	if f.e.err != nil || f.w.visit(c) != nil {
		return nil
	}
	return c.out[0]
}

// fixedInts returns the elements of a value that is a constant of the model.
func (f *follower) fixedInts(v *Value) ([]int, bool) {
	d, ok := v.known.Value.(*tensor.Dense)
	if v.param != nil {
		d, ok = v.param.data, v.param.data != nil
	}
	if !ok {
		return nil, false
	}
	x, err := dtype.Ints(d)
	return x, err == nil
}

// ints64 adds a constant of v's type and rank with the elements x.
func (f *follower) ints64(v *Value, x []int) *Value {
	shape := []int{len(x)}
	if v.typ.Rank() == 0 {
		shape = nil
	}
	d, err := dtype.FromInts(v.typ.DType, x, shape...)
	if err != nil {
		f.e.fail(err)
		return nil
	}
	return f.e.Const(v.name+"_cut", d)
}

// setInts gives input i of a node a constant of its own.
func (f *follower) setInts(n *Node, i int, x []int) {
	if f.e.err != nil {
		return
	}
	old := n.in[i]
	if d, ok := old.known.Value.(*tensor.Dense); ok && f.c.a.leaf[old] || old.param != nil {
		if old.param != nil {
			d = old.param.data
		}
		if have, err := dtype.Ints(d); err == nil && slices.Equal(have, x) {
			return
		}
	}
	shape := []int{len(x)}
	if old.typ.Rank() == 0 {
		shape = nil
	}
	d, err := dtype.FromInts(old.typ.DType, x, shape...)
	if err != nil {
		f.e.fail(err)
		return
	}
	v := f.e.Const(old.name+"_cut", d)
	if f.e.err == nil {
		f.e.setRead(n, i, v)
		f.e.sweep(old)
	}
}
